"""Whether a model does better in one condition than in another on the same probes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PairedTest:
    """An exact two-sided test on probes that score differently in two conditions."""

    first_only: int  # probes that score higher in the first
    second_only: int  # probes that score higher in the second
    pairs: int  # probes with a score in both
    ties: int  # pairs that score the same, which say nothing
    p_value: float  # 1 where all pairs tie; NaN without a pair
    unknown: int  # probes left out because a score is not known


def mcnemar_exact(first: Array, second: Array) -> PairedTest:
    """The exact sign test over probes; McNemar's exact test where each probe has one binary outcome.

    Several outcomes of a probe (twins, letter assignments) are not independent. They are averaged into one score
    beforehand, and the probe counts once, for the condition in which it scores higher, by however much. Among
    probes that differ, either direction is then equally likely if the condition has no effect. (Paper, "Frame
    Attribution" and "Controls and Statistics".)

    Args:
        first: score of each probe in the first condition, in [0, 1], shape (probes,); NaN where not known.
        second: the same probes in the second condition.

    Raises:
        ValueError: if the shapes differ or a score lies outside [0, 1].
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"scores of shapes {first.shape} and {second.shape}: give both conditions of the same probes")
    both = np.concatenate([first, second])
    if (both[~np.isnan(both)] < 0).any() or (both[~np.isnan(both)] > 1).any():
        raise ValueError("a score lies outside [0, 1]: give shares of right answers, not differences")
    known = ~np.isnan(first) & ~np.isnan(second)
    pairs = int(known.sum())
    first_only = int((first[known] > second[known]).sum())
    second_only = int((first[known] < second[known]).sum())
    differing = first_only + second_only
    p_value = float(binomtest(first_only, differing).pvalue) if differing else 1.0 if pairs else float("nan")
    return PairedTest(first_only, second_only, pairs, pairs - differing, p_value, len(first) - pairs)
