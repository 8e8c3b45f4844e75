"""Keeping wrappers from resampling, or stumbling over, the frames of our tasks.

Two habits of wrappers and processors stand in the way of handing k chosen frames to a model: they pass empty
lists for the media that a request does not have, which transformers 5 refuses, and they sample a video again
to a number of frames or a rate of their own. While our requests are served, and only then, the wrapper's
processor is called through a stand-in that does neither.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PROCESSORS = ("processor", "_image_processor")
_MEDIA = ("images", "videos", "audio", "audios")
_SAMPLING = ("num_frames", "nframes", "fps")


class _Untouching:
    """A processor that is called without empty media and never samples."""

    def __init__(self, processor: Any) -> None:
        self.__dict__["_processor"] = processor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processor, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._processor, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for name in _MEDIA:
            if name in kwargs and (kwargs[name] is None or len(kwargs[name]) == 0):
                del kwargs[name]
        if "videos" in kwargs:
            for name in _SAMPLING:
                kwargs.pop(name, None)
            kwargs["do_sample_frames"] = False
        return self._processor(*args, **kwargs)


_WRITES_TIME_STAMPS = frozenset({"qwen3_vl", "molmo2"})


def time_stamp_warning(wrapper: Any) -> str | None:
    """What to know of models that write time stamps into their prompt, whatever they are given."""
    model_type = getattr(getattr(getattr(wrapper, "model", None), "config", None), "model_type", "")
    if model_type not in _WRITES_TIME_STAMPS:
        return None
    return (
        f"{model_type} writes a time stamp beside its frames; without times of its own it makes them up, as of a short "
        "video at a fixed rate. They tell nothing of the order of events, but they are not withheld either"
    )


@contextmanager
def untouched_frames(wrapper: Any) -> Iterator[None]:
    """Within this block the wrapper's processors neither drop nor sample frames."""
    # This wrapper tries to count a video's frames with decord, fails on a list of frames, and says so at length
    # for every request; without decord it takes the same default in silence.
    counting = sys.modules.get("lmms_eval.models.chat.qwen2_5_vl")
    decord = vars(counting).get("decord") if counting else None
    if counting:
        vars(counting)["decord"] = None
    replaced = {}
    for name in _PROCESSORS:
        processor = vars(wrapper).get(name)
        if callable(processor) and hasattr(processor, "tokenizer"):
            replaced[name] = processor
            setattr(wrapper, name, _Untouching(processor))
    try:
        yield
    finally:
        if counting:
            vars(counting)["decord"] = decord
        for name, processor in replaced.items():
            setattr(wrapper, name, processor)


def add_missing_families() -> None:
    """Make `llava_hf` know the families that transformers has and its table lacks."""
    import lmms_eval.models.simple.llava_hf as llava_hf
    import transformers

    for model_type, name in (
        ("llava_next_video", "LlavaNextVideoForConditionalGeneration"),
        ("molmo2", "Molmo2ForConditionalGeneration"),
    ):
        if hasattr(transformers, name):
            llava_hf.model_map.setdefault(model_type, getattr(transformers, name))
