"""Keeping wrappers from resampling, or stumbling over, the frames of our tasks.

Two habits of wrappers and processors stand in the way of handing k chosen frames to a model: they pass empty
lists for the media that a request does not have, which transformers 5 refuses, and they sample a video again
to a number of frames or a rate of their own. While our requests are served, and only then, the wrapper's
processor is called through a stand-in that does neither, and that tells frame times as the trial asks for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from lmms_eval_tasks.processed_once import once, replaced
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.time_channel import stamps_withheld, video_metadata
from lmms_eval_tasks.visuals import documents_shown

_PROCESSORS = ("processor", "_image_processor")
_MEDIA = ("images", "videos", "audio", "audios")
_SAMPLING = ("num_frames", "nframes", "fps")


class _Untouching:
    """A processor that is called without empty media, never samples, and is told true times or none."""

    def __init__(self, processor: Any, shown: list[Mapping[str, Any]]) -> None:
        self.__dict__.update(_processor=processor, _shown=shown)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by `copy` and `pickle` before there is anything to ask
            raise AttributeError(name)
        return getattr(self._processor, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._processor, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        documents = list(self._shown)
        self._shown.clear()
        for name in _MEDIA:
            if name in kwargs and (kwargs[name] is None or len(kwargs[name]) == 0):
                del kwargs[name]
        native = any(document["time"] == "native" for document in documents)
        if "videos" in kwargs:
            for name in _SAMPLING:
                kwargs.pop(name, None)
            kwargs["do_sample_frames"] = False
            if native:
                kwargs["video_metadata"] = _metadata(documents, kwargs["videos"])
        with nullcontext() if native else stamps_withheld(self._processor):
            return self._processor(*args, **kwargs)


def _metadata(documents: Sequence[Mapping[str, Any]], videos: Any) -> list[dict[str, Any]]:
    """The true frame times of the videos of one call.

    Raises:
        RunStopped: if it cannot be told which document a video belongs to.
    """
    if len(videos) != len(documents) or any(document["time"] != "native" for document in documents):
        raise RunStopped(
            f"time: native, but {len(videos)} videos were prepared together for {len(documents)} documents: this "
            "wrapper batches in a way of its own; run it with --batch_size 1"
        )
    return [video_metadata(document["times_s"]) for document in documents]


@contextmanager
def untouched_frames(wrapper: Any, remember: bool) -> Iterator[None]:
    """Within this block the wrapper's processors neither drop nor sample frames.

    Args:
        wrapper: of any kind.
        remember: whether frames that come again with the next prompt are prepared once.
    """
    with documents_shown() as shown, ExitStack() as stack:
        for name in _PROCESSORS:
            processor = vars(wrapper).get(name)
            if callable(processor) and hasattr(processor, "tokenizer"):
                if remember:
                    stack.enter_context(_videos_once(processor))
                stack.enter_context(replaced(wrapper, name, lambda p: _Untouching(p, shown)))
        if remember:
            stack.enter_context(replaced(sys.modules.get("qwen_vl_utils.vision_process"), "fetch_video", once))
        for kind in type(wrapper).__mro__:
            module = sys.modules.get(kind.__module__)
            if module is not None and module.__name__ == "lmms_eval.models.chat.qwen2_5_vl":
                # It tries to count a video's frames with decord, fails on a list of frames, and says so at
                # length for every request; without decord it takes the same default in silence.
                stack.enter_context(replaced(module, "decord", lambda _: None))
        yield


@contextmanager
def _videos_once(processor: Any) -> Iterator[None]:
    """Within this block a processor prepares a video, and the text that stands for it, once for equal arguments."""
    prepare = getattr(processor, "_process_videos", None)  # transformers 5; one step of the whole call
    if prepare is None or "_process_videos" in vars(processor):
        with replaced(processor, "video_processor", once):
            yield
        return
    processor._process_videos = once(prepare)
    try:
        yield
    finally:
        del processor._process_videos


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
