"""How far degradation reaches: the box of a region, a margin around it, and nothing else.

What counts is the box, also of a mask: degradation that followed the outline of a mask would draw it, and the outline may be
the answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stimuli_builder.image.item import Region


def margin_px(region: Region, margin: float) -> int:
    """The margin in whole pixels; `margin` is a share of the region's height."""
    return round(margin * region.height_px)


def window(region: Region, size: tuple[int, int], reach_px: int) -> tuple[slice, slice]:
    """Rows and columns of the region's box with `reach_px` around, as far as the image of `size` (width, height) goes."""
    left, top, right, bottom = region.box
    width, height = size
    return (
        slice(max(top - reach_px, 0), min(bottom + reach_px, height)),
        slice(max(left - reach_px, 0), min(right + reach_px, width)),
    )


def distance_px(region: Region, size: tuple[int, int], reach_px: int) -> NDArray[np.float64]:
    """Distance of each pixel of `window` from the nearest pixel of the region's box, 0 inside."""
    left, top, right, bottom = region.box
    rows, columns = (np.arange(part.start, part.stop) for part in window(region, size, reach_px))
    down = np.maximum(0, np.maximum(top - rows, rows - bottom + 1))
    across = np.maximum(0, np.maximum(left - columns, columns - right + 1))
    return np.sqrt(np.square(down)[:, None] + np.square(across))


def affected(region: Region, size: tuple[int, int], margin: float) -> NDArray[np.bool_]:
    """The pixels that degradation may change, shape (height, width): the region's box and `margin` of its height around.

    Raises:
        ValueError: if the region is empty or lies outside of the image.
    """
    region.mask(size)  # raises
    reach_px = margin_px(region, margin)
    within = np.zeros((size[1], size[0]), dtype=bool)
    within[window(region, size, reach_px)] = distance_px(region, size, reach_px) <= reach_px
    return within
