"""Videos whose every frame says which one it is, in each codec that the benchmark meets."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

_BITS = 10
_SIZE = (320, 64)  # (width, height): ten bars of 32 pixels survive any lossy codec


def stamp(index: int) -> np.ndarray:
    """A frame that shows `index` as ten black or white bars, RGB, (height, width, 3)."""
    bits = [(index >> bit) & 1 for bit in range(_BITS)]
    row = np.repeat(np.array(bits, dtype=np.uint8) * 235 + 10, _SIZE[0] // _BITS)
    return np.repeat(np.tile(row, (_SIZE[1], 1))[:, :, None], 3, axis=2)


def read_stamp(pixels: np.ndarray) -> int:
    """The index that a decoded frame shows."""
    bars = pixels[16:48].mean(axis=(0, 2)).reshape(_BITS, -1)[:, 8:24].mean(axis=1)
    return int(sum(1 << bit for bit, level in enumerate(bars) if level > 128))


def write_stamped(
    path: Path,
    frames: int,
    codec: str,
    rate: int = 25,
    options: dict[str, str] | None = None,
    ticks: list[int] | None = None,
    tint: float = 1.0,
) -> Path:
    """A video of stamped frames; `ticks` gives variable presentation times in units of 1 / rate.

    `tint` dims green and blue, so that videos differ in all their frames.
    """
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height = _SIZE
        stream.pix_fmt = "yuv420p"
        stream.options = options or {}
        if codec == "mpeg4":
            stream.bit_rate = 2_000_000
        stream.codec_context.time_base = Fraction(1, rate)
        for index in range(frames):
            pixels = (stamp(index) * np.array([1, tint, tint])).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts = ticks[index] if ticks else index
            frame.time_base = Fraction(1, rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def h264_long_gop(path: Path, frames: int = 300) -> Path:
    return write_stamped(path, frames, "libx264", options={"g": "250", "bf": "3", "crf": "18"})


def xvid_like(path: Path, frames: int = 300, tint: float = 1.0) -> Path:
    """MPEG-4 part 2 in AVI, with B-frames and a key frame every 50 frames, as UCF-101 and worse."""
    return write_stamped(path, frames, "mpeg4", options={"g": "50", "bf": "2"}, tint=tint)


def variable_rate(path: Path, frames: int = 120) -> tuple[Path, list[int]]:
    """H.264 in MP4 with frames of 1, 2 or 5 ticks of 1/30 s; returns the ticks as well."""
    ticks = [0]
    for index in range(frames - 1):
        ticks.append(ticks[-1] + (1, 2, 5)[index % 3])
    return write_stamped(path, frames, "libx264", rate=30, options={"g": "60", "bf": "2"}, ticks=ticks), ticks
