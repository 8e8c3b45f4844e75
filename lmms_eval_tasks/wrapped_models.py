"""The models of lmms-eval, built in or added by others, which answer our tasks, and only ours, with option probabilities.

Whatever wrapper the harness looks up by an id, it gets a subclass. For requests of other tasks that does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from lmms_eval_tasks.adaptive_requests import answer_adaptive, name_of_step
from lmms_eval_tasks.answering import answer
from lmms_eval_tasks.answering_freely import answer_freely
from lmms_eval_tasks.asked import is_image
from lmms_eval_tasks.control_mark import control_of
from lmms_eval_tasks.readout import marked_response
from lmms_eval_tasks.requests import by_letters, document_of, is_ours
from lmms_eval_tasks.switches import reads_probabilities
from lmms_eval_tasks.untouched_frames import add_missing_families


def _generate_until(base: Any, wrapper: Any, requests: list[Any]) -> list[Any]:
    ours = [i for i, request in enumerate(requests) if is_ours(request)]
    if not ours:
        return list(base.generate_until(wrapper, requests))
    responses: list[Any] = [None] * len(requests)
    others = sorted(set(range(len(requests))) - set(ours))
    if others:
        for i, response in zip(others, base.generate_until(wrapper, [requests[i] for i in others]), strict=True):
            responses[i] = response
    places = {id(requests[i]): i for i in ours}
    for letters, asked in by_letters(wrapper, [requests[i] for i in ours]).items():
        for request, response in zip(asked, _answers(base, wrapper, asked, letters), strict=True):
            responses[places[id(request)]] = response
    return responses


def _answers(base: Any, wrapper: Any, asked: list[Any], letters: tuple[str, ...]) -> list[Any]:
    """Responses to requests of our tasks whose options have these letters; those that are read from text are watched.

    A model that says of itself that it tests the benchmark is named so in the receipt of every trial, however it was read.
    """
    of_images = is_image(document_of(wrapper, asked[0]))
    control = control_of(wrapper)
    if not letters or (of_images and not reads_probabilities()):
        return _marked(answer_freely(wrapper, base, asked), control)
    step = name_of_step(wrapper, asked)
    return answer_adaptive(wrapper, asked, lambda ordinary: _marked(answer(wrapper, base, ordinary, step), control))


def _marked(responses: Sequence[Any], control: str) -> list[Any]:
    if not control:
        return list(responses)
    return [marked_response(str(getattr(response, "text", response)), control) for response in responses]


@cache
def answering_ours(shipped: type) -> type:
    """A subclass of a wrapper that answers our tasks with option probabilities; our own models are left as they are."""
    if shipped.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return shipped
    if any(base.__module__ == "lmms_eval.models.simple.llava_hf" for base in shipped.__mro__):
        add_missing_families()
    base: Any = shipped

    def generate_until(self: Any, requests: list[Any]) -> list[Any]:
        return _generate_until(base, self, requests)

    def create_from_arg_string(cls: Any, arg_string: str, additional_config: dict[str, Any] | None = None) -> Any:
        wrapper = base.create_from_arg_string.__func__(cls, arg_string, additional_config)
        wrapper._caved_arguments = arg_string  # part of what names finished answers
        return wrapper

    body = {
        "generate_until": generate_until,
        "create_from_arg_string": classmethod(create_from_arg_string),
        "__doc__": base.__doc__,
        "__module__": base.__module__,
    }
    return type(base.__name__, (base,), body)
