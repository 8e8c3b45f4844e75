"""When the sampled frames fall, and whether they meet the events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stimuli_builder.draws import draw_integer

Phase = Literal["on_grid", "in_gap"]
PHASES: tuple[Phase, ...] = ("on_grid", "in_gap")

BUDGETS = (8, 16, 24, 32, 48, 64)
INTERVAL_RANGE_S = (5.0, 11.0)
EVENT_RANGE_S = (1.8, 4.5)
COVERAGE_LIMIT = 0.7
SLOT_GAPS = (2, 3, 4)

# Times are whole milliseconds, and what is halved is drawn in steps of two: every phase, slot and frame
# time is then exact, so both slots are met at the same relative time to the last bit.
_STEP_MS = 2


def milliseconds(time_s: float) -> int:
    """`time_s` as whole milliseconds; release times carry no finer part."""
    return round(time_s * 1000)


@dataclass(frozen=True)
class Timing:
    """The draw that fixes one probe in time (video paper, "A Controlled Testbed" and "Implementation").

    Two events of `event_s` seconds start at `first_slot_s` and `slot_gap` intervals later, so every phase
    of a uniform grid meets both or neither. All times are multiples of 1 ms.

    Raises:
        ValueError: if coverage is not below 0.7, the events do not lie inside the video with a background
            frame between them, or a time is finer than the grid of milliseconds.
    """

    budget: int  # k, frames per view
    interval_s: float  # Δ, seconds between frames
    event_s: float  # d_e
    first_slot_s: float  # p1
    slot_gap: int  # m, at least 2: a background frame stays between the events on the sampled grid

    def __post_init__(self) -> None:
        for name in ("interval_s", "event_s", "first_slot_s"):
            value = getattr(self, name)
            if milliseconds(value) / 1000 != value:
                raise ValueError(f"{name} = {value} is not a whole number of milliseconds")
        for name in ("interval_s", "event_s"):
            if milliseconds(getattr(self, name)) % _STEP_MS:
                raise ValueError(f"{name} = {getattr(self, name)} has no exact half in milliseconds")
        if self.budget < 1:
            raise ValueError(f"a budget of {self.budget} frames samples nothing")
        if not 0 < self.event_s < COVERAGE_LIMIT * self.interval_s:
            raise ValueError(
                f"coverage d_e / Δ = {self.event_s} / {self.interval_s} must lie in (0, {COVERAGE_LIMIT}): "
                "otherwise no phase misses the events"
            )
        if self.slot_gap < 2:
            raise ValueError(f"slot gap {self.slot_gap} leaves no background frame between the events")
        if self.first_slot_s < 0 or self.second_slot_s + self.event_s > self.length_s:
            raise ValueError(
                f"the events at {self.first_slot_s} s and {self.second_slot_s} s do not fit into "
                f"a video of {self.length_s} s"
            )

    @property
    def length_s(self) -> float:
        """L = k Δ, the length of the virtual video."""
        return self.budget * milliseconds(self.interval_s) / 1000

    @property
    def coverage(self) -> float:
        """ρ = d_e / Δ; a phase can miss the events only while this is below 1."""
        return self.event_s / self.interval_s

    @property
    def second_slot_s(self) -> float:
        """p2 = p1 + m Δ, where the second event starts."""
        return (milliseconds(self.first_slot_s) + self.slot_gap * milliseconds(self.interval_s)) / 1000

    @property
    def slots_s(self) -> tuple[float, float]:
        """(p1, p2), where the events start."""
        return self.first_slot_s, self.second_slot_s

    def phase_s(self, phase: Phase) -> float:
        """τ in [0, Δ): on-grid the grid passes through the middle of both events, in-gap of the gap."""
        interval = milliseconds(self.interval_s)
        middle = milliseconds(self.first_slot_s) + milliseconds(self.event_s) // 2
        return (middle + (interval // 2 if phase == "in_gap" else 0)) % interval / 1000

    def frame_times_s(self, phase: Phase) -> list[float]:
        """The `budget` sampling times τ + i Δ of a phase, in seconds, ascending; all lie in [0, L)."""
        start, interval = milliseconds(self.phase_s(phase)), milliseconds(self.interval_s)
        return [(start + i * interval) / 1000 for i in range(self.budget)]

    def slot_at(self, time_s: float) -> int | None:
        """Which slot (0 or 1) is on screen at `time_s`, or None for background; slots are [p, p + d_e)."""
        for slot, start_s in enumerate(self.slots_s):
            if milliseconds(start_s) <= milliseconds(time_s) < milliseconds(start_s) + milliseconds(self.event_s):
                return slot
        return None

    def time_in_slot_s(self, time_s: float) -> float:
        """Seconds since the start of the event that is on screen at `time_s`.

        Raises:
            ValueError: if none is.
        """
        slot = self.slot_at(time_s)
        if slot is None:
            raise ValueError(f"no event is on screen at {time_s} s")
        return (milliseconds(time_s) - milliseconds(self.slots_s[slot])) / 1000


def _draw_ms(low_s: float, high_s: float, seed: int, *name: object) -> int:
    low, high = milliseconds(low_s), milliseconds(high_s)
    return _STEP_MS * draw_integer(-(-low // _STEP_MS), high // _STEP_MS, seed, *name)


def draw_timing(seed: int, probe_index: int, budget: int) -> Timing:
    """The timing of probe `probe_index`: Δ and d_e uniform in their ranges, then a slot that fits.

    Δ, d_e and m do not depend on the budget, so raising k lengthens the video at a fixed spacing (the
    dilution of the paper's Figure 2); p1 is uniform over what the length leaves.

    Raises:
        ValueError: for a budget that is odd (wrappers pair frames in time) or too small for two slots.
    """
    if budget % 2 or budget < 2 * max(SLOT_GAPS):
        raise ValueError(f"budget {budget}: use an even number of at least {2 * max(SLOT_GAPS)} frames")
    interval = _draw_ms(*INTERVAL_RANGE_S, seed, "interval", probe_index)
    longest = -(-interval * 7 // 10) - 1  # the largest whole number below 0.7 Δ
    event = _draw_ms(EVENT_RANGE_S[0], min(EVENT_RANGE_S[1], longest / 1000), seed, "event", probe_index)
    slot_gap = SLOT_GAPS[draw_integer(0, len(SLOT_GAPS) - 1, seed, "slot_gap", probe_index)]
    last_start = (budget - slot_gap) * interval - event
    first_slot = draw_integer(0, last_start, seed, "first_slot", probe_index)
    return Timing(
        budget=budget,
        interval_s=interval / 1000,
        event_s=event / 1000,
        first_slot_s=first_slot / 1000,
        slot_gap=slot_gap,
    )
