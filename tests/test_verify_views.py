"""`caved verify` on arms and offsets: each rule has a release that breaks it, with a digest that fits."""

import copy
import json
import shutil

import pytest
from forging import forged, forged_frames, redo_digest, view

from stimuli_builder.errors import CavedError
from stimuli_builder.release import open_release
from stimuli_builder.release_info import INFO_FILE
from stimuli_builder.verify import verify_release


def arm(row: dict, name: str, twin: str) -> dict:
    return view(row, name, "on_grid", twin)


def look(row: dict, frames: int, offset: int, twin: str) -> dict:
    return view(row, "intact", "offset", twin, offset, frames)


def event_at(v: dict) -> int:
    return next(i for i, kind in enumerate(v["kinds"]) if kind != "background")


def copy_shot(source: dict, target: dict, i: int) -> None:
    for name in ("kinds", "source_times_s", "frames"):
        target[name][i] = source[name][i]


def keep_an_event(rows):
    intact = arm(rows[0], "intact", "+")
    for twin in "+-":
        copy_shot(intact, arm(rows[0], "no_events", twin), event_at(intact))


def other_background_in_one_twin(rows):
    v = arm(rows[0], "no_events", "+")
    v["frames"][0] = v["frames"][1]


def exchange_early_and_late(rows):
    for v in rows[0]["views"]:
        v["arm"] = {"early_only": "late_only", "late_only": "early_only"}.get(v["arm"], v["arm"])


def exchange_the_twins_of_an_arm(rows):
    for v in rows[0]["views"]:
        if v["arm"] == "early_only":
            v["twin"] = {"+": "-", "-": "+"}[v["twin"]]


def remove_both_from_early_only(rows):
    for twin in "+-":
        no_events, early = arm(rows[0], "no_events", twin), arm(rows[0], "early_only", twin)
        early.update({name: list(no_events[name]) for name in ("kinds", "source_times_s", "frames")})


def placebo_that_replaces_nothing(rows):
    for twin in "+-":
        intact, placebo = arm(rows[0], "intact", twin), arm(rows[0], "placebo", twin)
        placebo.update({name: list(intact[name]) for name in ("kinds", "source_times_s", "frames")})


def placebo_elsewhere(rows):
    """The same two frames, at two other positions."""
    for twin in "+-":
        intact, placebo = arm(rows[0], "intact", twin), arm(rows[0], "placebo", twin)
        backgrounds = [i for i, kind in enumerate(intact["kinds"]) if kind == "background"]
        changed = [i for i in backgrounds if placebo["source_times_s"][i] != intact["source_times_s"][i]]
        for i, j in zip(changed, [i for i in backgrounds if i not in changed], strict=False):
            copy_shot({name: {j: placebo[name][i]} for name in placebo if isinstance(placebo[name], list)}, placebo, j)
            copy_shot(intact, placebo, i)


def placebo_with_other_instants(rows):
    """The right positions, but the two replacements exchanged."""
    for twin in "+-":
        intact, placebo = arm(rows[0], "intact", twin), arm(rows[0], "placebo", twin)
        i, j = (
            i
            for i, (a, b) in enumerate(zip(intact["source_times_s"], placebo["source_times_s"], strict=True))
            if a != b
        )
        for name in ("source_times_s", "frames"):
            placebo[name][i], placebo[name][j] = placebo[name][j], placebo[name][i]


def placebo_with_one_frame_fewer(rows):
    for twin in "+-":
        intact, placebo = arm(rows[0], "intact", twin), arm(rows[0], "placebo", twin)
        copy_shot(
            intact,
            placebo,
            next(i for i, t in enumerate(placebo["source_times_s"]) if t not in intact["source_times_s"]),
        )


def placebo_in_one_twin_only(rows):
    intact, placebo = arm(rows[0], "intact", "-"), arm(rows[0], "placebo", "-")
    placebo.update({name: list(intact[name]) for name in ("kinds", "source_times_s", "frames")})


