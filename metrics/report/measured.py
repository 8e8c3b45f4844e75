"""Every number of every run in a study, measured once; tables only choose from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from metrics.intervals import NOTHING, RESAMPLES, Estimate
from metrics.paper_measures import paper_measures
from metrics.report.study import Study
from metrics.sample_log import LogError


@dataclass(frozen=True)
class Measured:
    """The numbers of a study by model, task and name, with what the paper says where that is wanted."""

    study: Study
    numbers: Mapping[tuple[str, str], Mapping[str, Estimate]]  # by model and task
    unavailable: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)  # time channel -> reason

    def get(self, model: str, task: str, name: str) -> Estimate:
        """A number; one of method `none` if there is nothing that it could be measured from."""
        return self.numbers.get((model, task), {}).get(name, NOTHING)


def measure_study(
    study: Study, resamples: int = RESAMPLES, progress: Callable[[int], object] = lambda _: None
) -> Measured:
    """Measure all runs.

    Args:
        study: the runs.
        resamples: of the bootstrap behind the intervals.
        progress: called with 1 after each run.

    Raises:
        LogError: if a run contradicts itself or mixes budgets or time channels.
    """
    numbers: dict[tuple[str, str], Mapping[str, Estimate]] = {}
    unavailable: dict[tuple[str, str], dict[str, str]] = {}
    for key, run in study.runs.items():
        try:
            numbers[key] = paper_measures(run.task, run.table, resamples)
        except ValueError as error:
            raise LogError(f"{run.path}: {error}; report one run, and one release, at a time") from error
        lacking = run.table.loc[run.table["unavailable"] != "", ["time", "unavailable"]].drop_duplicates()
        if len(lacking):
            unavailable[key] = {str(row.time): str(row.unavailable) for row in lacking.itertuples()}
        progress(1)
    return Measured(study, numbers, unavailable)
