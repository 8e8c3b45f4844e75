"""Runs of models that test the benchmark: how a log says so, and how everything that names such a run shows it.

Their numbers are no results. What counts is the mark in the receipts of a log, whatever folders and files are called,
and whatever name a run is given in a report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import pandas as pd

from metrics.logged_run import LoggedRun
from metrics.sample_log import LogError

# By kind, what a model of it is.
KINDS: Mapping[str, str] = {
    "simulated": "simulated, answers follow a policy",
    "control": "a control, made or chosen to test the benchmark",
}
# Model ids of this package, for logs without a mark.
CONTROL_IDS: Mapping[str, str] = {
    "framed_responder": "simulated",
    "scripted_observer": "simulated",
    "ocr_reader": "control",
}


def control_kind(model_id: str, table: pd.DataFrame) -> str:
    """Whether a run's model is `simulated` or a `control`, by what its receipts say or by its id; empty for any other.

    Trials without a receipt and without a readable answer say nothing of what made them, and are passed over.

    Args:
        model_id: `--model`; that of a folder where a log has no results file.
        table: of the run's trials, of either benchmark.

    Raises:
        ValueError: if some trials are marked and others not, or otherwise: they are not of one model.
    """
    marks = sorted(set(map(str, table["control"].unique())) - {""})
    if not marks:
        return CONTROL_IDS.get(model_id, "")
    if len(marks) > 1:
        raise ValueError(
            f"it holds trials of several models ({' and '.join(marks)}, by their receipts): report the log of one run at a time"
        )
    unmarked = (table["control"] == "").to_numpy()
    told = (table["received_frames"] != "").to_numpy() | table["abstained"].notna().to_numpy()
    if (unmarked & told).any():
        raise ValueError(
            f"the receipts of {int((~unmarked).sum())} trials say that a {marks[0]} model answered, and {int((unmarked & told).sum())} "
            "others do not: it was put together from runs of several models; report the log of one run at a time"
        )
    return "simulated" if marks == ["simulated"] else "control"


def marked_name(name: str, kind: str) -> str:
    """A model's name that begins with its kind; the name alone if it is no control."""
    return f"{kind}: {name}" if kind and not name.startswith(f"{kind}: ") else name


def split_mark(label: str) -> tuple[str, str]:
    """The mark that a label begins with, and the rest of it; an empty mark if there is none."""
    mark = next((f"{kind}: " for kind in KINDS if label.startswith(f"{kind}: ")), "")
    return mark, label[len(mark) :]


def marked_runs(runs: Iterable[LoggedRun]) -> tuple[list[LoggedRun], dict[str, str]]:
    """The runs under names that say what they are, and the kind of each name that is a control's.

    Raises:
        LogError: if a run holds trials of several models, or one name stands for models of several kinds.
    """
    named: list[LoggedRun] = []
    kinds: dict[str, str] = {}
    for run in runs:
        try:
            kind = control_kind(run.model_id, run.table)
        except ValueError as error:
            raise LogError(f"{run.path}: {error}") from error
        name = marked_name(run.model, kind)
        if kinds.setdefault(name, kind) != kind:
            raise LogError(
                f"{run.path}: its model is called {name}, as one of another kind is: give them other names with --name PATH=NAME"
            )
        named.append(replace(run, model=name))
    return named, {name: kind for name, kind in kinds.items() if kind}


def control_warnings(controls: Mapping[str, str]) -> list[str]:
    """What must be known of the models that are no models under test, a line for each kind.

    Args:
        controls: kinds by name.
    """
    lines = []
    for kind, what in KINDS.items():
        names = [name for name, is_kind in controls.items() if is_kind == kind]
        if names:
            lines.append(f"{', '.join(names)}: {what}; numbers of such models test the benchmark and are no results")
    return lines


def counted_models(models: Collection[str], controls: Mapping[str, str]) -> str:
    """How many models a report is about, for its title: controls are counted apart."""
    under_test = sum(model not in controls for model in models)
    parts = [f"{under_test} model{'s' if under_test != 1 else ''}"] if under_test or not controls else []
    for kind, one, several in (
        ("simulated", "simulated model", "simulated models"),
        ("control", "control", "controls"),
    ):
        count = sum(controls.get(model) == kind for model in models)
        if count:
            parts.append(f"{count} {one if count == 1 else several}")
    return ", ".join(parts)
