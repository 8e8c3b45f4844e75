"""95 % intervals over probes: the probe is the unit that was sampled, so the probe is what is resampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RESAMPLES = 10_000
SEED = 0
LEVEL = 0.95
_CHUNK = 500  # resamples at a time: bounds memory at _CHUNK x probes numbers

Method = Literal["bootstrap", "exact", "by construction", "point", "none"]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval.

    `method` says how the interval came about: `bootstrap` (percentile, over probes), `exact` (all probes
    agree, so resampling sees no variance; a binomial bound says how often another probe may still differ),
    `by construction` (the value cannot vary), `point` (no interval was asked for), `none` (there is nothing
    to estimate from; NaN).
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


def mean_over_probes(numerators: Array, denominators: Array) -> Callable[[Array], Array]:
    """The statistic sum(w n) / sum(w d) of probe weights w.

    Args:
        numerators: shape (probes,), sums within each probe.
        denominators: shape (probes,), counts within each probe.

    Returns:
        A function from weights, shape (resamples, probes), to values, shape (resamples,); NaN where no
        probe with a count was drawn.
    """

    def statistic(weights: Array) -> Array:
        counts = weights @ denominators
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts > 0, weights @ numerators / counts, np.nan)

    return statistic


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
        The estimate; its interval is exact rather than bootstrapped where all probes give the same value.
    """
    known = per_probe[~np.isnan(per_probe)]
    probes = len(per_probe)
    value = float(statistic(np.ones((1, probes)))[0]) if probes else float("nan")
    if np.isnan(value):
        return NOTHING
    if by_construction:
        return Estimate(value, value, value, len(known), "by construction")
    if resamples == 0:
        return Estimate(value, float("nan"), float("nan"), len(known), "point")
    if len(known) and np.ptp(known) == 0:
        # With none of n probes deviating, the true share of deviating ones is below 1 - 0.025^(1/n)
        # (Clopper-Pearson); each of them could move the mean as far as a bound.
        share = 1 - ((1 - LEVEL) / 2) ** (1 / len(known))
        low, high = bounds
        return Estimate(value, value - share * (value - low), value + share * (high - value), len(known), "exact")
    generator = np.random.default_rng(seed)
    values = np.concatenate(
        [
            statistic(
                generator.multinomial(probes, np.full(probes, 1 / probes), size=min(_CHUNK, resamples - done)).astype(
                    np.float64
                )
            )
            for done in range(0, resamples, _CHUNK)
        ]
    )
    tail = (1 - LEVEL) / 2
    low_value, high_value = np.nanquantile(values, [tail, 1 - tail])
    return Estimate(value, float(low_value), float(high_value), len(known), "bootstrap")
