"""Every number of every run in a study, measured once; tables only choose from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from metrics.intervals import NOTHING, RESAMPLES, Estimate
from metrics.logged_run import LoggedRun
from metrics.paper_measures import paper_measures
from metrics.report.gathered_warnings import RunWarning
from metrics.report.study import Study
from metrics.sample_log import LogError
from metrics.several_processes import work_on_all
from metrics.task_warnings import task_warnings


@dataclass(frozen=True)
class Measured:
    """The numbers of a study by model, task and name, with what the paper says where that is wanted."""

    study: Study
    numbers: Mapping[tuple[str, str], Mapping[str, Estimate]]  # by model and task
    unavailable: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)  # time channel -> reason
    warnings: tuple[RunWarning, ...] = ()

    def get(self, model: str, task: str, name: str) -> Estimate:
        """A number; one of method `none` if there is nothing that it could be measured from."""
        return self.numbers.get((model, task), {}).get(name, NOTHING)


def _measure(run: LoggedRun, resamples: int) -> tuple[dict[str, Estimate], list[str]]:
    try:
        return paper_measures(run.task, run.table, resamples), task_warnings(run.task, run.table)
    except ValueError as error:
        raise LogError(f"{run.path}: {error}") from error


def measure_study(
    study: Study, resamples: int = RESAMPLES, workers: int = 1, progress: Callable[[int], object] = lambda _: None
) -> Measured:
    """Measure all runs.

    Args:
        study: the runs.
        resamples: of the bootstrap behind the intervals.
        workers: processes that measure.
        progress: called with 1 after each run.

    Raises:
        LogError: if a run contradicts itself or mixes budgets or time channels.
    """
    runs = list(study.runs.values())
    results = work_on_all(partial(_measure, resamples=resamples), runs, workers, lambda _: progress(1))
    unavailable: dict[tuple[str, str], dict[str, str]] = {}
    for key, run in study.runs.items():
        lacking = run.table.loc[run.table["unavailable"] != "", ["time", "unavailable"]].drop_duplicates()
        if len(lacking):
            unavailable[key] = {str(row.time): str(row.unavailable) for row in lacking.itertuples()}
    return Measured(
        study=study,
        numbers=dict(zip(study.runs, (numbers for numbers, _ in results), strict=True)),
        unavailable=unavailable,
        warnings=tuple(
            RunWarning(run.model, run.task, text)
            for run, (_, warnings) in zip(runs, results, strict=True)
            for text in warnings
        ),
    )
