"""`caved verify` finds each fault by name, also where whoever made it recomputed the digest."""

import copy
import shutil

import pytest
from forging import forged, forged_frames
from forging import view as view_of
from PIL import Image

from stimuli_builder.errors import CavedError
from stimuli_builder.frames import encode
from stimuli_builder.release import open_release
from stimuli_builder.release_info import INFO_FILE
from stimuli_builder.verify import verify_release


def view(row: dict, phase: str, twin: str) -> dict:
    return view_of(row, "intact", phase, twin)


def test_a_fresh_release_holds(release):
    seen = []
    assert verify_release(release, seen.append) == []
    assert sum(seen) == sum(len(release.frames(k).ids()) for k in (8, 16))


def test_a_fresh_release_with_offsets_holds(reversal_release):
    seen = []
    assert verify_release(reversal_release, seen.append) == []
    assert sum(seen) == sum(len(reversal_release.frames(part).ids()) for part in (16, "reversal"))


def swap_two_background_frames(rows):
    frames = view(rows[0], "on_grid", "+")["frames"]
    kinds = view(rows[0], "on_grid", "+")["kinds"]
    a, b = [i for i, k in enumerate(kinds) if k == "background"][:2]
    frames[a], frames[b] = frames[b], frames[a]


def leak_an_event_into_the_gap(rows):
    on_grid, in_gap = view(rows[1], "on_grid", "+"), view(rows[1], "in_gap", "+")
    in_gap["frames"][3] = on_grid["frames"][on_grid["kinds"].index("e1")]


def same_order_in_both_twins(rows):
    view(rows[0], "on_grid", "-")["frames"] = list(view(rows[0], "on_grid", "+")["frames"])


def event_frame_twice(rows):
    for twin in "+-":
        v = view(rows[0], "on_grid", twin)
        v["frames"][v["kinds"].index("background")] = v["frames"][v["kinds"].index("e1")]


def shift_a_time(rows):
    view(rows[0], "in_gap", "+")["times_s"][2] += 0.001


def relabel_kinds(rows):
    v = view(rows[0], "on_grid", "+")
    v["kinds"] = [{"e1": "e2", "e2": "e1"}.get(k, k) for k in v["kinds"]]


def wrong_source_time(rows):
    view(rows[0], "on_grid", "+")["source_times_s"][0] += 0.04


def one_claim_only(rows):
    for row in rows:
        row["claimed_order"] = "e1_first"


def lose_a_probe(rows):
    rows.pop()


def repeat_a_probe(rows):
    rows[1]["probe"] = rows[0]["probe"]


def lose_a_twin(rows):
    rows[0]["views"].remove(view(rows[0], "on_grid", "-"))


def same_class_twice(rows):
    rows[0]["e2_label"] = rows[0]["e1_label"]


def unknown_frame(rows):
    for twin in "+-":
        view(rows[0], "in_gap", twin)["frames"][0] = "0" * 64


def drop_a_frame(rows):
    for v in rows[0]["views"]:
        v["frames"].pop()


def both_events_alike(rows):
    for twin in "+-":
        v = view(rows[0], "on_grid", twin)
        v["frames"][v["kinds"].index("e2")] = v["frames"][v["kinds"].index("e1")]


def on_grid_views(row):
    return [view(row, "on_grid", twin) for twin in "+-"]


def exchange_the_events_of_one_probe(rows):
    for v in on_grid_views(rows[0]):
        a, b = v["kinds"].index("e1"), v["kinds"].index("e2")
        v["frames"][a], v["frames"][b] = v["frames"][b], v["frames"][a]


def take_the_events_of_another_probe(rows):
    for twin in "+-":
        mine, other = view(rows[0], "on_grid", twin), view(rows[1], "on_grid", twin)
        for kind in ("e1", "e2"):
            mine["frames"][mine["kinds"].index(kind)] = other["frames"][other["kinds"].index(kind)]


def event_frames_in_the_gap_of_another_probe(rows):
    event = view(rows[0], "on_grid", "+")
    frame = event["frames"][event["kinds"].index("e1")]
    for twin in "+-":
        view(rows[1], "in_gap", twin)["frames"][2] = frame


def exchange_phrases(rows):
    rows[0]["e1_phrase"], rows[0]["e2_phrase"] = rows[0]["e2_phrase"], rows[0]["e1_phrase"]


