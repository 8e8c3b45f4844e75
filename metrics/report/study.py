"""Which runs a report is about: models by tasks, of one release and one readout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metrics.logged_run import LoggedRun
from metrics.paper_measures import TASK
from metrics.readouts import TEXT, readout_of
from metrics.sample_log import LogError

TIME_TASK = f"{TASK}_time"
_PACKAGE = "caved-or-convinced"


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

    def checkpoint(self, model: str) -> str:
        """The checkpoint behind a model as its arguments name it; empty if they name several, or change it."""
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


def _refuse_mixing(runs: Sequence[LoggedRun], what: str, values: Mapping[str, list[LoggedRun]], remedy: str) -> None:
    if len(values) < 2:
        return
    listed = "".join(
        f"\n  {value[:32]}: {len(some)} run(s), such as {some[0].path}" for value, some in sorted(values.items())
    )
    raise LogError(f"{len(runs)} runs of several {what} cannot share a report:{listed}\n  {remedy}")


def _by(runs: Iterable[LoggedRun], values: Iterable[str]) -> dict[str, list[LoggedRun]]:
    groups: dict[str, list[LoggedRun]] = {}
    for run, value in zip(runs, values, strict=True):
        groups.setdefault(value, []).append(run)
    return groups


def _newest(runs: Sequence[LoggedRun]) -> tuple[dict[tuple[str, str], LoggedRun], list[str]]:
    chosen: dict[tuple[str, str], LoggedRun] = {}
    problems = []
    for (model, task), some in sorted(_by_model_and_task(runs).items()):
        newest = max(some, key=lambda run: (run.date, str(run.path)))
        chosen[model, task] = newest
        if len(some) > 1:
            problems.append(
                f"{model}: {len(some)} runs of {task}; the newest is reported ({newest.path.name}). Give the folder of "
                "one run to report another, or tell them apart with --name PATH=NAME"
            )
    return chosen, problems


def _by_model_and_task(runs: Iterable[LoggedRun]) -> dict[tuple[str, str], list[LoggedRun]]:
    groups: dict[tuple[str, str], list[LoggedRun]] = {}
    for run in runs:
        groups.setdefault((run.model, run.task), []).append(run)
    return groups


def _way(run: LoggedRun) -> str:
    """How a run was made, whatever the order in which its arguments were typed."""
    return f"{run.model_id} {','.join(sorted(run.model_args.split(',')))}".strip()


def _told_apart(runs: Sequence[LoggedRun]) -> list[LoggedRun]:
    """Runs of one task under one name but with different arguments get names of their own: they may be two models."""
    groups = _by_model_and_task(runs).items()
    several = {model for (model, _), some in groups if len({_way(run) for run in some}) > 1}
    return [replace(run, model=_way(run)) if run.model in several and not run.named else run for run in runs]


def _other_arguments(chosen: Mapping[tuple[str, str], LoggedRun]) -> list[str]:
    """Models whose tasks ran under different ids or arguments: perhaps they are not the same model."""
    problems = []
    for model in sorted({model for model, _ in chosen}):
        ways = sorted({_way(r) for (m, _), r in chosen.items() if m == model})
        if len(ways) > 1:
            problems.append(f"{model} ran with different arguments in different tasks: {' | '.join(ways)}")
    return problems


def _times_of(run: LoggedRun) -> str:
    return ", ".join(sorted(map(str, run.table["time"].unique())))


def _other_versions(runs: Iterable[LoggedRun]) -> list[str]:
    """Whether runs were made by several versions of this package, which may ask or read differently."""
    versions = sorted({dict(run.versions).get(_PACKAGE, "") for run in runs} - {""})
    if len(versions) < 2:
        return []
    return [f"the runs were made by versions {', '.join(versions)} of {_PACKAGE}: see its changelog for what moved"]


def collect_study(runs: Sequence[LoggedRun]) -> Study:
    """Order runs by model and task; of several runs of one task by one model the newest counts.

    Raises:
        LogError: if the runs are of several releases, readouts or settings of frame times, or if one run is.
    """
    releases = [sorted(map(str, run.table["release"].unique())) for run in runs]
    for run, found in zip(runs, releases, strict=True):
        if len(found) > 1:
            raise LogError(
                f"{run.path} holds trials of {len(found)} releases: it was written to by two runs; run again"
            )
    _refuse_mixing(
        runs, "releases", _by(runs, [found[0] for found in releases]),
        "report the runs of one release at a time, with an --out of its own for each",
    )  # fmt: skip
    read = [(run, kind) for run in runs if (kind := _readout_of(run)) is not None]
    answered = [run for run, _ in read]
    _refuse_mixing(
        answered, "readouts", _by(answered, [kind for _, kind in read]),
        "report them apart, or run all with the same readout (CAVED_READOUT=text works for every model)",
    )  # fmt: skip
    timed = [run for run in runs if run.task != TIME_TASK]
    _refuse_mixing(
        timed, "settings of frame times", _by(timed, [_times_of(run) for run in timed]),
        f"report them apart; {TIME_TASK} compares the settings within one run",
    )  # fmt: skip
    chosen, problems = _newest(_told_apart(runs))
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
        release=releases[0][0],
        readout=read[0][1] if read else TEXT,
        problems=(
            *(p for run in chosen.values() for p in run.problems),
            *problems,
            *_other_arguments(chosen),
            *_other_versions(chosen.values()),
        ),
    )