def placebo_that_takes_an_event(rows):
    for twin in "+-":
        copy_shot(
            arm(rows[0], "no_events", twin), arm(rows[0], "placebo", twin), event_at(arm(rows[0], "intact", twin))
        )


def lose_an_arm(rows):
    rows[0]["views"] = [v for v in rows[0]["views"] if v["arm"] != "placebo"]


def lose_one_twin_of_an_arm(rows):
    rows[0]["views"].remove(arm(rows[0], "late_only", "-"))


def arm_in_the_gap(rows):
    rows[0]["views"].append({**copy.deepcopy(view(rows[0], "intact", "in_gap", "+")), "arm": "no_events"})


def arm_of_another_name(rows):
    arm(rows[0], "placebo", "+")["arm"] = "sugar"


def arm_twice(rows):
    rows[0]["views"].append(copy.deepcopy(arm(rows[0], "early_only", "+")))


def offset_in_a_budget(rows):
    view(rows[0], "intact", "in_gap", "+").update(phase="offset", offset=0)


def another_frame_for_one_instant(rows):
    for twin in "+-":
        v = arm(rows[0], "no_events", twin)
        v["frames"][0] = v["frames"][1]


def exchange_the_events_in_every_view(rows):
    """Consistent within the row; the other budget shows the same instants of the same clips."""
    intact = arm(rows[0], "intact", "+")
    first, second = (intact["frames"][intact["kinds"].index(kind)] for kind in ("e1", "e2"))
    for v in rows[0]["views"]:
        v["frames"] = [{first: second, second: first}.get(frame, frame) for frame in v["frames"]]


def no_in_gap_views(rows):
    rows[0]["views"] = [v for v in rows[0]["views"] if v["phase"] != "in_gap"]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (keep_an_event, "no_events on_grid +: at"),
        (keep_an_event, "no_events on_grid: the twins differ at frames [], their events lie at"),
        (keep_an_event, "1 and 0 event frames, which no_events on_grid + cannot have"),
        (other_background_in_one_twin, "no_events on_grid: the twins differ in 1 frames, without an event they must"),
        (another_frame_for_one_instant, "is another frame than elsewhere in the release"),
        (exchange_the_events_in_every_view, "is another frame than elsewhere in the release"),
        (exchange_early_and_late, "early_only on_grid +: at"),
        (exchange_early_and_late, "0 and 1 event frames, which early_only on_grid + cannot have"),
        (exchange_the_twins_of_an_arm, "0 and 1 event frames, which early_only on_grid + cannot have"),
        (remove_both_from_early_only, "shows background where the timing puts e1"),
        (remove_both_from_early_only, "early_only replaces the frames"),
        (placebo_that_replaces_nothing, "placebo replaces the frames [[], []] of the twins, not 2 of each"),
        (placebo_elsewhere, "placebo on_grid +: at"),
        (placebo_with_other_instants, "placebo on_grid -: at"),
        (placebo_with_one_frame_fewer, "placebo replaces the frames"),
        (placebo_in_one_twin_only, "placebo on_grid: the twins"),
        (placebo_that_takes_an_event, "placebo on_grid +: at"),
        (lose_an_arm, "placebo on_grid + is missing"),
        (lose_one_twin_of_an_arm, "late_only on_grid - is missing"),
        (arm_in_the_gap, "no_events in_gap + is no view of this part"),
        (arm_of_another_name, "sugar on_grid + is no view of this part"),
        (arm_twice, "a view is listed twice"),
        (offset_in_a_budget, "offset 0 of 8 frames + is no view of this part"),
        (no_in_gap_views, "its placebo cannot be drawn again"),
    ],
)
def test_each_fault_of_an_arm_is_named(release, tmp_path, change, finding):
    findings = verify_release(forged(release, tmp_path / "forged", change), pixels=False)
    assert any(finding in text for text in findings), findings
    assert not any(text.startswith("digest") for text in findings)


