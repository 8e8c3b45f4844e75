"""The grain of an image: what blur takes away and would be missed, measured around a region and drawn anew.

A smooth patch in a grainy image announces that something was done there. Grain is described by its deviation in a few bands
of spatial frequency, each along three axes of colour, so that it comes back as fine or coarse, grey or coloured as it was.
Planes are worked on one at a time, so that large images fit into memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter

Floats = NDArray[np.float64]

BAND_EDGES_PX = (0.0, 0.7, 1.4, 2.8, 5.6, 11.2)  # sigmas; a band is the difference of two blurs
FINE_BANDS = 3  # that are always looked at; whether coarser ones are grain or structure depends on the region's size
COARSEST = 1 / 4  # of the region's height: an edge beyond is structure
TRUNCATE = 4.0  # in sigmas, where a Gaussian ends
ENOUGH_PIXELS = 64  # to measure grain on
LEAST = 0.05  # grey levels; a deviation below is none
SQUARE_PX, SQUARE_EDGES, QUIET = (
    7,
    2.5,
    0.1,
)  # side of squares, at least and over a band's edge; the quantile that counts
# Lightness and two opponent axes, orthonormal: grey grain lies along the first one only.
AXES = np.array([[1, 1, 1], [1, -1, 0], [1, 1, -2]]) / np.sqrt([[3], [2], [6]])
_LIMITS = np.append(0, np.geomspace(0.002, 0.5, 40))  # cycles per pixel, along either axis
_FREQUENCIES, _WEIGHTS = (_LIMITS[1:] + _LIMITS[:-1]) / 2, np.diff(_LIMITS) / _LIMITS[-1]
_SQUARE_WEIGHTS = np.outer(_WEIGHTS, _WEIGHTS)
_ROUNDS = 60  # of matching gains to deviations, which changes them by less than a hundredth after that


def kernel(sigma_px: float) -> Floats:
    """A Gaussian at whole pixels, shape (2 radius + 1,), of sum 1."""
    radius = math.ceil(TRUNCATE * sigma_px)
    values = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma_px) ** 2) if sigma_px else np.ones(1)
    return values / values.sum()


def bands_beside(region_height_px: int) -> int:
    """How many bands are grain, not structure, beside a region of this height."""
    return max(FINE_BANDS, sum(edge <= region_height_px * COARSEST for edge in BAND_EDGES_PX[1:]))


def support_px(count: int) -> int:
    """How far a pixel's first `count` bands look."""
    return math.ceil(TRUNCATE * BAND_EDGES_PX[count])


def bands(values: Floats, count: int = FINE_BANDS) -> Iterator[Floats]:
    """The first `count` bands of `values`, shape (height, width, ...), each of this shape, the finest first."""
    finer = values
    for edge in BAND_EDGES_PX[1 : count + 1]:
        coarser = gaussian_filter(values, (edge, edge, 0)[: values.ndim], mode="nearest")
        yield finer - coarser
        finer = coarser


def measured_grain(pixels: NDArray[np.uint8], places: Sequence[NDArray[np.bool_]], count: int = FINE_BANDS) -> Floats:
    """Standard deviation of the grain of `pixels`, shape (height, width, 3), by band and axis: shape (count, 3).

    Grain is what even quiet spots have: deviations within small squares are taken, and of those a low quantile, which print,
    edges and scenery do not reach. Of what is measured in several `places` (masks of shape (height, width)) the lowest counts: a
    clean label on rough cardboard does not become rough.
    """
    quiet = np.zeros((count, 3))
    where = [mask for mask in places if mask.sum() >= ENOUGH_PIXELS]
    if not where:
        return quiet
    for axis, weights in enumerate(AXES):
        for band, part in enumerate(bands(pixels @ weights, count)):
            spread = _within_squares(part, band)
            quiet[band, axis] = min(np.quantile(spread[mask], QUIET) for mask in where) / _quiet_noise()[band]
    return np.where(quiet < LEAST, 0, quiet)


def _within_squares(part: Floats, band: int) -> Floats:
    side = max(SQUARE_PX, round(SQUARE_EDGES * BAND_EDGES_PX[band + 1]))
    return np.sqrt(np.maximum(0, uniform_filter(np.square(part), side, mode="nearest")))


@cache
def _quiet_noise() -> list[float]:
    """The quantile that stands for a deviation of 1, by band: that of white noise."""
    white = np.random.RandomState(0).standard_normal((384, 384))
    parts = bands(white, len(BAND_EDGES_PX) - 1)
    return [float(np.quantile(_within_squares(part, band), QUIET) / part.std()) for band, part in enumerate(parts)]


def drawn_grain(deviations: Floats, shape: tuple[int, int], seed: int) -> Iterator[tuple[int, int, Floats]]:
    """Grain of such `deviations`, shape (bands, 3), over `shape` (height, width).

    Yields:
        band, axis of colour, and this part of it, shape (height, width); parts that are zero are left out. Their sum has the
        deviations.
    """
    count, (height, width) = len(deviations), shape
    gains, rim = _gains(deviations), support_px(len(deviations))
    for axis in np.flatnonzero(deviations.any(0)).tolist():
        white = np.random.RandomState([seed, axis]).standard_normal((height + 2 * rim, width + 2 * rim))
        for band, part in enumerate(bands(white, count)):
            if gains[band, axis]:
                yield band, axis, gains[band, axis] * part[rim : rim + height, rim : rim + width]


def lost_share(band: int, sigma_px: Floats) -> Floats:
    """Which share of the deviation of a band a blur of `sigma_px` takes away, of the same shape.

    Grain that is left and grain that is put back in this share are independent: their variances add up to that before.
    """
    table_px, lost = _lost()
    return np.interp(sigma_px, table_px, lost[band])


@cache
def _lost() -> tuple[Floats, Floats]:
    """Sigmas, and by band and sigma the share that is lost."""
    table_px = np.append(0, np.geomspace(0.1, 80, 64))
    weights = np.square(_BANDS) * _SQUARE_WEIGHTS
    kept = np.transpose([(weights * np.square(_transfer(sigma))).sum((1, 2)) for sigma in table_px])
    return table_px, np.sqrt(1 - kept / kept[:, :1])


def _transfer(sigma_px: float) -> Floats:
    """What a blur leaves of each pair of `_FREQUENCIES`."""
    values = kernel(sigma_px)
    steps = np.arange(len(values)) - len(values) // 2
    along = np.cos(2 * np.pi * np.outer(_FREQUENCIES, steps)) @ values
    return np.outer(along, along)


_BANDS = np.stack([_transfer(a) - _transfer(b) for a, b in zip(BAND_EDGES_PX[:-1], BAND_EDGES_PX[1:], strict=True)])


def _gains(deviations: Floats) -> Floats:
    """What to multiply the bands of white noise by, shape (bands, 3), for their sum to have these deviations by band.

    Bands overlap, so each gain depends on the others; they are matched in turns.
    """
    of_bands = _BANDS[: len(deviations)]
    powers = np.square(of_bands) * _SQUARE_WEIGHTS
    gains = deviations / np.sqrt(powers.sum((1, 2)))[:, None]
    for _ in range(_ROUNDS):
        amplitudes = np.einsum("bxy,ba->axy", of_bands, gains)
        reached = np.sqrt(np.einsum("bxy,axy->ba", powers, np.square(amplitudes)))
        gains *= np.divide(deviations, reached, out=np.zeros_like(gains), where=reached > 0) ** 0.7
    return gains
