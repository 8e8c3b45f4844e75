"""From two trials to one reading: the average over the two assignments of letters to orders.

A model that always says "A" would accept half of all claims whatever they say. Each question is therefore
asked with both assignments and averaged before anything is counted (paper, "Implementation").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metrics.trial import Order, Trial


@dataclass(frozen=True)
class Reading:
    """What a model makes of one view under one claim, letters averaged out.

    The hard shares say which of e1-first, e2-first and abstention comes out on top; they sum to 1, and a
    tie splits evenly, so two letter assignments that cancel give one half to each order. They are None
    where an assignment is missing or cannot be parsed: then nothing is known.
    """

    trial: Trial  # the first of the two, for all that they share
    hard: tuple[float, float, float] | None  # e1_first, e2_first, abstained
    confidence: tuple[float, float] | None  # mean probabilities of e1_first, e2_first
    tie: bool = False
    unparseable: int = 0  # of the two responses
    missing: int = 0  # of the two trials

    def share(self, order: Order) -> float | None:
        """Hard share of an order."""
        return None if self.hard is None else self.hard[0 if order == "e1_first" else 1]

    def probability(self, order: Order) -> float | None:
        """Confidence in an order."""
        return None if self.confidence is None else self.confidence[0 if order == "e1_first" else 1]


def _vote(trial: Trial) -> tuple[float, float, float] | None:
    """(e1_first, e2_first, abstained) of one response, summing to 1; None if it is unparseable."""
    answer = trial.answer
    if answer.outcome == "unparseable":
        return None
    if answer.outcome == "abstained":
        return 0.0, 0.0, 1.0
    e1, e2 = trial.letter_of("e1_first"), trial.letter_of("e2_first")
    if answer.option_probabilities is not None:
        return answer.option_probabilities[e1], answer.option_probabilities[e2], 0.0
    return float(answer.option == e1), float(answer.option == e2), 0.0


def _top(mass: tuple[float, ...]) -> tuple[tuple[float, ...], bool]:
    """The mass with everything on its maximum, ties split evenly; and whether there was a tie."""
    best = [m == max(mass) for m in mass]
    return tuple(b / sum(best) for b in best), sum(best) > 1


def _reading(trials: list[Trial]) -> Reading:
    unparseable = sum(t.answer.outcome == "unparseable" for t in trials)
    missing = 2 - len({t.letters for t in trials})
    votes = [_vote(t) for t in sorted(trials, key=lambda t: t.letters)]
    known = [v for v in votes if v is not None]
    if missing or unparseable:
        return Reading(trials[0], None, None, unparseable=unparseable, missing=missing)
    mean = tuple(sum(column) / 2 for column in zip(*known, strict=True))
    (e1, e2, abstained), tie = _top(mean)
    confident = all(t.answer.option_probabilities is not None for t in trials)
    return Reading(trials[0], (e1, e2, abstained), (mean[0], mean[1]) if confident else None, tie=tie)


def average_letters(trials: Iterable[Trial]) -> list[Reading]:
    """One reading for each view and claim, in order of their keys.

    Padding is dropped. A trial that occurs twice (a log that was written to twice) must agree with itself.

    Raises:
        ValueError: if two trials with the same key answer differently.
    """
    once: dict[tuple[str, ...], Trial] = {}
    for trial in trials:
        if trial.padding:
            continue
        earlier = once.setdefault(trial.key, trial)
        if earlier.answer != trial.answer or earlier.view != trial.view:
            raise ValueError(f"trial {trial} occurs twice with different answers: read one run at a time")
    groups: dict[tuple[str, ...], list[Trial]] = {}
    for trial in once.values():
        key = (trial.probe, str(trial.budget), trial.arm, trial.twin, trial.phase, trial.claim, trial.time)
        groups.setdefault(key, []).append(trial)
    return [_reading(groups[key]) for key in sorted(groups)]
