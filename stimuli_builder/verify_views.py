"""What each view of a probe must be: its times, its shots, and how it relates to that of the other twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from stimuli_builder.arms import ARMS, REMOVED_SLOTS, placebo_source_times_s
from stimuli_builder.edit_list import (
    TWINS,
    Arm,
    Kind,
    Twin,
    ViewPhase,
    background_source_time_s,
    event_source_time_s,
)
from stimuli_builder.offsets import REVERSAL_BUDGETS, VIDEO_BUDGET, draw_offsets
from stimuli_builder.parts import Part
from stimuli_builder.probes import Probe
from stimuli_builder.release import FrameStore
from stimuli_builder.release_schema import StoredProbe, StoredView
from stimuli_builder.timing import PHASES, milliseconds


@dataclass(frozen=True)
class Place:
    """Which view of a probe is meant."""

    arm: Arm
    phase: ViewPhase
    offset: int | None
    frames: int
    twin: Twin

    def __str__(self) -> str:
        if self.phase == "offset":
            return f"offset {self.offset} of {self.frames} frames {self.twin}"
        return f"{self.arm} {self.phase} {self.twin}"


def places_of(part: Part, offsets: int) -> list[Place]:
    """Every view that a row of this part has."""
    if isinstance(part, str):
        looks = product(REVERSAL_BUDGETS, range(offsets), TWINS)
        return [Place("intact", "offset", offset, frames, twin) for frames, offset, twin in looks]
    seen: list[tuple[Arm, ViewPhase]] = [*(("intact", phase) for phase in PHASES)]
    seen += [(arm, "on_grid") for arm in ARMS if arm != "intact"]
    return [Place(arm, phase, None, part, twin) for (arm, phase), twin in product(seen, TWINS)]


def place_of(view: StoredView, part: Part) -> Place:
    """Which view a stored one says that it is; outside the reversal test the part decides its length."""
    frames = len(view.times_s) if isinstance(part, str) else part
    return Place(view.arm, view.phase, view.offset, frames, view.twin)


def check_views(stored: StoredProbe, part: Part, offsets: int, seed: int, store: FrameStore) -> Iterator[str]:
    """Everything that is wrong with the views of one row, as sentences."""
    views = {place_of(view, part): view for view in stored.views}
    if len(views) != len(stored.views):
        yield "a view is listed twice"
    expected = places_of(part, offsets)
    yield from (f"{place} is missing" for place in expected if place not in views)
    yield from (f"{place} is no view of this part" for place in views if place not in expected)
    budget = VIDEO_BUDGET if isinstance(part, str) else part
    if stored.probe.timing.budget != budget:
        yield f"is a probe of k = {stored.probe.timing.budget}"
        return
    instead = {} if isinstance(part, str) else _placebo(stored, seed)
    if instead is None:
        yield "its placebo cannot be drawn again: its intact views show other background than the timing asks for"
    for place in expected:
        if place in views:
            findings = [*_check_times(stored.probe, views[place], place, offsets, seed)]
            if not findings:
                findings = [*_check_shots(stored.probe, views[place], place, instead or {}, store)]
            yield from (f"{place}: {text}" for text in findings)
    for place in expected:
        plus, minus = views.get(place), views.get(replace(place, twin="-"))
        if place.twin == "+" and plus is not None and minus is not None:
            yield from (f"{str(place)[:-2]}: {text}" for text in _check_twins(plus, minus))
    yield from _check_replaced(views)


def _placebo(stored: StoredProbe, seed: int) -> dict[int, float] | None:
    """The placebo's source times, drawn again with the frames that the row itself names; None if it lacks some."""
    frame_at = {
        source_time_s: frame
        for view in stored.views
        for source_time_s, kind, frame in zip(view.source_times_s, view.kinds, view.frames, strict=False)
        if kind == "background"
    }
    try:
        return placebo_source_times_s(stored.probe, seed, frame_at.__getitem__)
    except KeyError:
        return None


def _check_times(probe: Probe, view: StoredView, place: Place, offsets: int, seed: int) -> Iterator[str]:
    lengths = {len(view.frames), len(view.times_s), len(view.kinds), len(view.source_times_s)}
    if lengths != {place.frames}:
        yield f"lists of {sorted(lengths)} entries, not of k = {place.frames}"
    elif view.phase != "offset":
        if list(view.times_s) != probe.timing.frame_times_s(view.phase):
            yield "its times are not the grid of its phase"
    elif place.offset is not None:
        grid = draw_offsets(seed, probe.index, probe.timing, offsets)
        if list(view.times_s) != grid.frame_times_s(place.frames, place.offset):
            yield f"its times are not this offset of seed {seed}"


