"""95 % intervals over probes: the probe is the unit that was sampled, so the probe is what is resampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.bounded_mean import deviating, exact_interval
from metrics.resampling import resampled_weights

Array = NDArray[np.float64]

RESAMPLES = 10_000
SEED = 0
LEVEL = 0.95
FEW = 20  # deviating probes; with fewer, 95 % bootstrap intervals hold the truth in as few as 85 % of samples
_TOGETHER = 256  # measures resampled at a time: bounds memory at so many x resamples numbers

Method = Literal["bootstrap", "exact", "by construction", "point", "none"]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval.

    `method` says how the interval came about: `bootstrap` (percentile, over probes), `exact` (all probes agree
    or fewer than `FEW` deviate, so resampling sees too little; a binomial bound, or its like for other values,
    says how often another probe may still deviate), `by construction` (the value cannot vary), `point` (no
    interval was asked for), `none` (there is nothing to estimate from; NaN).
    """

    value: float
    low: float
    high: float
    probes: int
    method: Method

    def __str__(self) -> str:
        if self.method == "none":
            return "-"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


NOTHING = Estimate(float("nan"), float("nan"), float("nan"), 0, "none")


@dataclass(frozen=True, eq=False)
class Statistic:
    """A number that depends on weighted sums over probes alone.

    Many of them are resampled together faster than one by one: see `estimates`.
    """

    columns: tuple[Array, ...]  # each of shape (probes,)
    combine: Callable[..., Array]  # one sum for each column, each of shape (resamples,) -> values

    def __call__(self, weights: Array) -> Array:
        """The values for weights of shape (resamples, probes)."""
        return self.combine(*(weights @ column for column in self.columns))


def _ratio(numerator: Array, denominator: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)


def mean_over_probes(numerators: Array, denominators: Array) -> Statistic:
    """The statistic sum(w n) / sum(w d) of probe weights w: a mean over trials, or any ratio of two sums.

    Args:
        numerators: shape (probes,), sums within each probe, such as right answers.
        denominators: shape (probes,), counts within each probe, such as answers; 0 where there are none.

    Returns:
        A function from weights, shape (resamples, probes), to values, shape (resamples,); NaN where no
        probe with a count was drawn.
    """
    return Statistic((np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)), _ratio)


def weighted_sum(parts: Sequence[tuple[float, Statistic]]) -> Statistic:
    """The sum of statistics of the same probes times their weights, such as C - S."""
    widths = np.cumsum([0, *(len(statistic.columns) for _, statistic in parts)])

    def combine(*sums: Array) -> Array:
        values = [
            weight * statistic.combine(*sums[widths[i] : widths[i + 1]]) for i, (weight, statistic) in enumerate(parts)
        ]
        return np.asarray(sum(values))

    return Statistic(tuple(column for _, statistic in parts for column in statistic.columns), combine)


@dataclass(frozen=True, eq=False)
class Measure:
    """What `estimate` takes of one number, for many at a time."""

    statistic: Callable[[Array], Array]
    per_probe: Array
    bounds: tuple[float, float]
    by_construction: bool = False


def _counts(statistic: Callable[[Array], Array], per_probe: Array) -> Array | None:
    """How much each probe counts, if the statistic is a mean of what the probes give; None if it is not."""
    known = ~np.isnan(per_probe)
    candidates = [known.astype(np.float64)]
    if isinstance(statistic, Statistic) and statistic.combine is _ratio:
        candidates.append(np.where(known, statistic.columns[1], 0.0))
    some = np.random.default_rng(0).integers(0, 3, size=(8, len(per_probe))).astype(np.float64)
    values = statistic(some)
    for counts in candidates:
        mean = _ratio(some @ np.where(known, counts * per_probe, 0.0), some @ counts)
        if np.allclose(mean, values, rtol=0, atol=1e-9, equal_nan=True):
            return counts
    return None


