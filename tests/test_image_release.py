"""Image releases: slots in balance, one seed one release, whole or not at all, opened by `datasets` as they are."""

import ast
import itertools
import json
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from filelock import FileLock
from PIL import Image

import stimuli_builder
import stimuli_builder.image.build as build_module
from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.find_release import find_release
from stimuli_builder.frames import frame_id
from stimuli_builder.image import default
from stimuli_builder.image.build import already_built, build_image_release, deciding_files, standing_release
from stimuli_builder.image.find import find_image_release
from stimuli_builder.image.info import PARAPHRASES, ImageReleaseInfo
from stimuli_builder.image.item import Question, Region, Scene, StoredQuestion
from stimuli_builder.image.levels import MARGIN, strengths_for
from stimuli_builder.image.release import open_image_release
from stimuli_builder.image.remarks import remarks
from stimuli_builder.image.slots import BLOCK, draw_slots
from stimuli_builder.image.sources import SceneSource, procedural_source
from stimuli_builder.image.staging import ImageStaging
from stimuli_builder.image.verify import verify_image_release
from stimuli_builder.release_info import INFO_FILE

ONE_LEVEL = {"subtractive": (0.5,), "corruptive": (0.2,)}


def build(
    out: Path, items: int = 2, seed: int = 0, canvas_px: int = 224, margin: float = MARGIN, workers: int = 1, **own
):
    source = procedural_source(items, seed, canvas_px)
    return build_image_release(source, out, seed, {**ONE_LEVEL, **own}, margin, "mit", workers)


# --- slots


def factors(seed: int, count: int, category: str = "code") -> list[dict[str, int]]:
    """All that could be confounded, of questions 0 .. count - 1 whose right option is stored at changing places."""
    listed = []
    for index in range(count):
        answer = (index * 7) % 4
        slots = draw_slots(seed, index, category, answer)
        right = next(slot for slot in slots if slot.asserted == answer)
        wrong = next(slot for slot in slots if slot.asserted != answer)
        listed.append(
            {
                "right place, slot 0": slots[0].order.index(answer),
                "right place, slot 1": slots[1].order.index(answer),
                "slot of the right assertion": slots.index(right),
                "right place where it is asserted": right.order.index(answer),
                "right place where it is not": wrong.order.index(answer),
                "asserted place where it is wrong": wrong.order.index(wrong.asserted),
                "which wrong option": [o for o in range(4) if o != answer].index(wrong.asserted),
                "cannot, slot 0": slots[0].cannot_place,
                "cannot, slot 1": slots[1].cannot_place,
                "paraphrase, slot 0": slots[0].paraphrase,
                "paraphrase, slot 1": slots[1].paraphrase,
                "paraphrase where it is right": right.paraphrase,
                "cannot where it is right": right.cannot_place,
            }
        )
    return listed


LEVELS = {"slot of the right assertion": 2, "which wrong option": 3, "paraphrase": PARAPHRASES, "cannot": 5}


def levels_of(name: str) -> int:
    return next((levels for prefix, levels in LEVELS.items() if name.startswith(prefix)), 4)


def test_slots_show_each_option_once_and_differ_in_everything():
    for index, answer in itertools.product(range(40), range(4)):
        first, second = draw_slots(3, index, "shape", answer)
        for slot in (first, second):
            assert sorted(slot.order) == [0, 1, 2, 3]
            assert slot.cannot_place in range(5) and slot.paraphrase in range(PARAPHRASES)
        assert (first.asserted == answer) != (second.asserted == answer)
        assert first.order.index(answer) != second.order.index(answer)
        assert first.cannot_place != second.cannot_place and first.paraphrase != second.paraphrase


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [32, BLOCK])
def test_every_level_comes_about_equally_often(seed, count):
    listed = factors(seed, count)
    for name in listed[0]:
        counts = Counter(row[name] for row in listed)
        assert max(counts.values()) - min(counts[level] for level in range(levels_of(name))) <= 4, (name, counts)
    for start in range(0, count, 4):
        assert {row["right place, slot 0"] for row in listed[start : start + 4]} == {0, 1, 2, 3}
    assert sum(row["slot of the right assertion"] for row in listed) == count // 2


