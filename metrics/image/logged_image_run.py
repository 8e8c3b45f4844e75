"""Sample logs of the image benchmark, read straight into columns, without an object for every trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from metrics.image.table import image_table
from metrics.image.trial import IMAGE_LOG_VERSION, INTACT, LETTERS, OPTIONS
from metrics.logged_run import LoggedRun, model_label, noted_versions
from metrics.sample_log import log_files, model_of, no_trials, results_of, several_tasks
from metrics.several_processes import work_on_all

_Letter: TypeAlias = Literal["A", "B", "C", "D", "E"]
_Small: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**15 - 1)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Given: TypeAlias = dict[_Letter, Annotated[float, msgspec.Meta(ge=0)]]


class _Answer(msgspec.Struct, gc=False):
    outcome: Literal["answered", "abstained", "unparseable"]
    option: _Letter | None = None
    option_probabilities: _Given | None = None
    option_mass: float | None = None
    option_probability_bound: float | None = None
    rule: str = ""

    def __post_init__(self) -> None:
        if (self.outcome == "answered") != (self.option is not None):
            raise ValueError("an answer has an option exactly if it is answered")
        given = self.option_probabilities
        if given is not None and abs(sum(given.values()) - 1) > 1e-6:
            raise ValueError("option probabilities must sum to 1")


class _Receipt(msgspec.Struct, gc=False):
    frames: int | None = None
    order: str | None = None
    size_px: tuple[float, float] | None = None
    control: str | None = None


class _Trial(msgspec.Struct, gc=False, kw_only=True):
    log_version: int
    task: str
    release: str
    release_questions: _Count
    item: str
    question: str
    category: str
    mode: Literal["intact", "subtractive", "corruptive"]
    level: _Small
    strength: float
    slot: Literal[0, 1]
    framing: Literal["neutral", "hedged", "plain", "conviction"]
    paraphrase: _Small
    elicitation: Literal["open", "closed"]
    options: tuple[str, ...]
    correct: _Letter
    asserted: _Letter
    cannot: _Letter | None
    image: str
    answer: _Answer
    hedged: bool = False
    refused: bool = False
    judged: dict[str, Any] | None = None
    receipt: _Receipt | None = None
    padding: bool = False
    release_levels: _Small = 0

    def __post_init__(self) -> None:
        """What `ImageTrial` asks for."""
        if self.log_version != IMAGE_LOG_VERSION:
            raise ValueError(f"log version {self.log_version}, this version of the package reads {IMAGE_LOG_VERSION}")
        if (self.level == 0) != (self.mode == INTACT):
            raise ValueError(f"level {self.level} of the mode {self.mode!r}")
        closed = self.elicitation == "closed"
        if len(self.options) != OPTIONS + closed or (self.cannot is not None) != closed:
            raise ValueError(
                f"{len(self.options)} options, cannot = {self.cannot!r} in the {self.elicitation} elicitation"
            )
        letters, answer = LETTERS[: len(self.options)], self.answer
        if any(letter is not None and letter not in letters for letter in (self.correct, self.asserted, answer.option)):
            raise ValueError(f"a letter that is none of the options {letters}")
        if closed and self.cannot in (self.correct, self.asserted, answer.option):
            raise ValueError("to answer that it cannot be determined is to abstain, and is never right or asserted")
        if answer.option_probabilities is not None and set(answer.option_probabilities) != set(letters):
            raise ValueError(f"option probabilities of other options than {letters}")
        if self.refused and answer.outcome != "unparseable":
            raise ValueError("a refusal for policy is neither an answer nor an abstention")


class _Line(msgspec.Struct, gc=False):
    image_trial: _Trial | None = None


def _trials(path: Path, faults: list[str]) -> Iterable[_Trial]:
    decoder = msgspec.json.Decoder(_Line)
    with path.open("rb") as file:
        for raw in file:
            try:
                line = decoder.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                faults.append(str(error))
                continue
            if line.image_trial is None:
                faults.append("no image trial in it")
            else:
                yield line.image_trial


def read_image_run(path: Path) -> LoggedRun:
    """The run behind one `*_samples_*.jsonl` file of the image benchmark.

    Raises:
        LogError: if no line of it is a trial of this benchmark, or trials are of several tasks.
    """
    faults: list[str] = []
    table = image_table(_trials(path, faults))
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


def read_image_runs(
    places: Iterable[Path], workers: int = 1, progress: Callable[[int], object] = lambda _: None
) -> list[LoggedRun]:
    """All runs of the image benchmark under some folders, or of some files, in order of their paths.

    Args:
        places: folders and files; logs of other tasks are passed over.
        workers: processes that read.
        progress: called with the number of bytes of each file that was read.

    Raises:
        LogError: if a place is missing or there is no log of this benchmark.
    """
    files = log_files(places, "image")
    return work_on_all(read_image_run, files, workers, lambda path: progress(path.stat().st_size))


def identity(run: LoggedRun) -> str:
    """What the run's model is, whatever it is called: its checkpoint if the arguments name one, else its id."""
    return run.checkpoint or run.model_id
