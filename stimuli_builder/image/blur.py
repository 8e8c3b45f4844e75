"""Corruptive degradation: blur over a region, with nothing that announces it (paper, "Approach")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stimuli_builder.draws import draw_integer
from stimuli_builder.image.grain import SUPPORT_PX, drawn_grain, kernel, lost_grain, measured_grain
from stimuli_builder.image.item import Region
from stimuli_builder.image.reach import distance_px, margin_px, window

Floats = NDArray[np.float64]

FINEST_PX = 0.3  # the least sigma that moves a byte
RUNG = 2.0  # ratio of neighbouring sigmas between which blurs are interpolated
GRAIN_RING = 0.5  # of the region's height: how far beyond the margin grain is measured


def blurred(
    image: Image.Image, region: Region, sigmas: Sequence[float], margin: float, seed: int, *name: object
) -> list[Image.Image]:
    """The image with its region blurred by each of `sigmas`, over the region's height.

    Sigma is that over the region and half of the margin; from there it falls smoothly to 0 at the end of the margin. A mere
    cross-fade into the sharp image would draw a frame there: of print that bleeds out, or of a label's edge that bleeds in.
    What lies beyond the margin counts as like its end, so nothing bleeds in that stays sharp. The grain that blur takes away
    is put back.

    Values are blurred as they are stored, not as light. A sigma then takes the same from dark print on light as from light on
    dark; in linear light, white print on black outlasts black print on white. It is also what models see of an
    image that is made smaller, since their preprocessing averages stored values.

    Args:
        image: the intact image.
        region: the diagnostic region.
        sigmas: of the Gaussian, over the region's height; 0 leaves the image as it is.
        margin: how far blur reaches beyond the region, over its height.
        seed: of the grain that is put back.
        name: of the draw, such as item and region.

    Raises:
        ValueError: if the region is empty or lies outside of the image.
    """
    pixels = np.array(image.convert("RGB"))
    reach_px = margin_px(region, margin)
    part = window(region, image.size, reach_px)
    share = sigma_share(distance_px(region, image.size, reach_px), reach_px)
    peaks_px = [sigma * region.height_px for sigma in sigmas]
    grain = _grain(pixels, region, reach_px, draw_integer(0, 2**32 - 1, seed, *name, "grain"))
    views = []
    for peak_px, smooth in zip(peaks_px, _smoothed(pixels[part], share, peaks_px), strict=True):
        shown = pixels.copy()
        shown[part] = to_bytes(smooth + lost_grain(grain, peak_px * share))
        views.append(Image.fromarray(shown))
    return views


def sigma_share(distance: Floats, reach_px: int) -> Floats:
    """Sigma at a `distance` from the region, as a share of that inside: 1 up to half of the margin, 0 beyond its end."""
    fall = np.clip((distance - reach_px / 2) / (reach_px / 2 + 1), 0, 1)
    fall[distance > reach_px] = 1
    return 1 - fall * fall * (3 - 2 * fall)


def to_bytes(values: Floats) -> NDArray[np.uint8]:
    """Round to the nearest byte, halves up; a millionth is added so that the last bits of a platform decide nothing."""
    return np.floor(np.clip(values, 0, 255) + 0.5 + 1e-6).astype(np.uint8)


def gaussian_matrix(length: int, sigma_px: float) -> Floats:
    """Gaussian blur along one axis as a matrix, shape (length, length), what lies beyond an end being like that end.

    Two products with such matrices blur an image in a time that does not grow with sigma, unlike a filter's.
    """
    weights = kernel(sigma_px)
    places = np.arange(length)[:, None] + np.arange(len(weights)) - len(weights) // 2
    matrix = np.zeros((length, length))
    np.add.at(matrix, (np.arange(length)[:, None], np.clip(places, 0, length - 1)), weights)
    return matrix


def _ladder(peak_px: float) -> list[float]:
    """Sigmas from 0 to `peak_px` between which the blur of any other sigma is interpolated."""
    rungs = [0.0]
    while FINEST_PX * RUNG ** (len(rungs) - 1) < peak_px:
        rungs.append(FINEST_PX * RUNG ** (len(rungs) - 1))
    return [*rungs, peak_px] if peak_px else rungs


def _smoothed(pixels: NDArray[np.uint8], share: Floats, peaks_px: Sequence[float]) -> list[Floats]:
    """For each peak `pixels`, shape (height, width, 3), blurred by a sigma of peak times `share`, shape (height, width).

    A Gaussian blur changes steadily with its variance, and is interpolated in that between the rungs of a ladder.
    """
    channels = np.moveaxis(pixels.astype(float), -1, 0)
    ladders = [_ladder(peak_px) for peak_px in peaks_px]
    places = [
        np.interp((peak_px * share) ** 2, np.square(ladder), np.arange(len(ladder)))
        for peak_px, ladder in zip(peaks_px, ladders, strict=True)
    ]
    smooth = [np.zeros(pixels.shape) for _ in peaks_px]
    for sigma_px in sorted(set().union(*ladders)):
        down, along = (gaussian_matrix(length, sigma_px) for length in share.shape)
        even = np.moveaxis(down @ channels @ along.T, 0, -1)
        for total, place, ladder in zip(smooth, places, ladders, strict=True):
            if sigma_px in ladder:
                total += np.maximum(0, 1 - np.abs(place - ladder.index(sigma_px)))[..., None] * even
    return smooth


def _grain(pixels: NDArray[np.uint8], region: Region, reach_px: int, seed: int) -> Floats:
    """Grain over the margin's window, by band, as it is around and inside the region."""
    size = (pixels.shape[1], pixels.shape[0])
    ring_px = reach_px + max(SUPPORT_PX, round(GRAIN_RING * region.height_px))
    distance = distance_px(region, size, ring_px)
    near = pixels[window(region, size, ring_px)]
    deviations = measured_grain(near, (distance > reach_px) & (distance <= ring_px), distance == 0)
    rows, columns = window(region, size, reach_px)
    return drawn_grain(deviations, (rows.stop - rows.start, columns.stop - columns.start), seed)