def _expected_shot(probe: Probe, place: Place, time_s: float, instead_s: float | None) -> tuple[Kind, float]:
    """(kind, source time) that the timing and the arm put at a time; `instead_s` is what the placebo shows."""
    slot = probe.timing.slot_at(time_s)
    if slot is None or slot in REMOVED_SLOTS.get(place.arm, ()):
        own_s = background_source_time_s(probe.background_duration_s, time_s)
        return "background", own_s if instead_s is None else instead_s
    which = slot if place.twin == "+" else 1 - slot
    in_slot_s = probe.timing.time_in_slot_s(time_s)
    kinds: tuple[Kind, Kind] = ("e1", "e2")
    return kinds[which], event_source_time_s(probe.events[which], probe.timing.event_s, in_slot_s)


def _check_shots(
    probe: Probe, view: StoredView, place: Place, instead: Mapping[int, float], store: FrameStore
) -> Iterator[str]:
    missing = [frame[:16] for frame in view.frames if frame not in store]
    if missing:
        yield f"frames are missing: {', '.join(missing[:3])}"
    shots = zip(view.times_s, view.kinds, view.source_times_s, strict=True)
    for i, (time_s, kind, source_time_s) in enumerate(shots):
        instead_s = instead.get(i) if place.arm == "placebo" else None
        expected, expected_time_s = _expected_shot(probe, place, time_s, instead_s)
        if kind != expected:
            yield f"at {time_s} s it shows {kind} where the timing puts {expected}"
        elif source_time_s != expected_time_s:
            yield f"at {time_s} s it shows {kind} at {source_time_s} s of its source, not at {expected_time_s} s"
    counts = Counter(view.kinds)
    if (counts["e1"], counts["e2"]) not in _event_counts(probe, place):
        yield f"{counts['e1']} and {counts['e2']} event frames, which {place} cannot have"
    shown: dict[str, set[str]] = {kind: set() for kind in ("background", "e1", "e2")}
    for kind, frame in zip(view.kinds, view.frames, strict=True):
        shown.setdefault(kind, set()).add(frame)
    if shown["background"] & (shown["e1"] | shown["e2"]):
        yield "an event frame is also used as background"
    if shown["e1"] & shown["e2"]:
        yield "both events show the same frame"


def _event_counts(probe: Probe, place: Place) -> set[tuple[int, int]]:
    """How many frames of (e1, e2) a view may have, from lengths alone."""
    if place.arm in ("early_only", "late_only"):
        return {(1, 0) if (place.arm == "early_only") == (place.twin == "+") else (0, 1)}
    if place.phase == "on_grid":
        return {(0, 0) if place.arm == "no_events" else (1, 1)}
    if place.phase == "in_gap":
        return {(0, 0)}
    timing = probe.timing
    length_ms, event_ms = milliseconds(timing.length_s), milliseconds(timing.event_s)
    least = event_ms * place.frames // length_ms
    most = -(-event_ms * place.frames // length_ms)
    if timing.slot_gap * place.frames % timing.budget:  # half a spacing apart, and shorter: never both
        return {(0, 0), (0, 1), (1, 0)}
    return {(least, least), (most, most)}


def _check_twins(plus: StoredView, minus: StoredView) -> Iterator[str]:
    slots = [i for i, kind in enumerate(plus.kinds) if kind != "background"]
    swapped = [i for i, (a, b) in enumerate(zip(plus.frames, minus.frames, strict=False)) if a != b]
    if not slots:
        if swapped:
            yield f"the twins differ in {len(swapped)} frames, without an event they must be identical"
        return
    if plus.events_sampled == 2 and sorted(plus.frames) != sorted(minus.frames):
        yield "the twins do not show the same set of frames"
    if swapped != slots:
        yield f"the twins differ at frames {swapped}, their events lie at {slots}"


def _check_replaced(views: Mapping[Place, StoredView]) -> Iterator[str]:
    """Each arm differs from the intact views at as many instants as it replaces."""
    for arm, expected in (("no_events", 2), ("placebo", 2), ("early_only", 1), ("late_only", 1)):
        found = []
        for place, view in views.items():
            intact = views.get(replace(place, arm="intact"))
            if place.arm == arm and intact is not None:
                ours = zip(view.kinds, view.source_times_s, strict=False)
                theirs = zip(intact.kinds, intact.source_times_s, strict=False)
                found.append([i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b])
        if any(len(positions) != expected for positions in found):
            yield f"{arm} replaces the frames {found} of the twins, not {expected} of each"
