"""Which runs of the image benchmark a report is about, and which of their models are no models under test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from metrics.controls import marked_runs
from metrics.image.trial import TASKS, Elicitation
from metrics.logged_run import LoggedRun
from metrics.readouts import PROBABILITIES, TEXT
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


@dataclass(frozen=True)
class ImageStudy:
    """The runs behind a report, at most one for each model and elicitation, all of one release."""

    models: tuple[str, ...]  # as the report calls them
    runs: Mapping[tuple[str, str], LoggedRun]  # by model and task
    release: str
    problems: tuple[str, ...]
    controls: Mapping[str, str]  # by model: simulated, or control

    def run(self, model: str, elicitation: Elicitation) -> LoggedRun | None:
        """The run of an elicitation by a model, if it was logged."""
        return self.runs.get((model, TASKS[elicitation]))

    def labels(self) -> dict[str, LoggedRun]:
        """Every run by what its rows are called, open before closed: elicitations are never put together."""
        return {
            f"{model}, {elicitation}": run
            for model in self.models
            for elicitation in TASKS
            if (run := self.run(model, elicitation)) is not None
        }


def image_readout(run: LoggedRun) -> str | None:
    """Whether the answers of a run are option probabilities or text; None if nothing was answered.

    Raises:
        LogError: if some are one and some the other: a choice by probability and one by words are not the same outcome.
    """
    known = run.table[run.table["abstained"].notna().to_numpy()]
    given = known["p_top"].notna()
    if not len(given):
        return None
    if given.any() and not given.all():
        raise LogError(
            f"{run.path}: it holds both option probabilities ({int(given.sum())} trials) and texts ({int((~given).sum())}): "
            "run it again with one readout (CAVED_READOUT)"
        )
    return PROBABILITIES if given.any() else TEXT


def _check_task(run: LoggedRun) -> None:
    elicitations = sorted(map(str, run.table["elicitation"].unique()))
    expected = [name for name, task in TASKS.items() if task == run.task]
    if elicitations != expected:
        raise LogError(
            f"{run.path}: the task {run.task} with trials of the elicitation {', '.join(elicitations)}: the open and the "
            f"closed one are the tasks {' and '.join(TASKS.values())}"
        )


def _judge_of(run: LoggedRun) -> str | None:
    """How a judge read free answers; None if no response would have been shown to one that reads unparseable ones alone."""
    table = run.table
    judged = table[(table["judged"] != "").to_numpy()]
    if judged.empty:
        return "no judge" if (table["unparseable"] & ~table["refused"]).any() else None
    names, asked = (sorted(set(judged[name].astype(str)) - {""}) for name in ("judge", "asked"))
    return f"{', '.join(names) or 'a judge'} (CAVED_JUDGE={', '.join(asked)})"


def _other_judges(runs: Iterable[LoggedRun]) -> list[str]:
    free = [run for run in runs if run.task == TASKS["open"]]
    judges = {run.model: judge for run in free if (judge := _judge_of(run)) is not None}
    if len(set(judges.values())) < 2:
        return []
    listed = "; ".join(f"{model}: {judge}" for model, judge in judges.items())
    return [
        f"free answers were read with different judges ({listed}): what rules cannot read counts in some runs and not, or "
        "otherwise, in others; run all with the same CAVED_JUDGE and CAVED_JUDGE_MODEL"
    ]


def _bounded(runs: Iterable[LoggedRun]) -> list[str]:
    bounded = sorted({run.model for run in runs if (run.table["probability_bound"] > 0).any()})
    if not bounded:
        return []
    return [
        f"{', '.join(bounded)}: option probabilities are middles of intervals that a server's likeliest tokens leave "
        "open; those of local models are exact"
    ]


def collect_image_study(runs: Sequence[LoggedRun]) -> ImageStudy:
    """Order runs by model and elicitation; of several runs of one task by one model the newest counts.

    Names of models that test the benchmark begin with what they are.

    Raises:
        LogError: if the runs are of several releases, closed runs were read in several ways, or one run mixes them, or
            trials of several models.
    """
    release = release_of_all(runs)
    for run in runs:
        _check_task(run)
    read = [(run, kind) for run in runs if (kind := image_readout(run)) is not None and run.task == TASKS["closed"]]
    closed = [run for run, _ in read]
    refuse_mixing(
        closed, "readouts", grouped_by(closed, [kind for _, kind in read]),
        "report them apart, or run all with the same readout (CAVED_READOUT=text works for every model)",
    )  # fmt: skip
    marked, controls = marked_runs(told_apart(runs))
    chosen, problems = newest_runs(marked)
    return ImageStudy(
        models=tuple(sorted({model for model, _ in chosen}, key=str.lower)),
        runs=chosen,
        release=release,
        problems=(
            *(p for run in chosen.values() for p in run.problems),
            *problems,
            *other_arguments(chosen),
            *other_versions(chosen.values()),
            *_other_judges(chosen.values()),
            *_bounded(chosen.values()),
        ),
        controls=controls,
    )
