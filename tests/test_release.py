"""Releases: whole or not at all, the same from the same seed, resumable, and readable by others."""

import dataclasses
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

from stimuli_builder import build as build_module
from stimuli_builder.build import build_release
from stimuli_builder.catalogue import Catalogue
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import decode, encode, frame_id, onto_canvas
from stimuli_builder.parts import part_name
from stimuli_builder.procedural import COLOURS, procedural_catalogue, render
from stimuli_builder.release import Release, open_release
from stimuli_builder.release_info import INFO_FILE, ReleaseInfo
from stimuli_builder.release_schema import StoredProbe
from stimuli_builder.staging import Staging
from stimuli_builder.verify import verify_release

# What the seed, the draws, the scenes and the encoding give together; any change of one of them shows here.
GOLDEN_DIGESTS = {
    "a budget": "c59e9fc6e3f15d24040af6cab7f6d1e3c7314f05acfd516fc679d68d8c5e7aa1",
    "a budget and offsets": "cbe0e07d6bad67c009a18eb941b3982e5f67317f5c8f935b7d471f988e6c9da8",
}


def build(out: Path, **changes) -> Release:
    fields = {
        "catalogue": procedural_catalogue(),
        "out": out,
        "budgets": (8,),
        "probes": 3,
        "seed": 0,
        "canvas_px": 64,
        "licence": "mit",
        "workers": 1,
    }
    return build_release(**{**fields, **changes})


def test_golden_digests(tmp_path):
    built = {
        "a budget": build(tmp_path / "k8", probes=8),
        "a budget and offsets": build(tmp_path / "k16", budgets=(16,), reversal_offsets=2),
    }
    assert {name: release.info.digest for name, release in built.items()} == GOLDEN_DIGESTS


def test_same_seed_same_digest_whatever_the_workers(tmp_path):
    one, two = build(tmp_path / "one"), build(tmp_path / "two", workers=2)
    assert one.info == two.info
    for path in sorted(p.relative_to(one.folder) for p in one.folder.rglob("*") if p.is_file()):
        assert (one.folder / path).read_bytes() == (two.folder / path).read_bytes(), path


@pytest.mark.parametrize("changes", [{"seed": 1}, {"probes": 4}, {"canvas_px": 56}, {"budgets": (8, 16)}])
def test_what_a_model_could_see_changes_the_digest(tmp_path, changes):
    assert build(tmp_path / "a").info.digest != build(tmp_path / "b", **changes).info.digest


def test_offsets_change_the_digest_and_nothing_else(tmp_path):
    built = [build(tmp_path / str(n), budgets=(16,), reversal_offsets=n) for n in (0, 1, 2)]
    assert len({release.info.digest for release in built}) == 3
    rows = [[p.to_row() for p in release.probes(16)] for release in built]
    assert rows[0] == rows[1] == rows[2]
    assert len({tuple(release.frames(16).ids()) for release in built}) == 1


def test_probes_of_a_larger_release_begin_with_those_of_a_smaller_one(tmp_path):
    small, large = build(tmp_path / "a"), build(tmp_path / "b", probes=6, budgets=(8, 16))
    assert [p.to_row() for p in large.probes(8)[:3]] == [p.to_row() for p in small.probes(8)]


def test_reversal_rows_begin_with_those_of_a_smaller_release(tmp_path, reversal_release):
    small = build(tmp_path / "r", budgets=(8, 16), seed=7, reversal_offsets=2)
    assert [p.to_row() for p in reversal_release.probes("reversal")[:3]] == [
        p.to_row() for p in small.probes("reversal")
    ]


def test_rows_survive_parquet(release, reversal_release):
    for folder, part in ((release.folder, "k8"), (release.folder, "k16"), (reversal_release.folder, "reversal")):
        rows = pq.read_table(folder / "probes" / f"{part}.parquet").to_pylist()
        assert [StoredProbe.from_row(row).to_row() for row in rows] == rows


def test_a_row_holds_every_view_of_its_part(release, reversal_release):
    arms = ["intact", "intact", "no_events", "early_only", "late_only", "placebo"]
    phases = ["on_grid", "in_gap", *["on_grid"] * 4]
    expected = [(arm, phase, None, twin) for arm, phase in zip(arms, phases, strict=True) for twin in "+-"]
    for budget in (8, 16):
        for stored in release.probes(budget):
            assert [(v.arm, v.phase, v.offset, v.twin) for v in stored.views] == expected
            assert {len(v.frames) for v in stored.views} == {budget}
    looks = [("intact", "offset", offset, twin, k) for k in (8, 16, 32) for offset in (0, 1) for twin in "+-"]
    for stored, primary in zip(reversal_release.probes("reversal"), reversal_release.probes(16), strict=True):
        assert stored.probe == primary.probe
        assert [(v.arm, v.phase, v.offset, v.twin, len(v.frames)) for v in stored.views] == looks


