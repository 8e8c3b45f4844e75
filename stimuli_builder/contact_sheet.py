"""One probe as a picture: every frame of some of its views, those of events and replaced ones outlined."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

from stimuli_builder.edit_list import Kind, spans_s
from stimuli_builder.errors import CavedError
from stimuli_builder.offsets import REVERSAL_BUDGETS
from stimuli_builder.parts import REVERSAL, Part, part_name
from stimuli_builder.release import FrameStore, Release
from stimuli_builder.release_schema import StoredProbe, StoredView

FONT_PATH = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"

Show = Literal["intact", "on_grid", "arms", "reversal"]
SHOWS: tuple[Show, ...] = ("intact", "on_grid", "arms", "reversal")

_COLOURS: dict[Kind, str] = {"e1": "#d9480f", "e2": "#1864ab", "background": "#868e96"}
_REPLACED = "#2b8a3e"
_THUMB_PX = 112
_PER_LINE = 16
_MARGIN_PX = 14
_INK = "#212529"


def _font(size_px: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONT_PATH), size_px, layout_engine=ImageFont.Layout.BASIC)


def _heading(view: StoredView) -> str:
    events = sum(kind != "background" for kind in view.kinds)
    if view.phase == "offset":
        where = f"offset {view.offset} of {len(view.frames)} frames"
    else:
        where = view.phase.replace("_", "-") + ("" if view.arm == "intact" else f", {view.arm.replace('_', ' ')}")
    return f"twin {view.twin}, {where}: {events} event frames of {len(view.frames)}"


def _replaced(stored: StoredProbe, view: StoredView) -> set[int]:
    """The positions at which an arm shows something else than the intact view of its twin and phase."""
    for intact in stored.views:
        same = (intact.arm, intact.twin, intact.phase) == ("intact", view.twin, view.phase)
        if same and view.phase != "offset":
            ours = zip(view.kinds, view.source_times_s, strict=True)
            theirs = zip(intact.kinds, intact.source_times_s, strict=True)
            return {i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b}
    return set()


def _panel(stored: StoredProbe, view: StoredView, store: FrameStore, per_line: int) -> Image.Image:
    """One view: a heading, the time line of its twin with the sampled instants, its frames with their times."""
    timing = stored.probe.timing
    lines = -(-len(view.frames) // per_line)
    width = per_line * _THUMB_PX
    panel = Image.new("RGB", (width, 56 + lines * (_THUMB_PX + 22)), "white")
    draw = ImageDraw.Draw(panel)
    draw.text((0, 0), _heading(view), font=_font(16), fill=_INK)
    replaced = _replaced(stored, view)

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
        colour = _REPLACED if i in replaced else _COLOURS[kind]
        if kind != "background" or i in replaced:
            draw.rectangle((left, top, left + _THUMB_PX - 1, top + _THUMB_PX - 1), fill=colour)
        panel.paste(thumb, (left + 3, top + 3))
        what = "  replaced" if i in replaced else "" if kind == "background" else f"  {kind}"
        draw.text((left + 4, top + _THUMB_PX + 1), f"{time_s:.1f} s{what}", font=_font(12), fill=colour)
    return panel


def _shown(stored: StoredProbe, show: Show, budget: int | None) -> list[StoredView]:
    if show == "intact":
        return [view for view in stored.views if view.arm == "intact"]
    if show == "on_grid":
        return [view for view in stored.views if view.arm == "intact" and view.phase == "on_grid"]
    if show == "arms":
        return [view for view in stored.views if view.phase == "on_grid"]
    # Twin - has the same times, with e1 and e2 exchanged.
    return [view for view in stored.views if view.twin == "+" and budget in (None, len(view.frames))]


def contact_sheet(
    release: Release, budget: int | None = None, probe_name: str | None = None, show: Show = "intact"
) -> Image.Image:
    """The contact sheet of one probe (the first one, if none is named).

    Args:
        release: an opened release.
        budget: frames per view; left out: the smallest, or all of them in the reversal test.
        probe_name: such as "p00003".
        show: "intact" both twins in both phases, "on_grid" both twins in that one, "arms" both twins on-grid in
            every arm, "reversal" twin + at every offset of the reversal test.

    Raises:
        CavedError: if the release has no such probe, budget or part.
    """
    part: Part = REVERSAL if show == "reversal" else release.info.budgets[0] if budget is None else budget
    if show == "reversal" and budget not in (None, *REVERSAL_BUDGETS):
        allowed = ", ".join(map(str, REVERSAL_BUDGETS))
        raise CavedError(f"the reversal test has no views of {budget} frames: choose from {allowed}")
    probes = release.probes(part)
    names = [stored.probe.probe for stored in probes]
    if probe_name is not None and probe_name not in names:
        where = f"k = {part}" if part != REVERSAL else part_name(part)
        raise CavedError(f"no probe {probe_name} at {where}: the release has {names[0]} to {names[-1]}")
    stored = probes[0 if probe_name is None else names.index(probe_name)]
    views = _shown(stored, show, budget)
    per_line = min(_PER_LINE, max(len(view.frames) for view in views))
    store = release.frames(part)
    return _sheet(stored, [_panel(stored, view, store, per_line) for view in views])


def _sheet(stored: StoredProbe, panels: Sequence[Image.Image]) -> Image.Image:
    """Panels below one another, under what is known of the probe."""
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
