"""What a model is told of the times of its frames, by its own channel or not at all.

Three settings (paper, "Absolute-Time Escape"): `withheld` (no absolute time), `native` (the true times through the
model's own channel) and `text` (the true times in the prompt, for any model). Processors of some families write
a time stamp beside every frame, made up if they know none; these are taken out of the text unless the channel is
`native`. What a prompt then really held is read from the tokens that the model got, not from what was intended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.llava_next_package import call_under_way
from lmms_eval_tasks.received_frames import PAIR, frames_per_step
from lmms_eval_tasks.stop import NoTrueTime

_PER_SECOND = 1000  # frame indices are handed on as whole milliseconds
_TAIL = 40  # characters before the first frame in which its stamp would stand
# How processors write a stamp between their marks for frames: `<3.2 seconds>` (Qwen3-VL), `3.2 ` (Molmo2).
_STAMP = re.compile(r" ?<\d+\.\d+ seconds>|(?:^|(?<=>)) ?\d+\.\d+ (?=<)")
_LABEL = re.compile(r"\S*\d\S*(?: seconds>)?$")
_NUMBER = re.compile(r"\d+:\d\d(?:\.\d+)?|\d+\.\d+|\d+(?=\s*(?:s|sec|seconds?)\b)")
_VISUAL_TOKENS = (
    *("image_token_id", "video_token_id", "image_token_index", "video_token_index", "image_patch_id"),
    *("image_end_token_id", "image_start_token_id", "frame_start_token_id", "frame_end_token_id"),
    *("vision_start_token_id", "vision_end_token_id", "image_col_id", "low_res_image_start_token_id"),
)


@dataclass(frozen=True)
class SeenTime:
    """What stood in a prompt beside the frames, and what the positions of frames say of time."""

    beside_frames: tuple[str, ...] = ()  # text before each frame, or step of frames; empty if there is none
    seconds_per_step: float | None = None  # spacing behind the positions of the Qwen family
    frames_per_step: int = PAIR  # how many frames share a position there

    def stamps_s(self) -> list[float]:
        """Times that the text beside the frames states, in seconds."""
        found = [_NUMBER.search(text) for text in self.beside_frames]
        return [_seconds(match[0]) for match in found if match]

    def to_json(self, channel: str) -> dict[str, Any]:
        """The note for the receipt."""
        return {
            "channel": channel,
            "beside_frames": list(self.beside_frames) or None,
            "seconds_per_step": self.seconds_per_step,
            "frames_per_step": None if self.seconds_per_step is None else self.frames_per_step,
        }


def _seconds(text: str) -> float:
    minutes, _, seconds = text.rpartition(":")
    return 60 * float(minutes or 0) + float(seconds)


def video_metadata(times_s: Sequence[float]) -> dict[str, Any]:
    """Frame times in the form that processors of transformers understand, to the millisecond.

    The mean spacing stands behind `total_num_frames`, from which the Qwen2.5 family takes its one spacing.
    """
    steps = len(times_s) - 1
    spacing_s = (times_s[-1] - times_s[0]) / steps if steps else 1.0
    total = round(len(times_s) * spacing_s * _PER_SECOND)
    return {
        "total_num_frames": total,
        "fps": float(_PER_SECOND),
        "duration": total / _PER_SECOND,
        "frames_indices": [round(t * _PER_SECOND) for t in times_s],
    }


@contextmanager
def stamps_withheld(processor: Any) -> Iterator[None]:
    """Within this block a processor's text holds no time stamps beside its frames."""
    write = getattr(processor, "replace_video_token", None)
    if not callable(write):
        yield
        return

    def without_stamps(*args: Any, **kwargs: Any) -> str:
        return _STAMP.sub("", str(write(*args, **kwargs)))

    processor.replace_video_token = without_stamps
    try:
        yield
    finally:
        del processor.replace_video_token


def seen_time(model: Any, tokenizer: Any, tokens: Sequence[int], inputs: Mapping[str, Any], row: int) -> SeenTime:
    """What one prompt tells of time: the text beside its frames, and the spacing behind their positions.

    Args:
        model: whose configuration names the tokens that stand for frames.
        tokenizer: of the model.
        tokens: the prompt.
        inputs: what the model's `generate` was called with.
        row: which request of the batch it is.
    """
    if (call := call_under_way()) is not None:
        return SeenTime(call.stated_times(tokenizer))
    visual = {getattr(model.config, name, None) for name in _VISUAL_TOKENS} - {None}
    texts: list[str] = []
    start = 0
    for place, token in enumerate([*tokens]):
        if token in visual:
            if place > start or not texts:
                text = str(tokenizer.decode(tokens[start:place], skip_special_tokens=True))
                texts.append(text)
            start = place + 1
    beside = [text.strip() for text in texts]
    if beside:  # what stands before the first frame is mostly the rest of the prompt
        label = _LABEL.search(beside[0].splitlines()[-1][-_TAIL:]) if beside[0] else None
        beside = [label[0], *beside[1:]] if label else beside[1:]
    beside = [text for text in beside if text]
    spacing = inputs.get("second_per_grid_ts")
    per_step = float(spacing[row]) if spacing is not None and len(spacing) > row else None
    return SeenTime(tuple(beside), per_step, frames_per_step(model))


def check_time(seen: SeenTime, channel: str, times_s: Sequence[float]) -> str | None:
    """Compare what a prompt told of time with what it should: a warning, or None if all is as it should be.

    Args:
        seen: what the prompt held.
        channel: `withheld`, `native` or `text`.
        times_s: the true times of the frames.

    Raises:
        NoTrueTime: if times should have reached the model by its own channel and did not.
    """
    stamps = seen.stamps_s()
    if channel != "native":
        if stamps:
            return (
                f"the prompt holds time stamps beside the frames ({seen.beside_frames[0]!r}, ...) that this version of "
                "transformers does not let us take out"
            )
        return None
    spacing_s = (times_s[-1] - times_s[0]) / max(1, len(times_s) - 1)
    if stamps:
        groups = max(1, len(times_s) // len(stamps))
        true = [sum(times_s[i : i + groups]) / groups for i in range(0, len(times_s), groups)]
        if len(true) == len(stamps) and all(abs(a - b) <= 0.051 for a, b in zip(true, stamps, strict=True)):
            return None
        raise NoTrueTime(f"the stamps {stamps[:4]} beside the frames are not their times {true[:4]}")
    step_s = seen.frames_per_step * spacing_s
    if seen.seconds_per_step is not None and abs(seen.seconds_per_step - step_s) <= 0.01:
        return None
    raise NoTrueTime(
        "no true time reached this model: it has no channel of its own for the times of frames",
        "use time: text, which writes them into the prompt",
    )
