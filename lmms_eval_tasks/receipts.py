"""Whether the frames that a model received are the frames of the trial, and the note of it that goes into the log.

Processors resize and normalise, so received frames are compared by thumbnails, each set scaled to mean 0 and
deviation 1 in each channel: whatever the normalisation, the n-th received frame must look like the n-th shown one,
and not more like another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from lmms_eval_tasks.asked import asked_of
from lmms_eval_tasks.received_frames import PAIR, ReceivedFrames, thumbnails
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.visuals import frames_of

# In deviations of the frames' values. Measured on real footage of 448 pixels: resizing to 224, 336, 378 or 384, with or
# without smoothing, changes thumbnails by at most 0.003, to 112 without smoothing by 0.03; exchanged channels change
# them by 0.16 and more, cropping a tenth by 0.4, mirroring by 1.1. Two frames that differ by less than the smaller
# number look the same, and which of them comes first cannot be told.
_CLOSER = 0.01
_UNLIKE = 0.1
REMEDY = (
    "in --model_args give this wrapper the argument that hands on all {frames} frames as they are, such as "
    "num_frames={frames}, max_num_frames={frames} or max_frames_num={frames} (an even number, and no fps)"
)


def _standard(values: np.ndarray) -> np.ndarray:
    """Thumbnails, (n, 3, cells, cells), scaled over all frames to mean 0 and deviation 1 in each channel."""
    centred = values.astype(np.float64) - values.mean((0, 2, 3), keepdims=True)
    deviation = centred.std((0, 2, 3), keepdims=True)
    return np.asarray(centred / np.where(deviation > 0, deviation, 1.0))


def _distances(received: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Root mean square differences, shape (received, shown)."""
    a, b = (_standard(x).reshape(len(x), -1) for x in (received, shown))
    return np.asarray(np.sqrt(((a[:, None] - b[None]) ** 2).mean(-1)))


def shown_thumbnails(frames: Sequence[Image.Image]) -> np.ndarray:
    """Thumbnails of the frames of a trial."""
    stack = np.stack([np.asarray(frame.convert("RGB")) for frame in frames])
    return thumbnails(torch.from_numpy(stack).permute(0, 3, 1, 2))


def received_order(received: ReceivedFrames, shown: np.ndarray) -> list[int]:
    """For each received frame the place of the shown one that it is: its own place unless another is closer.

    Args:
        received: what reached the model.
        shown: thumbnails of the trial's frames.
    """
    distances = _distances(received.thumbnails, shown)
    order = []
    for place, row in enumerate(distances):
        nearest = int(row.argmin())
        same = place < len(row) and row[place] <= row[nearest] + _CLOSER
        order.append(place if same else nearest)
    return order


def _filled_up(step: int) -> str:
    """The remedy where frames were repeated so that the last step of the model is whole."""
    if step == PAIR:
        return "this model takes frames in pairs: use a task with an even number of frames"
    return f"this model takes {step} frames at a time: use a task with a number of frames that {step} divides"


def check_frames(received: ReceivedFrames, shown: np.ndarray) -> None:
    """Compare what a model received with what the trial shows.

    Args:
        received: what reached the model.
        shown: thumbnails of the trial's frames.

    Raises:
        RunStopped: if a frame was dropped, repeated, resampled, reordered or changed beyond recognition.
    """
    frames, count = len(shown), received.count
    order = received_order(received, shown)
    remedy = REMEDY.format(frames=frames)
    listed = " ".join(map(str, order[:80]))
    if count != frames:
        what = "repeats" if count > frames else "drops"
        if 0 < count - frames < received.per_step:
            remedy = _filled_up(received.per_step)
        elif frames % PAIR and order == [*range(frames), frames - 1]:
            remedy = "its wrapper hands on frames in pairs: use a task with an even number of frames"
        elif count % frames == 0:
            what, remedy = f"cuts each of them into {count // frames} of", "give it max_patches=1 or the like"
        raise RunStopped(
            f"{count} frames of {frames} reached the model: its wrapper {what} frames (they are those at {listed}, "
            f"counted from 0); {remedy}"
        )
    if order != list(range(frames)):
        what = "reorders" if sorted(order) == list(range(frames)) else "repeats or resamples"
        raise RunStopped(
            f"the model's wrapper {what} frames: those at {listed} (counted from 0) reached the model in this order; "
            f"{remedy}"
        )
    distances = _distances(received.thumbnails, shown).diagonal()
    if distances.max() > _UNLIKE:
        raise RunStopped(
            f"frame {int(distances.argmax())} does not reach the model as it is shown (cropped, mirrored or replaced, "
            "or its channels are exchanged): look at what arrives with `caved probe-model`, and change the arguments "
            "of the wrapper that crop or pad"
        )


def _squeezed(text: str) -> str:
    """Letters and digits only: tokenizers may change spaces and marks, and not these."""
    return re.sub(r"[\W_]+", "", text).lower()


def check_prompt(given: str, document: Mapping[str, Any]) -> None:
    """Compare the text that a model got with the question, claim and options of the trial.

    Args:
        given: the prompt, with whatever templates add.
        document: of the trial.

    Raises:
        RunStopped: if they are not in it, whole and in order.
    """
    if not holds_prompt(given, document):
        raise RunStopped(
            "the prompt that reached the model is not that of the trial: its wrapper changes or cuts prompts, or gave "
            f"the answer to another one (the model got ...{given[-300:]!r}); look at what arrives with `caved probe-model`"
        )


def holds_prompt(given: str, document: Mapping[str, Any]) -> bool:
    """Whether a text that a model got holds question, claim or assertion, and options of a trial, whole and in order."""
    return _squeezed(asked_of(document)) in _squeezed(given)


def check_image(received: ReceivedFrames, shown: np.ndarray, document: Mapping[str, Any]) -> str:
    """Compare what a model received with the one image of a trial.

    Args:
        received: what reached the model; several pictures are tiles of it.
        shown: thumbnail of the trial's image, shape (1, 3, cells, cells).
        document: of the trial.

    Returns:
        A warning where it cannot be told, else nothing.

    Raises:
        RunStopped: if a square image was replaced, cropped, mirrored or changed beyond recognition.
    """
    if received.count != len(shown):
        return "this model cuts images into tiles: whether they are those of the trial's image is not checked"
    width, height = frames_of(document)[0].size
    if width == height:
        check_frames(received, shown)
    elif _distances(received.thumbnails, shown).max() > _UNLIKE:
        return (
            f"an image of {width} x {height} px reaches this model padded, cropped or otherwise changed: look at what "
            "arrives, or build the release from square images"
        )
    return ""


def receipt(received: ReceivedFrames | None, time: dict[str, Any], compared: bool = True) -> dict[str, Any]:
    """The note for the log, of frames that were checked; `frames` is None where the model's inputs do not tell.

    Without `compared`, what arrived could not be compared with what was shown, and no order is stated.
    """
    if received is None:
        return {"frames": None, "order": None, "size_px": None, "digest": None, "time": time}
    return {
        "frames": received.count,
        "order": "as shown" if compared else None,
        "size_px": list(received.size_px),
        "digest": received.digest,
        "time": time,
    }
