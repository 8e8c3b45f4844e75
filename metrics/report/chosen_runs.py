"""Which of many runs a report is about: one for each model and task, and none that do not belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from metrics.logged_run import LoggedRun
from metrics.sample_log import LogError

_PACKAGE = "caved-or-convinced"


def refuse_mixing(runs: Sequence[LoggedRun], what: str, values: Mapping[str, list[LoggedRun]], remedy: str) -> None:
    """Refuse runs that differ in what all runs of a report must share.

    Raises:
        LogError: if there are several values; it names each with one of its runs, and the remedy.
    """
    if len(values) < 2:
        return
    listed = "".join(
        f"\n  {value[:32]}: {len(some)} run(s), such as {some[0].path}" for value, some in sorted(values.items())
    )
    raise LogError(f"{len(runs)} runs of several {what} cannot share a report:{listed}\n  {remedy}")


def grouped_by(runs: Iterable[LoggedRun], values: Iterable[str]) -> dict[str, list[LoggedRun]]:
    """Runs by a value of each, in their order."""
    groups: dict[str, list[LoggedRun]] = {}
    for run, value in zip(runs, values, strict=True):
        groups.setdefault(value, []).append(run)
    return groups


def newest_runs(runs: Sequence[LoggedRun]) -> tuple[dict[tuple[str, str], LoggedRun], list[str]]:
    """The newest run of each task by each model, by model and task, and what is to be said of those that are not it."""
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


def told_apart(runs: Sequence[LoggedRun]) -> list[LoggedRun]:
    """Runs of one task under one name but with different arguments get names of their own: they may be two models."""
    groups = _by_model_and_task(runs).items()
    several = {model for (model, _), some in groups if len({_way(run) for run in some}) > 1}
    return [replace(run, model=_way(run)) if run.model in several and not run.named else run for run in runs]


def other_arguments(chosen: Mapping[tuple[str, str], LoggedRun]) -> list[str]:
    """Models whose tasks ran under different ids or arguments: perhaps they are not the same model."""
    problems = []
    for model in sorted({model for model, _ in chosen}):
        ways = sorted({_way(r) for (m, _), r in chosen.items() if m == model})
        if len(ways) > 1:
            problems.append(f"{model} ran with different arguments in different tasks: {' | '.join(ways)}")
    return problems


def other_versions(runs: Iterable[LoggedRun]) -> list[str]:
    """Whether runs were made by several versions of this package, which may ask or read differently."""
    versions = sorted({dict(run.versions).get(_PACKAGE, "") for run in runs} - {""})
    if len(versions) < 2:
        return []
    return [f"the runs were made by versions {', '.join(versions)} of {_PACKAGE}: see its changelog for what moved"]


def release_of_all(runs: Sequence[LoggedRun]) -> str:
    """The digest of the release that all runs are of.

    Raises:
        LogError: if there are several, among the runs or within one.
    """
    releases = [sorted(map(str, run.table["release"].unique())) for run in runs]
    for run, found in zip(runs, releases, strict=True):
        if len(found) > 1:
            raise LogError(
                f"{run.path} holds trials of {len(found)} releases: it was written to by two runs; run again"
            )
    refuse_mixing(
        runs, "releases", grouped_by(runs, [found[0] for found in releases]),
        "report the runs of one release at a time, with an --out of its own for each",
    )  # fmt: skip
    return releases[0][0]
