"""Evidence-invariance violation: how far abstention moves with the framing while the image stands still."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metrics.image.block_sums import Cell, block_sums
from metrics.image.level_means import mean_weights, over_levels, rate_measure
from metrics.image.permutations import PERMUTATIONS, SEED, permuted_rates
from metrics.image.table import ImageTrials
from metrics.intervals import NOTHING, Array, Estimate, estimates

CONTRAST_BOUNDS = (-1.0, 1.0)
_TIE = 1e-9  # permuted statistics that differ from the observed one by rounding alone


def framing_range(rates: Array) -> Array:
    """Max over a minus min over a of A(d, a), along the last axis."""
    return np.asarray(rates.max(axis=-1) - rates.min(axis=-1))


def extreme_contrast(sums: Array, counts: Array) -> Array:
    """Each item's part in the observed range of each level, shape (items, levels).

    The sums under the framing that abstains most at this level, minus those under the one that abstains least.
    """
    rates = sums.sum(axis=0) / counts.sum(axis=0)[:, None]
    levels = np.arange(sums.shape[1])
    return np.asarray(sums[:, levels, rates.argmax(axis=1)] - sums[:, levels, rates.argmin(axis=1)])


@dataclass(frozen=True, eq=False)
class RangeTest:
    """EIV of one cell against its permutation null, without intervals."""

    ranges: Array  # observed, shape (levels,)
    null_ranges: Array  # mean over permutations, shape (levels,)
    p_value: float

    @property
    def value(self) -> float:
        """EIV."""
        return float(self.ranges.mean())

    @property
    def null(self) -> float:
        """Mean EIV over permutations."""
        return float(self.null_ranges.mean())


def range_test(sums: Array, counts: Array, permutations: int = PERMUTATIONS, seed: int = SEED) -> RangeTest:
    """EIV and its permutation test (see `permutations`).

    p = (1 + #{EIV of a permutation >= EIV observed}) / (1 + permutations): it is never 0, and 1 where no block differs
    between framings.

    Args:
        sums: abstentions, shape (items, levels, framings).
        counts: blocks, shape (items, levels); each level has some.
        permutations: how many are drawn.
        seed: of their drawing.
    """
    observed = framing_range(sums.sum(axis=0) / counts.sum(axis=0)[:, None])
    null = framing_range(permuted_rates(sums, counts, permutations, seed))
    as_far = int((null.mean(axis=1) >= observed.mean() - _TIE).sum())
    return RangeTest(observed, null.mean(axis=0), (1 + as_far) / (1 + permutations))


@dataclass(frozen=True)
class Violation:
    """EIV, never without the value that chance alone gives it (paper, EIV = E_d[max_a A(d, a) - min_a A(d, a)]).

    `value` is the observed EIV. Noise alone makes it positive: `null` is its mean over permutations of framing labels, and
    `excess` their difference, whose expectation is 0 under invariance. Under a real effect the excess is a low estimate:
    the largest and the smallest of rates that really differ gain less from noise than those of rates that do not, and what
    is taken off is all that chance could give. Its expectation lies between the true EIV less the null and the true EIV.

    Intervals are over items. They follow the framings that were observed as the extremes of each level (delta method),
    and are exact where fewer than 20 items deviate from the commonest: with so few items they are wide, and may hold 0 where
    the permutation test, which is sharper, rejects. That of `excess` is for the excess that studies of
    this size give in the mean. That of `value` is for the true EIV, from the lower end of the excess to the upper end of
    the observed range: it holds the truth in at least 95 % of studies, usually more.
    """

    levels: tuple[int, ...]
    value: Estimate
    null: Estimate  # a point
    excess: Estimate
    p_value: float  # of invariance, NaN without blocks
    level_ranges: tuple[Estimate, ...]  # as `value`, of each level
    level_nulls: tuple[Estimate, ...]
    level_excesses: tuple[Estimate, ...]
    permutations: int
    seed: int


def _point(value: float, items: int) -> Estimate:
    return Estimate(value, float("nan"), float("nan"), items, "point")


def shifted(estimate: Estimate, by: float) -> Estimate:
    """The estimate and its interval, less a constant."""
    value, low, high = (float(end) - by for end in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high)


def range_estimates(contrast: Estimate, null: float) -> tuple[Estimate, Estimate]:
    """(EIV, its excess) from the contrast of extremes and what chance gives."""
    interval = contrast.method != "point"
    low = max(contrast.low, 0.0) if interval else contrast.low  # a range is not negative
    excess = shifted(replace(contrast, low=low), null)
    return replace(contrast, low=max(excess.low, 0.0) if interval else contrast.low), excess


def cell_violation(
    cell: Cell,
    resamples: int = 0,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
    tested: RangeTest | None = None,
) -> Violation:
    """EIV of the blocks of one cell, and the range of each of its levels.

    Args:
        cell: of `BlockSums`.
        resamples: of the bootstrap; 0 leaves intervals out.
        permutations: of the null.
        seed: of the permutations.
        tested: with these permutations, if that is done.
    """
    levels = len(cell.levels)
    if not levels:
        return Violation((), NOTHING, NOTHING, NOTHING, float("nan"), (), (), (), permutations, seed)
    tested = tested or range_test(cell.abstained, cell.counts, permutations, seed)
    contrast = extreme_contrast(cell.abstained, cell.counts)
    measures = [over_levels(contrast, cell.counts, mean_weights(levels), CONTRAST_BOUNDS)]
    measures += [rate_measure(contrast[:, d], cell.counts[:, d], CONTRAST_BOUNDS) for d in range(levels)]
    whole, *single = estimates(measures, resamples)
    value, excess = range_estimates(whole, tested.null)
    parts = [range_estimates(one, float(null)) for one, null in zip(single, tested.null_ranges, strict=True)]
    return Violation(
        levels=cell.levels,
        value=value,
        null=_point(tested.null, cell.items),
        excess=excess,
        p_value=tested.p_value,
        level_ranges=tuple(level_value for level_value, _ in parts),
        level_nulls=tuple(
            _point(float(null), one.probes) for null, one in zip(tested.null_ranges, single, strict=True)
        ),
        level_excesses=tuple(level_excess for _, level_excess in parts),
        permutations=permutations,
        seed=seed,
    )


def evidence_invariance(
    trials: ImageTrials,
    confidence: bool = False,
    category: str = "",
    mode: str = "",
    resamples: int = 0,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> Violation:
    """EIV of a run, or of one category or mode of it, over complete blocks.

    Args:
        trials: of one run.
        confidence: A(d, a) is the mean probability of "cannot be determined" rather than the share that abstained.
        category: of questions; all of them where empty.
        mode: of degradation, L0 included; both, pooled at each level, where empty.
        resamples: of the bootstrap behind the intervals; 0 leaves them out.
        permutations: of the null.
        seed: of the permutations.

    Raises:
        ValueError: as `counted_trials`, or if there is no such category or mode.
    """
    cell = block_sums(trials, confidence).cell(category, mode)
    return cell_violation(cell, resamples, permutations, seed)
