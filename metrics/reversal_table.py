"""What the reversal test is worth: accuracy, coverage and mean budget at each θ, beside always answering.

Paper, Table 5, Table 8, "Reversal Test" and "Threshold Sensitivity". Coverage is the share of videos that
are answered, accuracy the share of right ones among those. The published mean k lies below what abstained
videos alone would force on an average over all videos, so it is one over answered videos; both are given
here, and an abstained video counts with the largest budget, which it spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.intervals import RESAMPLES, Array, Estimate, estimate, mean_over_probes
from metrics.reversal import ROUNDING, checked_threshold
from metrics.reversal_readings import ReversalReadings, decide_all

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)  # of Table 8
FEW_PROBES = 30  # below, bootstrap intervals are too narrow


@dataclass(frozen=True)
class ThresholdResult:
    """The test at one θ. Intervals are over probes; unknown videos are in none of the numbers."""

    threshold: float
    accuracy: Estimate  # share of right answers among answered videos
    coverage: Estimate  # share of answered videos
    budget_answered: Estimate  # frames, mean over answered videos: the paper's mean k
    budget_all: Estimate  # frames, mean over all videos
    videos: int  # known ones
    answered: int
    answered_at: tuple[int, ...]  # answered videos by budget of the schedule
    unknown: int  # videos without a reading that the test needed


@dataclass(frozen=True)
class OneOffset:
    """Always answering, from the frames of offset 0 in order (paper, Table 5, "always answer")."""

    budget: int  # frames
    accuracy: Estimate  # share of videos whose likelier order is the true one; a tie counts one half
    videos: int  # known ones
    ties: int
    unknown: int  # videos without this reading


@dataclass(frozen=True)
class ReversalResult:
    """Everything that a table says about the reversal test of one model or group of models."""

    budgets: tuple[int, ...]  # the schedule, frames
    offsets: int
    probes: int
    videos: int
    unbalanced_probes: int  # probes with more of one twin than of the other
    thresholds: tuple[ThresholdResult, ...]  # by θ, ascending
    one_offset: tuple[OneOffset, ...]  # by budget, of all that were logged

    def at(self, threshold: float) -> ThresholdResult:
        """The result at one of the thresholds.

        Raises:
            ValueError: if it was not among them.
        """
        for result in self.thresholds:
            if abs(result.threshold - threshold) < ROUNDING:
                return result
        raise ValueError(f"θ = {threshold} was not measured, only {[r.threshold for r in self.thresholds]}")

    def always(self, budget: int) -> OneOffset:
        """The always-answer baseline at one of the budgets.

        Raises:
            ValueError: if it was not logged.
        """
        for result in self.one_offset:
            if result.budget == budget:
                return result
        raise ValueError(f"budget {budget} was not logged, only {[r.budget for r in self.one_offset]}")


def _mean(
    values: Array,
    counted: NDArray[np.bool_],
    readings: ReversalReadings,
    bounds: tuple[float, float],
    resamples: int,
) -> Estimate:
    """The mean of `values`, shape (videos,), over the videos that are `counted`."""
    names, rows = np.unique(readings.probe, return_inverse=True)
    totals = np.bincount(rows[counted], weights=values[counted], minlength=len(names)).astype(np.float64)
    counts = np.bincount(rows[counted], minlength=len(names)).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_probe = np.where(counts > 0, totals / counts, np.nan)
    return estimate(mean_over_probes(totals, counts), per_probe, bounds, resamples=resamples)


def measure_threshold(readings: ReversalReadings, threshold: float, resamples: int = RESAMPLES) -> ThresholdResult:
    """The test at one θ and the schedule of the readings.

    Raises:
        ValueError: if the threshold does not lie in [0, 1].
    """
    theta = checked_threshold(threshold)
    decisions = decide_all(readings, theta)
    answered, known = decisions.answered, ~decisions.unknown
    spent, right = decisions.budget.astype(np.float64), (decisions.order == readings.truth).astype(np.float64)
    frames = (float(readings.budgets[0]), float(readings.budgets[-1]))
    return ThresholdResult(
        threshold=theta,
        accuracy=_mean(right, answered, readings, (0, 1), resamples),
        coverage=_mean(answered.astype(np.float64), known, readings, (0, 1), resamples),
        budget_answered=_mean(spent, answered, readings, frames, resamples),
        budget_all=_mean(spent, known, readings, frames, resamples),
        videos=int(known.sum()),
        answered=int(answered.sum()),
        answered_at=tuple(int((decisions.budget[answered] == b).sum()) for b in readings.budgets),
        unknown=int(decisions.unknown.sum()),
    )


def measure_one_offset(readings: ReversalReadings, budget: int, resamples: int = RESAMPLES) -> OneOffset:
    """The baseline that always answers from one sampling grid.

    Raises:
        ValueError: if the budget was not logged.
    """
    first = readings.at_budgets((budget,)).forward[:, 0, 0]
    known = ~np.isnan(first)
    lead = np.nan_to_num(first, nan=0.5) - 0.5
    tie = np.abs(lead) <= ROUNDING
    right = np.where(tie, 0.5, np.sign(lead) == readings.truth)
    return OneOffset(
        budget=budget,
        accuracy=_mean(right, known, readings, (0, 1), resamples),
        videos=int(known.sum()),
        ties=int((tie & known).sum()),
        unknown=int((~known).sum()),
    )


def measure_reversal(
    readings: ReversalReadings,
    thresholds: Sequence[float] = THRESHOLDS,
    budgets: Sequence[int] | None = None,
    resamples: int = RESAMPLES,
) -> ReversalResult:
    """The reversal test of one model at several thresholds, and always answering at every logged budget.

    Args:
        readings: of one model, or of a pooled group.
        thresholds: θ in [0, 1].
        budgets: the schedule, any logged budgets in ascending order; None for all of them.
        resamples: of the bootstrap behind the intervals; 0 leaves intervals out.

    Raises:
        ValueError: for a bad threshold, or a budget that was not logged.
    """
    scheduled = readings if budgets is None else readings.at_budgets(budgets)
    names, rows = np.unique(readings.probe, return_inverse=True)
    surplus = np.bincount(rows, weights=readings.truth, minlength=len(names))
    return ReversalResult(
        budgets=scheduled.budgets,
        offsets=readings.offsets,
        probes=len(names),
        videos=len(readings),
        unbalanced_probes=int((surplus != 0).sum()),
        thresholds=tuple(measure_threshold(scheduled, t, resamples) for t in sorted(set(thresholds))),
        one_offset=tuple(measure_one_offset(readings, b, resamples) for b in readings.budgets),
    )


def reversal_warnings(result: ReversalResult) -> list[str]:
    """What a reader of the numbers must know, each with what to do about it."""
    warnings = []
    if result.unbalanced_probes:
        warnings.append(
            f"{result.unbalanced_probes} of {result.probes} probes lack a twin: a constant answer is no longer right "
            "half of the time; complete the run"
        )
    for at in result.thresholds:
        if at.unknown:
            warnings.append(
                f"θ = {at.threshold:g}: {at.unknown} of {result.videos} videos lack a reading that the test needed "
                "and are not counted; coverage and accuracy describe the others. A log of a run that stopped at its first "
                "answer can be measured at the θ and schedule of that run, or at a smaller θ"
            )
        if 0 < at.accuracy.probes < FEW_PROBES:
            warnings.append(
                f"θ = {at.threshold:g}: accuracy rests on {at.answered} answered videos of {at.accuracy.probes} "
                f"probes; intervals are too narrow below about {FEW_PROBES}"
            )
    for always in result.one_offset:
        if always.unknown:
            warnings.append(
                f"one offset at {always.budget} frames: {always.unknown} of {result.videos} videos lack this reading "
                "and are not counted; if the run stopped at its first answer, those that are left are the hard ones, and "
                "this is no baseline"
            )
        if always.videos and always.ties > 0.2 * always.videos:
            warnings.append(
                f"one offset at {always.budget} frames: {always.ties} of {always.videos} readings are ties and count "
                "one half: the model answers by letter, not by content"
            )
    return warnings