def test_info_survives_json(release):
    assert ReleaseInfo.from_json(release.info.to_json(), "here") == release.info


def test_datasets_opens_a_release_without_a_script(release, tmp_path):
    cache = str(tmp_path)
    probes = load_dataset(str(release.folder), "probes", cache_dir=cache)
    assert set(probes) == {"k8", "k16"}
    assert list(probes["k16"]) == [p.to_row() for p in release.probes(16)]
    frames = load_dataset(str(release.folder), "frames_k8", cache_dir=cache)["frames"]
    assert all(frame_id(row["image"]) == row["frame_id"] for row in frames)
    assert {row["frame_id"] for row in frames} == set(release.frames(8).ids())


def test_datasets_opens_the_reversal_part(reversal_release, tmp_path):
    probes = load_dataset(str(reversal_release.folder), "probes", cache_dir=str(tmp_path))
    assert set(probes) == {"k16", "reversal"}
    assert list(probes["reversal"]) == [p.to_row() for p in reversal_release.probes("reversal")]
    frames = load_dataset(str(reversal_release.folder), "frames_reversal", cache_dir=str(tmp_path))["frames"]
    assert [row["frame_id"] for row in frames] == reversal_release.frames("reversal").ids()
    assert all(frame_id(row["image"]) == row["frame_id"] for row in frames)


def test_card_names_what_a_reader_must_know(release):
    card = (release.folder / "README.md").read_text()
    assert release.info.digest in card and "configs:" in card and "seed | 7" in card and "licence" in card


def test_card_says_what_arms_and_offsets_are(release, reversal_release):
    without, with_offsets = [(r.folder / "README.md").read_text() for r in (release, reversal_release)]
    for arm in ("intact", "no_events", "placebo", "early_only", "late_only"):
        assert without.count(f"| `{arm}` | `on_grid` |") == 1
    assert "no part for the reversal test" in without and "reversal.parquet" not in without
    assert "budgets 8, 16, 32" in with_offsets and "2 `offset`s of each" in with_offsets
    assert "probes/reversal.parquet" in with_offsets and "frames_reversal/*.parquet" in with_offsets


def test_no_path_of_the_machine_is_in_a_release(tmp_path, release):
    for path in release.folder.rglob("*"):
        if path.suffix in {".json", ".md"}:
            assert str(release.folder.parent) not in path.read_text()
    names = {p.probe.background.name for p in release.probes(8)}
    assert all(not Path(name).is_absolute() for name in names)


@pytest.mark.parametrize("changes", [{}, {"budgets": (16,), "reversal_offsets": 2}])
def test_a_killed_build_resumes_and_gives_the_same(tmp_path, monkeypatch, changes):
    expected = build(tmp_path / "expected", **changes).info.digest
    cut, done = Staging.save, []

    def die_after_two(self, source, record):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(source.name)
        cut(self, source, record)

    monkeypatch.setattr(Staging, "save", die_after_two)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "r", **changes)
    assert not (tmp_path / "r").exists()
    assert (tmp_path / ".r.partial").is_dir()

    resumed = []

    def count(self, source, record):
        resumed.append(source.name)
        cut(self, source, record)

    monkeypatch.setattr(Staging, "save", count)
    assert build(tmp_path / "r", **changes).info.digest == expected
    assert not set(resumed) & set(done)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["expected", "r"]


def test_backgrounds_shorter_than_a_second(tmp_path, monkeypatch):
    """Their placebo needs instants that no other view shows, which the build has to cut as well."""
    monkeypatch.setattr("stimuli_builder.procedural.BACKGROUND_DURATION_S", 0.9)
    release = build(tmp_path / "r", probes=8)
    assert verify_release(release) == []
    elsewhere = 0
    for stored in release.probes(8):
        instants = {
            arm: {t for v in stored.views if v.arm == arm for t in v.source_times_s} for arm in ("intact", "placebo")
        }
        elsewhere += len(instants["placebo"] - instants["intact"])
    assert elsewhere > 8


def test_a_build_killed_while_writing_leaves_nothing_at_the_target(tmp_path, monkeypatch):
    def die(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(build_module, "publish_folder", die)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "r")
    assert not (tmp_path / "r").exists()
    monkeypatch.undo()
    assert verify_release(build(tmp_path / "r")) == []


def test_two_builds_of_one_target_do_not_meet(tmp_path):
    from filelock import FileLock

    with FileLock(str(tmp_path / ".r.lock")), pytest.raises(CavedError, match="another process"):
        build(tmp_path / "r")


