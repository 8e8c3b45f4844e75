"""Surfaces: integer noise from a frozen stream, the same on every machine."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Colour = tuple[int, int, int]  # RGB
Size = tuple[int, int]  # width, height in pixels
Relief = NDArray[np.int16]  # grey levels to add, shape (height, width)


def noise_source(seed: int, *name: object) -> np.random.RandomState:
    """A source of random numbers of its own name; numpy has promised never to change the stream of `RandomState`."""
    text = "\x1f".join([str(seed), *map(str, name)])
    return np.random.RandomState(np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u4"))


def smooth_noise(source: np.random.RandomState, size: Size, cells: Size, strength: int) -> Relief:
    """Noise that varies over `cells` (across, down), within `strength` grey levels up and down."""
    across, down = cells
    coarse = np.frombuffer(source.bytes(across * down), dtype=np.uint8).reshape(down, across)
    fine = np.asarray(Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)).astype(np.int32)
    return (((fine * 2 - 255) * strength + 127) // 255).astype(np.int16)


def grain(source: np.random.RandomState, size: Size, strength: int) -> Relief:
    """Independent noise in each pixel: a triangular distribution within `strength` grey levels up and down."""
    width, height = size
    pairs = np.frombuffer(source.bytes(width * height * 2), dtype=np.uint8).reshape(height, width, 2).astype(np.int32)
    return (((pairs[..., 0] - pairs[..., 1]) * strength + 127) // 255).astype(np.int16)


def ramp(size: Size, start: int, end: int) -> Relief:
    """Grey levels from `start` at the top to `end` at the bottom."""
    width, height = size
    line = start + (end - start) * np.arange(height) // max(height - 1, 1)
    return np.broadcast_to(line[:, None], (height, width)).astype(np.int16)


def surface(colour: Colour, relief: Relief) -> Image.Image:
    """An RGB image of one colour, lighter and darker by the relief."""
    return Image.fromarray(np.clip(np.array(colour, dtype=np.int16) + relief[..., None], 0, 255).astype(np.uint8))


def _fibres(source: np.random.RandomState, size: Size, strength: int) -> Relief:
    return smooth_noise(source, size, (max(size[0] // 3, 2), max(size[1] // 3, 2)), strength)


def cardboard(source: np.random.RandomState, size: Size) -> Relief:
    """Corrugation, blotches and fibres."""
    flutes = smooth_noise(source, size, (max(size[0] // 9, 2), 1), 5)
    return flutes + smooth_noise(source, size, (7, 6), 9) + _fibres(source, size, 7)


def plastic(source: np.random.RandomState, size: Size) -> Relief:
    """Smooth, with a soft sheen."""
    return smooth_noise(source, size, (3, 3), 8) + ramp(size, 4, -8)


def paper(source: np.random.RandomState, size: Size) -> Relief:
    """Fine fibres and faint clouds."""
    return _fibres(source, size, 6) + smooth_noise(source, size, (8, 6), 5)


def metal(source: np.random.RandomState, size: Size) -> Relief:
    """Brushed along its length, with a broad sheen."""
    brushed = smooth_noise(source, size, (max(size[0] // 90, 2), max(size[1] // 2, 2)), 12)
    return brushed + smooth_noise(source, size, (4, 2), 12)
