"""Wrappers on the LLaVA-NeXT package, `llava_vid` and `llava_onevision`, which take a video by its path only.

They sample frames from the file at that path, and call the package's own `generate`, which turns frames into
embeddings before transformers' `generate` sees anything. While our requests are served, and only then, each
request names a path that stands for its trial, and loading it returns the very frames of the trial, with their
times if the trial tells them by the model's own channel. Prompt, image processor and everything else stay the
wrapper's own. At the package's `generate` the frames are counted.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lmms_eval_tasks.processed_once import Once
from lmms_eval_tasks.requests import document_of
from lmms_eval_tasks.stop import NoTrueTime, RunStopped
from lmms_eval_tasks.switches import shares_prefixes

# The classes, and whether they can write times into their prompt.
_WRITES_TIMES = {
    ("lmms_eval.models.simple.llava_vid", "LlavaVid"): True,
    ("lmms_eval.models.simple.llava_onevision", "Llava_OneVision"): False,
}
_LISTED_TIMES = re.compile(r"These frames are located at ([\d.]+s(?:,[\d.]+s)*)\.")


@dataclass(frozen=True)
class PackageCall:
    """One call of the package's `generate`, as far as it tells what the model receives."""

    frames: torch.Tensor  # (k, 3, height, width), as the image processor left them
    tokens: tuple[int, ...]  # of the prompt; negative where frames belong

    def stated_times(self, tokenizer: Any) -> tuple[str, ...]:
        """The times of frames as the prompt lists them; empty if it does not."""
        text = str(tokenizer.decode([token for token in self.tokens if token >= 0]))
        match = _LISTED_TIMES.search(text)
        return tuple(match[1].split(",")) if match else ()


_under_way: ContextVar[PackageCall | None] = ContextVar("call of the package's generate", default=None)


def call_under_way() -> PackageCall | None:
    """The call of the package's `generate` that is computed now, for receipts; None outside of `handing_frames`.

    It can be asked inside transformers' `generate`, which the package calls with embeddings only.
    """
    return _under_way.get()


def _kind(wrapper: Any) -> bool | None:
    """Whether a wrapper of this module can write times; None for any other wrapper."""
    names = ((c.__module__, c.__name__) for c in type(wrapper).__mro__)
    return next((_WRITES_TIMES[name] for name in names if name in _WRITES_TIMES), None)


def loads_by_path(wrapper: Any) -> bool:
    """Whether a wrapper is one of those that this module is for; the package is not imported to tell."""
    return _kind(wrapper) is not None


def frames_given(arguments: Mapping[str, Any]) -> torch.Tensor | None:
    """The frames of the one video in the keyword arguments of the package's `generate`, shape (k, 3, height, width).

    None if there is no video, if there are several, or if the package would not take it for one: a tensor of four
    dimensions is to it a number of pictures, and a prompt with one mark shows the first of them only.
    """
    images, modalities = arguments.get("images"), arguments.get("modalities")
    if modalities not in ("video", ["video"]):
        return None
    if not (isinstance(images, list) or (torch.is_tensor(images) and images.dim() == 5)):
        return None
    return images[0] if len(images) == 1 and images[0].dim() == 4 else None


def _native_times(document: Mapping[str, Any]) -> tuple[str, float] | None:
    """The times of a trial's frames as `llava_vid` lists those of a file, and the seconds of its video.

    None if the trial does not tell times by the model's own channel. Frames are evenly spaced, and the video lasts
    one spacing for each of them.
    """
    if document.get("time") != "native":
        return None
    times_s = document["times_s"]
    spacing_s = (times_s[-1] - times_s[0]) / max(1, len(times_s) - 1)
    return ",".join(f"{time:.2f}s" for time in times_s), len(times_s) * spacing_s


