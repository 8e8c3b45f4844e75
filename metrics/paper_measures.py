"""The numbers of each task by the names under which results files and tables know them."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from metrics.attribution import measure_attribution
from metrics.deference import MEASURES, PHASES, Deference, measure_deference
from metrics.intervals import NOTHING, Estimate
from metrics.reversal_log import reversal_measures
from metrics.single_event import measure_single_event
from metrics.trial_table import Trials, chosen, table_of

TASK = "caved_or_convinced"
TIMES = ("withheld", "native", "text")
CLAIMS = ("strong", "mild")
Measures = dict[str, Estimate]


def with_confidence(measure: Callable[[bool], Measures]) -> Measures:
    """Hard rates by their names, and confidence rates by the same names and `_confidence`."""
    return measure(False) | {f"{name}_confidence": value for name, value in measure(True).items()}


def rate(result: Deference, name: str, confidence: bool) -> Estimate:
    """S, C, J or J0 of a phase, hard or from probabilities."""
    if confidence:
        return result.confidence.get(name, NOTHING)
    value: Estimate = getattr(result, name)
    return value


def _main(table: pd.DataFrame, resamples: int) -> Measures:
    results = {phase: measure_deference(table, phase, resamples=resamples) for phase in PHASES}
    return with_confidence(
        lambda confidence: {
            f"{phase}_{name}": rate(result, name, confidence) for phase, result in results.items() for name in MEASURES
        }
    )


def _attribution(table: pd.DataFrame, resamples: int) -> Measures:
    names = ("J0", "J0_no_events", "J0_placebo", "b", "C_minus_b", "S_minus_b")

    def measure(confidence: bool) -> Measures:
        result = measure_attribution(table, confidence, resamples)
        return {name: getattr(result, name) for name in names}

    return with_confidence(measure)


def _mild(table: pd.DataFrame, resamples: int) -> Measures:
    results = {
        (phase, claim): measure_deference(table, phase, claim, resamples=resamples)
        for phase in PHASES
        for claim in CLAIMS
    }

    def measure(confidence: bool) -> Measures:
        values = {}
        for (phase, claim), result in results.items():
            for name in ("S", "C", "J"):
                prefix = "" if phase == "on_grid" else "in_gap_"
                values[f"{prefix}{name}_{claim}"] = rate(result, name, confidence)
        return values

    return with_confidence(measure)


def _time(table: pd.DataFrame, resamples: int) -> Measures:
    told = {time: chosen(table, time=time) for time in TIMES}
    results = {
        (phase, time): measure_deference(rows, phase, time=time, resamples=resamples)
        for phase in PHASES
        for time, rows in told.items()
    }

    def measure(confidence: bool) -> Measures:
        values = {}
        for (phase, time), result in results.items():
            for name in ("J0", "J"):
                prefix = "" if phase == "on_grid" else "in_gap_"
                values[f"{prefix}{name}_{time}"] = rate(result, name, confidence)
        return values

    return with_confidence(measure)


def _single_event(table: pd.DataFrame, resamples: int) -> Measures:
    def measure(confidence: bool) -> Measures:
        result = measure_single_event(table, confidence, resamples)
        return {f"J0_{name}": getattr(result, name) for name in ("on_grid", "early", "late", "mean")}

    return with_confidence(measure)


_MEASURES: dict[str, Callable[[pd.DataFrame, int], Measures]] = {
    f"{TASK}_attribution": _attribution,
    f"{TASK}_mild": _mild,
    f"{TASK}_time": _time,
    f"{TASK}_single_event": _single_event,
    f"{TASK}_reversal": reversal_measures,
    f"{TASK}_reversal_adaptive": lambda table, resamples: reversal_measures(table, resamples, adaptive=True),
}


def is_main_task(task: str) -> bool:
    """Whether a task is the main one, at any budget."""
    return task not in _MEASURES


def paper_measures(task: str, trials: Trials, resamples: int = 0) -> Measures:
    """Every number of a task, by name; `Estimate.method` is `none` where there is nothing to measure from.

    Args:
        task: the task's name; the main task at any budget if it is none of the others.
        trials: of one run of it.
        resamples: of the bootstrap behind the intervals; 0 leaves intervals out.

    Raises:
        ValueError: if the trials mix releases, budgets or time channels, or contradict each other.
    """
    return _MEASURES.get(task, _main)(table_of(trials), resamples)
