"""The built-in models of lmms-eval, which answer our tasks, and only ours, with option probabilities.

`chat__<id>` and `simple__<id>` of this module are subclasses of the shipped wrappers, made when they are asked
for. For requests of other tasks they do nothing at all.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any

from loguru import logger

from lmms_eval_tasks.next_token import FirstToken, reading_next_token
from lmms_eval_tasks.readout import to_response
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.untouched_frames import add_missing_families, time_stamp_warning, untouched_frames

VARIABLE = "CAVED_READOUT"
LETTERS = ("A", "B")
_BLOCK = 64  # requests handed on at a time while it is not known whether the wrapper can be read


def reads_probabilities() -> bool:
    """Whether option probabilities are wanted: `CAVED_READOUT` is unset or `probabilities`, not `text`.

    Raises:
        RunStopped: if it is anything else.
    """
    chosen = os.environ.get(VARIABLE, "").strip() or "probabilities"
    if chosen not in ("probabilities", "text"):
        raise RunStopped(f"{VARIABLE}={chosen}: write probabilities or text")
    return chosen == "probabilities"


def is_ours(request: Any) -> bool:
    """Whether a request is one of our tasks', told by what the task file puts into its metadata."""
    return (request.metadata or {}).get("benchmark") == "caved_or_convinced"


def _tokenizer_of(wrapper: Any) -> Any:
    for owner in (wrapper, getattr(wrapper, "processor", None), getattr(wrapper, "_image_processor", None)):
        for name in ("tokenizer", "_tokenizer"):
            tokenizer = getattr(owner, name, None)
            if callable(getattr(tokenizer, "get_vocab", None)):
                return tokenizer
    return None


def _text_of(answer: Any) -> str:
    return str(getattr(answer, "text", answer))


def _document(wrapper: Any, request: Any) -> Any:
    doc_id, task, split = request.args[-3:]
    return wrapper.task_dict[task][split][doc_id]


def _check_frames(first: FirstToken, document: Any) -> None:
    """Stop the run if another number of frames reached the model than the trial shows."""
    if first.frames is not None and first.frames != document["budget"]:
        raise RunStopped(
            f"{first.frames} frames of {document['budget']} reached the model: its wrapper drops, repeats or samples "
            "frames; give it the argument that stops this, such as num_frames, max_num_frames or max_frames_num="
            f"{document['budget']} (and no fps), in --model_args"
        )


def _read(wrapper: Any, shipped: Any, requests: list[Any], tokenizer: Any) -> list[str] | None:
    """Responses with probabilities; None if the wrapper does not end in transformers' `generate`.

    Raises:
        RunStopped: if the wrapper lost some of the rows, or handed on another number of frames.
    """
    with reading_next_token(tokenizer, LETTERS) as rows:
        answers = shipped(wrapper, requests)
    if not rows.read and not rows.failures:
        return None
    responses = []
    for request, answer in zip(requests, answers, strict=True):
        first = rows.take(_text_of(answer))
        if first is None:
            cause = rows.failures[0] if rows.failures else "look for its message above"
            raise RunStopped(
                f"the wrapper answered {_text_of(answer)[:60]!r} to document {request.args[-3]} instead of what was "
                f"read: it swallowed an error ({cause}), or changes answers in a way of its own; mend the error, or "
                f"set {VARIABLE}=text to read its text"
            )
        _check_frames(first, _document(wrapper, request))
        responses.append(to_response(first))
    return responses


def _once_each(wrapper: Any, requests: list[Any]) -> tuple[list[Any], list[int]]:
    """Requests without repetitions, and for each request the place of the one that stands for it.

    In-gap twins ask the same of the same frames; one computation makes them equal to the last bit, whatever
    the batch that they would have fallen into.
    """
    places: dict[tuple[str, str], int] = {}
    first: list[Any] = []
    stands_for = []
    for request in requests:
        key = (_document(wrapper, request)["view"], str(request.args[0]))
        if key not in places:
            places[key] = len(first)
            first.append(request)
        stands_for.append(places[key])
    return first, stands_for


def _answer_ours(wrapper: Any, base: Any, requests: list[Any], tokenizer: Any) -> list[Any]:
    distinct, stands_for = _once_each(wrapper, requests)
    shipped = base.generate_until
    # A first, small part tells whether this wrapper can be read at all, before all of its work is done.
    read = _read(wrapper, shipped, distinct[:_BLOCK], tokenizer)
    if read is None:
        logger.warning(
            f"{base.__name__} does not end in transformers' generate: its text is read, and there are no "
            "confidence rates"
        )
        return list(shipped(wrapper, requests))
    if len(distinct) > _BLOCK:
        read += _read(wrapper, shipped, distinct[_BLOCK:], tokenizer) or []
    return [read[place] for place in stands_for]


def _generate_until(base: Any, wrapper: Any, requests: list[Any]) -> list[Any]:
    ours = [i for i, request in enumerate(requests) if is_ours(request)]
    if not ours:
        return base.generate_until(wrapper, requests)
    tokenizer = _tokenizer_of(wrapper) if reads_probabilities() else None
    responses: list[Any] = [None] * len(requests)
    others = sorted(set(range(len(requests))) - set(ours))
    if others:
        for i, answer in zip(others, base.generate_until(wrapper, [requests[i] for i in others]), strict=True):
            responses[i] = answer
    wanted = [requests[i] for i in ours]
    if warning := time_stamp_warning(wrapper):
        logger.warning(warning)
    with untouched_frames(wrapper):
        answers = (
            base.generate_until(wrapper, wanted)
            if tokenizer is None
            else _answer_ours(wrapper, base, wanted, tokenizer)
        )
    for i, answer in zip(ours, answers, strict=True):
        responses[i] = answer
    return responses


@cache
def _wrapped(kind: str, model_id: str) -> type:
    import lmms_eval.models as models

    table = models.AVAILABLE_CHAT_TEMPLATE_MODELS if kind == "chat" else models.AVAILABLE_SIMPLE_MODELS
    module, name = models._build_class_path(model_id, kind, table[model_id]).rsplit(".", 1)
    base = getattr(importlib.import_module(module), name)
    if model_id == "llava_hf":
        add_missing_families()

    def generate_until(self: Any, requests: list[Any]) -> list[Any]:
        return _generate_until(base, self, requests)

    body = {"generate_until": generate_until, "__doc__": base.__doc__, "__module__": base.__module__}
    return type(base.__name__, (base,), body)


def __getattr__(name: str) -> Any:
    kind, _, model_id = name.partition("__")
    if kind not in ("chat", "simple") or not model_id:
        raise AttributeError(name)
    return _wrapped(kind, model_id)


def wrapped_manifests() -> list[Any]:
    """A manifest for each built-in model, under its own id, that points to its subclass here."""
    import lmms_eval.models as models
    from lmms_eval.models.registry_v2 import ModelManifest

    chat, simple = models.AVAILABLE_CHAT_TEMPLATE_MODELS, models.AVAILABLE_SIMPLE_MODELS
    return [
        ModelManifest(
            model_id=model_id,
            simple_class_path=f"{__name__}.simple__{model_id}" if model_id in simple else None,
            chat_class_path=f"{__name__}.chat__{model_id}" if model_id in chat else None,
        )
        for model_id in sorted({*chat, *simple})
    ]
