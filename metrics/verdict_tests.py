"""The tests behind a verdict: does a model read the order, and how much of it is left under a claim?

Two questions, in this order (paper, "Availability Versus Weighting" and "The Weighting Ceiling"):

1. Without a claim, `J0` is tested against +-`READING_MARGIN`.
2. If the order is read, `J` under a claim is tested against `KEPT_SHARE` of `J0`, by the mean over probes of
   `j - J0 / 2`, so that what a probe gives to both is not counted twice.

A side of a threshold is called only if an exact one-sided test rejects the other side at half of `ALPHA`. At a
threshold neither side is right, and one of them is called in at most `ALPHA` of samples. A verdict that takes both
questions is wrong no more often, since both tests must reject. The tests hold their level with few probes, with few
that deviate and with none (`bounded_mean`), where t tests and resampling do not. Several models' verdicts are not
adjusted for each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metrics.bounded_mean import Array, Tails, mean_tails
from metrics.power import probes_for_equivalence, probes_for_mean

READING_MARGIN = 0.1  # |J0| within it: the order is not read; the margin of the paper's equivalence test
KEPT_SHARE = 0.5  # of J0, which J must exceed
ALPHA = 0.05  # of a wrong call at a threshold, both sides together
FEWEST_PROBES = 10
KNOWN_SHARE = 0.8  # of probes; the missing ones are seldom like the others, and with more of them could turn a verdict

Kind = Literal["availability failure", "weighting failure", "grounded", "undecided"]

_INFORMED_BOUNDS = (-1.0, 1.0)
_KEPT_BOUNDS = (-1.0 - KEPT_SHARE, 1.0 + KEPT_SHARE)


@dataclass(frozen=True)
class ThresholdTest:
    """One side of one threshold."""

    statement: str  # what holds if the test rejects
    p_value: float
    shown: bool  # p_value at most half of ALPHA


@dataclass(frozen=True)
class Decision:
    """A kind of verdict, the tests that led to it, and what is open if it is undecided."""

    kind: Kind
    tests: tuple[ThresholdTest, ...] = ()
    open_question: Literal["", "probes", "known order", "known claims", "order", "reversed order", "share kept"] = ""
    probes_needed: float = math.nan  # to decide with a power of 0.8 if the observed values are the true ones
    probes: int = 0  # on which the last question was asked
    asked: int = 0  # probes that there are


def kept_over_share(informed: Array, accept_false: Array, accept_true: Array) -> Array:
    """What each probe gives to J - J0 / 2, in [-1.5, 1.5]; NaN where one of the three is not known."""
    return np.asarray(accept_true - accept_false - KEPT_SHARE * informed)


def _side(statement: str, p_value: float) -> ThresholdTest:
    return ThresholdTest(statement, p_value, p_value <= ALPHA / 2)


def _agreement_needed(distance: float, reach: float) -> float:
    """Probes that must agree to rule out a mean at this distance, if others may reach so far to its other side."""
    return math.ceil(math.log(ALPHA / 2) / math.log(1 - distance / reach))


def _needed(values: Array, threshold: float, bounds: tuple[float, float]) -> float:
    """Probes with which a mean like the observed one is told from the threshold."""
    known = values[~np.isnan(values)]
    mean, deviation = float(known.mean()), float(known.std())
    distance = abs(mean - threshold)
    if distance == 0:
        return math.inf
    far = bounds[1] if mean < threshold else bounds[0]
    agreed = _agreement_needed(distance, abs(far - mean))
    return max(probes_for_mean(distance, deviation, alpha=ALPHA / 2), float(agreed), float(len(known) + 1))


def _needed_for_reading(informed: Array) -> float:
    known = informed[~np.isnan(informed)]
    mean = float(known.mean())
    nearest = math.copysign(READING_MARGIN, mean)
    needed = _needed(informed, nearest, _INFORMED_BOUNDS)
    if abs(mean) < READING_MARGIN:
        both = probes_for_equivalence(mean, float(known.std()), READING_MARGIN, alpha=ALPHA / 2)
        needed = max(needed, both)
    return needed


def decide(informed: Array, accept_false: Array, accept_true: Array) -> Decision:
    """Decide on one model from its per-probe scores.

    Args:
        informed: right minus wrong without a claim, in [-1, 1], shape (probes,); NaN where not known.
        accept_false: accept rate of a false claim, in [0, 1], for the same probes.
        accept_true: accept rate of a true claim.

    Raises:
        ValueError: if the shapes differ or a score is out of range.
    """
    _check(informed, accept_false, accept_true)
    asked = len(informed)
    probes = int((~np.isnan(informed)).sum())
    if probes < FEWEST_PROBES:
        return Decision("undecided", (), "probes", float(FEWEST_PROBES), probes, asked)
    if probes < KNOWN_SHARE * asked:
        return Decision("undecided", (), "known order", math.nan, probes, asked)
    upper = mean_tails(informed, READING_MARGIN, _INFORMED_BOUNDS)
    lower = mean_tails(informed, -READING_MARGIN, _INFORMED_BOUNDS)
    tests: tuple[ThresholdTest, ...] = (
        _side(f"J0 < {READING_MARGIN}", upper.below),
        _side(f"J0 > {-READING_MARGIN}", lower.above),
        _side(f"J0 > {READING_MARGIN}", upper.above),
        _side(f"J0 < {-READING_MARGIN}", lower.below),
    )
    small, not_negative, reads, reversed_order = (test.shown for test in tests)
    if small and not_negative:
        return Decision("availability failure", tests, "", math.nan, probes, asked)
    if reversed_order:
        return Decision("undecided", tests, "reversed order", math.nan, probes, asked)
    if not reads:
        return Decision("undecided", tests, "order", _needed_for_reading(informed), probes, asked)
    kept = kept_over_share(informed, accept_false, accept_true)
    probes = int((~np.isnan(kept)).sum())
    if probes < FEWEST_PROBES:
        return Decision("undecided", tests, "probes", float(FEWEST_PROBES), probes, asked)
    if probes < KNOWN_SHARE * asked:
        return Decision("undecided", tests, "known claims", math.nan, probes, asked)
    sides: Tails = mean_tails(kept, 0.0, _KEPT_BOUNDS)
    less, more = _side("J < J0 / 2", sides.below), _side("J > J0 / 2", sides.above)
    tests = (*tests, less, more)
    if less.shown:
        return Decision("weighting failure", tests, "", math.nan, probes, asked)
    if more.shown:
        return Decision("grounded", tests, "", math.nan, probes, asked)
    return Decision("undecided", tests, "share kept", _needed(kept, 0.0, _KEPT_BOUNDS), probes, asked)


def _check(informed: Array, accept_false: Array, accept_true: Array) -> None:
    if not informed.ndim == 1 or not informed.shape == accept_false.shape == accept_true.shape:
        raise ValueError(
            f"scores of shapes {informed.shape}, {accept_false.shape} and {accept_true.shape}: give one of each for "
            "every probe"
        )
    for name, scores, low in (
        ("order reading", informed, -1),
        ("accept rate of false claims", accept_false, 0),
        ("accept rate of true claims", accept_true, 0),
    ):
        known = scores[~np.isnan(scores)]
        if (known < low).any() or (known > 1).any():
            raise ValueError(f"a probe's {name} is out of range: it must lie in [{low}, 1]")
