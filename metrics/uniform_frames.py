"""Uniform sampling grids over a decoded video, at any budget and offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from metrics.intervals import Array
from metrics.reversal import OFFSETS, checked_offsets

Frame = TypeVar("Frame")
Frame_co = TypeVar("Frame_co", covariant=True)


class DecodedFrames(Protocol[Frame_co]):
    """A list, tuple, array or anything else that gives frames by index."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, index: int, /) -> Frame_co:
        """The frame at an index from 0."""


@dataclass(frozen=True, eq=False)
class UniformFrames(Generic[Frame]):
    """A sampler of uniform grids: call it with a budget and an offset (paper, "Offset Shifting").

    k frames are L/k apart. Offset j of n starts the grid at (j + 1/2)/n of that spacing, so the offsets of a
    budget together look at n k instants, evenly spread, and none falls on the very start or end. Each
    instant gives the frame that is on screen then. Make one with `uniform_frames`.
    """

    frames: DecodedFrames[Frame]
    times_s: Array  # shape (frames,): when each frame appears, seconds from the start, ascending
    length_s: float  # L, seconds
    offsets: int  # n

    def instants_s(self, budget: int, offset: int) -> Array:
        """The sampling times of a grid, seconds, shape (budget,).

        Raises:
            ValueError: for a budget below 1 or an offset outside 0..offsets-1.
        """
        if budget < 1 or not 0 <= offset < self.offsets:
            raise ValueError(f"budget {budget}, offset {offset}: this sampler has offsets 0 to {self.offsets - 1}")
        phase = (offset + 0.5) / self.offsets
        return (np.arange(budget) + phase) * self.length_s / budget

    def __call__(self, budget: int, offset: int) -> list[Frame]:
        """The frames of a grid, in order; a frame that is on screen at two instants comes twice."""
        on_screen = np.searchsorted(self.times_s, self.instants_s(budget, offset), side="right") - 1
        return [self.frames[int(i)] for i in np.maximum(on_screen, 0)]


def uniform_frames(
    frames: DecodedFrames[Frame],
    offsets: int = OFFSETS,
    times_s: Sequence[float] | Array | None = None,
    length_s: float | None = None,
) -> UniformFrames[Frame]:
    """A `frames_at` for `reverse_and_decide`, from the decoded frames of one video.

    Args:
        frames: all decoded frames in order: a list, or an array with frames along its first axis. They are
            neither copied nor changed.
        offsets: n, the same number as in `reverse_and_decide`.
        times_s: when each frame appears, seconds from the start of the video; None for equal spacing.
        length_s: L, the length of the video in seconds. Without it, the last frame lasts as long as the
            others do on average (one unit of time each without `times_s`).

    Raises:
        ValueError: if there are no frames, times do not fit them or do not ascend from 0 on, or the length ends
            before the last frame.
    """
    count, offsets = len(frames), checked_offsets(offsets)
    if count < 1:
        raise ValueError("a video without frames: give all decoded frames")
    if length_s is not None and not 0 < length_s < np.inf:
        raise ValueError(f"a length of {length_s} s: give the length of the whole video in seconds")
    if times_s is None:
        times = np.arange(count, dtype=np.float64) * (1.0 if length_s is None else length_s / count)
    else:
        times = np.array(times_s, dtype=np.float64)
    if times.shape != (count,):
        raise ValueError(f"times of shape {times.shape} for {count} frames: give one time for each frame")
    if not (np.isfinite(times).all() and times[0] >= 0 and (np.diff(times) > 0).all()):
        raise ValueError("times must be seconds from the start of the video, strictly ascending: sort frames by time")
    if length_s is None:
        if times_s is not None and count == 1:
            raise ValueError("the length of a video with one frame is open: give length_s")
        length_s = float(times[-1] + (times[-1] - times[0]) / (count - 1)) if count > 1 else 1.0
    if not times[-1] < length_s:
        raise ValueError(f"a length of {length_s} s ends before the last frame at {times[-1]} s: give the whole length")
    return UniformFrames(frames, times, float(length_s), offsets)
