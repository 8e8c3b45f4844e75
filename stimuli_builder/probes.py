"""Probes: which two events, over which background, named and claimed in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from stimuli_builder.catalogue import Catalogue, EventClass, Source
from stimuli_builder.draws import draw_order
from stimuli_builder.errors import CavedError
from stimuli_builder.timing import Timing, draw_timing

Order = Literal["e1_first", "e2_first"]
ORDERS: tuple[Order, Order] = ("e1_first", "e2_first")

# Eight probes in a row hold every combination of: which of the two classes (by label) is e1, which order
# the claim asserts, which event the question names first. Any whole number of blocks is balanced exactly.
BLOCK = 8


@dataclass(frozen=True)
class Event:
    """One of the two events of a probe, and the clip that shows it."""

    label: str
    phrase: str
    clip: Source
    clip_duration_s: float


@dataclass(frozen=True)
class Probe:
    """One virtual video before it is sampled; its two twins differ in the order of the events.

    Twin `+` shows e1 and then e2. The claim is the same on both twins, so it is true on exactly one.
    """

    probe: str  # "p00007", the same at every budget
    index: int
    e1: Event
    e2: Event
    background: Source
    background_duration_s: float
    claimed_order: Order  # what a claim asserts
    named_order: Order  # e1_first: the question names e1 before e2
    timing: Timing

    @property
    def events(self) -> tuple[Event, Event]:
        """(e1, e2)."""
        return self.e1, self.e2


def balance_cell(seed: int, probe_index: int) -> tuple[int, Order, Order]:
    """(whether e1 is the later label, claimed order, named order) of a probe; each cell once in every block."""
    block, place = divmod(probe_index, BLOCK)
    cells = [(swap, claimed, named) for swap in (0, 1) for claimed in ORDERS for named in ORDERS]
    return draw_order(cells, str, seed, "balance", block)[place]


class _Durations:
    """Durations of sources, read once; files that cannot be read are collected, not raised at once."""

    def __init__(self, duration_of: Callable[[Source], float]) -> None:
        self._duration_of = duration_of
        self.known: dict[Source, float] = {}
        self.problems: list[str] = []

    def __call__(self, source: Source) -> float:
        if source not in self.known:
            try:
                self.known[source] = self._duration_of(source)
            except CavedError as error:
                self.problems.append(str(error))
                self.known[source] = 0.0
        return self.known[source]


def _draw_clip(
    event_class: EventClass, event_s: float, durations: _Durations, seed: int, probe_index: int
) -> Event | None:
    """The first clip, in random order, that is long enough for d_e; None if the class has none."""
    for clip in draw_order(event_class.clips, lambda c: c.name, seed, "clip", probe_index):
        duration_s = durations(clip)
        if duration_s >= event_s:
            return Event(event_class.label, event_class.phrase, clip, duration_s)
    return None


def _draw_events(
    catalogue: Catalogue, event_s: float, durations: _Durations, seed: int, probe_index: int
) -> tuple[Event, Event] | None:
    chosen: list[Event] = []
    for event_class in draw_order(catalogue.classes, lambda c: c.label, seed, "class", probe_index):
        if chosen and catalogue.confusable(chosen[0].label, event_class.label):
            continue
        event = _draw_clip(event_class, event_s, durations, seed, probe_index)
        if event is not None:
            chosen.append(event)
        if len(chosen) == 2:
            first, second = sorted(chosen, key=lambda e: e.label)
            return first, second
    return None


@dataclass(frozen=True)
class Draw:
    """The probes of each budget, and the sources that were drawn for them but cannot be read.

    While `problems` is not empty the probes are provisional: a file that cannot be read was passed over.
    `durations_s` holds every source that was looked at and could be read.
    """

    probes: dict[int, list[Probe]]
    problems: tuple[str, ...]
    durations_s: dict[Source, float]


def draw_probes(
    catalogue: Catalogue,
    count: int,
    budgets: Sequence[int],
    seed: int,
    duration_of: Callable[[Source], float],
    progress: Callable[[int], object] = lambda _: None,
) -> Draw:
    """For each budget, probes 0 .. count - 1 (paper, "Construction").

    Everything but p1 is shared between the budgets of a probe. Probe i depends on the seed, on i and on
    the sources alone: not on `count`, nor on which budgets are asked for.

    Args:
        catalogue: classes and backgrounds to draw from.
        count: number of probes per budget.
        budgets: numbers of frames k.
        seed: of every draw.
        duration_of: seconds that a source lasts; raises CavedError for one that cannot be read.
        progress: called with 1 after each probe.

    Raises:
        CavedError: if the catalogue or an argument cannot give probes.
    """
    catalogue.check()
    if count < 1:
        raise CavedError(f"--probes {count}: ask for at least one probe")
    durations = _Durations(duration_of)
    probes: dict[int, list[Probe]] = {budget: [] for budget in budgets}
    too_short: list[str] = []
    for index in range(count):
        swap, claimed, named = balance_cell(seed, index)
        background = draw_order(catalogue.backgrounds, lambda s: s.name, seed, "background", index)[0]
        background_s = durations(background)
        event_s = draw_timing(seed, index, min(budgets)).event_s
        events = _draw_events(catalogue, event_s, durations, seed, index)
        if events is None:
            too_short.append(f"probe {index} needs two clips of at least {event_s} s")
        else:
            e1, e2 = reversed(events) if swap else events
            for budget in budgets:
                probe = Probe(
                    probe=f"p{index:05d}",
                    index=index,
                    e1=e1,
                    e2=e2,
                    background=background,
                    background_duration_s=background_s,
                    claimed_order=claimed,
                    named_order=named,
                    timing=draw_timing(seed, index, budget),
                )
                probes[budget].append(probe)
        progress(1)
    if too_short and not durations.problems:
        raise CavedError(
            f"{too_short[0]}, from two classes that do not look alike, and {catalogue.name} has fewer: "
            "add longer clips or more classes"
        )
    readable = {source: duration_s for source, duration_s in durations.known.items() if duration_s > 0}
    return Draw(probes, tuple(sorted(durations.problems)), readable)
