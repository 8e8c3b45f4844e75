"""What the encoder of the small image reader looks at: close-ups of regions, mosaics of them, and whole images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from lmms_eval_tasks.small_reader.architecture import IMAGE_READER
from lmms_eval_tasks.small_reader.image_views import Box, ImageView
from lmms_eval_tasks.small_reader.image_wordings import READ

CLOSE_UP_PX = 42  # side
TILE_PX = 56  # of a mosaic: three in a row of an image
SHAPE_SHARE = 0.75  # of close-ups; colours are learnt from a few
_UNIT_PX, _SIDE_PX = IMAGE_READER.unit_px, IMAGE_READER.side_px
_MEAN = np.array([0.48145466, 0.4578275, 0.40821073], dtype=np.float32)
_DEVIATION = np.array([0.26862954, 0.26130258, 0.27577711], dtype=np.float32)


@dataclass(frozen=True)
class Shown:
    """A part of an image, and the regions in it."""

    pixels: NDArray[np.uint8]  # (height, width, 3)
    regions: tuple[tuple[str, Box, int, float], ...]  # category, box in pixels, right word, clarity


@dataclass(frozen=True)
class Sights:
    """Images of one size with what each of their units shows, in the order of tokens."""

    patches: torch.Tensor  # (images, patches, values)
    covered: dict[str, torch.Tensor]  # by category, (images, units): share of the unit that a region covers
    words: dict[str, torch.Tensor]  # by category, (images, units): right word of that region
    clarity: dict[str, torch.Tensor]  # by category, (images, units): how much of that region shows

    def on(self, device: torch.device) -> Sights:
        """The same on a device."""
        moved = (
            {name: part.to(device) for name, part in parts.items()}
            for parts in (self.covered, self.words, self.clarity)
        )
        return Sights(self.patches.to(device), *moved)


def patches_of(images: NDArray[np.floating]) -> torch.Tensor:
    """Patches of images of 0 to 255, (count, height, width, 3), as the processor orders them: (count, patches, values)."""
    count, height, width, _ = images.shape
    merge, patch = IMAGE_READER.merge, IMAGE_READER.patch_px
    even = (images.astype(np.float32) / 255 - _MEAN) / _DEVIATION
    cut = even.reshape(count, height // _UNIT_PX, merge, patch, width // _UNIT_PX, merge, patch, 3)
    return torch.from_numpy(cut.transpose(0, 1, 4, 2, 5, 7, 3, 6).reshape(count, -1, 3 * patch * patch).copy())


def _cropped(shown: Shown, x: int, y: int, height: int, width: int) -> Shown:
    regions = tuple(
        (category, (left - x, top - y, right - x, bottom - y), word, clarity)
        for category, (left, top, right, bottom), word, clarity in shown.regions
        if left < x + width and x < right and top < y + height and y < bottom
    )
    return Shown(shown.pixels[y : y + height, x : x + width], regions)


def _flipped(shown: Shown) -> Shown:
    width = shown.pixels.shape[1]
    regions = tuple((c, (width - r, t, width - l, b), w, k) for c, (l, t, r, b), w, k in shown.regions)  # noqa: E741
    return Shown(shown.pixels[:, ::-1], regions)


def _whole(view: ImageView) -> Shown:
    return Shown(view.pixels, tuple((c, view.boxes[c], view.words[c], view.clarity[c]) for c in READ))


def close_up(views: Sequence[ImageView], side_px: int, rng: np.random.Generator) -> Shown:
    """The surroundings of one region of one view, at a drawn shift, perhaps mirrored."""
    view = views[int(rng.integers(len(views)))]
    category = "shape" if rng.random() < SHAPE_SHARE else "colour"
    left, top, right, bottom = view.boxes[category]
    corner = []
    for low, high in ((left, right), (top, bottom)):
        ends = sorted((round(high - side_px), round(low)))
        corner.append(int(np.clip(rng.integers(ends[0], ends[1] + 1), 0, _SIDE_PX - side_px)))
    part = _cropped(_whole(view), corner[0], corner[1], side_px, side_px)
    return _flipped(part) if rng.random() < 0.5 else part


def mosaic(views: Sequence[ImageView], rng: np.random.Generator) -> Shown:
    """An image of close-ups, so that each token must tell what is near it from what is not."""
    pixels = np.empty((_SIDE_PX, _SIDE_PX, 3), dtype=np.uint8)
    regions: list[tuple[str, Box, int, float]] = []
    for y in range(0, _SIDE_PX, TILE_PX):
        for x in range(0, _SIDE_PX, TILE_PX):
            part = close_up(views, TILE_PX, rng)
            pixels[y : y + TILE_PX, x : x + TILE_PX] = part.pixels
            for category, box, word, clarity in part.regions:
                left, top, right, bottom = (min(max(value, 0), TILE_PX) for value in box)
                regions.append((category, (left + x, top + y, right + x, bottom + y), word, clarity))
    return _shifted(Shown(pixels, tuple(regions)), 10, rng)


def _shifted(shown: Shown, most_px: int, rng: np.random.Generator) -> Shown:
    """Moved by a drawn distance, edges continued."""
    dx, dy = rng.integers(-most_px, most_px + 1, 2).tolist()
    height, width = shown.pixels.shape[:2]
    rows, columns = np.clip(np.arange(height) - dy, 0, height - 1), np.clip(np.arange(width) - dx, 0, width - 1)
    regions = tuple((c, (l + dx, t + dy, r + dx, b + dy), w, k) for c, (l, t, r, b), w, k in shown.regions)  # noqa: E741
    return Shown(shown.pixels[rows][:, columns], regions)


def whole_image(view: ImageView, rng: np.random.Generator) -> Shown:
    """A view, a little shifted, perhaps mirrored."""
    shown = _shifted(_whole(view), 6, rng)
    return _flipped(shown) if rng.random() < 0.5 else shown


def _covered(box: Box, height: int, width: int) -> NDArray[np.float32]:
    """Share of each unit that a box covers, (units,)."""
    left, top, right, bottom = box

    def along(low: float, high: float, count: int) -> NDArray[np.float64]:
        starts = np.arange(count) * _UNIT_PX
        return np.clip(np.minimum(high, starts + _UNIT_PX) - np.maximum(low, starts), 0, _UNIT_PX) / _UNIT_PX

    return (
        np.outer(along(top, bottom, height // _UNIT_PX), along(left, right, width // _UNIT_PX))
        .astype(np.float32)
        .ravel()
    )


def sights_of(parts: Sequence[Shown], rng: np.random.Generator | None) -> Sights:
    """Parts of one size as the encoder gets them, each in a light of its own if there is an `rng`."""
    height, width = parts[0].pixels.shape[:2]
    shape = (len(parts), height // _UNIT_PX * (width // _UNIT_PX))
    covered = {category: np.zeros(shape, dtype=np.float32) for category in READ}
    words = {category: np.zeros(shape, dtype=np.int64) for category in READ}
    clarity = {category: np.zeros(shape, dtype=np.float32) for category in READ}
    for row, part in enumerate(parts):
        for category, box, word, shows in part.regions:
            share = _covered(box, height, width)
            more = share > covered[category][row]
            covered[category][row][more], words[category][row][more], clarity[category][row][more] = (
                share[more],
                word,
                shows,
            )
    pixels = np.stack([part.pixels for part in parts]).astype(np.float32)
    if rng is not None:
        gains = rng.uniform(0.92, 1.06, (len(parts), 1, 1, 1)) * rng.uniform(0.98, 1.02, (len(parts), 1, 1, 3))
        pixels = np.clip(pixels * gains + rng.uniform(-6, 6, (len(parts), 1, 1, 1)), 0, 255).astype(np.float32)
    tensors = ({name: torch.from_numpy(part) for name, part in found.items()} for found in (covered, words, clarity))
    return Sights(patches_of(pixels), *tensors)
