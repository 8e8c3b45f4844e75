"""What is shown: the frames of a view, in order, as one video or as single images; the one image of an image trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from PIL import Image

from lmms_eval_tasks.asked import is_image
from lmms_eval_tasks.bound_release import bound_release, frame_store
from lmms_eval_tasks.image.bound_images import bound_images, image_store
from lmms_eval_tasks.image.prompts import image_prompt
from lmms_eval_tasks.prompts import INSTRUCTION, prompt_text
from lmms_eval_tasks.stop import RunStopped, stopping_the_run

Settings = Mapping[str, Any] | None
_shown: ContextVar[list[Mapping[str, Any]] | None] = ContextVar("shown", default=None)
_clips: dict[str, Mapping[str, Image.Image]] = {}  # frames by id, for documents whose release is none on disk


@contextmanager
def frames_in_memory(release: str, frames: Mapping[str, Image.Image]) -> Iterator[None]:
    """Within this block, documents that name this release show these frames; wrappers' threads see them too."""
    _clips[release] = frames
    try:
        yield
    finally:
        del _clips[release]


@contextmanager
def documents_shown() -> Iterator[list[Mapping[str, Any]]]:
    """Within this block, the documents whose frames a wrapper asked for, in that order; whoever reads it empties it."""
    documents: list[Mapping[str, Any]] = []
    token = _shown.set(documents)
    try:
        yield documents
    finally:
        _shown.reset(token)


def _note(doc: Mapping[str, Any]) -> None:
    documents = _shown.get()
    if documents is not None:
        documents.append(doc)


def _setting(settings: Settings, name: str, default: str) -> str:
    value = (settings or {}).get(name, default)
    return default if value is None else str(value)


def frames_of(doc: Mapping[str, Any]) -> list[Image.Image]:
    """The frames of a trial, in order, fresh copies: some wrappers change what they are given."""
    if (clip := _clips.get(doc["release"])) is not None:
        return [clip[frame].copy() for frame in doc["frames"]]
    with stopping_the_run():
        digest = (bound_images() if is_image(doc) else bound_release()).info.digest
        if doc["release"] != digest:
            raise RunStopped(
                f"a document of release {doc['release'][:16]} meets the frames of release {digest[:16]}: "
                "do not change CAVED_RELEASE while a process runs"
            )
        store = image_store() if is_image(doc) else frame_store(doc["part"])
        return [store.image(frame).copy() for frame in doc["frames"]]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Settings = None) -> str:
    """The prompt of a trial."""
    before = _setting(lmms_eval_specific_kwargs, "pre_prompt", "")
    if is_image(doc):
        return image_prompt(doc, before, (lmms_eval_specific_kwargs or {}).get("post_prompt"))
    return prompt_text(doc, before, _setting(lmms_eval_specific_kwargs, "post_prompt", INSTRUCTION))


def doc_to_visual(doc: Mapping[str, Any]) -> list[Image.Image]:
    """The frames for wrappers of the simple kind, as a list of images."""
    _note(doc)
    return frames_of(doc)


def doc_to_messages(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Settings = None) -> list[dict[str, Any]]:
    """One user turn: the frames, then the prompt.

    `frames_as: video` (the default) hands all frames as one video item, which chat wrappers of local models
    pass on untouched; `frames_as: images` hands them one by one, for those that would resample a video.
    """
    _note(doc)
    frames = frames_of(doc)
    frames_as = _setting(lmms_eval_specific_kwargs, "frames_as", "video")
    if frames_as == "video":
        media: list[dict[str, Any]] = [{"type": "video", "url": frames}]
    elif frames_as == "images":
        media = [{"type": "image", "url": frame} for frame in frames]
    else:
        raise RunStopped(f"frames_as: {frames_as} in lmms_eval_specific_kwargs: write video or images")
    text = {"type": "text", "text": doc_to_text(doc, lmms_eval_specific_kwargs)}
    return [{"role": "user", "content": [*media, text]}]


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the order that is shown, or the right option of an image trial, for the log; no measure uses it."""
    if is_image(doc):
        return str(doc["options"]["ABCDE".index(doc["correct"])])
    return doc["letters"][0 if doc["twin"] == "+" else 1]