def shift_an_offset(rows):
    for twin in "+-":
        times = look(rows[0], 16, 1, twin)["times_s"]
        times[:] = [t + 0.001 for t in times]


def exchange_two_offsets(rows):
    for v in rows[0]["views"]:
        if len(v["frames"]) == 16:
            v["offset"] = 1 - v["offset"]


def lose_an_offset(rows):
    rows[0]["views"] = [v for v in rows[0]["views"] if (v["offset"], len(v["frames"])) != (1, 32)]


def offset_twice(rows):
    rows[0]["views"].append(copy.deepcopy(look(rows[0], 8, 0, "+")))


def offset_of_another_number(rows):
    for twin in "+-":
        look(rows[0], 32, 1, twin)["offset"] = 2


def look_of_another_length(rows):
    v = look(rows[0], 32, 0, "+")
    for name in ("times_s", "kinds", "source_times_s", "frames"):
        v[name] = v[name][:24]


def frames_of_a_look_cut(rows):
    look(rows[0], 32, 0, "+")["frames"].pop()


def exchange_the_twins_of_a_look(rows):
    for v in rows[0]["views"]:
        if len(v["frames"]) == 32:
            v["twin"] = {"+": "-", "-": "+"}[v["twin"]]


def look_at_both_events(row: dict, twin: str) -> dict:
    return next(v for v in row["views"] if {"e1", "e2"} <= set(v["kinds"]) and v["twin"] == twin)


def hide_an_event(rows):
    """Background where the second twin shows an event."""
    v = look_at_both_events(rows[0], "-")
    i = event_at(v)
    v["kinds"][i], v["frames"][i] = "background", v["frames"][0]


def exchange_frames_of_a_look(rows):
    for twin in "+-":
        frames, kinds = look(rows[0], 32, 0, twin)["frames"], look(rows[0], 32, 0, twin)["kinds"]
        i = kinds.index("background")
        j = next(j for j, kind in enumerate(kinds) if kind == "background" and frames[j] != frames[i])
        frames[i], frames[j] = frames[j], frames[i]


def event_frame_as_background(rows):
    v = look_at_both_events(rows[0], "+")
    v["frames"][v["kinds"].index("background")] = v["frames"][event_at(v)]


def reversed_view_stored(rows):
    v = look(rows[0], 16, 0, "+")
    v["frames"] = v["frames"][::-1]


def another_claim(rows):
    rows[0]["claimed_order"] = {"e1_first": "e2_first", "e2_first": "e1_first"}[rows[0]["claimed_order"]]


def another_length_of_the_background(rows):
    rows[0]["background_duration_s"] += 1.0


def another_clip_length(rows):
    rows[0]["e1_clip_duration_s"] += 0.02


def intact_views_of_the_budget(rows):
    rows[0]["views"][0].update(phase="on_grid", offset=None)


def another_budget(rows):
    rows[0]["budget"] = 32


def unknown_frame(rows):
    for twin in "+-":
        look(rows[0], 8, 0, twin)["frames"][0] = "0" * 64


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (shift_an_offset, "offset 1 of 16 frames +: its times are not this offset of seed 7"),
        (exchange_two_offsets, "offset 0 of 16 frames +: its times are not this offset of seed 7"),
        (lose_an_offset, "offset 1 of 32 frames + is missing"),
        (offset_twice, "a view is listed twice"),
        (offset_of_another_number, "offset 2 of 32 frames + is no view of this part"),
        (look_of_another_length, "offset 0 of 24 frames + is no view of this part"),
        (frames_of_a_look_cut, "offset 0 of 32 frames +: lists of [31, 32] entries"),
        (exchange_the_twins_of_a_look, "where the timing puts"),
        (hide_an_event, "shows background where the timing puts e"),
        (hide_an_event, "the twins do not show the same set of frames"),
        (exchange_frames_of_a_look, "is another frame than elsewhere"),
        (event_frame_as_background, "an event frame is also used as background"),
        (reversed_view_stored, "is another frame than elsewhere"),
        (another_claim, "reversal p00000 is not the probe of k=16"),
        (another_length_of_the_background, "reversal p00000 is not the probe of k=16"),
        (another_clip_length, "reversal p00000 is not the probe of k=16"),
        (intact_views_of_the_budget, "intact on_grid + is no view of this part"),
        (another_budget, "is a probe of k = 32"),
        (unknown_frame, "offset 0 of 8 frames +: frames are missing"),
    ],
)
def test_each_fault_of_an_offset_is_named(reversal_release, tmp_path, change, finding):
    findings = verify_release(forged(reversal_release, tmp_path / "forged", change, "reversal"), pixels=False)
    assert any(finding in text for text in findings), findings
    assert not any(text.startswith("digest") for text in findings)