@pytest.mark.parametrize("seed", range(3))
def test_no_factor_tells_of_another(seed):
    """Joint counts of all pairs that are drawn apart stay nearer to independence than chance would leave them.

    Pearson's statistic of a pair has a mean of its degrees of freedom if both are drawn by chance.
    """
    listed = factors(seed, BLOCK)
    # Slots differ, so what both have is bound; and a wrong option cannot stand in the place of the right one.
    bound_apart = {
        ("right place where it is not", "asserted place where it is wrong"),
    }
    for one, other in itertools.combinations(listed[0], 2):
        if (one, other) in bound_apart or one.replace(",", "").split()[0] == other.replace(",", "").split()[0]:
            continue
        counts = Counter((row[one], row[other]) for row in listed)
        cells = levels_of(one) * levels_of(other)
        expected = BLOCK / cells
        pearson = sum(
            (counts[a, b] - expected) ** 2 / expected
            for a, b in itertools.product(range(levels_of(one)), range(levels_of(other)))
        )
        assert pearson < 1.5 * (levels_of(one) - 1) * (levels_of(other) - 1), (one, other, pearson)
    asserted_right = Counter(row["right place where it is asserted"] for row in listed)
    asserted_wrong = Counter(row["asserted place where it is wrong"] for row in listed)
    assert all(abs(asserted_right[place] - asserted_wrong[place]) <= 4 for place in range(4))


def test_a_draw_depends_on_its_own_name_alone():
    alone = draw_slots(5, 7, "code", 0)
    assert [draw_slots(5, index, "code", 0) for index in range(500)][7] == alone
    assert draw_slots(5, 7, "colour", 0) != alone and draw_slots(6, 7, "code", 0) != alone
    assert draw_slots(5, 7, "code", 2)[0].cannot_place == alone[0].cannot_place
    golden = [(slot.order, slot.cannot_place, slot.paraphrase, slot.asserted) for slot in draw_slots(0, 0, "code", 0)]
    assert golden == GOLDEN


GOLDEN = [((3, 1, 2, 0), 1, 0, 0), ((1, 0, 3, 2), 3, 1, 3)]


# --- build


def test_the_same_arguments_give_the_same_files_with_any_number_of_processes(tmp_path):
    one, two = build(tmp_path / "a", items=3), build(tmp_path / "b", items=3, workers=2)
    for path in sorted(p.relative_to(one.folder) for p in one.folder.rglob("*") if p.is_file()):
        assert (one.folder / path).read_bytes() == (two.folder / path).read_bytes(), path
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize(
    "changes", [{"seed": 1}, {"items": 1}, {"canvas_px": 225}, {"margin": 0.3}, {"corruptive": (0.3,)}]
)
def test_what_a_model_could_see_changes_the_digest(pair, tmp_path, changes):
    assert pair.info.digest != build(tmp_path / "b", **changes).info.digest


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return build(tmp_path_factory.mktemp("pair") / "r")


def test_items_of_a_larger_release_begin_with_those_of_a_smaller_one(pair, tmp_path):
    large = build(tmp_path / "b", items=3)
    assert [q.to_row() for q in large.questions()[:8]] == [q.to_row() for q in pair.questions()]


def test_rows_and_description_survive_their_files(image_release):
    rows = pq.read_table(image_release.folder / "items" / "items.parquet").to_pylist()
    assert [StoredQuestion.from_row(row).to_row() for row in rows] == rows
    assert ImageReleaseInfo.from_json(image_release.info.to_json(), "here") == image_release.info
    assert image_release.content_digest() == image_release.info.digest


def test_a_question_has_l0_and_every_level_of_both_modes(image_release):
    expected = [("intact", 0), *itertools.product(("subtractive", "corruptive"), (1, 2))]
    for stored in image_release.questions():
        assert [(view.mode, view.level) for view in stored.views] == expected
    by_item = itertools.groupby(image_release.questions(), key=lambda stored: stored.item)
    for number, (item, questions) in enumerate(by_item):
        listed = list(questions)
        assert item == f"i{number:05d}" and {stored.index for stored in listed} == {number}
        assert len({stored.views[0].image for stored in listed}) == 1
        code, colour = (next(s for s in listed if s.question.category == name) for name in ("code", "colour"))
        assert code.views == colour.views  # one printed label decides both
    assert len(image_release.images().ids()) == 8 * (1 + 3 * 2 * 2)


