"""Whether a gap is zero for all practical purposes: not merely undetected, but shown to be small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

from metrics.bounded_mean import Array, deviating, exact_interval, mean_tails
from metrics.intervals import FEW

MARGIN = 0.1  # of |J|; paper, "Controls and Statistics"
ALPHA = 0.05
GAP_BOUNDS = (-1.0, 1.0)

Method = Literal["paired t", "exact", "no variance", "identical by construction", "too few probes"]


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests that a mean gap lies within +-margin.

    `method` says how: `paired t` (the classical test); `exact` (fewer than `FEW` gaps differ from the
    commonest, where t is too bold: exact tests for bounded values); `no variance` (all gaps are equal;
    `differing_at_most` bounds the share of probes that may still differ); `identical by construction` (the
    twins were the same requests and got the same answers: nothing to test); `too few probes` (no decision).
    """

    margin: float
    p_value: float  # the larger of the two; NaN where nothing was tested
    equivalent: bool | None  # None: no decision
    method: Method
    gap: float  # mean over probes
    low: float  # interval at level 1 - 2 alpha: within +-margin if and only if equivalent
    high: float
    probes: int
    unknown: int  # probes left out because their gap is not known
    differing_at_most: float = float("nan")  # one-sided bound at 1 - alpha, where all gaps are equal


def two_one_sided(
    per_probe_gap: Array, margin: float = MARGIN, identical: bool = False, alpha: float = ALPHA
) -> Equivalence:
    """Test whether the mean of per-probe gaps (c_ω - s_ω) is equivalent to zero.

    Args:
        per_probe_gap: in [-1, 1], shape (probes,); NaN where not known.
        margin: of equivalence, in (0, 1).
        identical: the twins were identical requests, so that a gap can only come from unstable decoding. If
            there is such a gap all the same, the gaps are tested as any others.
        alpha: of each of the two tests.

    Raises:
        ValueError: if a gap or the margin is out of range.
    """
    if not 0 < margin < 1:
        raise ValueError(f"margin {margin} cannot be tested: it must lie between 0 and 1")
    every = np.asarray(per_probe_gap, dtype=float)
    gaps = every[~np.isnan(every)]
    if (np.abs(gaps) > 1).any():
        raise ValueError(f"a gap of {gaps[np.abs(gaps).argmax()]} is out of range: accept rates differ by at most 1")
    probes, unknown = len(gaps), len(every) - len(gaps)
    nan = float("nan")
    mean = float(gaps.mean()) if probes else nan
    if identical and probes and not gaps.any():
        return Equivalence(margin, nan, True, "identical by construction", 0.0, 0.0, 0.0, probes, unknown)
    if probes < 2:
        return Equivalence(margin, nan, None, "too few probes", mean, nan, nan, probes, unknown)
    differ = deviating(gaps)
    if differ < FEW:
        p_value = max(mean_tails(gaps, margin, GAP_BOUNDS).below, mean_tails(gaps, -margin, GAP_BOUNDS).above)
        low, high = exact_interval(gaps, GAP_BOUNDS, 1 - 2 * alpha)
        method: Method = "exact" if differ else "no variance"
        bound = nan if differ else 1 - alpha ** (1 / probes)
        return Equivalence(margin, p_value, p_value < alpha, method, mean, low, high, probes, unknown, bound)
    error = float(gaps.std(ddof=1)) / np.sqrt(probes)
    below = student.cdf((mean - margin) / error, probes - 1)
    above = student.sf((mean + margin) / error, probes - 1)
    half = float(student.isf(alpha, probes - 1)) * error
    p_value = float(max(below, above))
    return Equivalence(margin, p_value, p_value < alpha, "paired t", mean, mean - half, mean + half, probes, unknown)
