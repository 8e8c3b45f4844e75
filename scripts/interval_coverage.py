"""How often 95 % intervals hold the truth, by simulation of probes whose true rates are known.

    python scripts/interval_coverage.py --samples 2000

`bootstrap` is the percentile bootstrap alone (with the binomial bound where all probes agree); `estimate` is what the
project prints, which is exact where few probes deviate. `worst side` is the share of samples whose interval misses on
its worse side; 2.5 % is due.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from tqdm import tqdm

from metrics import intervals
from metrics.intervals import Array, Measure, mean_over_probes, weighted_sum

Draw = Callable[[np.random.Generator, int], Measure]


def _mean(values: Array, bounds: tuple[float, float]) -> Measure:
    return Measure(mean_over_probes(values, np.ones(len(values))), values, bounds)


def one_trial(rate: float) -> Draw:
    """One trial of each probe."""
    return lambda rng, probes: _mean((rng.random(probes) < rate).astype(float), (0, 1))


def two_trials(rate: float, correlation: float = 0.5) -> Draw:
    """Two trials of each probe, correlated: beta-binomial."""
    size = 1 / correlation - 1

    def draw(rng: np.random.Generator, probes: int) -> Measure:
        own = rng.beta(rate * size, (1 - rate) * size, probes)
        return _mean(rng.binomial(2, own) / 2, (0, 1))

    return draw


def gap(false: float, true: float) -> Draw:
    """J of a model that accepts a true claim wherever it accepts a false one."""

    def draw(rng: np.random.Generator, probes: int) -> Measure:
        own = rng.random(probes)
        c, s, one = (own < true).astype(float), (own < false).astype(float), np.ones(probes)
        return Measure(weighted_sum([(1, mean_over_probes(c, one)), (-1, mean_over_probes(s, one))]), c - s, (-1, 1))

    return draw


def answered(rate: float, coverage: float) -> Draw:
    """Accuracy over answered videos, of two for each probe: a ratio of sums."""

    def draw(rng: np.random.Generator, probes: int) -> Measure:
        counts = rng.binomial(2, coverage, probes).astype(float)
        right = rng.binomial(counts.astype(int), rate).astype(float)
        with np.errstate(invalid="ignore"):
            return Measure(mean_over_probes(right, counts), right / counts, (0, 1))

    return draw


CASES: dict[str, tuple[Draw, float]] = {
    **{f"one trial, rate {p}": (one_trial(p), p) for p in (0.02, 0.05, 0.5, 0.9, 0.98)},
    **{f"two trials, rate {p}": (two_trials(p), p) for p in (0.02, 0.1, 0.5, 0.98)},
    "J: S 0.95, C 0.99": (gap(0.95, 0.99), 0.04),
    "J: S 0.87, C 0.99": (gap(0.87, 0.99), 0.12),
    "J: S 0.26, C 0.77": (gap(0.26, 0.77), 0.51),
    "accuracy 0.97, 40 % answered": (answered(0.97, 0.4), 0.97),
    "accuracy 0.80, 40 % answered": (answered(0.80, 0.4), 0.80),
}


def coverage(draw: Draw, truth: float, probes: int, samples: int, resamples: int, seed: int) -> dict[str, float]:
    """Shares of samples, for the bootstrap alone and for `estimate`, and their mean widths."""
    rng = np.random.default_rng([seed, probes])
    measures = [draw(rng, probes) for _ in range(samples)]
    row: dict[str, float] = {}
    few = intervals.FEW
    for name, threshold in (("bootstrap", 0), ("estimate", few)):
        intervals.FEW = threshold
        found = intervals.estimates(measures, resamples, seed)
        low, high = np.array([e.low for e in found]), np.array([e.high for e in found])
        above, below = (low > truth + 1e-9).mean(), (high < truth - 1e-9).mean()
        row |= {name: 1 - above - below, f"{name} worst side": max(above, below), f"{name} width": (high - low).mean()}
    intervals.FEW = few
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000, help="simulated data sets of each case")
    parser.add_argument("--probes", type=int, nargs="+", default=[30, 64, 100, 500])
    parser.add_argument("--resamples", type=int, default=2000, help="of each bootstrap")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    error = 100 * np.sqrt(0.05 * 0.95 / options.samples)
    print(
        f"{options.samples} samples, {options.resamples} resamples, seed {options.seed}; standard error {error:.1f} points"
    )
    columns = "  ".join(f"{name:>9} {'worst side':>10} {'width':>6}" for name in ("bootstrap", "estimate"))
    print(f"{'':30} {'probes':>6}  {columns}")
    cells = [(name, probes) for name in CASES for probes in options.probes]
    for name, probes in tqdm(cells, leave=False):
        r = coverage(*CASES[name], probes, options.samples, options.resamples, options.seed)
        shares = "  ".join(
            f"{r[kind]:9.1%} {r[f'{kind} worst side']:10.1%} {r[f'{kind} width']:6.3f}"
            for kind in ("bootstrap", "estimate")
        )
        tqdm.write(f"{name:30} {probes:6}  {shares}")


if __name__ == "__main__":
    main()
