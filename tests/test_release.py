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
from stimuli_builder.procedural import COLOURS, procedural_catalogue, render
from stimuli_builder.release import Release, open_release
from stimuli_builder.release_schema import INFO_FILE, ReleaseInfo, StoredProbe
from stimuli_builder.staging import Staging
from stimuli_builder.verify import verify_release

# What the seed, the draws, the scenes and the encoding give together; any change of one of them shows here.
GOLDEN_DIGEST = "aa66cf93fbc66c6e1ee4043c4c160b658e331bc06b30f5a3d28d398808c753f0"


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


def test_golden_digest(tmp_path):
    assert build(tmp_path / "r", probes=8).info.digest == GOLDEN_DIGEST


def test_same_seed_same_digest_whatever_the_workers(tmp_path):
    one, two = build(tmp_path / "one"), build(tmp_path / "two", workers=2)
    assert one.info == two.info
    for path in sorted(p.relative_to(one.folder) for p in one.folder.rglob("*") if p.is_file()):
        assert (one.folder / path).read_bytes() == (two.folder / path).read_bytes(), path


@pytest.mark.parametrize("changes", [{"seed": 1}, {"probes": 4}, {"canvas_px": 56}, {"budgets": (8, 16)}])
def test_what_a_model_could_see_changes_the_digest(tmp_path, changes):
    assert build(tmp_path / "a").info.digest != build(tmp_path / "b", **changes).info.digest


def test_probes_of_a_larger_release_begin_with_those_of_a_smaller_one(tmp_path):
    small, large = build(tmp_path / "a"), build(tmp_path / "b", probes=6, budgets=(8, 16))
    assert [p.to_row() for p in large.probes(8)[:3]] == [p.to_row() for p in small.probes(8)]


def test_rows_survive_parquet(release):
    for budget in (8, 16):
        rows = pq.read_table(release.folder / "probes" / f"k{budget}.parquet").to_pylist()
        assert [StoredProbe.from_row(row).to_row() for row in rows] == rows


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


def test_card_names_what_a_reader_must_know(release):
    card = (release.folder / "README.md").read_text()
    assert release.info.digest in card and "configs:" in card and "seed | 7" in card and "licence" in card


def test_no_path_of_the_machine_is_in_a_release(tmp_path, release):
    for path in release.folder.rglob("*"):
        if path.suffix in {".json", ".md"}:
            assert str(release.folder.parent) not in path.read_text()
    names = {p.probe.background.name for p in release.probes(8)}
    assert all(not Path(name).is_absolute() for name in names)


def test_a_killed_build_resumes_and_gives_the_same(tmp_path, monkeypatch):
    expected = build(tmp_path / "expected").info.digest
    cut, done = Staging.save, []

    def die_after_two(self, source, record):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(source.name)
        cut(self, source, record)

    monkeypatch.setattr(Staging, "save", die_after_two)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "r")
    assert not (tmp_path / "r").exists()
    assert (tmp_path / ".r.partial").is_dir()

    resumed = []

    def count(self, source, record):
        resumed.append(source.name)
        cut(self, source, record)

    monkeypatch.setattr(Staging, "save", count)
    assert build(tmp_path / "r").info.digest == expected
    assert not set(resumed) & set(done)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["expected", "r"]


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
