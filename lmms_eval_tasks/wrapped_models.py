"""The built-in models of lmms-eval, which answer our tasks, and only ours, with option probabilities.

`chat__<id>` and `simple__<id>` of this module are subclasses of the shipped wrappers, made when they are asked
for. For requests of other tasks they do nothing at all.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from lmms_eval_tasks.answering import answer
from lmms_eval_tasks.requests import is_ours
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
    for i, response in zip(ours, answer(wrapper, base, [requests[i] for i in ours]), strict=True):
        responses[i] = response
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
