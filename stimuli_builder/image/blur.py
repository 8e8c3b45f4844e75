"""Corruptive degradation: blur over a region, with nothing that announces it (paper, "Approach")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stimuli_builder.draws import draw_integer
from stimuli_builder.image.grain import (
    AXES,
    ENOUGH_PIXELS,
    FINE_BANDS,
    bands_beside,
    drawn_grain,
    kernel,
    lost_share,
    measured_grain,
    support_px,
)
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

    Sigma is that over the region's box and half of the margin; from there it falls smoothly to 0 at the end of the margin. A mere
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
        margin: how far blur reaches beyond the region's box, over its height.
        seed: of the grain that is put back.
        name: of the draw, such as item and region.

    Raises:
        ValueError: if the region is empty or lies outside of the image.
    """
    region.mask(image.size)  # raises
    pixels = np.array(image.convert("RGB"))
    reach_px = margin_px(region, margin)
    part = window(region, image.size, reach_px)
    share = sigma_share(distance_px(region, image.size, reach_px), reach_px)
    peaks_px = [sigma * region.height_px for sigma in sigmas]
    deviations = _measured(pixels, region, reach_px)
    grain_seed = draw_integer(0, 2**32 - 1, seed, *name, "grain")
    shown = [pixels.copy() for _ in peaks_px]
    for channel in range(3):  # one at a time, and in floats: half the memory of doubles
        totals = [np.zeros(share.shape, dtype=np.float32) for _ in peaks_px]
        _add_smooth(totals, pixels[part][..., channel], share, peaks_px)
        _add_grain(totals, deviations, channel, share, peaks_px, grain_seed)
        for view, total in zip(shown, totals, strict=True):
            view[part][..., channel] = to_bytes(total)
    return [Image.fromarray(view) for view in shown]


def sigma_share(distance: Floats, reach_px: int) -> Floats:
    """Sigma at a `distance` from the region, as a share of that inside: 1 up to half of the margin, 0 beyond its end."""
    fall = np.clip((distance - reach_px / 2) / (reach_px / 2 + 1), 0, 1)
    fall[distance > reach_px] = 1
    return 1 - fall * fall * (3 - 2 * fall)


def to_bytes(values: Floats | NDArray[np.float32]) -> NDArray[np.uint8]:
    """Round to the nearest byte, halves up; a little is added so that the last bits of a platform decide nothing."""
    clipped: NDArray[Any] = np.clip(values, 0, 255)
    return np.floor(clipped + (0.5 + 1e-4)).astype(np.uint8)


def gaussian_matrix(length: int, sigma_px: float) -> Floats:
    """Gaussian blur along one axis as a matrix, shape (length, length), what lies beyond an end being like that end.

    Two products with such matrices blur an image in a time and a memory that do not grow with sigma, unlike a filter's.
    """
    weights = kernel(sigma_px)
    radius = len(weights) // 2
    steps = np.zeros(2 * length - 1)  # weights of the steps from -(length - 1) on
    reached = min(radius, length - 1)
    steps[length - 1 - reached : length + reached] = weights[radius - reached : radius + reached + 1]
    matrix = np.lib.stride_tricks.sliding_window_view(steps, length)[::-1].copy()
    below = np.append(0, np.cumsum(weights))  # weight of the steps before each one
    rows = np.arange(length)
    matrix[:, 0] = below[np.clip(radius - rows + 1, 0, len(weights))]
    matrix[:, -1] += 1 - below[np.clip(radius + length - rows, 0, len(weights))]
    return matrix


def _ladder(peak_px: float) -> list[float]:
    """Sigmas from 0 to `peak_px` between which the blur of any other sigma is interpolated."""
    rungs = [0.0]
    while FINEST_PX * RUNG ** (len(rungs) - 1) < peak_px:
        rungs.append(FINEST_PX * RUNG ** (len(rungs) - 1))
    return [*rungs, peak_px] if peak_px else rungs


def _add_smooth(
    totals: Sequence[NDArray[np.float32]], pixels: NDArray[np.uint8], share: Floats, peaks_px: Sequence[float]
) -> None:
    """Add to each of `totals` a channel's `pixels`, all of shape (height, width), blurred by a sigma of its peak times `share`.

    A Gaussian blur changes steadily with its variance, and is interpolated in that between the rungs of a ladder.
    """
    ladders = [_ladder(peak_px) for peak_px in peaks_px]
    for sigma_px in sorted(set().union(*ladders)):
        even = gaussian_matrix(len(share), sigma_px) @ pixels.astype(float)
        even = even @ gaussian_matrix(share.shape[1], sigma_px).T
        for total, ladder, peak_px in zip(totals, ladders, peaks_px, strict=True):
            if sigma_px in ladder:
                total += _rung_weight(ladder, ladder.index(sigma_px), peak_px * share) * even


def _rung_weight(ladder: Sequence[float], rung: int, sigma_px: Floats) -> NDArray[np.float32]:
    """How much the blur of one rung counts where the sigma is `sigma_px`."""
    place = np.interp(np.square(sigma_px), np.square(ladder), np.arange(len(ladder)))
    return np.maximum(0, 1 - np.abs(place - rung)).astype(np.float32)


def _add_grain(
    totals: Sequence[NDArray[np.float32]],
    deviations: Floats,
    channel: int,
    share: Floats,
    peaks_px: Sequence[float],
    seed: int,
) -> None:
    """Add to each of `totals` as much of a channel's grain as a blur of its peak times `share` takes away."""
    for band, axis, part in drawn_grain(deviations, share.shape, seed):
        for total, peak_px in zip(totals, peaks_px, strict=True):
            total += AXES[axis, channel] * part * lost_share(band, peak_px * share)


def _measured(pixels: NDArray[np.uint8], region: Region, reach_px: int) -> Floats:
    """Deviations of the grain, by band and axis: in the margin or beyond it, whichever has less.

    What the region shows has no say, since the strength of the grain would tell of it after all else is blurred. Only where
    nothing lies around is grain measured inside.
    """
    size = (pixels.shape[1], pixels.shape[0])
    count = bands_beside(region.height_px)
    ring_px = reach_px + max(support_px(FINE_BANDS), round(GRAIN_RING * region.height_px))
    distance = distance_px(region, size, ring_px)
    near = pixels[window(region, size, ring_px)]
    in_margin, beyond = (distance > 0) & (distance <= reach_px), (distance > reach_px) & (distance <= ring_px)
    if in_margin.sum() + beyond.sum() < ENOUGH_PIXELS:
        in_margin = distance == 0
    return measured_grain(near, (in_margin, beyond), count)
