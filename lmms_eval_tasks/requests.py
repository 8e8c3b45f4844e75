"""Requests of our tasks as the harness hands them over: which are ours, which are the same, which belong together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmms_eval_tasks.asked import BENCHMARKS, letters_of

PART = 64  # requests handed on at a time where probes are not kept together
Finished = Callable[[Sequence[tuple[Any, str]]], None]  # takes requests with their responses


def is_ours(request: Any) -> bool:
    """Whether a request is one of our tasks', told by what the task file puts into its metadata."""
    return (request.metadata or {}).get("benchmark") in BENCHMARKS


def document_of(wrapper: Any, request: Any) -> Any:
    """The trial document of a request."""
    doc_id, task, split = request.args[-3:]
    return wrapper.task_dict[task][split][doc_id]


def by_letters(wrapper: Any, requests: Sequence[Any]) -> dict[tuple[str, ...], list[Any]]:
    """Requests by the letters of their options, which are read together; those of free answers have none."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for request in requests:
        groups.setdefault(letters_of(document_of(wrapper, request)), []).append(request)
    return groups


def layout_of(wrapper: Any, request: Any) -> str:
    """How a request's task hands over frames and text: roles and kinds of items, without the items themselves."""
    make = next((a for a in request.args[1:3] if callable(a)), None)
    if make is None or getattr(wrapper, "is_simple", True):
        return "simple"
    messages = make(document_of(wrapper, request))
    kinds = [[m["role"], *(item["type"] for item in m["content"])] for m in messages]
    return json.dumps(kinds)


def keys_of(wrapper: Any, requests: Sequence[Any]) -> list[tuple[str, ...]]:
    """For each request what its answer depends on: release, frames in their order, prompt, layout, and told times."""
    layouts: dict[tuple[str, ...], str] = {}  # settings are a task's, so one request tells for all
    keys = []
    for request in requests:
        document, prompt = document_of(wrapper, request), str(request.args[0])
        task = (*map(str, request.args[-2:]), str(document["budget"]))
        if task not in layouts:
            layouts[task] = layout_of(wrapper, request)
        times = [f"{t:.6f}" for t in document["times_s"]] if document["time"] != "withheld" else []
        keys.append((document["release"], document["view"], prompt, layouts[task], document["time"], *times))
    return keys


def once_each(requests: Sequence[Any], keys: Sequence[tuple[str, ...]]) -> tuple[list[Any], list[int]]:
    """Requests whose keys were not there before, and for each request the place of the one that stands for it.

    In-gap twins ask the same of the same frames; one computation makes them equal to the last bit, whatever
    the batch that they would have fallen into.
    """
    places: dict[tuple[str, ...], int] = {}
    first: list[Any] = []
    stands_for = []
    for request, key in zip(requests, keys, strict=True):
        if key not in places:
            places[key] = len(first)
            first.append(request)
        stands_for.append(places[key])
    return first, stands_for


def by_task(requests: Sequence[Any]) -> list[list[Any]]:
    """Requests of each task for themselves: some wrappers take a whole batch for the first one's task."""
    tasks: dict[tuple[Any, ...], list[Any]] = {}
    for request in requests:
        tasks.setdefault(tuple(request.args[-2:]), []).append(request)
    return list(tasks.values())


def sampling_of(document: Mapping[str, Any]) -> tuple[Any, ...]:
    """The video of a trial and how many frames of it are shown: what trials have in common that share work.

    It says nothing of the task, since several may ask about the same views. The reversal test's budgets are kept apart:
    frames of all of them together would be too many to hold.
    """
    return document["probe"], document["video_budget"], document["budget"], document["phase"] == "offset"


def parts(wrapper: Any, requests: Sequence[Any], by_view: bool) -> list[list[Any]]:
    """Requests as they are handed on together: view by view where work is shared, else in large parts.

    Views of a probe follow each other, whichever task asks about them, those that begin with the same frames side by
    side, and so do the prompts of a view: a walk through the tree of a probe's prompts, branch by branch. A processor
    that is told times must be told all of its batch, so requests with a native channel stand for themselves.
    """
    if not by_view:
        told: dict[bool, list[Any]] = {}
        for request in requests:
            told.setdefault(document_of(wrapper, request)["time"] == "native", []).append(request)
        alike = [task for listed in told.values() for task in by_task(listed)]
        return [task[i : i + PART] for task in alike for i in range(0, len(task), PART)]
    probes: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Any]]] = {}
    for request in requests:
        document = document_of(wrapper, request)
        views = probes.setdefault(sampling_of(document), {})
        views.setdefault((document["time"] == "native", *document["frames"]), []).append(request)
    return [
        sorted(task, key=lambda request: str(request.args[0]))
        for views in probes.values()
        for _, view in sorted(views.items(), key=lambda item: item[0])
        for task in by_task(view)
    ]
