"""How many probes a test needs, and what it can detect with those that there are.

A hard rate gives each probe a gap of -1, 0 or 1 between two conditions, such as a true and a false claim. The gap
J is P(1) - P(-1), and the share of discordant probes is P(1) + P(-1), at least |J|.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import binom

from metrics.bounded_mean import Array
from metrics.equivalence import ALPHA, MARGIN

POWER = 0.8
MOST_PROBES = 200_000  # beyond which no number is searched for
_TAIL = 1e-14  # of the number of discordant probes, left out of sums


def _check(gap: float, discordant: float, power: float, alpha: float) -> None:
    if not 0 < discordant <= 1 or abs(gap) > discordant + 1e-12:
        raise ValueError(
            f"a gap of {gap} with {discordant} of probes discordant cannot be: the share of discordant probes lies "
            "between |gap| and 1, and above 0"
        )
    if not 0 < alpha < power < 1:
        raise ValueError(f"power {power} at alpha {alpha} cannot be asked for: they must be 0 < alpha < power < 1")


def _likely(probes: int, discordant: float, more: int = 0) -> Array:
    """All numbers of discordant probes that may well occur, and some more."""
    low, high = binom.ppf(_TAIL, probes, discordant), binom.isf(_TAIL, probes, discordant)
    return np.arange(max(low, 0.0), min(high, probes) + 1 + more)


def _rejects(differing: Array, alpha: float) -> Array:
    """The largest number of the rarer direction with which the two-sided sign test rejects; -1 if it never does."""
    guess = binom.ppf(alpha / 2, differing, 0.5)  # the smallest number that reaches alpha / 2, perhaps exactly
    exact = binom.cdf(guess, differing, 0.5) <= alpha / 2 * (1 + 1e-12)
    return np.where(differing > 0, np.where(exact, guess, guess - 1), -1.0)


def _power_given(differing: Array, first: float, alpha: float) -> Array:
    """Power of the sign test on so many discordant probes, of which a share `first` goes one way."""
    most = _rejects(differing, alpha)
    return np.asarray(binom.cdf(most, differing, first) + binom.sf(differing - most - 1, differing, first))


def sign_test_power(probes: int, gap: float, discordant: float, alpha: float = ALPHA) -> float:
    """Power of the exact two-sided sign test (McNemar's exact test) on so many probes.

    The probabilities of all numbers of discordant probes, and of all their splits on which the test rejects, are
    summed; nothing is approximated.

    Args:
        probes: known in both conditions.
        gap: the true J.
        discordant: the true share of probes that differ.
        alpha: level of the test.

    Raises:
        ValueError: if no distribution has this gap and share.
    """
    _check(gap, discordant, 0.5 * (1 + alpha), alpha)
    first = (discordant + abs(gap)) / (2 * discordant)
    differing = _likely(probes, discordant)
    return float(binom.pmf(differing, probes, discordant) @ _power_given(differing, min(first, 1.0), alpha))


def probes_needed(gap: float, discordant: float, power: float = POWER, alpha: float = ALPHA) -> int:
    """The smallest number of probes from which on the exact sign test keeps this power.

    The power of an exact test is a saw: it falls while its critical value stands still. The number returned is the
    one after the last tooth that reaches below.

    Raises:
        ValueError: if no distribution has this gap and share, the gap is zero, or more than `MOST_PROBES` are needed.
    """
    _check(gap, discordant, power, alpha)
    if gap == 0:
        raise ValueError("a gap of zero is never detected: ask for the power of an equivalence test")
    first = min((discordant + abs(gap)) / (2 * discordant), 1.0)

    def floor(probes: int) -> float:
        """At most the power with this or any larger number of probes; rises with it."""
        differing = _likely(probes, discordant, 20)
        given = _power_given(differing, first, alpha)
        lowest = np.minimum.accumulate(given[::-1])[::-1]
        return float(binom.pmf(differing, probes, discordant) @ lowest)

    below, enough = 0, 16
    while floor(enough) < power:
        below, enough = enough, 2 * enough
        if enough > MOST_PROBES:
            raise ValueError(f"a gap of {gap} needs more than {MOST_PROBES} probes: it is too small to look for")
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if floor(middle) >= power else (middle, enough)
    while enough > 1 and sign_test_power(enough - 1, gap, discordant, alpha) >= power:
        enough -= 1
    return enough


def smallest_detectable(probes: int, discordant: float, power: float = POWER, alpha: float = ALPHA) -> float:
    """The smallest gap that the exact sign test detects with this power; NaN if even the largest is too small.

    Args:
        probes: known in both conditions.
        discordant: the share of probes that differ.
        power: wanted.
        alpha: level of the test.
    """
    _check(0.0, discordant, power, alpha)
    if sign_test_power(probes, discordant, discordant, alpha) < power:
        return float("nan")
    low, high = 0.0, discordant
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if sign_test_power(probes, middle, discordant, alpha) >= power else (middle, high)
    return high


def probes_for_mean(distance: float, deviation: float, power: float = POWER, alpha: float = ALPHA) -> float:
    """About how many probes a one-sided test of a mean needs (normal approximation); infinity if at the threshold.

    Args:
        distance: of the true mean from the threshold.
        deviation: standard deviation of a probe's value.
        power: wanted.
        alpha: level of the one-sided test.
    """
    if distance <= 0:
        return math.inf
    return float(math.ceil(((ndtri(1 - alpha) + ndtri(power)) * deviation / distance) ** 2))


def equivalence_power(probes: int, gap: float, deviation: float, margin: float = MARGIN, alpha: float = ALPHA) -> float:
    """Power of two one-sided t tests to show a mean gap within +-margin (their common error taken as known).

    Args:
        probes: with a known gap, at least 2.
        gap: the true mean.
        deviation: standard deviation of a probe's gap.
        margin: of equivalence.
        alpha: of each of the two tests.
    """
    if deviation == 0:
        return float(abs(gap) < margin)
    error, quantile = deviation / math.sqrt(probes), stdtrit(probes - 1, 1 - alpha)
    return float(max(0.0, ndtr((margin - gap) / error - quantile) + ndtr((margin + gap) / error - quantile) - 1))


def probes_for_equivalence(
    gap: float, deviation: float, margin: float = MARGIN, power: float = POWER, alpha: float = ALPHA
) -> float:
    """The smallest number of probes with this power of two one-sided tests; infinity if the gap is no smaller."""
    if abs(gap) >= margin:
        return math.inf
    below, enough = 1, 2
    while equivalence_power(enough, gap, deviation, margin, alpha) < power:
        below, enough = enough, 2 * enough
        if enough > MOST_PROBES:
            return math.inf
    while enough - below > 1:
        middle = (below + enough) // 2
        good = equivalence_power(middle, gap, deviation, margin, alpha) >= power
        below, enough = (below, middle) if good else (middle, enough)
    return float(enough)