def test_datasets_opens_a_release_without_a_script(image_release, tmp_path):
    items = load_dataset(str(image_release.folder), "items", cache_dir=str(tmp_path))
    assert list(items["items"]) == [stored.to_row() for stored in image_release.questions()]
    images = load_dataset(str(image_release.folder), "images", cache_dir=str(tmp_path))["images"]
    assert [row["frame_id"] for row in images] == image_release.images().ids()
    assert all(frame_id(row["image"]) == row["frame_id"] for row in images.select(range(20)))


def test_card_names_what_a_reader_must_know(image_release):
    card = (image_release.folder / "README.md").read_text()
    for text in (
        image_release.info.digest,
        "configs:",
        "| seed | 7 |",
        "| licence | mit |",
        "not calibrated by people",
    ):
        assert text in card
    assert "| `code` | subtractive | 0.4 | 1 |" in card and "| `code` | corruptive | 0.15 | 0.4 |" in card


def test_no_path_of_the_machine_is_in_a_release(image_release):
    for name in (INFO_FILE, "README.md"):
        assert str(image_release.folder.parent) not in (image_release.folder / name).read_text()


@dataclass(frozen=True)
class OnePlan:
    """An item with a region that two questions share, in a given order."""

    categories: tuple[str, ...]
    image: bytes
    index: int = 0

    def scene(self) -> Scene:
        image = Image.frombytes("RGB", (96, 96), self.image)
        questions = tuple(Question(c, "Which?", ("a1", "b1", "c1", "d1"), 0, "sign") for c in self.categories)
        return Scene(
            "i00000", image, (Region("sign", (10, 20, 80, 60)), Region("idle", (0, 0, 9, 9))), questions, "photo", "x"
        )

    def number_of(self, category: str) -> int:
        return 0


def one_item(categories: tuple[str, ...]) -> SceneSource:
    pixels = np.random.default_rng(0).integers(0, 255, (96, 96, 3), dtype=np.uint8).tobytes()
    return SceneSource("a test", repr(categories), 0, (OnePlan(categories, pixels),), "mit")


@pytest.mark.parametrize(
    ("categories", "deciding"),
    [(("code", "colour"), "code"), (("colour", "code"), "colour"), (("sign", "colour"), "code")],
)
def test_a_region_has_the_levels_of_its_first_question(tmp_path, categories, deciding):
    release = build_image_release(one_item(categories), tmp_path / "r", 0, {}, MARGIN, "")
    wanted = strengths_for(deciding)
    for stored in release.questions():
        for mode in ("subtractive", "corruptive"):
            assert tuple(view.strength for view in stored.views if view.mode == mode) == wanted[mode]
    assert verify_image_release(release) == []
    assert set(release.info.strengths) == {categories[0]}  # no image has levels of another category
    assert f"- `{categories[1]}` has the levels of `{categories[0]}`" in (release.folder / "README.md").read_text()
    assert len(release.images().ids()) == 1 + 10  # of a region without a question nothing is made


def test_own_levels_replace_the_default_ones_of_one_mode(tmp_path):
    own = (0.3, 0.4, 0.5, 0.6, 0.7)
    release = build_image_release(one_item(("colour",)), tmp_path / "r", 0, {"subtractive": own}, MARGIN, "")
    assert release.info.strengths == {
        "colour": {"subtractive": own, "corruptive": strengths_for("colour")["corruptive"]}
    }


@pytest.mark.parametrize(
    ("strengths", "message"),
    [
        ({"subtractive": (0.5,)}, "--occlusion: .*same number of levels"),
        (
            {"subtractive": (0.5, 0.2), "corruptive": (0.1, 0.2)},
            "--occlusion and --blur: .*stronger than the one before",
        ),
        ({"subtractive": (0.5, 1.2), "corruptive": (0.1, 0.2)}, "at most 1"),
        ({"subtractive": (0.5,), "corruptive": (float("nan"),)}, "numbers above 0"),
        ({"subtractive": (), "corruptive": ()}, "no strengths"),
    ],
)
def test_levels_that_are_none(tmp_path, strengths, message):
    with pytest.raises(CavedError, match=message):
        build_image_release(one_item(("code",)), tmp_path / "r", 0, strengths, MARGIN, "")
    assert not any(tmp_path.iterdir())


