"""Reading frames of a video file by time, in sequence, so that the frame asked for is the frame given.

Three ways in which video files mislead, and what is done about each:

* Random access is off by up to hundreds of frames on XviD, UCF-101's codec. Files are decoded from the start.
* Headers lie about frame counts and durations. Only time stamps of packets and frames count here.
* AVI stores no presentation times. On real UCF-101 clips (packed B-frames) the demuxer's guesses swap
  neighbouring frames. The decoder's output order is the display order; where its presentation times
  disagree with that order, the decoding times, which follow it, are used instead.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from stimuli_builder.errors import CavedError

Pixels = NDArray[np.uint8]

_HAIR_S = 1e-6  # times that are given to the microsecond meet the frame that begins in it


class UnreadableVideo(CavedError):
    """A video that cannot be decoded to its end; `reason` says what happened."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}")


@dataclass(frozen=True)
class Timeline:
    """When each decoded frame of a file comes on screen.

    `times_s` are seconds since the first frame, ascending; the last frame stays until `duration_s`.
    `stamps` are the presentation times that the container stores, in its own ticks; None where frames are
    known by their order alone.
    """

    times_s: tuple[float, ...]
    duration_s: float
    stamps: tuple[int, ...] | None = None

    def index_at(self, time_s: float) -> int:
        """The frame on screen at `time_s`: the last one whose time has come.

        Raises:
            ValueError: outside [0, duration_s).
        """
        if not 0 <= time_s < self.duration_s:
            raise ValueError(f"{time_s} s lies outside a video of {self.duration_s} s")
        return bisect_right(self.times_s, time_s + _HAIR_S) - 1


