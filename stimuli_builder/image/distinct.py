"""Whether the levels of a region are levels: no two of a mode, nor one and L0, may show the same image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metrics.image.trial import DEGRADED
from stimuli_builder.image.item import ItemView

UNIFORM = 16  # grey levels within which the pixels of a region count as one colour, of which blur can take nothing


def nothing_to_blur(pixels: NDArray[np.uint8]) -> bool:
    """Whether `pixels`, shape (n, 3), all that a blur may change, are of one colour but for faint grain."""
    return bool(np.ptp(pixels, axis=0).max() <= UNIFORM)


def same_levels(views: Sequence[ItemView], mode: str) -> list[str]:
    """Levels of a mode that show the image of L0 or of an earlier level: "corruptive L2 and L1"."""
    first = {view.image: "L0" for view in views if view.level == 0}
    same = []
    for view in views:
        if view.mode == mode:
            earlier = first.setdefault(view.image, f"L{view.level}")
            if earlier != f"L{view.level}":
                same.append(f"{mode} L{view.level} and {earlier}")
    return same


def levels_that_are_none(views: Sequence[ItemView], may_change: NDArray[np.uint8]) -> list[str]:
    """Levels of a region that show the image of another one.

    A region where there is nothing to blur is let pass with its blurs, however many are the same: its evidence does not lie
    in detail, and whoever builds or verifies its release is told so. It needs levels of occlusion all the same.

    Args:
        views: of the region, L0 first.
        may_change: the intact image's pixels that degradation may change, shape (n, 3).
    """
    modes = [mode for mode in DEGRADED if mode == "subtractive" or not nothing_to_blur(may_change)]
    return [same for mode in modes for same in same_levels(views, mode)]
