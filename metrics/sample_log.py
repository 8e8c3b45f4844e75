"""Sample logs as the harness writes them (`--log_samples`), read back into trials."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from metrics.trial import Trial

_INFIX = "_samples_"
LogKind = Literal["video", "image"]
_KEYS: Mapping[LogKind, frozenset[str]] = {"video": frozenset({"trial", "trials"}), "image": frozenset({"image_trial"})}
_KINDS_OF_TASKS: Mapping[LogKind, str] = {"video": "caved_or_convinced", "image": "cant_tell_or_wont_say"}


class LogError(Exception):
    """A log that cannot be read; the message names the file and the remedy."""


@dataclass(frozen=True)
class Run:
    """The trials of one task in one run, with what the results file beside them says of the model."""

    path: Path
    task: str
    model: str
    model_args: str
    trials: tuple[Trial, ...]
    damaged: int = 0  # lines that could not be read
    problems: tuple[str, ...] = field(default=())


def log_files(places: Iterable[Path], kind: LogKind = "video") -> list[Path]:
    """The sample logs of one benchmark under some folders, or of some files, in order of their paths.

    Logs of the other benchmark and of other tasks are passed over; a log of which no line can be read is kept, so that
    it is complained of.

    Raises:
        LogError: if a place is missing, or there is no log of this benchmark.
    """
    kinds = logs_by_kind(places)
    if kinds[kind]:
        return kinds[kind]
    other: LogKind = "image" if kind == "video" else "video"
    raise LogError(
        f"the logs here are of {_KINDS_OF_TASKS[other]}, such as {kinds[other][0]}: give logs of {_KINDS_OF_TASKS[kind]}"
    )


def logs_by_kind(places: Iterable[Path]) -> dict[LogKind, list[Path]]:
    """The sample logs of each benchmark under some folders, or of some files, in order of their paths.

    Logs of other tasks are passed over, if there are any of ours. What cannot be told is counted to the video
    benchmark, whose reader says what is wrong with it.

    Raises:
        LogError: if a place is missing or holds no log at all.
    """
    files: list[Path] = []
    for place in places:
        if not place.exists():
            raise LogError(f"{place} does not exist: give the --output_path of a run with --log_samples")
        found = [place] if place.is_file() else sorted(place.rglob(f"*{_INFIX}*.jsonl"))
        if not found:
            raise LogError(
                f"no sample log under {place}: run lmms-eval with --log_samples --output_path {place}; it exits "
                "with status 0 even when an evaluation failed, so look for an error in its output"
            )
        files += found
    kinds = {path: _kind_of(path) for path in dict.fromkeys(files)}
    ours = [path for path, kind in kinds.items() if kind != "foreign"]
    return {
        "video": [path for path in (ours or kinds) if kinds[path] != "image"],
        "image": [path for path in ours if kinds[path] == "image"],
    }


def results_of(path: Path) -> Mapping[str, Any]:
    """The results file beside a sample log; empty if there is none."""
    prefix = path.name.split(_INFIX)[0]
    try:
        results = json.loads(path.with_name(f"{prefix}_results.json").read_text(encoding="utf-8"))
        return results if isinstance(results, dict) else {}
    except (OSError, ValueError):
        return {}


def model_of(path: Path, results: Mapping[str, Any]) -> tuple[str, str]:
    """The model and its arguments behind a sample log; the folder's name if the results file does not tell."""
    try:
        config = results["config"]
        return str(config["model"]), str(config.get("model_args") or "")
    except (KeyError, TypeError, AttributeError):
        return path.parent.name, ""


def no_trials(path: Path, reason: str) -> LogError:
    """What to say of a log without a single trial of ours."""
    if _predicted_only(path):
        return LogError(
            f"{path} was written with --predict_only, so its answers were not read and it holds no numbers: run it again "
            "without --predict_only"
        )
    return LogError(
        f"{path} holds no trial of this benchmark ({reason or 'it is empty'}): give logs of our tasks, "
        "written by this version of the package"
    )


def several_tasks(path: Path, tasks: Iterable[str]) -> LogError:
    """What to say of a log with trials of several tasks."""
    return LogError(
        f"{path} holds trials of several tasks ({', '.join(sorted(tasks))}): split it into one file for each task, "
        "or run them again; the harness writes one log a task"
    )


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def read_run(path: Path) -> Run:
    """The run behind one `*_samples_*.jsonl` file; lines that are damaged are counted, not dropped in silence.

    Raises:
        LogError: if no line of it is a trial of this benchmark, or trials are of several tasks.
    """
    trials, damaged, reason = [], 0, ""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line, parse_constant=_no_number)
                logged = entry["trials"] if "trials" in entry else [entry["trial"]]
                trials += [Trial.from_json(fields) for fields in logged]
            except (ValueError, KeyError, TypeError) as error:
                damaged, reason = damaged + 1, str(error)
    if not trials:
        raise no_trials(path, reason)
    if len(tasks := {trial.task for trial in trials}) > 1:
        raise several_tasks(path, tasks)
    model, model_args = model_of(path, results_of(path))
    problems = (f"{damaged} lines of {path.name} could not be read ({reason})",) if damaged else ()
    return Run(path, trials[0].task, model, model_args, tuple(trials), damaged, problems)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a log."""
    with path.open("rb") as file:
        for raw in file:
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            if isinstance(line, dict):
                yield line


def _predicted_only(path: Path) -> bool:
    """Whether the harness left out all reading of answers: it then logs a metric of that name."""
    return "bypass" in next(_lines(path), {})


def _kind_of(path: Path) -> LogKind | Literal["foreign", "damaged"]:
    """Which benchmark a log is of, by its first whole line; a log of another task carries no trial there."""
    for line in _lines(path):
        return next((kind for kind, keys in _KEYS.items() if keys & set(line)), "foreign")
    return "damaged"


def read_runs(places: Iterable[Path]) -> list[Run]:
    """All runs of our tasks under some folders, or of some files, in order of their paths.

    Logs of other tasks in the same folders are passed over.

    Raises:
        LogError: if a place is missing or holds no log of ours.
    """
    return [read_run(path) for path in log_files(places)]
