"""Which two events meet in a lesson, and which pairs are kept for the evaluation."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from lmms_eval_tasks.small_reader.frame_bank import HELD_OUT_PATTERNS
from lmms_eval_tasks.small_reader.wordings import EVENTS
from stimuli_builder.catalogue import Catalogue
from stimuli_builder.draws import draw_order
from stimuli_builder.procedural import procedural_catalogue
from stimuli_builder.release import Release

Pair = tuple[int, int]
HELD_OUT_SHARE = 0.2
_SEED = 0  # the same for every training run, so that all are evaluated on the same pairs


def _label(event: int) -> str:
    return "_".join(EVENTS[event])


def _all_pairs() -> list[Pair]:
    """Pairs that a probe may hold: they differ in colour and in shape."""
    return [
        (first, second)
        for first, second in combinations(range(len(EVENTS)), 2)
        if all(a != b for a, b in zip(EVENTS[first], EVENTS[second], strict=True))
    ]


def split_pairs() -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """(pairs that are learnt from, pairs that are held out)."""
    ordered = draw_order(_all_pairs(), str, _SEED, "held-out pairs")
    held_out = round(HELD_OUT_SHARE * len(ordered))
    return tuple(sorted(ordered[held_out:])), tuple(sorted(ordered[:held_out]))


def held_out_catalogue() -> Catalogue:
    """The procedural catalogue without what was learnt from: held-out pairs over held-out backgrounds.

    Its clips are those of the benchmark, of which none is learnt from.
    """
    whole = procedural_catalogue()
    learnt, _ = split_pairs()
    groups = tuple(frozenset({_label(first), _label(second)}) for first, second in learnt)
    backgrounds = tuple(s for s in whole.backgrounds if s.name.split("/")[1] in HELD_OUT_PATTERNS)
    return replace(
        whole,
        name="procedural scenes that the small reader never saw",
        backgrounds=backgrounds,
        confusable_groups=(*whole.confusable_groups, *groups),
    )


def events_in_the_dark(release: Release) -> dict[str, int]:
    """How many events of each probe of a procedural release are in dark scenes: those of even variants."""
    return {
        stored.probe.probe: sum(int(event.clip.name.split("/")[1]) % 2 == 0 for event in stored.probe.events)
        for stored in release.probes(16)
    }
