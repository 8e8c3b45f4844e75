"""Rounds of the adaptive reversal test as ordinary requests, one for each trial.

Whatever answers ordinary requests answers a round: it sees the same arguments, documents and messages as in the
logged version, so it reads, checks and keeps the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from lmms_eval_tasks.requests import document_of
from lmms_eval_tasks.reversal_rounds import Round, Step
from lmms_eval_tasks.reversal_trials import step_documents
from lmms_eval_tasks.trials import Document
from lmms_eval_tasks.visuals import doc_to_messages, doc_to_text, doc_to_visual

Answering = Callable[[list[Any]], Sequence[Any]]  # takes ordinary requests of our tasks, gives their responses in order


@dataclass(frozen=True)
class _Place:
    """Where documents of a task lie in a model's `task_dict`."""

    task: str
    split: str


def step_of(request: Any) -> Step | None:
    """The round that a request stands for; None for an ordinary request."""
    return Step.of(str(request.args[0]))


def name_of_step(model: Any, requests: Sequence[Any]) -> str:
    """What to call a single round while it is answered; empty for anything else."""
    step = step_of(requests[0]) if len(requests) == 1 else None
    if step is None:
        return ""
    number, task, split = requests[0].args[-3:]
    return f"Video {number + 1} of {len(model.task_dict[task][split])}, {step.budget} frames"


def _trial_request(model: Any, request: Any, step: Step, document: Document, number: int) -> Any:
    """The request of one trial, as the harness would have made it."""
    from lmms_eval.api.instance import Instance

    settings, (task, split) = step.settings, request.args[-2:]
    generation = next(argument for argument in request.args[1:3] if isinstance(argument, dict))
    show: Any = doc_to_visual
    arguments: tuple[Any, ...] = (dict(generation), show)
    if not getattr(model, "is_simple", True):
        show = partial(doc_to_messages, lmms_eval_specific_kwargs=settings)
        arguments = (show, dict(generation))
    return Instance(
        request_type="generate_until",
        arguments=(doc_to_text(document, settings), *arguments, number, task, split),
        idx=0,
        metadata={**request.metadata, "doc_id": number},
    )


@contextmanager
def _showing(model: Any, documents: dict[_Place, list[Document]]) -> Iterator[None]:
    """Within this block a model finds these documents where it looks for those of the harness."""
    before = model.task_dict
    shown = dict(before)
    for place, listed in documents.items():
        shown[place.task] = {**shown[place.task], place.split: listed}
    model.task_dict = shown
    try:
        yield
    finally:
        model.task_dict = before


def answer_adaptive(model: Any, requests: Sequence[Any], answer: Answering) -> list[Any]:
    """Responses to requests of our tasks, of which any may stand for a round of the adaptive reversal test.

    Every model that answers our tasks calls this, with what answers ordinary requests:

        def generate_until(self, requests):
            return answer_adaptive(self, requests, self.answer_ordinary)

    Args:
        model: of the harness; while `answer` runs, `model.task_dict` gives the trials of the rounds.
        requests: as the harness hands them over.
        answer: is called once, with ordinary requests only.

    Returns:
        For each request what `answer` gave; for a round, one text that holds what it gave to the round's trials.
    """
    steps = [step_of(request) for request in requests]
    if not any(steps):
        return list(answer(list(requests)))
    documents: dict[_Place, list[Document]] = {}
    ordinary: list[Any] = []
    places: list[range] = []  # of each request among the ordinary ones
    for request, step in zip(requests, steps, strict=True):
        first = len(ordinary)
        if step is None:
            ordinary.append(request)
        else:
            listed = documents.setdefault(_Place(*request.args[-2:]), [])
            for document in step_documents(document_of(model, request), step.budget):
                ordinary.append(_trial_request(model, request, step, document, len(listed)))
                listed.append(document)
        places.append(range(first, len(ordinary)))
    with _showing(model, documents):
        given = list(answer(ordinary))
    if len(given) != len(ordinary):
        raise ValueError(f"{len(given)} responses to {len(ordinary)} requests")
    responses: list[Any] = []
    for step, place in zip(steps, places, strict=True):
        texts = tuple(str(getattr(given[i], "text", given[i])) for i in place)
        responses.append(given[place[0]] if step is None else Round(step.budget, texts).to_text())
    return responses
