"""The built-in models of lmms-eval, which answer our tasks, and only ours, with option probabilities.

`chat__<id>` and `simple__<id>` of this module are subclasses of the shipped wrappers, made when they are asked
for. For requests of other tasks they do nothing at all.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from loguru import logger
from tqdm import tqdm

from lmms_eval_tasks.next_token import FirstToken, Rows, reading_next_token
from lmms_eval_tasks.readout import to_response
from lmms_eval_tasks.shared_prefix import Sharing
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import READOUT, reads_probabilities, shares_prefixes
from lmms_eval_tasks.untouched_frames import add_missing_families, time_stamp_warning, untouched_frames

LETTERS = ("A", "B")
_PART = 64  # requests handed on at a time where views are not kept together


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


def _take(wrapper: Any, rows: Rows, request: Any, answer: Any) -> str:
    """The response to a request from the row that the wrapper's answer names.

    Raises:
        RunStopped: if the wrapper lost the row, or handed on another number of frames.
    """
    first = rows.take(_text_of(answer))
    if first is None:
        cause = rows.failures[0] if rows.failures else "look for its message above"
        raise RunStopped(
            f"the wrapper answered {_text_of(answer)[:60]!r} to document {request.args[-3]} instead of what was "
            f"read: it swallowed an error ({cause}), or changes answers in a way of its own; mend the error, or "
            f"set {READOUT}=text to read its text"
        )
    _check_frames(first, _document(wrapper, request))
    return to_response(first)


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


def _parts(wrapper: Any, requests: list[Any], by_view: bool) -> list[list[Any]]:
    """Requests as they are handed on together: view by view where prefixes are shared, else in large parts."""
    if not by_view:
        return [requests[i : i + _PART] for i in range(0, len(requests), _PART)]
    views: dict[str, list[Any]] = {}
    for request in requests:
        views.setdefault(_document(wrapper, request)["view"], []).append(request)
    return list(views.values())


@contextmanager
def _without_bars(base: Any) -> Iterator[None]:
    """Silence the wrapper's own progress bars, which would start anew with every part."""
    modules = {sys.modules[c.__module__] for c in base.__mro__ if hasattr(sys.modules.get(c.__module__), "tqdm")}
    shown = {module: vars(module)["tqdm"] for module in modules}
    for module, bar in shown.items():
        vars(module)["tqdm"] = partial(bar, disable=True) if callable(bar) else bar
    try:
        yield
    finally:
        for module, bar in shown.items():
            vars(module)["tqdm"] = bar


def _answer_ours(wrapper: Any, base: Any, requests: list[Any], tokenizer: Any) -> list[Any]:
    """Responses with probabilities; text, with a warning, if the wrapper does not end in transformers' `generate`."""
    distinct, stands_for = _once_each(wrapper, requests)
    single = str(getattr(wrapper, "batch_size", 1)) == "1"
    sharing = Sharing() if single and shares_prefixes() else None
    responses: dict[int, str] = {}
    bar = tqdm(total=len(distinct), desc="Model Responding", unit=" request", disable=getattr(wrapper, "rank", 0) != 0)
    with bar, _without_bars(base), reading_next_token(tokenizer, LETTERS, sharing) as rows:
        for part in _parts(wrapper, distinct, by_view=sharing is not None):
            if sharing is not None:
                sharing.view = _document(wrapper, part[0])["view"]
            answers = base.generate_until(wrapper, part)
            if not rows.read and not rows.failures:
                break
            for request, answer in zip(part, answers, strict=True):
                responses[id(request)] = _take(wrapper, rows, request, answer)
            bar.update(len(part))
    if sharing is not None:
        sharing.prefix.forget()
    if not responses:
        logger.warning(
            f"{base.__name__} does not end in transformers' generate: its text is read, and there are no "
            "confidence rates"
        )
        return list(base.generate_until(wrapper, requests))
    return [responses[id(distinct[place])] for place in stands_for]


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
