"""A scripted observer on every trial of some tasks, in this process: real documents, frames, prompts and readers."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_eval_tasks.observer_policy import ObserverPolicy
from lmms_eval_tasks.paper_trials import PAPER_TASKS, paper_documents
from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.readout import unavailable_response
from lmms_eval_tasks.reversal_trials import LOGGED, forward_documents, readings_of
from lmms_eval_tasks.scoring import trial_of
from lmms_eval_tasks.scripted_observer import ScriptedObserver
from lmms_eval_tasks.switches import TIMES
from lmms_eval_tasks.trials import MAIN_CLAIMS, TASK, Document, probe_documents, task_name
from metrics.trial import Trial
from stimuli_builder.release import Release


def documents_of(release: Release, task: str) -> list[Document]:
    """All documents of a task, as the harness gets them."""
    digest, probes = release.info.digest, release.info.probes
    if task == LOGGED:
        forward = [d for p in release.probes("reversal") for d in forward_documents(p, task, digest, probes)]
        return [reading for document in forward for reading in readings_of(document)]
    if task in PAPER_TASKS:
        kind = PAPER_TASKS[task]
        times = kind.times or TIMES[:1]
        return [d for p in release.probes(16) for d in paper_documents(p, kind, digest, probes, times)]
    budget = int(task.removeprefix(f"{TASK}_k")) if task != TASK else 16
    return [d for p in release.probes(budget) for d in probe_documents(p, MAIN_CLAIMS, digest, probes)]


def tasks_of(release: Release) -> list[str]:
    """The tasks that a release can serve, the adaptive one left out."""
    names = [task_name(budget) for budget in release.info.budgets]
    return names + [*PAPER_TASKS] * (16 in release.info.budgets) + [LOGGED] * bool(release.info.reversal_offsets)


def observed(policy: ObserverPolicy, release: Release, tasks: Iterable[str]) -> dict[str, list[Trial]]:
    """The observer's trials, by task."""
    observer = ScriptedObserver(**vars(policy))
    trials: dict[str, list[Trial]] = {}
    for task in tasks:
        documents = documents_of(release, task)
        stores = {part: release.frames(part) for part in {document["part"] for document in documents}}
        trials[task] = []
        for document in documents:
            if document["time"] == "native":
                response = unavailable_response("it sees frames and prompt alone")
            else:
                store = stores[document["part"]]
                frames = [store.image(frame) for frame in document["frames"]]
                response = observer.respond(frames, prompt_text(document))
            trials[task].append(trial_of(document, response))
    return trials