def empty_phrase(rows):
    for row in rows:
        for name in ("e1", "e2"):
            if row[f"{name}_label"] == rows[0]["e1_label"]:
                row[f"{name}_phrase"] = " "


def flip_all_claims(rows):
    for row in rows:
        row["claimed_order"] = {"e1_first": "e2_first", "e2_first": "e1_first"}[row["claimed_order"]]


def rename_the_background(rows):
    rows[0]["background"] = "elsewhere"


def other_class(rows):
    rows[0]["e1_label"] = "a_class_of_its_own"


def renumber(rows):
    for row in rows:
        row["probe_index"] = 0


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (exchange_the_events_of_one_probe, "is another frame than elsewhere"),
        (take_the_events_of_another_probe, "is another frame than elsewhere"),
        (event_frames_in_the_gap_of_another_probe, "show an event in one view and background in another"),
        (exchange_phrases, "calls"),
        (empty_phrase, "two labels share a phrase, or one has none"),
        (flip_all_claims, "claimed and named orders are not those of seed 7"),
        (rename_the_background, "has other sources at k=16"),
        (other_class, "none of the release's classes"),
        (renumber, "has the number 0"),
        (swap_two_background_frames, "the twins differ at frames"),
        (leak_an_event_into_the_gap, "intact in_gap: the twins differ in 1 frames, without an event they must be"),
        (same_order_in_both_twins, "the twins differ at frames []"),
        (event_frame_twice, "also used as background"),
        (shift_a_time, "times are not the grid"),
        (relabel_kinds, "where the timing puts"),
        (wrong_source_time, "of its source, not at"),
        (one_claim_only, "not balanced"),
        (lose_a_probe, "15 probes, the release says 16"),
        (repeat_a_probe, "probes listed twice: p00000"),
        (lose_a_twin, "intact on_grid - is missing"),
        (same_class_twice, "both events are"),
        (unknown_frame, "frames are missing"),
        (drop_a_frame, "not of k = 8"),
        (both_events_alike, "both events show the same frame"),
    ],
)
def test_each_fault_is_named_although_the_digest_fits(release, tmp_path, change, finding):
    findings = verify_release(forged(release, tmp_path / "forged", change))
    assert any(finding in text for text in findings), findings
    assert not any(text.startswith("digest") for text in findings)


def test_another_seed_is_noticed(release, tmp_path):
    shutil.copytree(release.folder, tmp_path / "f")
    info = (tmp_path / "f" / INFO_FILE).read_text().replace('"seed": 7', '"seed": 8')
    (tmp_path / "f" / INFO_FILE).write_text(info)
    assert any("not the draw of seed 8" in text for text in verify_release(open_release(tmp_path / "f")))


def test_impossible_timing_is_refused(release, tmp_path):
    def dense(rows):
        rows[0]["event_s"] = rows[0]["interval_s"]

    with pytest.raises(CavedError, match="coverage"):
        verify_release(forged(release, tmp_path / "f", dense))


def test_any_change_of_a_row_breaks_the_digest(release, tmp_path):
    def rename(rows):
        rows[3]["background"] += "x"

    findings = verify_release(forged(release, tmp_path / "f", rename, digest_fits=False))
    assert findings[-1].startswith("digest: the content gives")


def test_changed_pixels_are_found(release, tmp_path):
    def repaint(rows):
        rows[5]["image"]["bytes"] = encode(Image.new("RGB", (64, 64), "red"))

    (finding,) = verify_release(forged_frames(release, tmp_path / "f", repaint))
    assert "holds other pixels" in finding


def test_broken_and_missing_and_surplus_frames_are_found(release, tmp_path):
    def spoil(rows):
        rows[0]["image"]["bytes"] = b"not an image"
        rows[1]["image"]["bytes"] = encode(Image.new("RGB", (32, 32)))
        rows[2]["frame_id"] = "f" * 64

    findings = "\n".join(verify_release(forged_frames(release, tmp_path / "f", spoil)))
    for text in (
        "cannot be decoded",
        "32 x 32, the canvas is 64 x 64",
        "frames are missing",
        "belong to no view",
        "digest",
    ):
        assert text in findings


def test_rows_are_not_changed_by_verifying(release):
    rows = [p.to_row() for p in release.probes(8)]
    before = copy.deepcopy(rows)
    verify_release(release)
    assert [p.to_row() for p in release.probes(8)] == before
