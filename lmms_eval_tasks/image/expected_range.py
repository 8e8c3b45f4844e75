"""The range over framings of sample rates, where every trial is an independent draw: its exact distribution.

At one level the numbers X_a of abstentions under the framings a are independent sums of independent draws. With F_a for
their distribution functions,

    P(max_a X_a <= u and min_a X_a >= l) = prod_a (F_a(u) - F_a(l - 1)),

from which follows the distribution of the range max - min, and by convolution that of its mean over levels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExpectedRange:
    """The distribution of a mean of ranges: `probabilities[i]` that it is `i * unit`."""

    probabilities: Array
    unit: float

    @property
    def value(self) -> float:
        """The expected mean of ranges."""
        return float(self.probabilities @ np.arange(len(self.probabilities))) * self.unit

    @property
    def certain(self) -> bool:
        """Whether it cannot vary."""
        return bool(self.probabilities.max() > 1 - 1e-12)

    def chance(self, observed: float) -> float:
        """Twice the chance of a value as far out as the observed one, on its side; at most 1."""
        place = observed / self.unit
        below = float(self.probabilities[: math.floor(place + 1e-6) + 1].sum())
        above = float(self.probabilities[max(0, math.ceil(place - 1e-6)) :].sum())
        return min(1.0, 2 * min(below, above))


def count_distribution(chances: Sequence[float]) -> Array:
    """The distribution of how many of some independent draws happen, shape (draws + 1,)."""
    total = np.ones(1)
    for chance, draws in Counter(chances).items():
        total = np.convolve(total, binom.pmf(np.arange(draws + 1), draws, chance))
    return total


def range_distribution(counts: Sequence[Array]) -> Array:
    """The distribution of max - min of independent counts, each given by its distribution, all of shape (n + 1,)."""
    below = np.array([np.concatenate([[0.0], np.cumsum(count)]) for count in counts])  # P(X < k) for k = 0 .. n + 1
    n = len(counts[0]) - 1
    found = np.empty(n + 1)
    for width in range(n + 1):  # min = l and max <= l + width, over all l
        least = np.arange(n + 1)
        most = np.minimum(least + width, n)
        from_least = np.prod(below[:, most + 1] - below[:, least], axis=0)
        above_least = np.prod(np.maximum(below[:, most + 1] - below[:, least + 1], 0), axis=0)
        found[width] = (from_least - above_least).sum()
    return np.diff(found, prepend=0.0).clip(0)


def expected_range(levels: Sequence[Sequence[Sequence[float]]]) -> ExpectedRange:
    """The distribution of the mean over levels of the range over framings of sample rates.

    Args:
        levels: for each level and framing the chances of its trials; equally many in all framings of a level.
    """
    grid = math.lcm(*(len(framings[0]) for framings in levels))
    total = np.ones(1)
    for framings in levels:
        width = range_distribution([count_distribution(trials) for trials in framings])
        step = grid // len(framings[0])
        on_grid = np.zeros((len(width) - 1) * step + 1)
        on_grid[::step] = width
        total = np.convolve(total, on_grid)
    return ExpectedRange(total / total.sum(), 1 / (grid * len(levels)))
