"""The trials behind the other tables of the video paper, from the probes of k = 16.

Each is a choice of arms, phases, claims and time channels; both twins and both letter assignments always come along.
Trials that two tasks have in common are equal in all that a model gets, so one run computes them once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datasets import Dataset

from lmms_eval_tasks.switches import TIMES, time_setting
from lmms_eval_tasks.trials import (
    LETTERS,
    MAIN_CLAIMS,
    MAIN_PHASES,
    PRIMARY_BUDGET,
    TASK,
    Document,
    dealt_documents,
    probe_documents,
    released_probes,
)
from metrics.trial import Claim, Phase, Time
from stimuli_builder.edit_list import TWINS, Arm
from stimuli_builder.release_schema import StoredProbe


@dataclass(frozen=True)
class PaperTask:
    """What a task of the paper asks about each probe."""

    name: str
    arms: tuple[Arm, ...] = ("intact",)
    phases: tuple[Phase, ...] = ("on_grid",)
    claims: tuple[Claim, ...] = MAIN_CLAIMS
    times: tuple[Time, ...] | None = None  # None: the one that `CAVED_TIME` chooses

    @property
    def trials_per_probe(self) -> int:
        """How many documents a probe has."""
        cells = (self.arms, self.phases, self.claims, self.times or TIMES[:1], TWINS, LETTERS)
        count = 1
        for values in cells:
            count *= len(values)
        return count


ATTRIBUTION = PaperTask(f"{TASK}_attribution", arms=("intact", "no_events", "placebo"))  # Table 2
MILD = PaperTask(f"{TASK}_mild", phases=MAIN_PHASES, claims=("none", "mild", "strong"))  # Table 3
TIME = PaperTask(f"{TASK}_time", phases=MAIN_PHASES, times=TIMES)  # Table 4
SINGLE_EVENT = PaperTask(
    f"{TASK}_single_event", arms=("intact", "early_only", "late_only"), claims=("none",)
)  # Table 7
PAPER_TASKS = {task.name: task for task in (ATTRIBUTION, MILD, TIME, SINGLE_EVENT)}


def paper_documents(
    stored: StoredProbe, task: PaperTask, release: str, release_probes: int, times: Sequence[Time]
) -> list[Document]:
    """All trial documents of one probe, at each of the times."""
    return [
        document
        for time in times
        for document in probe_documents(
            stored, task.claims, release, release_probes, time, task.name, task.arms, task.phases
        )
    ]


def _trials(task: PaperTask) -> Callable[[Dataset], Dataset]:
    def process_docs(rows: Dataset) -> Dataset:
        released = released_probes(rows, PRIMARY_BUDGET)
        times = task.times or (time_setting(),)

        def documents(stored: StoredProbe) -> list[Document]:
            return paper_documents(stored, task, released.digest, len(released.probes), times)

        return dealt_documents(released, documents)

    process_docs.__doc__ = f"Trial documents of {task.name} (`process_docs` of the task)."
    return process_docs


attribution_trials = _trials(ATTRIBUTION)
mild_trials = _trials(MILD)
time_trials = _trials(TIME)
single_event_trials = _trials(SINGLE_EVENT)
