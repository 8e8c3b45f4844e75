"""Sample logs read in a hurry: straight into columns, without an object for every trial.

A paper's worth of logs is gigabytes of JSON, most of it frame ids and texts that no measure needs. Lines are decoded
into typed structures that hold only what a table needs; whatever does not fit them is a damaged line, counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import pandas as pd

from metrics.sample_log import log_files, model_of, no_trials, results_of, several_tasks
from metrics.several_processes import work_on_all
from metrics.trial import LARGEST, LOG_VERSION
from metrics.trial_table import rows_to_table

_NAMES_A_CHECKPOINT = ("pretrained", "model", "model_version", "model_path", "model_name")
_CHANGES_A_CHECKPOINT = frozenset(
    {
        "load_in_4bit",
        "load_in_8bit",
        "quantization",
        "quantization_config",
        "peft",
        "lora",
        "adapter",
        "delta",
        "revision",
    }
)
_OF_HUB_CACHE = re.compile(r"models--([^/]+?)--([^/]+?)(?:/|$)")
_ReleaseProbes: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST["release_probes"])]
_Budget: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST["budget"])]
_Offset: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST["offset"])]


class _Answer(msgspec.Struct, gc=False):
    outcome: Literal["answered", "abstained", "unparseable"]
    option: Literal["A", "B"] | None = None
    option_probabilities: dict[str, float] | None = None
    option_mass: float | None = None
    option_probability_bound: float | None = None

    def __post_init__(self) -> None:
        if (self.outcome == "answered") != (self.option is not None):
            raise ValueError("an answer has an option exactly if it is answered")
        given = self.option_probabilities
        if given is not None and (
            set(given) != {"A", "B"} or min(given.values()) < 0 or abs(sum(given.values()) - 1) > 1e-6
        ):
            raise ValueError("option probabilities must be of A and B and sum to 1")


class _Receipt(msgspec.Struct, gc=False):
    frames: int | None = None
    order: str | None = None
    size_px: tuple[float, float] | None = None
    control: str | None = None


class _Trial(msgspec.Struct, gc=False, kw_only=True):
    log_version: int
    task: str
    release: str
    release_probes: _ReleaseProbes
    probe: str
    video_budget: _Budget = 0  # defaults where version 1 has no field, so that the version is what is complained of
    budget: _Budget
    arm: str
    twin: Literal["+", "-"]
    phase: Literal["on_grid", "in_gap", "offset"]
    offset: _Offset | None = None
    direction: Literal["forward", "reversed"] = "forward"
    events_sampled: Literal[0, 1, 2] = 0
    claim: Literal["none", "mild", "strong"]
    claimed_order: Literal["e1_first", "e2_first"] | None
    letters: Literal["AB", "BA"]
    time: Literal["withheld", "native", "text"]
    view: str
    answer: _Answer
    receipt: _Receipt | None = None
    padding: bool = False
    release_offsets: _Offset = 0
    threshold: float | None = None
    unavailable: str = ""

    def __post_init__(self) -> None:
        if self.log_version != LOG_VERSION:
            raise ValueError(f"log version {self.log_version}, this version of the package reads {LOG_VERSION}")
        if (self.claim == "none") != (self.claimed_order is None):
            raise ValueError("a claim without an order, or an order without a claim")
        if (self.phase == "offset") != (self.offset is not None):
            raise ValueError("an offset without its phase, or the phase without an offset")


class _Line(msgspec.Struct, gc=False):
    trial: _Trial | None = None
    trials: list[_Trial] | None = None


@dataclass(frozen=True)
class LoggedRun:
    """One task in one run, as a table of trials, with what the results file beside it says."""

    path: Path
    task: str
    model: str  # as the report calls it
    model_id: str  # --model
    model_args: str
    date: str  # when it ended, as the harness writes it; sorts by time
    table: pd.DataFrame
    versions: tuple[tuple[str, str], ...]  # of packages, as far as the task noted them
    problems: tuple[str, ...]
    named: bool = False  # the name was chosen by the user

    @property
    def checkpoint(self) -> str:
        """The checkpoint as the arguments name it; empty if none is named, or others change what it is."""
        arguments = _arguments(self.model_args)
        if _CHANGES_A_CHECKPOINT & set(arguments):
            return ""
        return next((arguments[name] for name in _NAMES_A_CHECKPOINT if arguments.get(name, "").strip("/")), "")


def _arguments(model_args: str) -> dict[str, str]:
    return {name.strip(): value for name, _, value in (p.partition("=") for p in model_args.split(",") if "=" in p)}


def model_label(model_id: str, model_args: str) -> str:
    """What to call a model: its checkpoint's name, or the model with all its arguments if none is named."""
    arguments = _arguments(model_args)
    for name in _NAMES_A_CHECKPOINT:
        if arguments.get(name, "").strip("/"):
            if cached := _OF_HUB_CACHE.search(arguments[name]):
                return f"{cached[1]}/{cached[2]}"
            return "/".join(arguments[name].rstrip("/").split("/")[-2:])
    return f"{model_id} ({model_args})" if model_args else model_id


def _trials(path: Path, faults: list[str]) -> Iterable[_Trial]:
    decoder = msgspec.json.Decoder(_Line)
    with path.open("rb") as file:
        for raw in file:
            try:
                line = decoder.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                faults.append(str(error))
            else:
                if line.trial is None and line.trials is None:
                    faults.append("no trial in it")
                yield from line.trials if line.trials is not None else [line.trial] if line.trial else []


def read_logged_run(path: Path) -> LoggedRun:
    """The run behind one `*_samples_*.jsonl` file.

    Raises:
        LogError: if no line of it is a trial of this benchmark, or trials are of several tasks.
    """
    faults: list[str] = []
    table = rows_to_table(_trials(path, faults))
    if table.empty:
        raise no_trials(path, faults[-1] if faults else "")
    if len(tasks := table["task"].cat.categories) > 1:
        raise several_tasks(path, tasks)
    results = results_of(path)
    model_id, model_args = model_of(path, results)
    task = str(table["task"].iloc[0])
    problems = [f"{len(faults)} lines of {path.name} could not be read ({faults[-1]})"] if faults else []
    if not results:
        problems.append(f"{path.name} has no results file beside it: the run did not end, or only its log was copied")
    return LoggedRun(
        path=path,
        task=task,
        model=model_label(model_id, model_args),
        model_id=model_id,
        model_args=model_args,
        date=path.name.split("_samples_")[0],
        table=table,
        versions=noted_versions(results, task),
        problems=tuple(problems),
    )


def noted_versions(results: Any, task: str) -> tuple[tuple[str, str], ...]:
    """Versions of packages that a task noted in a results file."""
    try:
        noted = results["configs"][task]["metadata"]["versions"]
        return tuple(sorted((str(name), str(version)) for name, version in noted.items()))
    except (KeyError, TypeError, AttributeError):
        return ()


def read_logged_runs(
    places: Iterable[Path], workers: int = 1, progress: Callable[[int], object] = lambda _: None
) -> list[LoggedRun]:
    """All runs of our tasks under some folders, or of some files, in order of their paths.

    Args:
        places: folders and files.
        workers: processes that read.
        progress: called with the number of bytes of each file that was read.

    Raises:
        LogError: if a place is missing or holds no log of ours.
    """
    files = log_files(places)
    return work_on_all(read_logged_run, files, workers, lambda path: progress(path.stat().st_size))
