"""Whether an observed number is what its closed form says, when hundreds of numbers are compared at once.

A 95 % interval misses a right closed form one time in twenty, and stretching it does not help: far out in the
tails, bootstrap intervals of rates are wrong by orders of magnitude. Hoeffding's bound needs no approximation.
Let a number lie in [a, b] and be a mean over n probes, which are independent, with whatever dependence within
a probe. If its true value is μ, it comes out as far on its side of μ as x, or farther, with a probability of at most

    exp(-n K),   K = y ln(y / m) + (1 - y) ln((1 - y) / (1 - m)),   y, m = (x - a)/(b - a), (μ - a)/(b - a)

(Hoeffding 1963, Theorem 1, before it is simplified). Probes that happen to ask the same question share the draw of a
prior by question, which the bound does not know; they are few. A mean over answered videos is a ratio R/N of sums over
probes; R - μ N has mean 0, and the same bound holds with the deviation x - μ multiplied by the share of videos
that are answered.

Of m cells each may err with `error / m`, half of it on either side (Bonferroni), so that the chance that any cell is
called wrong though all are right is at most `error`. A number that cannot vary must be met exactly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import rel_entr

from lmms_eval_tasks.expected_deference import Expected
from metrics.intervals import NOTHING, Estimate
from metrics.reversal import BUDGETS

FAMILY_ERROR = 0.01
_EXACT = 1e-9  # sums of the same numbers in another order
_OF_ANSWERED = re.compile(r"(?:accuracy|mean_k_answered)(_theta_.*)?")  # means over answered videos


@dataclass(frozen=True)
class CheckedCell:
    """One number of one task beside its closed form."""

    task: str
    name: str
    observed: Estimate
    expected: Expected
    chance: float  # at most, of a deviation as large on either side; NaN where nothing is compared
    fault: str = ""  # what is wrong; empty if nothing is

    @property
    def outside_plain(self) -> bool:
        """Whether the closed form lies outside the 95 % interval as it is reported."""
        slack = _EXACT * max(1.0, abs(self.expected.value))
        return not self.observed.low - slack <= self.expected.value <= self.observed.high + slack


def bounds_of(name: str) -> tuple[float, float]:
    """The smallest and the largest value that a number can have, by its name."""
    if name.startswith("mean_k"):
        return float(BUDGETS[0]), float(BUDGETS[-1])
    return (-1.0, 1.0) if re.search(r"(^|_)J0?(_|$)|_minus_", name) else (0.0, 1.0)


def chance_at_most(
    observed: float, expected: float, probes: int, bounds: tuple[float, float], answered: float = 1.0
) -> float:
    """The bound on the chance of a deviation as large as the observed one, on either side (module docstring).

    Args:
        observed: x.
        expected: μ.
        probes: n.
        bounds: a and b.
        answered: share of videos that the mean is over.
    """
    low, high = bounds
    mean = min(max((expected - low) / (high - low), 0.0), 1.0)
    seen = min(max(mean + answered * (observed - expected) / (high - low), 0.0), 1.0)
    divergence = float(rel_entr(seen, mean) + rel_entr(1 - seen, 1 - mean))
    return min(1.0, 2 * math.exp(-probes * divergence))


def _share_answered(name: str, observed: Mapping[str, Estimate]) -> float:
    match = _OF_ANSWERED.fullmatch(name)
    return 1.0 if match is None else observed[f"coverage{match[1] or ''}"].value


def check_cells(
    task: str,
    observed: Mapping[str, Estimate],
    expected: Mapping[str, Expected],
    cells: int,
    probes: int,
    error: float = FAMILY_ERROR,
) -> list[CheckedCell]:
    """Every number of a task beside its closed form, in order of the closed forms.

    A number that is measured and has no closed form, or the reverse, is at fault: nothing passes unlooked at. One
    that nothing was measured for and whose closed form is NaN (an accuracy without answers) is passed over.

    Args:
        task: its name.
        observed: numbers by name, as `metrics.paper_measures` gives them, with intervals.
        expected: closed forms by the same names.
        cells: how many cells are compared in all, over all tasks and observers.
        probes: of the release.
        error: the family-wise error.
    """
    checked = []
    for name in [*expected, *(name for name in observed if name not in expected)]:
        measured, closed = observed.get(name, NOTHING), expected.get(name, Expected(math.nan))
        is_measured, is_known = measured.method != "none", not math.isnan(closed.value)
        if not is_measured and not is_known:
            continue
        chance, fault = math.nan, ""
        if not is_known:
            fault = "no closed form"
        elif not is_measured:
            fault = "not measured"
        elif closed.certain:
            fault = "" if abs(measured.value - closed.value) <= _EXACT * max(1.0, abs(closed.value)) else "not exact"
        else:
            share = _share_answered(name, observed)
            chance = chance_at_most(measured.value, closed.value, probes, bounds_of(name), share)
            fault = "outside" if chance < error / cells else ""
        checked.append(CheckedCell(task, name, measured, closed, chance, fault))
    return checked
