"""The trials of the reversal test: a video's frames in order and reversed, at several budgets and offsets, no claim.

Paper, "The Reversal Test" and Algorithm 1. The logged version asks everything; the adaptive one has a document for
each video, and asks for one budget after the other until it may answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datasets import Dataset

from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import TIME, time_setting
from lmms_eval_tasks.trials import (
    LETTERS,
    TASK,
    Document,
    dealt_documents,
    released_probes,
    trial_document,
    view_digest,
)
from metrics.trial import Direction
from stimuli_builder.edit_list import TWINS
from stimuli_builder.parts import REVERSAL
from stimuli_builder.release_schema import StoredProbe

LOGGED = f"{TASK}_reversal"
ADAPTIVE = f"{TASK}_reversal_adaptive"
DIRECTIONS: tuple[Direction, Direction] = ("forward", "reversed")


def forward_documents(stored: StoredProbe, task: str, release: str, release_probes: int) -> list[Document]:
    """One document for each stored view: its frames in order, with the letters `AB`."""
    return [
        trial_document(stored, view, task, "none", LETTERS[0], release, release_probes)
        for view in stored.views
        if view.phase == "offset"
    ]


def readings_of(forward: Mapping[str, Any]) -> list[Document]:
    """The four trials of a view: frames in order and reversed, each with both letter assignments."""
    documents = []
    for direction in DIRECTIONS:
        frames = list(forward["frames"] if direction == "forward" else forward["frames"][::-1])
        shown = {"direction": direction, "frames": frames, "view": view_digest(frames)}
        documents += [{**forward, **shown, "letters": letters} for letters in LETTERS]
    return documents


def video_documents(stored: StoredProbe, release: str, release_probes: int) -> list[Document]:
    """One document for each twin of a probe, which holds its forward views; the trials follow from them."""
    forward = forward_documents(stored, ADAPTIVE, release, release_probes)
    return [
        {
            "task": ADAPTIVE,
            "release": release,
            "release_probes": release_probes,
            "probe": stored.probe.probe,
            "twin": twin,
            "schedule": sorted({document["budget"] for document in forward}),
            "views": [document for document in forward if document["twin"] == twin],
            "padding": False,
        }
        for twin in TWINS
    ]


def step_documents(video: Mapping[str, Any], budget: int) -> list[Document]:
    """The trials of one budget of a video."""
    return [
        {**document, "padding": video["padding"]}
        for view in video["views"]
        if view["budget"] == budget
        for document in readings_of(view)
    ]


def require_withheld() -> None:
    """Stop the run if times of frames are to be told: they would contradict frames in reversed order."""
    time = time_setting()
    if time != "withheld":
        raise RunStopped(
            f"{TIME}={time}, but the reversal test shows frames in reversed order, which the times of frames would "
            f"contradict: unset {TIME}, or run the other tasks without {LOGGED}"
        )


def reversal_trials(rows: Dataset) -> Dataset:
    """Trial documents of the logged version (`process_docs` of the task).

    Raises:
        RunStopped: if the rows are not the bound release's, or times of frames are to be told.
    """
    require_withheld()
    released = released_probes(rows, REVERSAL)

    def documents(stored: StoredProbe) -> list[Document]:
        forward = forward_documents(stored, LOGGED, released.digest, len(released.probes))
        return [document for view in forward for document in readings_of(view)]

    return dealt_documents(released, documents)


def reversal_videos(rows: Dataset) -> Dataset:
    """Documents of the adaptive version, one for each video (`process_docs` of the task); raises as above."""
    require_withheld()
    released = released_probes(rows, REVERSAL)
    return dealt_documents(released, lambda stored: video_documents(stored, released.digest, len(released.probes)))