def test_a_whole_part_of_other_offsets_is_noticed(reversal_release, tmp_path):
    """Every number of every row recomputed, for the offsets of another seed: only the seed tells."""
    shutil.copytree(reversal_release.folder, tmp_path / "f")
    findings = verify_release(redo_digest(tmp_path / "f", seed=8), pixels=False)
    assert any("its times are not this offset of seed 8" in text for text in findings)
    assert any("placebo on_grid +: at" in text for text in findings)


@pytest.mark.parametrize("offsets", [1, 3])
def test_another_number_of_offsets_is_noticed(reversal_release, tmp_path, offsets):
    shutil.copytree(reversal_release.folder, tmp_path / "f")
    findings = verify_release(redo_digest(tmp_path / "f", reversal_offsets=offsets), pixels=False)
    wanted = "offset 2 of 8 frames + is missing" if offsets == 3 else "offset 1 of 8 frames + is no view of this part"
    assert any(wanted in text for text in findings)


def test_a_part_that_the_release_does_not_list_is_noticed(reversal_release, tmp_path):
    shutil.copytree(reversal_release.folder, tmp_path / "f")
    findings = verify_release(redo_digest(tmp_path / "f", reversal_offsets=0), pixels=False)
    assert findings == ["there are files of parts that the release does not list: reversal"]


@pytest.mark.parametrize(("field", "value"), [("reversal_offsets", 17), ("reversal_offsets", "2"), ("budgets", [8])])
def test_impossible_descriptions_are_refused(reversal_release, tmp_path, field, value):
    shutil.copytree(reversal_release.folder, tmp_path / "f")
    fields = {**json.loads((tmp_path / "f" / INFO_FILE).read_text()), field: value}
    (tmp_path / "f" / INFO_FILE).write_text(json.dumps(fields))
    with pytest.raises(CavedError, match="odd fields"):
        open_release(tmp_path / "f")


def test_parts_cannot_trade_places(release, tmp_path):
    """The digest says which part a row belongs to, so tables that were exchanged do not pass for the release."""
    shutil.copytree(release.folder, tmp_path / "f")
    probes = tmp_path / "f" / "probes"
    (probes / "k8.parquet").rename(probes / "x")
    (probes / "k16.parquet").rename(probes / "k8.parquet")
    (probes / "x").rename(probes / "k16.parquet")
    exchanged = open_release(tmp_path / "f")
    assert exchanged.content_digest() != exchanged.info.digest
    assert any("is a probe of k = 8" in text for text in verify_release(exchanged, pixels=False))


def test_surplus_and_changed_frames_of_the_reversal_part(reversal_release, tmp_path):
    def spoil(rows):
        rows[0]["image"]["bytes"] = b"not an image"
        rows[1]["frame_id"] = "f" * 64

    findings = "\n".join(verify_release(forged_frames(reversal_release, tmp_path / "f", spoil, "reversal")))
    for text in ("reversal: frame", "cannot be decoded", "frames are missing", "belong to no view", "digest"):
        assert text in findings
