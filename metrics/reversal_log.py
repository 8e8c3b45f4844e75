"""The reversal test from sample logs: from trials of single offsets to u and ū, video by video."""

from __future__ import annotations

import numpy as np
import pandas as pd

from metrics.intervals import NOTHING, Array, Estimate
from metrics.letters import average_letters
from metrics.reversal import BUDGETS, THRESHOLD
from metrics.reversal_readings import ReversalReadings
from metrics.reversal_table import measure_one_offset, measure_threshold
from metrics.trial_table import Trials, chosen, one_value, table_of


def _probability_of_e1(readings: pd.DataFrame) -> Array:
    """The u of each reading: its probability of e1-first where there are any, else its hard share.

    An abstention prefers neither order: it counts one half.
    """
    shares = readings["hard_e1"] + readings["hard_abstained"] / 2
    return readings["confidence_e1"].fillna(shares).to_numpy(dtype=np.float64)


def reversal_readings(trials: Trials) -> ReversalReadings:
    """What one model read of each video at every budget and offset, forward and reversed; NaN where it is not logged.

    The schedule is always 8, 16 and 32, and the offsets are those of the release: what a partial log lacks makes a video
    unknown, not a shorter test.

    Raises:
        ValueError: if the trials mix releases or time channels, contradict each other, or none of them is of this test.
    """
    counted = chosen(table_of(trials), phase="offset", claim="none", arm="intact")
    if counted.empty:
        raise ValueError("no trial of the reversal test: run the task caved_or_convinced_reversal")
    for name in ("release", "time", "video_budget"):
        one_value(counted, name)
    readings = average_letters(counted)
    budgets = sorted({*BUDGETS, *map(int, readings["budget"].unique())})
    offsets = max(int(counted["release_offsets"].max()), int(readings["offset"].max()) + 1)
    videos = readings.groupby(["probe", "twin"], observed=True, sort=True)
    video = videos.ngroup().to_numpy()
    values = np.full((2, int(video.max()) + 1, len(budgets), offsets), np.nan)
    backward = (readings["direction"] == "reversed").to_numpy().astype(np.int64)
    at_budget = np.searchsorted(budgets, readings["budget"].to_numpy())
    values[backward, video, at_budget, readings["offset"].to_numpy()] = _probability_of_e1(readings)
    names = [key for key, _ in videos]
    return ReversalReadings(
        forward=values[0],
        reversed=values[1],
        truth=np.array([1 if twin == "+" else -1 for _, twin in names]),
        probe=np.array([str(probe) for probe, _ in names]),
        budgets=tuple(budgets),
    )


def threshold_of(trials: Trials) -> float:
    """The θ at which an adaptive run stopped; the usual one where none is logged.

    Raises:
        ValueError: if trials were decided at different θ.
    """
    told = sorted(set(table_of(trials)["threshold"].dropna()))
    if len(told) > 1:
        raise ValueError(
            f"videos were decided at several thresholds: {', '.join(f'{t:g}' for t in told)}; report one run at a time"
        )
    return float(told[0]) if told else THRESHOLD


def missing_trials(trials: Trials) -> int:
    """How many trials of the logged reversal test the log lacks."""
    table = chosen(table_of(trials), phase="offset", padding=False)
    if table.empty:
        return 0
    asked = int(table["release_probes"].max()) * 2 * len(BUDGETS) * int(table["release_offsets"].max()) * 2 * 2
    return max(0, asked - len(table.drop_duplicates(["probe", "twin", "budget", "offset", "direction", "letters"])))


def reversal_measures(
    trials: Trials, resamples: int, threshold: float | None = None, adaptive: bool = False
) -> dict[str, Estimate]:
    """The numbers of the reversal test by name, and always answering from one offset and at k = 32.

    Args:
        trials: of one run; those of other phases are passed over.
        resamples: of the bootstrap; 0 leaves intervals out.
        threshold: θ; None for the one at which an adaptive run stopped, else 0.3.
        adaptive: the run stopped at each video as soon as it might answer. Then k = 32 was reached by hard videos
            only, and always answering at k = 32 is not measured.

    `accuracy_one_offset` is at the smallest budget, where the test begins; the paper's value fits that one.
    """
    table = table_of(trials)
    names = ("accuracy", "coverage", "mean_k_answered", "mean_k_all", "accuracy_one_offset", "accuracy_k32")
    if chosen(table, phase="offset").empty:
        return dict.fromkeys(names, NOTHING)
    readings = reversal_readings(table)
    at = measure_threshold(readings, threshold_of(table) if threshold is None else threshold, resamples)
    largest = NOTHING
    if 32 in readings.budgets and not adaptive:
        largest = measure_one_offset(readings, 32, resamples).accuracy
    return {
        "accuracy": at.accuracy,
        "coverage": at.coverage,
        "mean_k_answered": at.budget_answered,
        "mean_k_all": at.budget_all,
        "accuracy_one_offset": measure_one_offset(readings, BUDGETS[0], resamples).accuracy,
        "accuracy_k32": largest,
    }