def test_items_that_cannot_be_degraded_are_all_named_and_the_others_kept(tmp_path):
    """Ten pixels have no five shares."""
    source = one_item(("code",))
    small = replace(source.plans[0].scene().regions[0], box=(10, 20, 11, 30))

    @dataclass(frozen=True)
    class TooSmall(OnePlan):
        def scene(self) -> Scene:
            return replace(super().scene(), item=f"i{self.index:05d}", regions=(small,))

    plans = tuple(TooSmall(("code",), source.plans[0].image, index) for index in range(2))
    with pytest.raises(BadInputs) as caught:
        build_image_release(replace(source, plans=plans), tmp_path / "r", 0, {}, MARGIN, "", workers=1)
    assert [problem[:14] for problem in caught.value.problems] == ["item 0: region", "item 1: region"]
    assert not (tmp_path / "r").exists()


def test_a_killed_build_goes_on_and_gives_the_same(pair, tmp_path, monkeypatch):
    save, done = ImageStaging.save, []

    def die_after_one(self, index, rows):
        if done:
            raise KeyboardInterrupt
        done.append(index)
        save(self, index, rows)

    monkeypatch.setattr(ImageStaging, "save", die_after_one)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "r")
    assert not (tmp_path / "r").exists() and (tmp_path / ".r.partial").is_dir()

    resumed = []

    def count(self, index, rows):
        resumed.append(index)
        save(self, index, rows)

    monkeypatch.setattr(ImageStaging, "save", count)
    assert build(tmp_path / "r").info.digest == pair.info.digest
    assert (done, resumed) == ([0], [1])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r"]


def test_what_was_kept_of_other_arguments_is_not_mixed_in(pair, tmp_path, monkeypatch):
    def die(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(build_module, "publish_folder", die)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "r", margin=0.3)
    assert not (tmp_path / "r").exists()
    monkeypatch.undo()
    release = build(tmp_path / "r")
    assert release.info.digest == pair.info.digest and verify_image_release(release) == []


