"""What the reversal test must measure on an observer of known tendencies, by enumeration.

The observer answers by letter with a fixed probability, which the two letter assignments cancel to one half.
Otherwise it reads the order with probability r when the frames hold both events, and goes by a fixed prior when
it does not read. It decides anew for each list of frames. Without a reading it either draws an order from the
prior, or states the prior itself as its probability.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.intervals import Array
from metrics.reversal import (
    BUDGETS,
    OFFSETS,
    THRESHOLD,
    checked_budgets,
    checked_offsets,
    checked_threshold,
    reaches,
)

Guess = Literal["draws", "states"]
Distribution = dict[Fraction, float]  # value -> probability


@dataclass(frozen=True, eq=False)
class ExpectedReversal:
    """Expectations over what the observer may do.

    Rates over answered videos are ratios of expectations, which many videos approach.
    """

    evidence: Array  # expected R, shape (videos, budgets)
    accuracy: float  # right answers for each answer; NaN if nothing is ever answered
    coverage: float
    budget_answered: float  # frames; NaN if nothing is ever answered
    budget_all: float  # frames


@dataclass(frozen=True)
class Tendencies:
    """What the observer does; all are probabilities.

    Raises:
        ValueError: if one lies outside [0, 1], or the guess is of an unknown kind.
    """

    reading: float  # r: reads the order where both events are among the frames
    prior: float = 0.5  # of e1-first, without a reading
    guess: Guess = "draws"
    letter_bias: float = 0.0  # answers by letter, whatever the options say
    confidence: float = 1.0  # the probability that it states of an order that it has read or drawn

    def __post_init__(self) -> None:
        numbers = (self.reading, self.prior, self.letter_bias, self.confidence)
        if not all(0 <= x <= 1 for x in numbers) or self.guess not in ("draws", "states"):
            raise ValueError(f"{self}: give probabilities from 0 to 1, and a guess that 'draws' or 'states'")

    def one_reading(self, e1_first: bool, met: bool) -> Distribution:
        """The probability of e1-first that one list of frames gives."""
        sure = {True: Fraction(self.confidence), False: 1 - Fraction(self.confidence)}
        reads = self.reading if met else 0.0
        heeds = 1 - self.letter_bias
        chances: Distribution = defaultdict(float)
        chances[Fraction(1, 2)] += self.letter_bias
        chances[sure[e1_first]] += heeds * reads
        if self.guess == "draws":
            chances[sure[True]] += heeds * (1 - reads) * self.prior
            chances[sure[False]] += heeds * (1 - reads) * (1 - self.prior)
        else:
            chances[Fraction(self.prior)] += heeds * (1 - reads)
        return chances


def _sum(first: Distribution, second: Distribution, sign: int = 1) -> Distribution:
    """The distribution of first + sign * second, for independent values."""
    total: Distribution = defaultdict(float)
    for a, chance_a in first.items():
        for b, chance_b in second.items():
            total[a + sign * b] += chance_a * chance_b
    return total


@lru_cache(maxsize=4096)
def _evidence(meets: int, offsets: int, e1_first: bool, tendencies: Tendencies) -> Distribution:
    """R at one budget where `meets` of the offsets hold both events."""
    total: Distribution = {Fraction(0): 1.0}
    for offset in range(offsets):
        forward = tendencies.one_reading(e1_first, offset < meets)
        backward = tendencies.one_reading(not e1_first, offset < meets)
        total = _sum(total, _sum(forward, backward, -1))
    return {value / offsets: chance for value, chance in total.items()}


@dataclass(frozen=True)
class _Video:
    """Expectations for one video."""

    evidence: tuple[float, ...]  # R at each budget
    answered: float
    right: float
    spent_answered: float  # frames, 0 where it abstains
    spent_all: float  # frames


@lru_cache(maxsize=4096)
def _expected_video(
    meets: tuple[int, ...],
    e1_first: bool,
    tendencies: Tendencies,
    budgets: tuple[int, ...],
    offsets: int,
    threshold: float,
) -> _Video:
    evidence = []
    answered = right = spent_answered = 0.0
    open_chance = 1.0  # that no smaller budget answered
    for budget, met in zip(budgets, meets, strict=True):
        chances = _evidence(met, offsets, e1_first, tendencies)
        evidence.append(sum(float(value) * chance for value, chance in chances.items()))
        answers = {value: c for value, c in chances.items() if reaches(np.float64(value), threshold)}
        chance = open_chance * sum(answers.values())
        right += open_chance * sum(c for value, c in answers.items() if (value > 0) == e1_first)
        answered += chance
        spent_answered += budget * chance
        open_chance -= chance
    return _Video(tuple(evidence), answered, right, spent_answered, spent_answered + budgets[-1] * open_chance)


def expected_reversal(
    meets: NDArray[np.integer],
    truth: NDArray[np.integer],
    tendencies: Sequence[Tendencies],
    budgets: Sequence[int] = BUDGETS,
    offsets: int = OFFSETS,
    threshold: float = THRESHOLD,
) -> ExpectedReversal:
    """Expected R, accuracy, coverage and mean budgets of an observer.

    Args:
        meets: how many of the offsets meet both events, shape (videos, budgets).
        truth: +1 where e1 is first, -1 where e2 is, shape (videos,).
        tendencies: one for all videos, or one for each, since a prior may depend on how a question names events.
        budgets: the schedule, frames.
        offsets: n, sampling grids at each budget.
        threshold: θ in [0, 1].

    Raises:
        ValueError: if shapes do not fit, or a number is out of range.
    """
    schedule, n, theta = checked_budgets(budgets), checked_offsets(offsets), checked_threshold(threshold)
    meets, truth = np.asarray(meets), np.asarray(truth)
    videos = len(truth)
    each = list(tendencies) * videos if len(tendencies) == 1 else list(tendencies)
    if meets.shape != (videos, len(schedule)) or ((meets < 0) | (meets > n)).any() or not np.isin(truth, (-1, 1)).all():
        raise ValueError(
            f"meets of shape {meets.shape}: give 0 to {n} offsets for each video and budget, truths of +-1"
        )
    if len(each) != videos:
        raise ValueError(f"tendencies of {len(each)} observers for {videos} videos: give one for all or one for each")
    rows = [tuple(row) for row in meets.tolist()]
    found = [
        _expected_video(row, e1_first, kind, schedule, n, theta)
        for row, e1_first, kind in zip(rows, (truth > 0).tolist(), each, strict=True)
    ]
    answered = sum(v.answered for v in found)
    return ExpectedReversal(
        evidence=np.array([v.evidence for v in found]).reshape(meets.shape),
        accuracy=sum(v.right for v in found) / answered if answered else float("nan"),
        coverage=answered / videos if videos else float("nan"),
        budget_answered=sum(v.spent_answered for v in found) / answered if answered else float("nan"),
        budget_all=sum(v.spent_all for v in found) / videos if videos else float("nan"),
    )
