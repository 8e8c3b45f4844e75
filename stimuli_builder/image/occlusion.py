"""Subtractive degradation: flat patches over a region, more of them at each level (paper, "Approach")."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stimuli_builder.draws import draw_integer, draw_order
from stimuli_builder.errors import CavedError
from stimuli_builder.image.item import Region
from stimuli_builder.image.reach import affected, distance_px, margin_px, window

GREYS = (72, 128, 184)  # far from the black and white of prints
THOUSANDTHS = (299, 587, 114)  # of lightness, in red, green and blue
PRINT_TONES = (45, 235)  # lightness of usual dark and light print
CELL_HEIGHTS = 1 / 3  # side of a patch over the region's height
CELL_SHARE = 0.05  # of the region's pixels, at most, so that every share is met within half of it
SHARE_TOLERANCE = 0.03
LEAST_AROUND = 0.25  # of the region's height: what patches must stand out from, however small the margin


def patch_grey(surroundings: NDArray[np.uint8]) -> int:
    """The grey of patches that stand out from what lies around a region, shape (n, 3).

    It is the one that differs most in lightness from nine tenths of these pixels, and from dark and light print as such, which
    patches must not merge with. What the region itself shows may not have a say: a grey that stands out from it would tell
    of what is hidden (of eight colours, the right one to a half of guesses).
    """
    if not len(surroundings):
        return GREYS[len(GREYS) // 2]
    lightness = surroundings.astype(np.int64) @ THOUSANDTHS // 1000

    def contrast(grey: int) -> int:
        around = int(np.quantile(np.abs(lightness - grey), 0.1, method="lower"))
        return min(around, *(abs(grey - tone) for tone in PRINT_TONES))

    return max(GREYS, key=contrast)


def hidden_pixels(
    region: Region, size: tuple[int, int], shares: Sequence[float], margin: float, seed: int, *name: object
) -> tuple[list[NDArray[np.bool_]], list[float]]:
    """What each share hides, and how much of the region that really is.

    A grid of square cells lies over the region at a drawn shift. Cells that meet the region are hidden in a drawn order, the
    first ones with which the hidden share of the region's own pixels comes nearest to what is asked for. So what is
    hidden at one share stays hidden at every larger one.

    Args:
        region: the diagnostic region.
        size: width and height of the image.
        shares: in (0, 1], rising.
        margin: how far patches may reach beyond the region, over its height.
        seed: of the draws.
        name: of the draws, such as item and region.

    Returns:
        For each share a mask of shape (height, width), and the share of the region that it covers.

    Raises:
        CavedError: if the region has too few pixels for its shares.
        ValueError: if the region is empty or lies outside of the image.
    """
    mask = region.mask(size)
    area = int(mask.sum())
    cell_px = max(1, math.floor(min(CELL_HEIGHTS * region.height_px, math.sqrt(CELL_SHARE * area))))
    reach_px = margin_px(region, margin)
    rows, columns = window(region, size, reach_px)
    # Rows and columns of the grid are numbered from -reach_px on, whatever the window is cut to at the image's edges.
    shift_x = draw_integer(0, cell_px - 1, seed, *name, "occlusion_left")
    shift_y = draw_integer(0, cell_px - 1, seed, *name, "occlusion_top")
    across = -(-(region.box[2] - region.box[0] + 2 * reach_px) // cell_px) + 1
    row = (np.arange(rows.start, rows.stop) - region.box[1] + reach_px + shift_y) // cell_px
    column = (np.arange(columns.start, columns.stop) - region.box[0] + reach_px + shift_x) // cell_px
    cells = row[:, None] * across + column[None, :]
    counts = np.bincount(cells[mask[rows, columns]])
    order = draw_order(np.flatnonzero(counts).tolist(), str, seed, *name, "occlusion_order")
    covered = np.cumsum(counts[order]) / area
    first = [int(np.argmin(np.abs(covered - share))) for share in shares]
    achieved = [float(covered[i]) for i in first]
    off = max(abs(a - share) for a, share in zip(achieved, shares, strict=True))
    if off > SHARE_TOLERANCE or len(set(first)) < len(first):
        raise CavedError(
            f"region {region.name} of {area} pixels: hiding {', '.join(f'{s:g}' for s in shares)} of it comes to "
            f"{', '.join(f'{a:.2f}' for a in achieved)}: mark a larger region, or choose shares farther apart"
        )
    rank = np.full(int(cells.max()) + 1, len(order))
    rank[order] = np.arange(len(order))
    within = distance_px(region, size, reach_px) <= reach_px
    masks = []
    for last in first:
        hidden = np.zeros_like(mask)
        hidden[rows, columns] = (rank[cells] <= last) & within
        masks.append(hidden)
    return masks, achieved


def occluded(
    image: Image.Image, region: Region, shares: Sequence[float], margin: float, seed: int, *name: object
) -> list[tuple[float, Image.Image]]:
    """The image with each share of its region under opaque patches of one grey, with the share really hidden.

    Raises:
        CavedError: if the region has too few pixels for its shares.
        ValueError: if the region is empty or lies outside of the image.
    """
    pixels = np.array(image.convert("RGB"))
    mask = region.mask(image.size)
    around = affected(region, image.size, max(margin, LEAST_AROUND)) & ~mask
    grey = patch_grey(pixels[around])
    masks, achieved = hidden_pixels(region, image.size, shares, margin, seed, *name)
    views = []
    for hidden, share in zip(masks, achieved, strict=True):
        shown = pixels.copy()
        shown[hidden] = grey
        views.append((share, Image.fromarray(shown)))
    return views