@pytest.mark.parametrize("damage", ["cut", "emptied", "other pixels", "removed", "a record that is cut"])
def test_staged_images_that_a_crash_of_the_machine_spoiled_are_drawn_again(pair, tmp_path, monkeypatch, damage):
    def die(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(build_module, "publish_folder", die)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "r")
    monkeypatch.undo()
    kept = tmp_path / ".r.partial" / "finished_images"
    images = sorted(kept.glob("images/*/*.webp"))
    if damage == "a record that is cut":
        path = next(kept.glob("items/*.json"))
        path.write_bytes(path.read_bytes()[:100])
    for n, path in enumerate(images[:3]):
        data = path.read_bytes()
        if damage == "removed":
            path.unlink()
        elif damage in ("cut", "emptied"):
            path.write_bytes(data[: len(data) * n // 4] if damage == "cut" else b"")
        elif damage == "other pixels":
            path.write_bytes(images[5].read_bytes())
    release = build(tmp_path / "r")
    assert release.info.digest == pair.info.digest and verify_image_release(release) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r"]


def test_two_builds_of_one_target_do_not_meet(tmp_path):
    with FileLock(str(tmp_path / ".r.lock")), pytest.raises(CavedError, match="another process"):
        build(tmp_path / "r")


def test_targets_that_cannot_be_used(tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "precious.txt").write_text("mine")
    with pytest.raises(CavedError, match="not empty"):
        build(full)
    assert [p.name for p in tmp_path.iterdir()] == ["full"]


def test_already_built_means_the_same_arguments(pair):
    source = procedural_source(2, 0, 224)
    assert already_built(pair.folder, source, 0, ONE_LEVEL, MARGIN)
    assert not already_built(pair.folder, procedural_source(3, 0, 224), 0, ONE_LEVEL, MARGIN)
    assert not already_built(pair.folder, source, 1, ONE_LEVEL, MARGIN)
    assert not already_built(pair.folder, source, 0, {**ONE_LEVEL, "corruptive": (0.3,)}, MARGIN)
    assert not already_built(pair.folder, source, 0, ONE_LEVEL, 0.1)
    assert not already_built(pair.folder.parent / "nowhere", source, 0, ONE_LEVEL, MARGIN)


@pytest.mark.parametrize("what", ["items", "images", "one image", "cut", "a row"])
def test_a_damaged_release_is_not_taken_for_built(pair, tmp_path, what):
    out = tmp_path / "r"
    shutil.copytree(pair.folder, out)
    table, images = out / "items" / "items.parquet", out / "images" / "part-00000.parquet"
    if what == "items":
        table.unlink()
    elif what == "images":
        shutil.rmtree(out / "images")
    elif what == "cut":
        images.write_bytes(images.read_bytes()[:-1000])
    else:
        path = images if what == "one image" else table
        pq.write_table(pq.read_table(path)[1:], path)
    with pytest.raises(
        CavedError, match=r"but damaged: its tables and images do not give its digest .*delete this folder"
    ):
        standing_release(out, procedural_source(2, 0, 224), 0, ONE_LEVEL, MARGIN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"made_by": "caved-or-convinced 0.0.1, sources 0123456789ab"},
            "was made by caved-or-convinced 0.0.1, sources 0123",
        ),
        ({"libraries": {"pillow": "1.0"}}, "with pillow 1.0, and this is .* which may give other images"),
        ({"licence": "cc0"}, "but of the licence 'cc0', not 'mit'"),
    ],
)
def test_a_release_of_another_version_is_not_taken_for_the_same(pair, tmp_path, change, message):
    out, source = tmp_path / "r", procedural_source(2, 0, 224)
    shutil.copytree(pair.folder, out)
    assert standing_release(out, source, 0, ONE_LEVEL, MARGIN, "mit").info == pair.info
    (out / INFO_FILE).write_text(replace(pair.info, **change).to_json())
    with pytest.raises(CavedError, match=message + ".*to build it anew, give another --out, or delete"):
        standing_release(out, source, 0, ONE_LEVEL, MARGIN, "mit")
    assert standing_release(out, source, 1, ONE_LEVEL, MARGIN, "mit") is None  # of other arguments anyway


# --- levels


def sign_source(kind: str) -> SceneSource:
    """An item whose region and margin are a sign with print, or all of one colour, or of one but for faint grain."""
    pixels = np.full((96, 96, 3), 140, dtype=np.uint8)
    if kind == "print":
        pixels[25:55, 15:75:6] = 20
    elif kind == "grain":
        pixels += np.random.default_rng(0).integers(0, 9, pixels.shape, dtype=np.uint8)
    plan = OnePlan(("code",), pixels.tobytes())
    return SceneSource("a test", kind, 0, (plan,), "mit")


@pytest.mark.parametrize(
    ("blur", "message"),
    [
        ((0.0001, 0.0002), "corruptive L1 and L0, corruptive L2 and L0 show the same image"),
        ((0.2, 0.2000001), "corruptive L2 and L1 show the same image"),
        ((0.0001, 0.2), "corruptive L1 and L0 show the same image"),
    ],
)
def test_blurs_that_show_the_same_image_are_no_levels(tmp_path, blur, message):
    strengths = {"subtractive": (0.4, 1.0), "corruptive": blur}
    with pytest.raises(BadInputs) as caught:
        build_image_release(sign_source("print"), tmp_path / "r", 0, strengths, MARGIN, "", workers=1)
    assert list(caught.value.problems) == [
        f"item 0: region sign of i00000: {message}: give stronger levels, or levels farther apart"
    ]
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("kind", ["print", "plain", "grain"])
@pytest.mark.parametrize("blur", [(0.1, 0.3), (0.2, 0.2000001), (0.0001, 0.0002), (0.02, 0.03)])
def test_whatever_is_built_holds(tmp_path, kind, blur):
    """Where there is nothing to blur, blurs may be the same; it is said, and no finding."""
    strengths = {"subtractive": (0.4, 1.0), "corruptive": blur}
    try:
        release = build_image_release(sign_source(kind), tmp_path / "r", 0, strengths, MARGIN, "", workers=1)
    except BadInputs:
        assert kind == "print" and blur[0] != 0.1
        return
    assert verify_image_release(release) == []
    same = len({view.image for view in release.questions()[0].views if view.mode != "subtractive"}) < 3
    assert same or kind != "plain"
    assert len(remarks(release)) == same


