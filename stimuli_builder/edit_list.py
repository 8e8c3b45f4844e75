"""Edit lists: for each view of a probe, which source shows at which of its times.

A virtual video is never rendered. A view lists k shots; each names a source and a time in it, and stands
for one real, decoded frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from stimuli_builder.catalogue import Source
from stimuli_builder.probes import Event, Probe
from stimuli_builder.timing import PHASES, Phase, milliseconds

Twin = Literal["+", "-"]
TWINS: tuple[Twin, Twin] = ("+", "-")
Kind = Literal["background", "e1", "e2"]
Arm = Literal["intact", "no_events", "placebo", "early_only", "late_only"]
ViewPhase = Literal["on_grid", "in_gap", "offset"]  # a phase of the main task, or an offset of the reversal test

# Source times are whole microseconds: half of a difference of decimals would else fall a hair short of the
# frame that begins just then.
_DECIMALS = 6


@dataclass(frozen=True)
class Shot:
    """One sampled instant of a virtual video."""

    time_s: float  # in the virtual video
    kind: Kind
    source: Source
    source_time_s: float


@dataclass(frozen=True)
class View:
    """What one sampling of one twin shows: its shots, times ascending."""

    arm: Arm
    twin: Twin
    phase: ViewPhase
    shots: tuple[Shot, ...]
    offset: int | None = None  # which of the reversal test's offsets, with the phase "offset" only


def event_source_time_s(event: Event, event_s: float, time_in_slot_s: float) -> float:
    """Where in its clip an event is `time_in_slot_s` after its start: clips are trimmed to their middle."""
    return round((event.clip_duration_s - event_s) / 2 + time_in_slot_s, _DECIMALS)


def background_source_time_s(duration_s: float, time_s: float) -> float:
    """Where a looped background is at `time_s` of the virtual video."""
    within_s = round(math.fmod(time_s, duration_s), _DECIMALS)
    return within_s if within_s < duration_s else 0.0


def background_shot(probe: Probe, time_s: float) -> Shot:
    """What the background shows at `time_s` of the virtual video, as if no event were there."""
    source_time_s = background_source_time_s(probe.background_duration_s, time_s)
    return Shot(time_s, "background", probe.background, source_time_s)


def shot_at(probe: Probe, twin: Twin, time_s: float) -> Shot:
    """What a twin shows at `time_s`: the event whose slot this is, else the background."""
    slot = probe.timing.slot_at(time_s)
    if slot is None:
        return background_shot(probe, time_s)
    # Twin + puts e1 into the first slot, twin - into the second.
    which = slot if twin == "+" else 1 - slot
    event = probe.events[which]
    source_time_s = event_source_time_s(event, probe.timing.event_s, probe.timing.time_in_slot_s(time_s))
    return Shot(time_s, ("e1", "e2")[which], event.clip, source_time_s)


def intact_view(probe: Probe, twin: Twin, phase: Phase) -> View:
    """A twin as it is, sampled in a phase."""
    times_s = probe.timing.frame_times_s(phase)
    return View("intact", twin, phase, tuple(shot_at(probe, twin, time_s) for time_s in times_s))


def intact_views(probe: Probe) -> list[View]:
    """Both twins in both phases."""
    return [intact_view(probe, twin, phase) for phase in PHASES for twin in TWINS]


def spans_s(probe: Probe, twin: Twin) -> list[tuple[float, float, Kind]]:
    """(start, end, kind) of the events of a twin in the virtual video, for a drawing of its time line."""
    order: tuple[Kind, Kind] = ("e1", "e2") if twin == "+" else ("e2", "e1")
    return [
        (start, (milliseconds(start) + milliseconds(probe.timing.event_s)) / 1000, kind)
        for start, kind in zip(probe.timing.slots_s, order, strict=True)
    ]
