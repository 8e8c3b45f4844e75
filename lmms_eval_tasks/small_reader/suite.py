"""All numbers of the benchmarks on one small reader: run by the real command, kept as JSON, shown side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.expected_cells import TASKS
from lmms_eval_tasks.harness_run import HarnessRun
from metrics.image.image_measures import image_measures
from metrics.image.logged_image_run import read_image_runs
from metrics.image.trial import TASKS as IMAGE_TASKS
from metrics.intervals import NOTHING, RESAMPLES, Estimate
from metrics.logged_run import read_logged_runs
from metrics.paper_measures import paper_measures
from stimuli_builder.atomic import write_whole

MODEL = "qwen2_5_vl"
VIDEO_GROUP = "caved_or_convinced_paper,caved_or_convinced_reversal_adaptive"
_CONFIDENCE = "_confidence"
Suite = Mapping[str, Mapping[str, Estimate]]  # by task and measure


@dataclass(frozen=True)
class Measured:
    """What one reader measured, and on what."""

    seed: int  # of the training
    release: str  # digest
    probes: int  # or items
    seconds: float  # of training
    suite: Suite

    def to_json(self) -> str:
        """All of it as JSON; NaN is null."""
        fields = {name: getattr(self, name) for name in ("seed", "release", "probes", "seconds")}
        suite = {task: {name: asdict(value) for name, value in cells.items()} for task, cells in self.suite.items()}
        return json.dumps(_without_nan({**fields, "suite": suite}), indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Measured:
        """The reverse of `to_json`."""
        fields = json.loads(text)
        suite = {
            task: {name: _estimate(cell) for name, cell in cells.items()} for task, cells in fields.pop("suite").items()
        }
        return cls(suite=suite, **fields)


def _estimate(cell: Mapping[str, Any]) -> Estimate:
    value, low, high = (math.nan if cell[name] is None else float(cell[name]) for name in ("value", "low", "high"))
    return Estimate(value, low, high, cell["probes"], cell["method"])


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nan(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def run_video_suite(folder: Path, model_args: str, release: Path, digest: str, resamples: int = RESAMPLES) -> Suite:
    """Every task of the video benchmark on a reader; a run whose whole log is there is not done again.

    Raises:
        CavedError: if the command does not end well.
        LogError: if its logs cannot be read.
    """
    HarnessRun(folder, TASKS, MODEL, model_args, release, digest, VIDEO_GROUP).once()
    return {run.task: paper_measures(run.task, run.table, resamples) for run in read_logged_runs([folder])}


def run_image_suite(folder: Path, model_args: str, release: Path, digest: str, resamples: int = RESAMPLES) -> Suite:
    """Both tasks of the image benchmark on a reader; as `run_video_suite`."""
    HarnessRun(folder, tuple(IMAGE_TASKS.values()), MODEL, model_args, release, digest).once()
    return {run.task: image_measures(run.task, run.table, resamples) for run in read_image_runs([folder])}


def side_by_side(measured: Sequence[Measured], names: Mapping[str, Sequence[str]] | None = None) -> str:
    """Tables in Markdown, one for each task: a row for each measure, a column for each training seed.

    Args:
        measured: of the readers.
        names: which measures of which tasks; None for all hard rates.
    """
    tasks = list(dict.fromkeys(task for one in measured for task in one.suite))
    parts = []
    for task in [task for task in tasks if names is None or task in names]:
        cells = [one.suite.get(task, {}) for one in measured]
        listed = list(dict.fromkeys(name for one in cells for name in one)) if names is None else names[task]
        shown = [name for name in listed if not name.endswith(_CONFIDENCE)] if names is None else listed
        head = ["measure", *(f"seed {one.seed}" for one in measured)]
        rows = [[f"`{name}`", *(_shown(one.get(name, NOTHING)) for one in cells)] for name in shown]
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        parts.append("\n".join([f"### {task}", "", *lines]))
    return "\n\n".join(parts)


def _shown(value: Estimate) -> str:
    return f"{value.value:.3f}" if math.isnan(value.low) and value.method != "none" else str(value)


def keep(measured: Measured, path: Path) -> None:
    """Write a measurement."""
    write_whole(path, f"{measured.to_json()}\n".encode())