# --- open and find


def test_opening_what_is_no_release(pair, release, tmp_path):
    with pytest.raises(CavedError, match="does not exist"):
        open_image_release(tmp_path / "nowhere")
    with pytest.raises(CavedError, match="is no release"):
        open_image_release(tmp_path)
    with pytest.raises(CavedError, match="is a release of caved_or_convinced, not of cant_tell_or_wont_say: build one"):
        open_image_release(release.folder)
    for name, change, message in (
        ("a", {"format_version": 99}, "release format 99"),
        ("b", {"surprise": 1}, "odd fields"),
        ("c", {"strengths": 3}, "odd fields"),
    ):
        shutil.copytree(pair.folder, tmp_path / name)
        fields = {**json.loads((pair.folder / INFO_FILE).read_text()), **change}
        (tmp_path / name / INFO_FILE).write_text(json.dumps(fields))
        with pytest.raises(CavedError, match=message):
            open_image_release(tmp_path / name)
    (tmp_path / "a" / INFO_FILE).write_text("{")
    with pytest.raises(CavedError, match="damaged"):
        open_image_release(tmp_path / "a")
    (tmp_path / "b" / "items" / "items.parquet").write_bytes(b"PAR1")
    (tmp_path / "b" / INFO_FILE).write_text((pair.folder / INFO_FILE).read_text())
    with pytest.raises(CavedError, match=r"items.parquet is damaged"):
        open_image_release(tmp_path / "b").questions()


def test_caved_release_names_the_release_of_a_task(pair, release, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(pair.folder))
    assert find_image_release().info.digest == pair.info.digest
    with pytest.raises(
        CavedError, match=r"CAVED_RELEASE: .* is a release of cant_tell_or_wont_say, not of caved_or_convinced"
    ):
        find_release()
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    with pytest.raises(
        CavedError, match=r"CAVED_RELEASE: .* not of cant_tell_or_wont_say: build one with .caved build image"
    ):
        find_image_release()


def test_the_default_is_built_once_under_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("CAVED_RELEASE", raising=False)
    monkeypatch.setattr(default, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(default, "DEFAULT_ITEMS", 1)
    monkeypatch.setattr(default, "CANVAS_PX", 224)
    assert default.built_default_image_release() is None and not any(tmp_path.iterdir())
    first = find_image_release()
    assert (first.info.items, first.info.seed, first.info.levels) == (1, 0, 5)
    monkeypatch.setattr(default, "build_image_release", None)  # the second time nothing is built
    assert find_image_release().info == first.info == default.built_default_image_release().info
    monkeypatch.setattr(default, "source_state", lambda: "f" * 64)  # of other code
    assert default.built_default_image_release() is None


def test_a_cache_that_cannot_be_written_is_named_with_the_remedy(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(default, "user_cache_path", lambda name: tmp_path / "file" / name)
    with pytest.raises(CavedError, match="XDG_CACHE_HOME"):
        default.default_image_release()


def test_the_default_is_keyed_by_every_module_that_decides_it():
    """All that the modules which draw, degrade and store import within the package, and the fonts."""
    package = Path(stimuli_builder.__file__).parent
    deciding = {path.relative_to(package).as_posix() for path in deciding_files()}
    indifferent = {"errors.py", "atomic.py", "__init__.py"}
    waiting = [f"image/{name}.py" for name in ("scenes", "degraded", "slots", "staging", "build", "default")]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name.startswith("image/verify"):
            continue
        seen.add(name)
        for node in ast.walk(ast.parse((package / name).read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stimuli_builder.image."):
                waiting.append(node.module.removeprefix("stimuli_builder.").replace(".", "/") + ".py")
    needs_files = {"image/photos.py", "image/image_files.py", "image/annotation.py"}  # of a user
    assert {name for name in seen if not name.startswith("image/annot")} - deciding - needs_files - indifferent == set()
    assert {"draws.py", "frames.py", "fonts/DejaVuSans.ttf"} <= deciding
    assert not {name for name in deciding if "verify" in name or "cli" in name}
