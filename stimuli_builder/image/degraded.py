"""The degraded images of one region: every level of both modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from PIL import Image

from metrics.image.trial import Mode
from stimuli_builder.image.blur import blurred
from stimuli_builder.image.item import Region
from stimuli_builder.image.levels import check_margin, check_strengths
from stimuli_builder.image.occlusion import occluded
from stimuli_builder.image.reach import affected

__all__ = ["affected", "degraded_views"]


def degraded_views(
    image: Image.Image,
    region: Region,
    strengths: Mapping[Mode, Sequence[float]],
    margin: float,
    seed: int,
    *name: object,
) -> Iterator[tuple[Mode, int, float, float, Image.Image]]:
    """Every degraded image of a region: mode, level from 1, strength, what of it was achieved, image.

    Pixels outside of `affected(region, image.size, margin)` are those of `image`. Levels of one mode share their draws.

    Args:
        image: the intact image.
        region: the diagnostic region.
        strengths: for each mode those of L1, L2, ...; shares of the region for the subtractive mode, sigmas over its height
            for the corruptive one.
        margin: how far degradation may reach beyond the region, over its height.
        seed: of the draws.
        name: of the draws, such as item and region.

    Raises:
        CavedError: for strengths that are no levels, a margin that is none, or a region too small for them.
        ValueError: if the region is empty or lies outside of the image.
    """
    check_strengths(strengths)
    check_margin(margin)
    shares, sigmas = strengths["subtractive"], strengths["corruptive"]
    hidden = occluded(image, region, shares, margin, seed, *name)
    for level, (share, (achieved, view)) in enumerate(zip(shares, hidden, strict=True), start=1):
        yield "subtractive", level, share, achieved, view
    del hidden  # large where the image is
    for level, (sigma, view) in enumerate(
        zip(sigmas, blurred(image, region, sigmas, margin, seed, *name), strict=True), start=1
    ):
        yield "corruptive", level, sigma, sigma, view