def _with_flushed(stamps: list[int | None]) -> list[int | None]:
    """Stamps with those of the last frames filled in at the usual step.

    Frames that a decoder holds back until the file ends come out without a decoding time.
    """
    known = [s for s in stamps if s is not None]
    held_back = len(stamps) - len(known)
    if not 0 < held_back < len(known) or any(s is not None for s in stamps[len(known) :]):
        return stamps
    steps = sorted(b - a for a, b in zip(known, known[1:], strict=False))
    step = steps[len(steps) // 2]
    return [*known, *(known[-1] + step * (i + 1) for i in range(held_back))]


def _strictly_ascending(stamps: list[int | None]) -> bool:
    known = [s for s in stamps if s is not None]
    return len(known) == len(stamps) and all(a < b for a, b in zip(known, known[1:], strict=False))


def _check_complete(path: Path) -> None:
    """Raise UnreadableVideo if the container says that it is longer than the file (a broken download).

    An AVI that was cut short still decodes, silently, to fewer frames.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] == b"RIFF":
            stated = struct.unpack("<I", head[4:8])[0] + 8
            if stated > size:
                raise UnreadableVideo(str(path), f"truncated: {size} bytes of {stated}")
        elif head[4:8] == b"ftyp":
            position = 0
            while position + 8 <= size:
                file.seek(position)
                length, kind = struct.unpack(">I4s", file.read(8))
                if length == 1:
                    length = struct.unpack(">Q", file.read(8))[0]
                elif length == 0:
                    return
                if length < 8 or position + length > size:
                    raise UnreadableVideo(str(path), f"truncated: its {kind.decode('latin-1')!r} part is cut")
                position += length


def _decode(path: str) -> Iterator[av.VideoFrame]:
    """The frames of the first video stream in display order; any decoding error ends in UnreadableVideo."""
    try:
        _check_complete(Path(path))
        with av.open(path) as container:
            if not container.streams.video:
                raise UnreadableVideo(path, "has no video stream")
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for frame in container.decode(stream):
                if frame.is_corrupt:
                    raise UnreadableVideo(path, "the decoder marks frames as corrupt")
                yield frame
    except (av.error.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableVideo(path, f"cannot be decoded ({reason})") from error


def _timeline(
    path: str, stamps: list[int], last_ticks: int | None, time_base: Fraction, stored: bool = False
) -> Timeline:
    steps = sorted(b - a for a, b in zip(stamps, stamps[1:], strict=False))
    step = last_ticks or (steps[len(steps) // 2] if steps else 0)
    if step <= 0:
        raise UnreadableVideo(path, "has a single frame of unknown duration: a picture, not a video")
    first = stamps[0]
    return Timeline(
        times_s=tuple(float((s - first) * time_base) for s in stamps),
        duration_s=float((stamps[-1] - first + step) * time_base),
        stamps=tuple(stamps) if stored else None,
    )


def _check_stated_duration(path: str, timeline: Timeline) -> None:
    """Raise UnreadableVideo if a Matroska or WebM file states a much longer duration than it holds.

    Such a file that was cut short ends without an error. A sound track may outlast the pictures a little.
    """
    with av.open(path) as container:
        stated_s = container.duration / av.time_base if container.duration else 0.0
        if {"matroska", "webm"} & set(container.format.name.split(",")) and timeline.duration_s < 0.8 * stated_s:
            raise UnreadableVideo(
                path, f"truncated: it states {stated_s:.1f} s and holds {timeline.duration_s:.1f} s of pictures"
            )


def _timeline_of_frames(path: str) -> Timeline:
    presentation: list[int | None] = []
    decoding: list[int | None] = []
    last_ticks, time_base = None, None
    for frame in _decode(path):
        presentation.append(frame.pts)
        decoding.append(frame.dts)
        last_ticks, time_base = getattr(frame, "duration", None), frame.time_base
    if not presentation or time_base is None:
        raise UnreadableVideo(path, "holds no frame that decodes")
    for stamps in (presentation, _with_flushed(decoding)):
        if _strictly_ascending(stamps):
            timeline = _timeline(path, [s for s in stamps if s is not None], last_ticks, time_base)
            _check_stated_duration(path, timeline)
            return timeline
    raise UnreadableVideo(path, "neither its presentation nor its decoding times ascend")


def read_timeline(path: str) -> Timeline:
    """When each frame of the file at `path` is on screen.

    MP4 and MOV store presentation times and are only demuxed; packets that their edit list discards (the
    run-up of a clip that was cut without re-encoding) are never shown and left out. Everything else is
    decoded: an AVI's times are known only from the order in which the decoder gives the frames.

    Raises:
        UnreadableVideo: if the file is missing, truncated, corrupt, or has no video stream.
    """
    try:
        _check_complete(Path(path))
        with av.open(path) as container:
            if not container.streams.video:
                raise UnreadableVideo(path, "has no video stream")
            if "mp4" in container.format.name.split(","):
                stream = container.streams.video[0]
                packets = [(p.pts, p.duration) for p in container.demux(stream) if p.size and not p.is_discard]
                stamps = sorted(pts for pts, _ in packets if pts is not None)
                if packets and len(stamps) == len(packets) and _strictly_ascending([*stamps]):
                    last_ticks = dict(packets).get(stamps[-1])
                    return _timeline(path, stamps, last_ticks, stream.time_base, stored=True)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableVideo(path, f"cannot be read ({reason})") from error
    return _timeline_of_frames(path)


def _upright(frame: av.VideoFrame) -> Pixels:
    """RGB pixels, (height, width, 3), turned as the file's rotation tag asks."""
    pixels = frame.to_ndarray(format="rgb24")
    quarter_turns = round(getattr(frame, "rotation", 0) / 90) % 4
    return np.ascontiguousarray(np.rot90(pixels, quarter_turns))


def read_frames(path: str, timeline: Timeline, indices: Iterable[int]) -> Iterator[tuple[int, Pixels]]:
    """(index, RGB pixels of shape (height, width, 3)) for each index in display order, ascending, once.

    Args:
        path: the file.
        timeline: from `read_timeline`; where it holds stored time stamps, a frame is found by its own stamp,
            so one that the decoder lost is noticed instead of replaced by its neighbour.
        indices: places in the timeline.

    Raises:
        UnreadableVideo: if a frame that the time stamps announce does not come out of the decoder.
    """
    wanted = sorted(set(indices))
    position = 0
    for order, frame in enumerate(_decode(path)):
        if position == len(wanted):
            return
        index = wanted[position]
        if timeline.stamps is None:
            found = order == index
        else:
            if frame.pts is not None and frame.pts > timeline.stamps[index]:
                break
            found = frame.pts == timeline.stamps[index]
        if found:
            yield index, _upright(frame)
            position += 1
    if position < len(wanted):
        at_s = timeline.times_s[wanted[position]]
        raise UnreadableVideo(path, f"damaged: the frame at {at_s:.2f} s is announced but does not decode")
