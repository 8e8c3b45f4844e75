"""Arms: the on-grid views with some frames replaced, which tell what the frames of the events do.

Paper, "Frame Attribution" and "Single Sampled Event". Replaced frames are real background at the same
number of frames; the times of a view never change.

    no_events    both event frames give way to the background at their instants; the twins become identical
    placebo      as many background frames give way to other frames of that background; both events stay
    early_only   the event of the later slot gives way, that of the earlier one stays
    late_only    the reverse
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from stimuli_builder.draws import draw_order
from stimuli_builder.edit_list import (
    TWINS,
    Arm,
    Shot,
    Twin,
    View,
    background_shot,
    background_source_time_s,
    intact_view,
)
from stimuli_builder.probes import Probe
from stimuli_builder.timing import Phase

ARMS: tuple[Arm, ...] = ("intact", "no_events", "placebo", "early_only", "late_only")
# The slots whose event gives way to the background.
REMOVED_SLOTS: dict[Arm, tuple[int, ...]] = {"no_events": (0, 1), "early_only": (1,), "late_only": (0,)}
PLACEBO_FRAMES = 2  # as many as there are event frames on-grid
PLACEBO_DISTANCE_S = 0.5  # in the background; neighbouring frames of a video look alike


def _without(probe: Probe, view: View, arm: Arm) -> View:
    def shot(intact: Shot) -> Shot:
        slot = probe.timing.slot_at(intact.time_s)
        return background_shot(probe, intact.time_s) if slot in REMOVED_SLOTS[arm] else intact

    return replace(view, arm=arm, shots=tuple(map(shot, view.shots)))


def removal_views(probe: Probe) -> list[View]:
    """The arms that replace events by the background at their instants: no_events, early_only, late_only."""
    on_grid = {twin: intact_view(probe, twin, "on_grid") for twin in TWINS}
    return [_without(probe, on_grid[twin], arm) for arm in REMOVED_SLOTS for twin in TWINS]


def placebo_positions(probe: Probe, seed: int) -> list[int]:
    """Which frames of the on-grid views the placebo replaces, ascending: a draw of background frames."""
    timing = probe.timing
    free = [i for i, time_s in enumerate(timing.frame_times_s("on_grid")) if timing.slot_at(time_s) is None]
    return sorted(draw_order(free, str, seed, "placebo_position", probe.index)[:PLACEBO_FRAMES])


def _instants_s(probe: Probe, phase: Phase) -> list[float]:
    """Where the background is at each frame of a phase, whether an event covers it or not."""
    return [background_source_time_s(probe.background_duration_s, t) for t in probe.timing.frame_times_s(phase)]


def placebo_instants_s(probe: Probe, seed: int) -> dict[int, list[float]]:
    """For each replaced position, the source times that may stand in for its own, in a drawn order.

    They are instants that the in-gap views show and the on-grid views do not, half a second or more from
    what they replace: other frames of the same background, which the release holds anyway. Where the loop
    of a background divides the interval, both grids meet the same few instants of it over and over; half a
    turn of the loop is then another one.
    """
    own, duration_s = _instants_s(probe, "on_grid"), probe.background_duration_s
    others = sorted(set(_instants_s(probe, "in_gap")) - set(own))

    def candidates(position: int) -> list[float]:
        apart = [abs(t - own[position]) for t in others]
        far = [t for t, s in zip(others, apart, strict=True) if min(s, duration_s - s) >= PLACEBO_DISTANCE_S]
        if len(far) < PLACEBO_FRAMES:
            return [background_source_time_s(duration_s, own[position] + duration_s / 2)]
        return draw_order(far, repr, seed, "placebo_instant", probe.index, position)

    return {position: candidates(position) for position in placebo_positions(probe, seed)}


def placebo_source_times_s(probe: Probe, seed: int, frame_at: Callable[[float], str]) -> dict[int, float]:
    """For each replaced position, the source time that it shows instead.

    The first instant in the drawn order whose frame the view does not show yet, else the first whose frame
    is another one than the replaced, else the first: a background that stands still has no other frame.

    Args:
        probe: the probe.
        seed: of the release.
        frame_at: the frame id of the probe's background at a source time.
    """
    own, slot_at = _instants_s(probe, "on_grid"), probe.timing.slot_at
    times_s = probe.timing.frame_times_s("on_grid")
    shown = {frame_at(own[i]) for i, time_s in enumerate(times_s) if slot_at(time_s) is None}
    chosen: dict[int, float] = {}
    for position, instants in placebo_instants_s(probe, seed).items():
        replaced = frame_at(own[position])
        free = [t for t in instants if t not in chosen.values()] or instants
        unlike = [t for t in free if frame_at(t) != replaced] or free
        chosen[position] = next((t for t in unlike if frame_at(t) not in shown), unlike[0])
        shown.add(frame_at(chosen[position]))
    return chosen


def placebo_views(probe: Probe, seed: int, frame_at: Callable[[float], str]) -> list[View]:
    """The placebo of both twins: the same positions and the same frames in both (arguments as above)."""
    instead = placebo_source_times_s(probe, seed, frame_at)

    def placebo(twin: Twin) -> View:
        view = intact_view(probe, twin, "on_grid")
        shots = tuple(
            replace(shot, source_time_s=instead[i]) if i in instead else shot for i, shot in enumerate(view.shots)
        )
        return replace(view, arm="placebo", shots=shots)

    return [placebo(twin) for twin in TWINS]
