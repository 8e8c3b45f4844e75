"""Subtractive degradation: opaque patches over a region, more of them at each level (paper, "Approach")."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stimuli_builder.draws import draw_integer, draw_order
from stimuli_builder.errors import CavedError
from stimuli_builder.image.item import Region
from stimuli_builder.image.reach import distance_px, margin_px, window

# Of the two tones of a patch, at least one stands out from anything by 56 grey levels. They are the same everywhere: tones
# that were chosen to stand out from an image would tell of what they hide.
TONES = (72, 184)
CELL_HEIGHTS = 1 / 3  # side of a patch over the region's height
CELL_SHARE = (
    0.02  # of the box's pixels, at most: every share is met within half of it, and of a mask that fills a third or more
)
SHARE_TOLERANCE = 0.03


def hidden_pixels(
    region: Region, size: tuple[int, int], shares: Sequence[float], margin: float, seed: int, *name: object
) -> tuple[list[NDArray[np.bool_]], list[float], NDArray[np.uint8]]:
    """What each share hides, how much of the region that really is, and the tones of patches.

    A grid of square cells lies over the region's box at a drawn shift. Cells that meet the box are hidden in a drawn order, the
    first ones with which the hidden share of the region's own pixels comes nearest to what is asked for. So what is
    hidden at one share stays hidden at every larger one. Where all of the region is to be hidden, the whole box and the margin are:
    nothing then tells of a mask, nor of edges that bleed out of a tight box.

    Args:
        region: the diagnostic region.
        size: width and height of the image.
        shares: in (0, 1], rising.
        margin: how far patches may reach beyond the region's box, over its height.
        seed: of the draws.
        name: of the draws, such as item and region.

    Returns:
        For each share a mask of shape (height, width), and the share of the region that it covers; the tones, a checker of
        quarters of cells, for the `window` of the margin.

    Raises:
        CavedError: if the region has too few pixels for its shares.
        ValueError: if the region is empty or lies outside of the image.
    """
    mask = region.mask(size)
    area = int(mask.sum())
    left, top, right, bottom = region.box
    side = math.sqrt(CELL_SHARE * (right - left) * (bottom - top))
    cell_px = max(1, math.floor(min(CELL_HEIGHTS * region.height_px, side)))
    reach_px = margin_px(region, margin)
    rows, columns = window(region, size, reach_px)
    # Rows and columns of the grid are numbered from -reach_px on, whatever the window is cut to at the image's edges.
    shift_x = draw_integer(0, cell_px - 1, seed, *name, "occlusion_left")
    shift_y = draw_integer(0, cell_px - 1, seed, *name, "occlusion_top")
    across = -(-(right - left + 2 * reach_px) // cell_px) + 1
    y = np.arange(rows.start, rows.stop) - top + reach_px + shift_y
    x = np.arange(columns.start, columns.stop) - left + reach_px + shift_x
    cells = (y // cell_px)[:, None] * across + x // cell_px
    in_box = np.s_[top - rows.start : bottom - rows.start, left - columns.start : right - columns.start]
    order = draw_order(np.unique(cells[in_box]).tolist(), str, seed, *name, "occlusion_order")
    counts = np.bincount(cells[mask[rows, columns]], minlength=int(cells.max()) + 1)
    covered = np.cumsum(counts[order]) / area
    first = [int(np.argmin(np.abs(covered - share))) for share in shares]
    achieved = [float(covered[i]) for i in first]
    off = max(abs(a - share) for a, share in zip(achieved, shares, strict=True))
    if off > SHARE_TOLERANCE or len(set(achieved)) < len(achieved):
        remedy = "mark its box instead, or a larger region" if region.runs else "mark a larger region"
        raise CavedError(
            f"region {region.name} of {area} pixels: hiding {', '.join(f'{s:g}' for s in shares)} of it comes to "
            f"{', '.join(f'{a:.2f}' for a in achieved)}: {remedy}, or choose shares farther apart"
        )
    rank = np.full(len(counts), len(order))
    rank[order] = np.arange(len(order))
    within = distance_px(region, size, reach_px) <= reach_px
    masks = []
    for share, last in zip(achieved, first, strict=True):
        hidden = np.zeros_like(mask)
        hidden[rows, columns] = within & ((rank[cells] <= last) | (share == 1))
        masks.append(hidden)
    half_px = max(1, cell_px // 2)
    checker = ((y // half_px)[:, None] + x // half_px) % 2
    return masks, achieved, np.array(TONES, dtype=np.uint8)[checker]


def occluded(
    image: Image.Image, region: Region, shares: Sequence[float], margin: float, seed: int, *name: object
) -> list[tuple[float, Image.Image]]:
    """The image with each share of its region under opaque checkered patches, with the share really hidden.

    Raises:
        CavedError: if the region has too few pixels for its shares.
        ValueError: if the region is empty or lies outside of the image.
    """
    pixels = np.array(image.convert("RGB"))
    masks, achieved, tones = hidden_pixels(region, image.size, shares, margin, seed, *name)
    part = window(region, image.size, margin_px(region, margin))
    views = []
    for hidden, share in zip(masks, achieved, strict=True):
        shown = pixels.copy()
        shown[part] = np.where(hidden[part][..., None], tones[..., None], pixels[part])
        views.append((share, Image.fromarray(shown)))
    return views
