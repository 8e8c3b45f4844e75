"""Numbers that are weighted sums over levels of rates over items, such as a mean over levels or a slope."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from metrics.bounded_mean import deviating, mean_tails
from metrics.intervals import FEW, Array, Measure, Statistic, mean_over_probes

NO_BLOCKS = Measure(lambda weights: np.full(len(weights), np.nan), np.zeros(0), (0.0, 1.0))


def mean_weights(levels: int) -> Array:
    """The weights of a mean over so many levels."""
    return np.full(levels, 1 / max(levels, 1))


def slope_weights(levels: tuple[int, ...]) -> Array:
    """The weights of a least-squares slope over d; all NaN for fewer than two levels."""
    away = np.asarray(levels, dtype=float) - np.mean(levels)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(away / (away @ away))


def low_minus_high_weights(levels: tuple[int, ...], last_low: int = 1) -> Array:
    """The weights of the mean over levels up to `last_low` minus the mean over the others; all NaN if one part is empty."""
    low = np.asarray(levels) <= last_low
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(low / low.sum() - ~low / (~low).sum())


def per_item_values(sums: Array, counts: Array, weights: Array) -> Array:
    """What each item gives to the number, so that their mean is the number, shape (items,); NaN without a block.

    Args:
        sums: shape (items, levels).
        counts: shape (items, levels), blocks.
        weights: shape (levels,).
    """
    some = counts.sum(axis=1) > 0
    values = (sums / counts.sum(axis=0)) @ weights * some.sum()
    return np.where(some, values, np.nan)


def _bounds(counts: Array, weights: Array, bounds: tuple[float, float]) -> tuple[float, float]:
    """Between which per-item values lie: an item with more blocks than others may give more."""
    share = counts / counts.sum(axis=0) * (counts.sum(axis=1) > 0).sum()
    ends = np.outer(weights, bounds)
    return float((share @ ends.min(axis=1)).min()), float((share @ ends.max(axis=1)).max())


def rate_measure(sums: Array, counts: Array, bounds: tuple[float, float]) -> Measure:
    """sum(sums) / sum(counts), as a measure whose items are resampled; both of shape (items,)."""
    sums, counts = np.asarray(sums, dtype=float), np.asarray(counts, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Measure(mean_over_probes(sums, counts), np.where(counts > 0, sums / counts, np.nan), bounds)


def over_levels(sums: Array, counts: Array, weights: Array, bounds: tuple[float, float]) -> Measure:
    """The weighted sum over levels of sum(sums) / sum(counts), as a measure whose items are resampled.

    Where fewer than `metrics.intervals.FEW` items deviate, the counts are held fixed, so that an exact interval can be
    had; a bootstrap interval takes them as drawn.

    Args:
        sums: shape (items, levels).
        counts: shape (items, levels); each level has some.
        weights: shape (levels,).
        bounds: smallest and largest possible value of sums / counts.
    """
    levels = len(weights)
    if not levels or not counts.any():
        return NO_BLOCKS
    values = per_item_values(sums, counts, weights)

    def combine(*totals: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = [totals[i] / totals[levels + i] for i in range(levels)]
        return np.asarray(sum(weight * rate for weight, rate in zip(weights, rates, strict=True)))

    if deviating(values) < FEW:
        known = ~np.isnan(values)
        statistic = mean_over_probes(np.where(known, values, 0.0), known.astype(np.float64))
    else:
        statistic = Statistic((*np.ascontiguousarray(sums.T), *np.ascontiguousarray(counts.T)), combine)
    return Measure(statistic, values, _bounds(counts, weights, bounds))


def few_deviate(values: Array) -> bool:
    """Whether so few items deviate from the commonest value that a t test over them is not to be trusted."""
    known = values[~np.isnan(values)]
    return deviating(known) < min(FEW, len(known) / 2)


def t_below(values: Array, candidate: float) -> float:
    """One-sided p-value of a t test of the mean of some values being `candidate` or more; small if it lies below.

    NaN where all values are equal: nothing then tells how far another one may lie.
    """
    error = values.std(ddof=1) / np.sqrt(len(values))
    if not error > 0:
        return float("nan")
    return float(student.cdf((values.mean() - candidate) / error, len(values) - 1))


def p_below(sums: Array, counts: Array, weights: Array, candidate: float, bounds: tuple[float, float]) -> float:
    """One-sided p-value of the number being `candidate` or more; small if it lies below.

    A t test over items, or an exact test where few of them deviate (fewer than `metrics.intervals.FEW`, and fewer than half);
    NaN for fewer than two items. Arguments as of `over_levels`.
    """
    values = per_item_values(sums, counts, weights)
    values = values[~np.isnan(values)]
    if len(values) < 2 or np.isnan(candidate):
        return float("nan")
    if not few_deviate(values):
        return t_below(values, candidate)
    low, high = _bounds(counts, weights, bounds)
    edge = 1e-9 * (high - low)
    return mean_tails(values, min(max(candidate, low + edge), high - edge), (low, high)).below