class _Handing:
    """Trials by the paths that stand for them, and the one whose frames were loaded and have not arrived yet."""

    def __init__(self, wrapper: Any) -> None:
        self.wrapper = wrapper
        self.requests: dict[str, Any] = {}
        self.pending: str | None = None
        self.handed = 0  # frames of the pending trial

    def named(self, request: Any) -> Any:
        """A copy of a request that shows a path; with generation arguments of its own, which wrappers add to."""
        path = f"caved_or_convinced:{len(self.requests)}"
        self.requests[path] = request
        context, generation, _, *place = request.args
        changed = copy.copy(request)
        changed.arguments = (context, copy.deepcopy(generation), lambda _: [path], *place)
        return changed

    def _loaded(self, path: str) -> tuple[np.ndarray, tuple[str, float] | None]:
        self.require_arrival()
        self.pending = path
        document = document_of(self.wrapper, self.requests[path])
        doc_to_visual = self.requests[path].args[2]
        frames = np.stack([np.asarray(frame.convert("RGB")) for frame in doc_to_visual(document)])
        self.handed = len(frames)
        return frames, _native_times(document)

    def load_with_times(self, path: str, *_: Any, **__: Any) -> tuple[np.ndarray, str, float]:
        """`load_video` of `llava_vid`: frames (k, height, width, 3), their times as text, seconds of the video."""
        frames, times = self._loaded(path)
        self.wrapper.add_time_instruction = times is not None
        return (frames, *(times or ("", 0.0)))

    def load(self, paths: Sequence[str], *_: Any, **__: Any) -> np.ndarray:
        """`load_video` of `llava_onevision`: frames (k, height, width, 3)."""
        frames, times = self._loaded(paths if isinstance(paths, str) else paths[0])
        if times is not None:
            self.pending = None  # nothing will arrive
            raise NoTrueTime(
                "llava_onevision has no channel of its own for the times of frames",
                "use time: text, which writes them into the prompt",
            )
        return frames

    def arrived(self, frames: torch.Tensor | None) -> torch.Tensor:
        """Take note of the frames that reached the package's `generate`; they are given back.

        Raises:
            RunStopped: if it is not as many frames as were handed over.
        """
        if self.pending is None or frames is None or len(frames) != self.handed:
            given = "no video" if frames is None else f"{len(frames)} frames"
            raise RunStopped(
                f"{given} instead of {self.handed} frames reached the model: its wrapper failed to prepare the "
                "frames, and goes on without them (look for its message above), or drops or repeats some"
            )
        self.pending = None
        return frames

    def require_arrival(self) -> None:
        """Stop the run if the frames that were loaded last never reached the model."""
        if self.pending is not None:
            doc_id = self.requests[self.pending].args[3]
            raise RunStopped(
                f"the frames of document {doc_id} never reached the model: its wrapper failed to prepare them, and "
                "answers with a message of its own; look for the error above"
            )


def _require_whole(limit: int | None, embeddings: torch.Tensor | None) -> None:
    """Stop the run where the package has cut the end of a prompt that is too long for it, which it does in silence."""
    if limit is not None and embeddings is not None and embeddings.shape[1] >= limit:
        raise RunStopped(
            f"frames and prompt fill the model's {limit} tokens, and the end of the prompt is cut off: use a smaller "
            "budget, or an argument of the wrapper that raises the limit, such as max_frames_num for models on Vicuna"
        )


@contextmanager
def _replaced(owner: Any, **attributes: Any) -> Iterator[None]:
    """Attributes of one object, not of its class, for the time of this block."""
    before = {name: vars(owner)[name] for name in attributes if name in vars(owner)}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name in attributes:
            if name in before:
                setattr(owner, name, before[name])
            else:
                delattr(owner, name)


@contextmanager
def handing_frames(wrapper: Any, requests: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield requests that the wrapper can serve, each with exactly the frames that its `doc_to_visual` gives.

    Frame times are written into the prompt, in the wrapper's own words, where a trial says `native`, and else not,
    whatever the wrapper's arguments say.

    Args:
        wrapper: any wrapper; for one that does not load by path, requests are yielded as they are.
        requests: of our tasks, with arguments (context, generation arguments, doc_to_visual, doc id, task, split).

    Raises:
        RunStopped: if anything else than the frames reaches the model, if its prompt is cut off, or if times are
            wanted of a wrapper that cannot write them.
    """
    kind = _kind(wrapper)
    if kind is None:
        yield list(requests)
        return
    handing, model = _Handing(wrapper), wrapper.model

    def generate(*args: Any, **kwargs: Any) -> Any:
        frames = handing.arrived(frames_given(kwargs))
        tokens = args[0] if args else kwargs["inputs"]
        token = _under_way.set(PackageCall(frames, tuple(tokens[0].tolist())))
        try:
            return type(model).generate(model, *args, **kwargs)
        finally:
            _under_way.reset(token)

    def prepare(*args: Any, **kwargs: Any) -> Any:
        prepared = type(model).prepare_inputs_labels_for_multimodal(model, *args, **kwargs)
        _require_whole(getattr(model.config, "tokenizer_model_max_length", None), prepared[4])
        return prepared

    at_the_door: dict[str, Any] = {"generate": generate, "prepare_inputs_labels_for_multimodal": prepare}
    if shares_prefixes():  # the prompts of a view follow each other, and bring the same frames
        at_the_door["encode_images"] = Once(lambda images: type(model).encode_images(model, images), lambda it: it)
    loading: dict[str, Any] = {"video_decode_backend": "decord"}  # the one that calls load_video; nothing is decoded
    if kind:  # times are switched on and off with each trial's frames
        loading.update(load_video=handing.load_with_times, add_time_instruction=False)
    else:
        loading.update(load_video=handing.load)
    with _replaced(wrapper, **loading), _replaced(model, **at_the_door):
        yield [handing.named(request) for request in requests]
        handing.require_arrival()
