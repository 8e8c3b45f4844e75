"""The contact sheet shows the frames of the release, and outlines those of events."""

import numpy as np
import pytest
from PIL import ImageColor

from stimuli_builder.contact_sheet import _COLOURS, _MARGIN_PX, _THUMB_PX, contact_sheet
from stimuli_builder.errors import CavedError


@pytest.mark.parametrize("budget", [8, 16])
def test_event_frames_and_only_they_are_outlined(release, budget):
    stored = release.probes(budget)[2]
    sheet = np.asarray(contact_sheet(release, budget, stored.probe.probe))
    panel_px = 56 + _THUMB_PX + 22 + _MARGIN_PX
    top = sheet.shape[0] - len(stored.views) * panel_px
    for number, view in enumerate(stored.views):
        y = top + number * panel_px + 56
        for i, kind in enumerate(view.kinds):
            corner = tuple(sheet[y + 1, _MARGIN_PX + i * _THUMB_PX + 1])
            expected = (255, 255, 255) if kind == "background" else ImageColor.getrgb(_COLOURS[kind])
            assert corner == expected, (view.phase, view.twin, i, kind)


def test_thumbnails_are_the_frames(release):
    stored = release.probes(8)[0]
    sheet = contact_sheet(release, 8)
    panel_px = 56 + _THUMB_PX + 22 + _MARGIN_PX
    top = sheet.height - len(stored.views) * panel_px
    for number, view in enumerate(stored.views):
        for i, frame in enumerate(view.frames):
            left, y = _MARGIN_PX + i * _THUMB_PX + 3, top + number * panel_px + 56 + 3
            side = _THUMB_PX - 6
            shown = np.asarray(sheet.crop((left, y, left + side, y + side)).resize((64, 64)), dtype=int)
            assert np.abs(shown - np.asarray(release.frames(8).image(frame), dtype=int)).mean() < 12


def test_unknown_probes_are_named(release):
    with pytest.raises(CavedError, match="no probe p99999 at k = 8: the release has p00000 to p00015"):
        contact_sheet(release, 8, "p99999")
