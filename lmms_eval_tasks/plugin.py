"""What makes the tasks and models known to lmms-eval once the package is installed.

lmms-eval looks for tasks in its own folder and in `--include_path` only. Its entry point for models is
called while it starts, before any task is looked up; that is used to add our folder to the search. The same
moment serves to refuse, for our tasks, what would give wrong numbers: its caches and repeats.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lmms_eval_tasks.stop import RunStopped

TASK_FOLDER = Path(__file__).parent / "tasks"
_MARK = "_caved_or_convinced"


def _once(owner: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a method by a wrapped one, unless that was done before."""
    method = getattr(owner, name)
    if not getattr(method, _MARK, False):
        wrapped = wrap(method)
        setattr(wrapped, _MARK, True)
        setattr(owner, name, wrapped)


def _with_our_folder(initialize_tasks: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(initialize_tasks)
    def initialize(self: Any, include_path: str | list[str] | None = None, include_defaults: bool = True) -> Any:
        paths = [include_path] if isinstance(include_path, str) else list(include_path or [])
        if include_defaults and str(TASK_FOLDER) not in paths:
            paths.append(str(TASK_FOLDER))
        return initialize_tasks(self, include_path=paths or None, include_defaults=include_defaults)

    return initialize


def _answering_ours(get_model_class: Callable[..., type]) -> Callable[..., type]:
    @functools.wraps(get_model_class)
    def get(self: Any, *args: Any, **kwargs: Any) -> type:
        from lmms_eval_tasks.wrapped_models import answering_ours

        return answering_ours(get_model_class(self, *args, **kwargs))

    return get


def _task_names(task_dict: Mapping[Any, Any] | None) -> Iterable[str]:
    for name, task in (task_dict or {}).items():
        if isinstance(task, Mapping):
            yield from _task_names(task)
        else:
            yield str(name)


def _is_ours(name: str) -> bool:
    return (TASK_FOLDER / f"{name}.yaml").is_file()


def _without_our_tasks(create: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(create)
    def checked(*args: Any, **kwargs: Any) -> Any:
        ours = sorted(filter(_is_ours, _task_names(kwargs.get("task_dict"))))
        if ours:
            raise RunStopped(
                f"--use_cache cannot serve {', '.join(ours)}: the harness' response cache keys on the text of a "
                "request and ignores its frames, so twins and phases would share answers; run without --use_cache"
            )
        return create(*args, **kwargs)

    return checked


def _refusing_what_cannot_work(build_all_requests: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(build_all_requests)
    def build(self: Any, **kwargs: Any) -> Any:
        name = str(self.config.task)
        if _is_ours(name):
            if kwargs.get("cache_requests"):
                raise RunStopped(
                    f"--cache_requests cannot serve {name}: the harness' cache of requests ignores the release; run "
                    "without it"
                )
            if (self.config.repeats or 1) > 1:
                raise RunStopped(
                    f"--repeats {self.config.repeats} is not for {name}: decoding is deterministic, its trials are its "
                    "repetitions, and only the first response would count; run without it"
                )
        return build_all_requests(self, **kwargs)

    return build


def manifests() -> list[Any]:
    """Entry point of the group `lmms_eval.models`: our models, after our tasks were made known."""
    from lmms_eval.api.task import Task
    from lmms_eval.caching.response_cache import ResponseCache
    from lmms_eval.models.registry_v2 import ModelManifest, ModelRegistryV2
    from lmms_eval.tasks import TaskManager

    _once(TaskManager, "initialize_tasks", _with_our_folder)
    _once(ResponseCache, "create", _without_our_tasks)
    _once(ModelRegistryV2, "get_model_class", _answering_ours)
    _once(Task, "build_all_requests", _refusing_what_cannot_work)
    return [
        ModelManifest(
            model_id="scripted_observer",
            chat_class_path="lmms_eval_tasks.scripted_observer.ScriptedObserver",
        ),
        ModelManifest(model_id="ocr_reader", chat_class_path="lmms_eval_tasks.image.ocr_reader.OcrReader"),
        ModelManifest(
            model_id="framed_responder",
            chat_class_path="lmms_eval_tasks.image.framed_responder.FramedResponder",
        ),
    ]
