"""The frames in the inputs of a model, after everything that wrapper and processor did to them.

Families lay frames out in their own ways: as slices of a tensor, or cut into patches. Here they are put together
again, so that what the model receives can be compared with what the trial shows, frame by frame.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lmms_eval_tasks.llava_next_package import call_under_way
from lmms_eval_tasks.same_arguments import kept, same

PAIR = 2  # frames that the Qwen family takes together
THUMBNAIL = 16  # cells along a side when frames are compared
_HASHED_CHARACTERS = 16
_CHANNELS = 3
_VISUAL = ("pixel_values", "pixel_values_videos", "image_grid_thw", "video_grid_thw")


@dataclass(frozen=True)
class ReceivedFrames:
    """The frames of one request, in the order in which the model sees them."""

    size_px: tuple[int, int]  # width, height
    digests: tuple[str, ...]  # of each frame's values as the model gets them, shortened SHA-256
    thumbnails: np.ndarray  # (frames, 3, THUMBNAIL, THUMBNAIL), in units of the model's normalisation
    per_step: int = 1  # how many frames the model takes together, as one step in time

    @property
    def count(self) -> int:
        """How many frames there are."""
        return len(self.digests)

    @property
    def digest(self) -> str:
        """One digest of all frames in their order."""
        return hashlib.sha256("\n".join(self.digests).encode()).hexdigest()[:_HASHED_CHARACTERS]


def thumbnails(frames: torch.Tensor) -> np.ndarray:
    """Frames of shape (n, 3, height, width), smoothed and shrunk to THUMBNAIL x THUMBNAIL.

    With a triangle filter the result hardly depends on the size that frames had before; means over cells would, where
    cells do not divide the frame evenly.
    """
    size = (THUMBNAIL, THUMBNAIL)
    shrunk = torch.nn.functional.interpolate(frames.float(), size, mode="bilinear", antialias=True)
    return np.asarray(shrunk.cpu().numpy())


def frames_per_step(model: Any) -> int:
    """How many frames a model of the Qwen family takes together, as its configuration says; two where it says nothing."""
    given = getattr(getattr(model.config, "vision_config", None), "temporal_patch_size", None)
    return given if isinstance(given, int) and given > 0 else PAIR


def describe(frames: torch.Tensor, per_step: int = 1) -> ReceivedFrames:
    """Frames of shape (n, 3, height, width) as what is kept of them."""
    words = frames.detach().contiguous()
    if words.dtype not in (torch.float32, torch.uint8):
        words = words.view(torch.int16) if words.element_size() == 2 else words.float()
    digests = tuple(hashlib.sha256(frame.tobytes()).hexdigest()[:_HASHED_CHARACTERS] for frame in words.cpu().numpy())
    return ReceivedFrames((frames.shape[3], frames.shape[2]), digests, thumbnails(frames), per_step)


def _from_grid(patches: torch.Tensor, grid: torch.Tensor, vision: Any) -> list[torch.Tensor]:
    """The Qwen layout: rows of patches, merged in squares, a step of frames deep; a tensor (frames, 3, h, w) a grid row."""
    size, merge, step = vision.patch_size, vision.spatial_merge_size, vision.temporal_patch_size
    videos, start = [], 0
    for t, h, w in grid.tolist():
        part = patches[start : start + t * h * w]
        start += t * h * w
        blocks = part.reshape(t, h // merge, w // merge, merge, merge, _CHANNELS, step, size, size)
        frames = blocks.permute(0, 6, 5, 1, 3, 7, 2, 4, 8)
        videos.append(frames.reshape(t * step, _CHANNELS, h * size, w * size))
    return videos


def _from_flat_patches(patches: torch.Tensor, size: int) -> torch.Tensor | None:
    """The Molmo layout, (frames, patches, size * size * 3) with channels last, as (frames, 3, h, w)."""
    side = round(patches.shape[-2] ** 0.5)
    if side * side != patches.shape[-2] or patches.shape[-1] != size * size * _CHANNELS:
        return None
    blocks = patches.reshape(-1, side, side, size, size, _CHANNELS).permute(0, 5, 1, 3, 2, 4)
    return blocks.reshape(-1, _CHANNELS, side * size, side * size)


def _by_request(model: Any, inputs: Mapping[str, Any], rows: int) -> list[tuple[torch.Tensor, int]] | None:
    """For each request its frames, (n, 3, height, width), and how many make one step in time; None if unknown."""
    vision = getattr(model.config, "vision_config", None)
    videos, pictures = inputs.get("pixel_values_videos"), inputs.get("pixel_values")
    if (grid := inputs.get("video_grid_thw")) is not None and videos is not None:
        parts = _from_grid(videos, grid, vision)
        return [(part, frames_per_step(model)) for part in parts] if len(parts) == rows else None
    if (grid := inputs.get("image_grid_thw")) is not None and pictures is not None and len(grid) % rows == 0:
        parts = [part[:1] for part in _from_grid(pictures, grid, vision)]  # an image fills all places of a step
        if len({part.shape for part in parts}) != 1:
            return None
        each = len(parts) // rows  # requests of a part are of one task, and show equally many frames
        return [(torch.cat(parts[i : i + each]), 1) for i in range(0, len(parts), each)]
    given = videos if videos is not None else pictures
    if isinstance(given, (list, tuple)) and given and torch.is_tensor(given[0]):
        given = torch.cat([part if part.dim() > _CHANNELS else part[None] for part in given])
    if not torch.is_tensor(given):
        return None
    if given.dim() == 5 and given.shape[2] == _CHANNELS and len(given) == rows and videos is not None:
        return [(part, 1) for part in given]
    if rows != 1:
        return None
    if given.dim() == 5 and given.shape[2] == _CHANNELS:
        return [(given[:, 0], 1)]  # pictures with tiles, the whole one first
    if given.dim() == 4 and given.shape[1] == _CHANNELS:
        return [(given, 1)]
    if given.dim() in (3, 4) and isinstance(size := getattr(vision, "patch_size", None), int):
        frames = _from_flat_patches(given, size)
        return None if frames is None else [(frames, 1)]
    return None


class FrameReader:
    """Reads received frames, and only once where the next request brings the same ones."""

    def __init__(self) -> None:
        self._last: tuple[Any, list[ReceivedFrames | None]] | None = None

    def read(self, model: Any, inputs: Mapping[str, Any], rows: int) -> list[ReceivedFrames | None]:
        """The frames of each request in the inputs of `generate`; None where their layout is not known."""
        call = call_under_way()
        visual = {name: inputs[name] for name in _VISUAL if name in inputs} if call is None else {"": call.frames}
        if self._last is None or not same(self._last[0], (rows, visual)):
            try:
                found = _by_request(model, visual, rows) if call is None else [(call.frames, 1)]
            except (AttributeError, RuntimeError, TypeError):  # shapes that no known layout has
                found = None
            described: list[ReceivedFrames | None] = [None] * rows
            if found is not None:
                described = [describe(*part) for part in found]
            self._last = (kept((rows, visual)), described)
            return described
        return self._last[1]