def test_targets_that_cannot_be_used(tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "precious.txt").write_text("mine")
    file = tmp_path / "file"
    file.write_text("x")
    for target, message in ((full, "not empty"), (file, "is a file"), (file / "below", "not writable")):
        with pytest.raises(CavedError, match=message):
            build(target)
    assert (full / "precious.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert build(tmp_path / "empty").info.probes == 3


@pytest.mark.parametrize("budgets", [(7,), (15, 16), (), (128,)])
def test_budgets_outside_the_benchmark(tmp_path, budgets):
    with pytest.raises(CavedError, match="choose from 8, 16"):
        build(tmp_path / "r", budgets=budgets)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budgets": (8, 32), "reversal_offsets": 4}, "runs on the videos of k = 16, add 16 to --budgets"),
        ({"budgets": (16,), "reversal_offsets": 17}, "from 1 to 16, or 0"),
        ({"budgets": (16,), "reversal_offsets": -1}, "from 1 to 16, or 0"),
    ],
)
def test_offsets_that_cannot_be_built(tmp_path, changes, message):
    with pytest.raises(CavedError, match=message):
        build(tmp_path / "r", **changes)
    assert not (tmp_path / "r").exists()


def test_opening_what_is_no_release(tmp_path, release):
    with pytest.raises(CavedError, match="does not exist"):
        open_release(tmp_path / "nowhere")
    with pytest.raises(CavedError, match="is no release"):
        open_release(tmp_path)
    for change, message in (
        ({"format_version": 99}, "release format 99"),
        ({"benchmark": "other"}, "not of caved_or_convinced"),
        ({"surprise": 1}, "odd fields"),
    ):
        copy = tmp_path / f"copy{message[:3]}"
        shutil.copytree(release.folder, copy)
        fields = {**json.loads((copy / INFO_FILE).read_text()), **change}
        (copy / INFO_FILE).write_text(json.dumps(fields))
        with pytest.raises(CavedError, match=message):
            open_release(copy)
    (copy / INFO_FILE).write_text("{")
    with pytest.raises(CavedError, match="damaged"):
        open_release(copy)


def test_a_budget_that_is_not_there(release):
    with pytest.raises(CavedError, match=r"no probes with k = 32 .*it has 8, 16"):
        release.probes(32)


def test_a_reversal_part_that_is_not_there(release):
    for ask in (release.probes, release.frames):
        with pytest.raises(CavedError, match=r"no part reversal \(it has k8, k16\): .*--reversal-offsets"):
            ask("reversal")


def test_parts_are_named_as_their_files_and_splits(release, reversal_release):
    assert [part_name(part) for part in (8, 16, "reversal")] == ["k8", "k16", "reversal"]
    assert release.info.parts == (8, 16) and reversal_release.info.parts == (16, "reversal")
    for part in reversal_release.info.parts:
        assert (reversal_release.folder / "probes" / f"{part_name(part)}.parquet").is_file()
        assert (reversal_release.folder / f"frames_{part_name(part)}").is_dir()


def test_a_reversal_test_of_n_offsets_needs_32_n_frames_of_a_video(tmp_path):
    """However often a video is looked at: equal instants are one frame, in all budgets and both twins."""
    built = build(tmp_path / "r", budgets=(16,), reversal_offsets=3)
    for stored in built.probes("reversal"):
        instants = {
            (kind if kind != "background" else "", time_s)
            for view in stored.views
            for kind, time_s in zip(view.kinds, view.source_times_s, strict=True)
        }
        assert len(instants) <= 32 * 3


def test_frames_are_stored_without_loss():
    for location in (
        "procedural:event?colour=pink&shape=star&variant=1",
        "procedural:background?pattern=clouds&variant=0",
    ):
        image = render(location, 2.0, 448)
        assert decode(encode(image)).tobytes() == image.tobytes()
        assert frame_id(decode(encode(image))) == frame_id(image)


def test_canvas_is_the_centre_square():
    import numpy as np

    wide = np.zeros((40, 100, 3), dtype=np.uint8)
    wide[:, 30:70] = 255  # the centre square, and nothing else, is white
    assert np.asarray(onto_canvas(wide, 20)).min() == 255
    assert np.asarray(onto_canvas(np.ascontiguousarray(wide.transpose(1, 0, 2)), 40)).min() == 255


def test_procedural_frames_tell_their_class(catalogue: Catalogue):
    """Each event shows its colour and no other; no background shows any."""
    import numpy as np

    def colours_in(location: str, time_s: float) -> set[str]:
        pixels = np.asarray(render(location, time_s, 112)).astype(int)
        return {
            name
            for name, colour in COLOURS.items()
            if (np.abs(pixels - np.array(colour)).max(axis=-1) <= 12).mean() > 0.02
        }

    for event_class in catalogue.classes:
        for clip in event_class.clips:
            assert colours_in(clip.location, 3.0) == {event_class.label.split("_")[0]}
    for background in catalogue.backgrounds:
        for time_s in (0.0, 13.2, 59.9):
            assert colours_in(background.location, time_s) == set()


def test_stored_probe_is_frozen(release):
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.probes(8)[0].probe.claimed_order = "e1_first"
