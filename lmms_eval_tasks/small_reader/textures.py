"""Grey textures of no family in particular, so that what is no event is known where no background looks like a learnt one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_DARKEST, _SPAN = (20, 120), (40, 160)  # of 0 to 255


def _gratings(side_px: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """One to three waves on top of each other, from soft to two-toned."""
    y, x = np.mgrid[0:side_px, 0:side_px] / side_px
    total = np.zeros((side_px, side_px))
    for _ in range(rng.integers(1, 4)):
        turn, waves, phase = rng.uniform(0, np.pi), rng.uniform(0.5, 12), rng.uniform(0, 2 * np.pi)
        total += np.sin(2 * np.pi * waves * (x * np.cos(turn) + y * np.sin(turn)) + phase)
    return np.asarray(np.tanh(total * rng.uniform(0.5, 8)))


def _boxes(side_px: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Rectangles of any size over each other."""
    field = np.zeros((side_px, side_px))
    for _ in range(rng.integers(4, 40)):
        top, left = rng.integers(-8, side_px, 2)
        height, width = rng.integers(3, side_px // 2, 2)
        field[max(top, 0) : top + height, max(left, 0) : left + width] = rng.uniform(-1, 1)
    return field


def _grain(side_px: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Random greys of a coarse or a fine grid, with edges or without."""
    cells = int(rng.integers(2, side_px // 3))
    drawn = Image.fromarray(rng.integers(0, 256, (cells, cells)).astype(np.uint8))
    edges = Image.Resampling.NEAREST if rng.random() < 0.5 else Image.Resampling.BICUBIC
    return np.asarray(drawn.resize((side_px, side_px), edges)).astype(float) / 127.5 - 1


def texture(seed: int, number: int, side_px: int) -> Image.Image:
    """Texture `number` of a seed, with a slight tint, as backgrounds of the benchmark have."""
    rng = np.random.default_rng([seed, number])
    make = (_gratings, _boxes, _grain)[number % 3]
    field = make(side_px, rng)
    level = rng.uniform(*_DARKEST) + rng.uniform(*_SPAN) * (field + 1) / 2
    tint = rng.uniform(-10, 10)
    return Image.fromarray(np.clip(np.stack([level - tint, level, level + tint], -1), 0, 255).astype(np.uint8))
