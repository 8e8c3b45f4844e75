"""Requests of our tasks as the harness hands them over: which are ours, which are the same, which belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

PART = 64  # requests handed on at a time where probes are not kept together
LETTERS = ("A", "B")  # of the options
Finished = Callable[[Sequence[tuple[Any, str]]], None]  # takes requests with their responses


def is_ours(request: Any) -> bool:
    """Whether a request is one of our tasks', told by what the task file puts into its metadata."""
    return (request.metadata or {}).get("benchmark") == "caved_or_convinced"


def document_of(wrapper: Any, request: Any) -> Any:
    """The trial document of a request."""
    doc_id, task, split = request.args[-3:]
    return wrapper.task_dict[task][split][doc_id]


def key_of(wrapper: Any, request: Any) -> tuple[str, ...]:
    """What an answer depends on: frames in their order, prompt, and times where a model is told them."""
    document, prompt = document_of(wrapper, request), str(request.args[0])
    times = [f"{t:.6f}" for t in document["times_s"]] if document["time"] != "withheld" else []
    return (document["view"], prompt, document["time"], *times)


def once_each(wrapper: Any, requests: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Requests without repetitions, and for each request the place of the one that stands for it.

    In-gap twins ask the same of the same frames; one computation makes them equal to the last bit, whatever
    the batch that they would have fallen into.
    """
    places: dict[tuple[str, ...], int] = {}
    first: list[Any] = []
    stands_for = []
    for request in requests:
        key = key_of(wrapper, request)
        if key not in places:
            places[key] = len(first)
            first.append(request)
        stands_for.append(places[key])
    return first, stands_for


def parts(wrapper: Any, requests: Sequence[Any], by_view: bool) -> list[list[Any]]:
    """Requests as they are handed on together: view by view where work is shared, else in large parts.

    Views of a probe follow each other, those that begin with the same frames side by side, and so do the prompts of
    a view: a walk through the tree of a probe's prompts, branch by branch.
    """
    if not by_view:
        return [list(requests[i : i + PART]) for i in range(0, len(requests), PART)]
    probes: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Any]]] = {}
    for request in requests:
        document = document_of(wrapper, request)
        views = probes.setdefault((document["probe"], document["budget"]), {})
        views.setdefault((document["time"], *document["frames"]), []).append(request)
    return [
        sorted(view, key=lambda request: str(request.args[0]))
        for views in probes.values()
        for _, view in sorted(views.items(), key=lambda item: item[0])
    ]
