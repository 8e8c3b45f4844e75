"""How far degradation reaches: a region, a margin around it, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

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
    """Distance from the region of each pixel of `window`, 0 inside.

    Raises:
        ValueError: if the region is empty or lies outside of the image.
    """
    mask = region.mask(size)[window(region, size, reach_px)]
    return distance_transform_edt(~mask)


def affected(region: Region, size: tuple[int, int], margin: float) -> NDArray[np.bool_]:
    """The pixels that degradation may change, shape (height, width): the region and `margin` of its height around.

    Raises:
        ValueError: if the region is empty or lies outside of the image.
    """
    reach_px = margin_px(region, margin)
    within = np.zeros((size[1], size[0]), dtype=bool)
    within[window(region, size, reach_px)] = distance_px(region, size, reach_px) <= reach_px
    return within
