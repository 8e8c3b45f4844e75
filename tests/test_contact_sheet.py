"""The contact sheet shows the frames of the release, and outlines those of events."""

import numpy as np
import pytest
from PIL import ImageColor

from stimuli_builder.contact_sheet import _COLOURS, _MARGIN_PX, _REPLACED, _THUMB_PX, contact_sheet
from stimuli_builder.errors import CavedError


def colours_of_corners(sheet, views, per_line: int) -> list[list[tuple[int, ...]]]:
    """The outline of each frame of each view of a sheet; white where it has none."""
    heights = [56 + -(-len(view.frames) // per_line) * (_THUMB_PX + 22) + _MARGIN_PX for view in views]
    pixels, top, found = np.asarray(sheet), sheet.height - sum(heights), []
    for view, height in zip(views, heights, strict=True):
        places = [
            (top + 56 + i // per_line * (_THUMB_PX + 22), i % per_line * _THUMB_PX) for i in range(len(view.frames))
        ]
        found.append([tuple(int(c) for c in pixels[y + 1, _MARGIN_PX + x + 1]) for y, x in places])
        top += height
    return found


def outline(kind: str, replaced: bool = False) -> tuple[int, ...]:
    if replaced:
        return ImageColor.getrgb(_REPLACED)
    return (255, 255, 255) if kind == "background" else ImageColor.getrgb(_COLOURS[kind])


@pytest.mark.parametrize("budget", [8, 16])
def test_event_frames_and_only_they_are_outlined(release, budget):
    stored = release.probes(budget)[2]
    views = [v for v in stored.views if v.arm == "intact"]
    found = colours_of_corners(contact_sheet(release, budget, stored.probe.probe), views, budget)
    assert found == [[outline(kind) for kind in view.kinds] for view in views]


def test_a_sheet_of_the_on_grid_phase_alone(release):
    views = [v for v in release.probes(8)[2].views if (v.arm, v.phase) == ("intact", "on_grid")]
    sheet = contact_sheet(release, 8, "p00002", "on_grid")
    assert colours_of_corners(sheet, views, 8) == [[outline(kind) for kind in view.kinds] for view in views]
    assert sheet.height < contact_sheet(release, 8, "p00002").height


def test_arms_outline_what_they_replace(release):
    stored = release.probes(8)[2]
    views = [v for v in stored.views if v.phase == "on_grid"]
    assert len(views) == 10
    found = colours_of_corners(contact_sheet(release, 8, "p00002", "arms"), views, 8)
    intact = {v.twin: v for v in views if v.arm == "intact"}
    for view, corners in zip(views, found, strict=True):
        replaced = [a != b for a, b in zip(view.frames, intact[view.twin].frames, strict=True)]
        assert corners == [outline(kind, r) for kind, r in zip(view.kinds, replaced, strict=True)], view.arm


@pytest.mark.parametrize("frames", [None, 8, 16, 32])
def test_reversal_sheet_shows_every_offset_of_the_earlier_event_first(reversal_release, frames):
    stored = reversal_release.probes("reversal")[1]
    views = [v for v in stored.views if v.twin == "+" and frames in (None, len(v.frames))]
    assert len(views) == (6 if frames is None else 2)
    sheet = contact_sheet(reversal_release, frames, "p00001", "reversal")
    found = colours_of_corners(sheet, views, min(frames or 16, 16))
    assert found == [[outline(kind) for kind in view.kinds] for view in views]


def test_sheets_that_cannot_be_drawn(release, reversal_release):
    for arguments, message in (
        ((release, None, None, "reversal"), "no part reversal"),
        ((reversal_release, 24, None, "reversal"), "no views of 24 frames: choose from 8, 16, 32"),
        ((reversal_release, None, "p99999", "reversal"), "no probe p99999 at reversal"),
        ((reversal_release, 8, None, "arms"), "no probes with k = 8"),
    ):
        with pytest.raises(CavedError, match=message):
            contact_sheet(*arguments)


def test_thumbnails_are_the_frames(release):
    stored = release.probes(8)[0]
    views = [v for v in stored.views if v.arm == "intact"]
    sheet = contact_sheet(release, 8)
    panel_px = 56 + _THUMB_PX + 22 + _MARGIN_PX
    top = sheet.height - len(views) * panel_px
    for number, view in enumerate(views):
        for i, frame in enumerate(view.frames):
            left, y = _MARGIN_PX + i * _THUMB_PX + 3, top + number * panel_px + 56 + 3
            side = _THUMB_PX - 6
            shown = np.asarray(sheet.crop((left, y, left + side, y + side)).resize((64, 64)), dtype=int)
            assert np.abs(shown - np.asarray(release.frames(8).image(frame), dtype=int)).mean() < 12


def test_unknown_probes_are_named(release):
    with pytest.raises(CavedError, match="no probe p99999 at k = 8: the release has p00000 to p00015"):
        contact_sheet(release, 8, "p99999")
