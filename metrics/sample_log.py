"""Sample logs as the harness writes them (`--log_samples`), read back into trials."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from metrics.trial import Trial

_INFIX = "_samples_"


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


def _log_files(places: Iterable[Path]) -> list[Path]:
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
    return list(dict.fromkeys(files))


def _model_of(path: Path) -> tuple[str, str]:
    prefix = path.name.split(_INFIX)[0]
    results = path.with_name(f"{prefix}_results.json")
    try:
        config = json.loads(results.read_text(encoding="utf-8"))["config"]
        return str(config["model"]), str(config.get("model_args") or "")
    except (OSError, ValueError, KeyError, TypeError):
        return path.parent.name, ""


def read_run(path: Path) -> Run:
    """The run behind one `*_samples_*.jsonl` file; lines that are damaged are counted, not dropped in silence.

    Raises:
        LogError: if no line of it is a trial of this benchmark.
    """
    trials, damaged, reason = [], 0, ""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                trials.append(Trial.from_json(json.loads(line)["trial"]))
            except (ValueError, KeyError, TypeError) as error:
                damaged, reason = damaged + 1, str(error)
    if not trials:
        raise LogError(
            f"{path} holds no trial of this benchmark ({reason or 'it is empty'}): give logs of our tasks, "
            "written by this version of the package"
        )
    model, model_args = _model_of(path)
    problems = (f"{damaged} lines of {path.name} could not be read ({reason})",) if damaged else ()
    return Run(path, trials[0].task, model, model_args, tuple(trials), damaged, problems)


def _is_foreign(path: Path) -> bool:
    """Whether a log belongs to another task: its lines are whole and carry no trial."""
    with path.open(encoding="utf-8", errors="replace") as file:
        try:
            line = json.loads(file.readline())
        except ValueError:
            return False
    return isinstance(line, dict) and "trial" not in line


def read_runs(places: Iterable[Path]) -> list[Run]:
    """All runs of our tasks under some folders, or of some files, in order of their paths.

    Logs of other tasks in the same folders are passed over.

    Raises:
        LogError: if a place is missing or holds no log of ours.
    """
    files = _log_files(places)
    ours = [path for path in files if not _is_foreign(path)]
    return [read_run(path) for path in ours or files]