def _without_resampling(measure: Measure, value: float, resamples: int) -> Estimate | None:
    """The estimate, where it needs no resampling; else None."""
    known = measure.per_probe[~np.isnan(measure.per_probe)]
    probes = len(known)
    low, high = measure.bounds
    if np.isnan(value):
        return NOTHING
    if probes and (known.min() < low - 1e-9 or known.max() > high + 1e-9):
        raise ValueError(f"per-probe values reach from {known.min()} to {known.max()}: the bounds are {measure.bounds}")
    if measure.by_construction:
        return Estimate(value, value, value, probes, "by construction")
    if resamples == 0:
        return Estimate(value, float("nan"), float("nan"), probes, "point")
    if probes and np.ptp(known) == 0:
        # With none of n probes deviating, the true share of deviating ones is below 1 - 0.025^(1/n)
        # (Clopper-Pearson); each of them could move the mean as far as a bound.
        share = 1 - ((1 - LEVEL) / 2) ** (1 / probes)
        return Estimate(value, value - share * (value - low), value + share * (high - value), probes, "exact")
    if deviating(measure.per_probe) < FEW:
        counts = _counts(measure.statistic, measure.per_probe)
        if counts is not None:
            ends = exact_interval(measure.per_probe, measure.bounds, LEVEL, counts)
            return Estimate(value, *ends, probes, "exact")
    return None


def _bootstrap(measure: Measure, value: float, resampled: Array) -> Estimate:
    tail = (1 - LEVEL) / 2
    low, high = np.nanquantile(resampled, [tail, 1 - tail])
    probes = int((~np.isnan(measure.per_probe)).sum())
    return Estimate(value, float(low), float(high), probes, "bootstrap")


def _value(measure: Measure) -> float:
    probes = len(measure.per_probe)
    return float(measure.statistic(np.ones((1, probes)))[0]) if probes else float("nan")


def estimate(
    statistic: Callable[[Array], Array],
    per_probe: Array,
    bounds: tuple[float, float],
    by_construction: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """The statistic of all probes, with a percentile bootstrap interval over probes.

    Args:
        statistic: values from weights, shape (resamples, probes) -> (resamples,).
        per_probe: its value on each probe alone, shape (probes,); NaN where the probe contributes nothing.
        bounds: smallest and largest possible value of a probe.
        by_construction: the value cannot vary, whatever the model does.
        resamples: number of bootstrap resamples.
        seed: of the resampling.

    Returns:
        The estimate. Its interval is exact rather than bootstrapped where all probes give the same value, and
        where the statistic is a mean over probes and fewer than `FEW` of them deviate from the commonest value.

    Raises:
        ValueError: if a probe's value is out of bounds.
    """
    measure = Measure(statistic, per_probe, bounds, by_construction)
    value = _value(measure)
    done = _without_resampling(measure, value, resamples)
    if done is not None:
        return done
    values = [statistic(weights) for weights in resampled_weights(len(per_probe), resamples, seed)]
    return _bootstrap(measure, value, np.concatenate(values))


def estimates(measures: Sequence[Measure], resamples: int = RESAMPLES, seed: int = SEED) -> list[Estimate]:
    """The estimates of many measures, as `estimate` gives them one by one but several times faster.

    Hard rates come out the same to the last bit; sums of other numbers may differ in it.

    Raises:
        ValueError: if a probe's value is out of bounds.
    """
    values = [_value(measure) for measure in measures]
    results = [_without_resampling(m, v, resamples) for m, v in zip(measures, values, strict=True)]
    open_by_size: dict[int, list[int]] = {}
    for i, (measure, result) in enumerate(zip(measures, results, strict=True)):
        if result is None:
            open_by_size.setdefault(len(measure.per_probe), []).append(i)
    for probes, places in open_by_size.items():
        for start in range(0, len(places), _TOGETHER):
            together = places[start : start + _TOGETHER]
            resampled = _resample([measures[i].statistic for i in together], probes, resamples, seed)
            for i, row in zip(together, resampled, strict=True):
                results[i] = _bootstrap(measures[i], values[i], row)
    return [result for result in results if result is not None]


def _resample(statistics: Sequence[Callable[[Array], Array]], probes: int, resamples: int, seed: int) -> Array:
    """Resampled values, shape (statistics, resamples), with one product of matrices for all sums."""
    shared = [s for s in statistics if isinstance(s, Statistic)]
    table = np.column_stack([column for s in shared for column in s.columns]) if shared else np.zeros((probes, 0))
    values = np.empty((len(statistics), resamples))
    done = 0
    for weights in resampled_weights(probes, resamples, seed):
        sums = np.ascontiguousarray((weights @ table).T)
        rows = slice(done, done + len(weights))
        used = 0
        for i, statistic in enumerate(statistics):
            if isinstance(statistic, Statistic):
                values[i, rows] = statistic.combine(*sums[used : used + len(statistic.columns)])
                used += len(statistic.columns)
            else:
                values[i, rows] = statistic(weights)
        done += len(weights)
    return values
