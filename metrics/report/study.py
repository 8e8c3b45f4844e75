"""Which runs a report is about: models by tasks, of one release and one readout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from metrics.controls import marked_runs
from metrics.logged_run import LoggedRun
from metrics.paper_measures import TASK
from metrics.readouts import TEXT, readout_of
from metrics.report.chosen_runs import (
    grouped_by,
    newest_runs,
    other_arguments,
    other_versions,
    refuse_mixing,
    release_of_all,
    told_apart,
)
from metrics.sample_log import LogError

TIME_TASK = f"{TASK}_time"


@dataclass(frozen=True)
class Study:
    """The runs behind a report, at most one for each model and task.

    All are of one release and one readout, so that any of them may stand in one table.
    """

    models: tuple[str, ...]
    runs: Mapping[tuple[str, str], LoggedRun]  # by model and task
    release: str
    readout: str
    problems: tuple[str, ...]
    controls: Mapping[str, str] = field(default_factory=dict)  # by model: simulated, or control

    def checkpoint(self, model: str) -> str:
        """The checkpoint behind a model as its arguments name it; empty if they name several, or change it.

        Empty for a control too, whatever its folder is called: it is none that anybody published numbers of.
        """
        if model in self.controls:
            return ""
        named = {run.checkpoint for (name, _), run in self.runs.items() if name == model}
        return named.pop() if len(named) == 1 else ""

    def run(self, model: str, task: str) -> LoggedRun | None:
        """The run of a task by a model, if it was logged."""
        return self.runs.get((model, task))

    def tasks(self) -> tuple[str, ...]:
        """All tasks that any model was put to."""
        return tuple(sorted({task for _, task in self.runs}))


def _readout_of(run: LoggedRun) -> str | None:
    try:
        return readout_of(run.table)
    except ValueError as error:
        raise LogError(f"{run.path}: {error}") from error


def _times_of(run: LoggedRun) -> str:
    return ", ".join(sorted(map(str, run.table["time"].unique())))


def collect_study(runs: Sequence[LoggedRun]) -> Study:
    """Order runs by model and task; of several runs of one task by one model the newest counts.

    Names of models that test the benchmark begin with what they are.

    Raises:
        LogError: if the runs are of several releases, readouts or settings of frame times, or if one run is, or is of
            several models.
    """
    release = release_of_all(runs)
    read = [(run, kind) for run in runs if (kind := _readout_of(run)) is not None]
    answered = [run for run, _ in read]
    refuse_mixing(
        answered, "readouts", grouped_by(answered, [kind for _, kind in read]),
        "report them apart, or run all with the same readout (CAVED_READOUT=text works for every model)",
    )  # fmt: skip
    timed = [run for run in runs if run.task != TIME_TASK]
    refuse_mixing(
        timed, "settings of frame times", grouped_by(timed, [_times_of(run) for run in timed]),
        f"report them apart; {TIME_TASK} compares the settings within one run",
    )  # fmt: skip
    marked, controls = marked_runs(told_apart(runs))
    chosen, problems = newest_runs(marked)
    bounded = sorted(
        {run.model for run in chosen.values() if float(np.nan_to_num(run.table["probability_bound"].max())) > 0}
    )
    if bounded:
        problems.append(
            f"{', '.join(bounded)}: option probabilities are middles of intervals that a server's likeliest tokens leave "
            "open; those of local models are exact"
        )
    return Study(
        models=tuple(sorted({run.model for run in chosen.values()}, key=str.lower)),
        runs=chosen,
        release=release,
        readout=read[0][1] if read else TEXT,
        problems=(
            *(p for run in chosen.values() for p in run.problems),
            *problems,
            *other_arguments(chosen),
            *other_versions(chosen.values()),
        ),
        controls=controls,
    )
