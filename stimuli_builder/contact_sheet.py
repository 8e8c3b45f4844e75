"""One probe as a picture: both twins in both phases, every frame, the event frames outlined."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from stimuli_builder.edit_list import Kind, spans_s
from stimuli_builder.errors import CavedError
from stimuli_builder.release import FrameStore, Release
from stimuli_builder.release_schema import StoredProbe, StoredView

FONT_PATH = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"

_COLOURS: dict[Kind, str] = {"e1": "#d9480f", "e2": "#1864ab", "background": "#868e96"}
_THUMB_PX = 112
_PER_LINE = 16
_MARGIN_PX = 14
_INK = "#212529"


def _font(size_px: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONT_PATH), size_px, layout_engine=ImageFont.Layout.BASIC)


def _panel(stored: StoredProbe, view: StoredView, store: FrameStore) -> Image.Image:
    """One view: a heading, the time line of its twin with the sampled instants, its frames with their times."""
    timing = stored.probe.timing
    per_line = min(_PER_LINE, timing.budget)
    lines = -(-timing.budget // per_line)
    width = per_line * _THUMB_PX
    panel = Image.new("RGB", (width, 56 + lines * (_THUMB_PX + 22)), "white")
    draw = ImageDraw.Draw(panel)
    events = sum(kind != "background" for kind in view.kinds)
    heading = f"twin {view.twin}, {view.phase.replace('_', '-')}: {events} event frames of {timing.budget}"
    draw.text((0, 0), heading, font=_font(16), fill=_INK)

    def x_at(time_s: float) -> float:
        return time_s / timing.length_s * (width - 1)

    draw.rectangle((0, 30, width - 1, 42), fill="#e9ecef")
    for start_s, end_s, kind in spans_s(stored.probe, view.twin):
        draw.rectangle((x_at(start_s), 26, max(x_at(end_s), x_at(start_s) + 2), 46), fill=_COLOURS[kind])
    for time_s in view.times_s:
        draw.line((x_at(time_s), 24, x_at(time_s), 48), fill=_INK, width=1)

    for i, (frame, kind, time_s) in enumerate(zip(view.frames, view.kinds, view.times_s, strict=True)):
        left, top = (i % per_line) * _THUMB_PX, 56 + (i // per_line) * (_THUMB_PX + 22)
        thumb = store.image(frame).resize((_THUMB_PX - 6, _THUMB_PX - 6), Image.Resampling.LANCZOS)
        if kind != "background":
            draw.rectangle((left, top, left + _THUMB_PX - 1, top + _THUMB_PX - 1), fill=_COLOURS[kind])
        panel.paste(thumb, (left + 3, top + 3))
        label = f"{time_s:.1f} s" + ("" if kind == "background" else f"  {kind}")
        draw.text((left + 4, top + _THUMB_PX + 1), label, font=_font(12), fill=_COLOURS[kind])
    return panel


def contact_sheet(release: Release, budget: int, probe_name: str | None = None) -> Image.Image:
    """The contact sheet of one probe (the first one, if none is named).

    Raises:
        CavedError: if the release has no such probe or budget.
    """
    probes = release.probes(budget)
    names = [stored.probe.probe for stored in probes]
    if probe_name is not None and probe_name not in names:
        raise CavedError(f"no probe {probe_name} at k = {budget}: the release has {names[0]} to {names[-1]}")
    stored = probes[0 if probe_name is None else names.index(probe_name)]
    store = release.frames(budget)
    panels = [_panel(stored, view, store) for view in stored.views if view.arm == "intact"]

    probe, timing = stored.probe, stored.probe.timing
    texts = [
        f"probe {probe.probe}, k = {timing.budget}   Δ = {timing.interval_s:.3f} s   "
        f"d_e = {timing.event_s:.3f} s   ρ = {timing.coverage:.2f}   m = {timing.slot_gap}   "
        f"L = {timing.length_s:.1f} s",
        f"e1: {probe.e1.phrase}  ({probe.e1.clip.name})",
        f"e2: {probe.e2.phrase}  ({probe.e2.clip.name})",
        f"background: {probe.background.name}, {probe.background_duration_s:.1f} s, looped     "
        f"claim: {probe.claimed_order.replace('_', ' ')}",
    ]
    header_px = 26 * len(texts) + 10
    width = max(p.width for p in panels) + 2 * _MARGIN_PX
    sheet = Image.new("RGB", (width, header_px + sum(p.height + _MARGIN_PX for p in panels) + _MARGIN_PX), "white")
    draw = ImageDraw.Draw(sheet)
    colours = (_INK, _COLOURS["e1"], _COLOURS["e2"], _INK)
    for i, (text, colour) in enumerate(zip(texts, colours, strict=True)):
        draw.text((_MARGIN_PX, _MARGIN_PX + 26 * i), text, font=_font(17), fill=colour)
    top = header_px + _MARGIN_PX
    for panel in panels:
        sheet.paste(panel, (_MARGIN_PX, top))
        top += panel.height + _MARGIN_PX
    return sheet
