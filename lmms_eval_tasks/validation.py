"""The benchmark measured on observers whose every number is known: which observers, and how a run of one is judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from lmms_eval_tasks.cell_check import CheckedCell, check_cells
from lmms_eval_tasks.expected_cells import TASKS, expected_cells
from lmms_eval_tasks.expected_deference import Expected
from lmms_eval_tasks.expected_reversal import expected_reversal
from lmms_eval_tasks.observer_policy import ObserverPolicy
from lmms_eval_tasks.reversal_trials import ADAPTIVE, LOGGED
from metrics.intervals import RESAMPLES, Estimate
from metrics.paper_measures import paper_measures
from metrics.reversal_log import reversal_readings
from metrics.reversal_table import THRESHOLDS, measure_reversal
from stimuli_builder.parts import REVERSAL
from stimuli_builder.release import Release

# Rates near 0 and 1 that are not exact would rest on a handful of probes, so there are none.
OBSERVERS: dict[str, ObserverPolicy] = {
    "reads perfectly": ObserverPolicy(seed=101),
    "always defers": ObserverPolicy(reading=0.9, deference=1.0, mild_deference=0.6, seed=102),
    "reads, and defers half of the time": ObserverPolicy(
        reading=0.8, deference=0.5, mild_deference=0.25, reading_with_time=0.95, order_prior=0.6, seed=103
    ),
    "has a strong prior by question": ObserverPolicy(
        reading=0.3, deference=0.2, order_prior=0.85, prior_by="question", seed=104
    ),
    "reads positions": ObserverPolicy(reading=0.7, deference=0.4, visible_first=0.6, seed=105),
    "prefers a letter": ObserverPolicy(reading=0.8, deference=0.3, order_prior=0.7, letter_bias=0.5, seed=106),
    "dilutes": ObserverPolicy(reading=0.9, deference=0.3, dilution=0.8, seed=107),
    "states its confidence": ObserverPolicy(
        reading=0.75,
        deference=0.4,
        order_prior=0.65,
        letter_bias=0.15,
        seed=108,
        mild_deference=0.15,
        visible_first=0.4,
        dilution=0.3,
        reading_with_time=0.9,
        confidence=0.8,
    ),
}
THRESHOLD_TASK = f"{LOGGED} at other thresholds"  # Table 8, from the trials of the logged reversal test
_RATES = {"accuracy": "accuracy", "coverage": "coverage", "mean_k_answered": "budget_answered"}


def expected_thresholds(policy: ObserverPolicy, release: Release) -> dict[str, Expected]:
    """The closed forms of the reversal test at the thresholds of Table 8, by the names of `threshold_measures`.

    Raises:
        CavedError: if the release has no offsets.
    """
    probes = release.probes(REVERSAL)
    cells: dict[str, Expected] = {}
    for theta in THRESHOLDS:
        found = expected_reversal(policy, probes, theta)
        cells |= {f"{name}_theta_{theta:g}": getattr(found, field) for name, field in _RATES.items()}
    return cells


def expected_of(policy: ObserverPolicy, release: Release) -> dict[str, dict[str, Expected]]:
    """The closed form of every cell of every task, and of the reversal test at the thresholds of Table 8.

    Raises:
        CavedError: if the release lacks a part that a task needs.
    """
    cells = {task: expected_cells(policy, release, task) for task in TASKS}
    return {**cells, THRESHOLD_TASK: expected_thresholds(policy, release)}


def count_cells(expected: Mapping[str, Mapping[str, Expected]]) -> int:
    """How many cells of an observer there are to compare."""
    return sum(not math.isnan(cell.value) for cells in expected.values() for cell in cells.values())


def threshold_measures(trials: pd.DataFrame, resamples: int = RESAMPLES) -> dict[str, Estimate]:
    """What the logged reversal test gives at the thresholds of Table 8."""
    result = measure_reversal(reversal_readings(trials), THRESHOLDS, resamples=resamples)
    return {
        f"{name}_theta_{at.threshold:g}": getattr(at, field)
        for at in result.thresholds
        for name, field in _RATES.items()
    }


def check_run(
    expected: Mapping[str, Mapping[str, Expected]],
    trials: Mapping[str, pd.DataFrame],
    cells: int,
    resamples: int = RESAMPLES,
) -> list[CheckedCell]:
    """Every cell of one observer's run beside its closed form.

    Args:
        expected: of `expected_of`, or a part of it.
        trials: by task, as logged; a task without trials has none of its numbers measured, which is a fault.
        cells: how many cells are compared in all, over all observers.
        resamples: of the bootstrap behind the intervals.
    """
    checked = []
    for task, closed in expected.items():
        table = trials.get(LOGGED if task == THRESHOLD_TASK else task)
        if table is None:
            observed, probes = {}, 0
        else:
            measure = threshold_measures if task == THRESHOLD_TASK else partial(paper_measures, task)
            observed, probes = measure(table, resamples), int(table["release_probes"].iloc[0])
        checked += check_cells(task, observed, closed, cells, probes)
    return checked


def log_faults(task: str, table: pd.DataFrame) -> list[str]:
    """What is wrong with the trials of an observer that answers everything, and has no native channel for times.

    Args:
        task: its name.
        table: its trials, as logged.
    """
    unavailable = table["unavailable"] != ""
    lost = int((table["e1"].isna() & ~unavailable).sum())
    probes, wanted = table["probe"].nunique(), int(table["release_probes"].iloc[0])
    faults = [f"{lost} responses could not be read"] * bool(lost)
    if (unavailable != (table["time"] == "native")).any():
        faults.append("other trials than those with native times were unavailable")
    if probes != wanted:
        faults.append(f"{probes} of {wanted} probes were logged")
    if task != ADAPTIVE and table.groupby("probe", observed=True).size().nunique() != 1:
        faults.append("probes have different numbers of trials")
    return [f"{task}: {fault}" for fault in faults]


def results_that_differ(results: Mapping[str, Any], checked: Sequence[CheckedCell]) -> list[str]:
    """Numbers of the harness' own results file that are not those of the sample log, and tasks that it has none of.

    Args:
        results: the content of the results file.
        checked: cells of the same run.
    """
    wrong = []
    compared = dict.fromkeys((cell.task for cell in checked if cell.task != THRESHOLD_TASK), 0)
    for cell in checked:
        stated = results["results"].get(cell.task, {}).get(f"{cell.name},none")
        if isinstance(stated, float | int):
            compared[cell.task] += 1
            if not math.isclose(stated, cell.observed.value, abs_tol=1e-9):
                wrong.append(
                    f"{cell.task}: {cell.name} is {stated} in the results file, {cell.observed.value} from the log"
                )
    return wrong + [f"{task}: the results file has none of its numbers" for task, n in compared.items() if not n]
