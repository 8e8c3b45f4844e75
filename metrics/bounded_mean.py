"""Exact tests and intervals for the mean of bounded per-probe values, for few probes and for few that deviate.

A resampled or normal interval fails where nearly all probes agree: what was not seen cannot be resampled. Here
a candidate mean is judged by the distribution that fits the data best among all with that mean and those bounds
(Owen, "Empirical Likelihood"; mass may stand on a bound that no probe reached), and by the probability of what
was seen under it. For values of 0 and 1 this is the binomial test and the interval of Clopper and Pearson; where
all probes agree it says how often another probe may still differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv

Array = NDArray[np.float64]

SMALLEST_P = 1e-12  # sums come from a Fourier transform; smaller probabilities are its rounding errors

_LATTICES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)  # steps of hard rates, letter ties and J - J0 / 2 between their bounds
_FINE = 128  # steps for other values
_CLOSEST = 1e-12  # of a mean to a bound
_ROUNDED = 12  # decimals to which values are told apart
_EDGE = 1e-9  # relative distance of candidates from a bound


@dataclass(frozen=True)
class Tails:
    """How likely a mean as far out as the observed one is, if the true mean is the candidate.

    `below` small: the true mean is lower than the candidate. `above` small: it is higher.
    """

    below: float
    above: float


@dataclass(frozen=True)
class _Sample:
    """Distinct values on the unit interval, how often each was seen, and how much its probe counts."""

    values: Array
    seen: Array
    share: Array  # of the largest count of a probe
    steps: int  # between the bounds, on which all values lie; 0 if there are none
    low: float
    width: float

    @property
    def probes(self) -> int:
        return int(self.seen.sum())

    @property
    def mean(self) -> float:
        weights = self.seen * self.share
        return float(weights @ self.values / weights.sum())


def _sample(values: Array, bounds: tuple[float, float], counts: Array | None) -> _Sample:
    values = np.asarray(values, dtype=float)
    if values.ndim != 1:
        raise ValueError(f"per-probe values have {values.ndim} dimensions: give one value per probe")
    counts = np.ones(len(values)) if counts is None else np.asarray(counts, dtype=float)
    known = ~np.isnan(values) & (counts > 0)
    values, counts = values[known], counts[known]
    if not len(values):
        raise ValueError("no probe has a value: there is nothing to test")
    low, width = bounds[0], bounds[1] - bounds[0]
    unit = np.round((values - low) / width, _ROUNDED)
    if unit.min() < 0 or unit.max() > 1:
        raise ValueError(f"per-probe values reach from {values.min()} to {values.max()}: the bounds are {bounds}")
    rows, seen = np.unique(np.column_stack([unit, counts / counts.max()]), axis=0, return_counts=True)
    distinct, share = rows[:, 0], rows[:, 1]
    fitting = [n for n in _LATTICES if np.abs(distinct * n - np.round(distinct * n)).max() < 1e-9]
    steps = fitting[0] if fitting and (share == 1).all() else 0
    return _Sample(distinct, seen.astype(float), share, steps, low, width)


def deviating(values: Array) -> int:
    """How many known values differ from the commonest one."""
    known = values[~np.isnan(values)]
    seen = np.unique(np.round(known, _ROUNDED), return_counts=True)[1]
    return int(seen.sum() - seen.max()) if len(seen) else 0


def _nearest(values: Array, seen: Array, mean: float) -> tuple[Array, float, float]:
    """The likeliest distribution with this mean, within (0, 1).

    Returns:
        The probabilities of the values, of 0 and of 1; the last two beyond what the values have there.
    """
    mean = min(max(mean, _CLOSEST), 1 - _CLOSEST)  # a search that rounds may arrive at a bound itself
    away = values - mean
    pairs = list(zip(seen.tolist(), away.tolist(), strict=True))

    def excess(tilt: float) -> float:  # falls in tilt; zero where the tilted mean is the wanted one
        return sum(s * a / (1 + tilt * a) for s, a in pairs)

    # Beyond these tilts a bound would get a negative probability. The nudge keeps a bound that was seen from
    # a division by zero.
    least, most, nudge = -1 / (1 - mean), 1 / mean, 1 - 1e-13
    at_one, at_zero = excess(least * nudge) <= 0, excess(most * nudge) >= 0
    tilt = least if at_one else most
    if not (at_one or at_zero):
        tilt = brentq(excess, least * nudge, most * nudge, xtol=1e-14)
    probabilities = seen / seen.sum() / (1 + tilt * away)
    rest = max(0.0, 1 - float(probabilities.sum()))
    zero, one = rest * at_zero, rest * at_one
    total = float(probabilities.sum()) + zero + one
    return probabilities / total, zero / total, one / total


def _power(spectrum: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """By repeated squaring, which is ten times faster than a complex power."""
    result = np.ones_like(spectrum)
    while exponent:
        if exponent & 1:
            result *= spectrum
        spectrum = spectrum * spectrum
        exponent >>= 1
    return result


def _tails(sample: _Sample, mean: float) -> Tails:
    """Tails of the sum of all probes' values, for a candidate mean within (0, 1).

    Values between two places of the lattice are shared out between them, so that their mean stays exact.
    """
    values = mean + sample.share * (sample.values - mean)  # a probe that counts less moves the mean less
    probabilities, zero, one = _nearest(values, sample.seen, mean)
    steps = sample.steps or _FINE
    position = np.append(values, [0.0, 1.0]) * steps
    if sample.steps:
        position = np.round(position)
    else:  # the commonest value stands on the lattice: that all probes agree has its exact probability
        commonest = position[sample.seen.argmax()]
        position += np.ceil(commonest) - commonest
    floor = np.floor(position).astype(int)
    upper = position - floor
    chances = np.append(probabilities, [zero, one])
    single = np.zeros(steps + 3)
    np.add.at(single, floor, chances * (1 - upper))
    np.add.at(single, floor + 1, chances * upper)
    length = sample.probes * (steps + 2) + 1
    size = 1 << length.bit_length()
    sums = np.fft.irfft(_power(np.fft.rfft(single, size), sample.probes), size)[:length].clip(0)
    observed = float(sample.seen @ position[:-2])
    below = float(sums[: int(np.ceil(observed - 1e-6)) + 1].sum())
    above = float(sums[int(np.floor(observed + 1e-6)) :].sum())
    return Tails(min(1.0, max(below, SMALLEST_P)), min(1.0, max(above, SMALLEST_P)))


def mean_tails(values: Array, mean: float, bounds: tuple[float, float]) -> Tails:
    """One-sided p-values of the hypothesis that the true mean of a probe's value is `mean`.

    Args:
        values: shape (probes,), each within the bounds; NaN where not known.
        mean: the candidate, strictly between the bounds.
        bounds: smallest and largest possible value of a probe.

    Raises:
        ValueError: if there is no value, a value is out of bounds, or the candidate is not between them.
    """
    if not bounds[0] < mean < bounds[1]:
        raise ValueError(f"the mean {mean} cannot be tested: it must lie between the bounds {bounds}")
    sample = _sample(values, bounds, None)
    return _tails(sample, (mean - sample.low) / sample.width)


def exact_interval(
    values: Array, bounds: tuple[float, float], level: float = 0.95, counts: Array | None = None
) -> tuple[float, float]:
    """The means that neither one-sided test rejects at (1 - level) / 2.

    Args:
        values: shape (probes,), each within the bounds; NaN where not known.
        bounds: smallest and largest possible value of a probe.
        level: of the two-sided interval.
        counts: shape (probes,), how much each probe counts in the mean; None if all count alike.

    Returns:
        Its two ends; Clopper and Pearson's where all values are bounds and count alike.

    Raises:
        ValueError: if there is no value or a value is out of bounds.
    """
    sample = _sample(values, bounds, counts)
    tail, low, high = (1 - level) / 2, 0.0, 1.0
    if (sample.share == 1).all() and np.isin(sample.values, (0, 1)).all():
        ones = float(sample.seen @ sample.values)
        zeros = sample.probes - ones
        low = float(betaincinv(ones, zeros + 1, tail)) if ones else 0.0
        high = float(betaincinv(ones + 1, zeros, 1 - tail)) if zeros else 1.0
    else:
        middle = min(max(sample.mean, _EDGE), 1 - _EDGE)
        least, most = _EDGE * middle, 1 - _EDGE * (1 - middle)
        # Few values next to a bound may not reject any mean up to it: the interval ends there.
        if sample.mean > 0 and _tails(sample, least).above < tail:
            low = brentq(lambda m: _tails(sample, m).above - tail, least, middle, xtol=1e-9)
        if sample.mean < 1 and _tails(sample, most).below < tail:
            high = brentq(lambda m: _tails(sample, m).below - tail, middle, most, xtol=1e-9)
    return sample.low + low * sample.width, sample.low + high * sample.width
