"""The grain of an image: what blur takes away and would be missed, measured around a region and drawn anew.

A smooth patch in a grainy image announces that something was done there. Grain is described by its deviation in a few bands
of spatial frequency, each along three axes of colour, so that it comes back as fine or coarse, grey or coloured as it was.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter

Floats = NDArray[np.float64]

BAND_EDGES_PX = (0.0, 0.7, 1.4, 2.8)  # sigmas; a band is the difference of two blurs; coarser than that is structure
SUPPORT_PX = 12  # how far a pixel's bands look
TRUNCATE = 4.0  # in sigmas, where a Gaussian ends
ENOUGH_PIXELS = 64  # to measure grain on
LEAST = 0.05  # grey levels; a deviation below is none
SQUARE_PX, QUIET = 7, 0.1  # deviations are taken in squares; the quantile of them that counts
# Lightness and two opponent axes, orthonormal: grey grain lies along the first one only.
AXES = np.array([[1, 1, 1], [1, -1, 0], [1, 1, -2]]) / np.sqrt([[3], [2], [6]])
_FREQUENCIES = (np.arange(32) + 0.5) / 64  # cycles per pixel, along either axis
_ROUNDS = 30  # of matching gains to deviations, which changes them by less than a hundredth after that


def kernel(sigma_px: float) -> Floats:
    """A Gaussian at whole pixels, shape (2 radius + 1,), of sum 1."""
    radius = math.ceil(TRUNCATE * sigma_px)
    values = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma_px) ** 2) if sigma_px else np.ones(1)
    return values / values.sum()


def bands(values: Floats) -> Floats:
    """The bands of `values`, shape (height, width, 3): shape (bands, height, width, 3), the finest first."""
    blurs = [gaussian_filter(values, (sigma, sigma, 0), mode="nearest") if sigma else values for sigma in BAND_EDGES_PX]
    return np.stack([finer - coarser for finer, coarser in zip(blurs[:-1], blurs[1:], strict=True)])


def measured_grain(pixels: NDArray[np.uint8], around: NDArray[np.bool_], inside: NDArray[np.bool_]) -> Floats:
    """Standard deviation of the grain of `pixels`, shape (height, width, 3), by band and axis: shape (bands, 3).

    Grain is what even quiet spots have: deviations within small squares are taken, and of those a low quantile, which print,
    edges and scenery do not reach. Of what is measured `around` and `inside` a region (masks of shape (height, width)) the
    lower one counts: a clean label on rough cardboard does not become rough.
    """
    where = [mask for mask in (around, inside) if mask.sum() >= ENOUGH_PIXELS]
    if not where:
        return np.zeros((len(_BANDS), 3))
    spread = _within_squares(bands(pixels.astype(float) @ AXES.T))
    quiet = np.min([np.quantile(spread[:, mask], QUIET, axis=1) for mask in where], axis=0) / _quiet_noise()[:, None]
    return np.where(quiet < LEAST, 0, quiet)


def _within_squares(parts: Floats) -> Floats:
    return np.sqrt(np.maximum(0, uniform_filter(np.square(parts), (0, SQUARE_PX, SQUARE_PX, 0), mode="nearest")))


@cache
def _quiet_noise() -> Floats:
    """The quantile that stands for a deviation of 1, by band: that of white noise."""
    parts = bands(np.random.RandomState(0).standard_normal((256, 256, 1)))
    return np.quantile(_within_squares(parts), QUIET, axis=(1, 2, 3)) / parts.std((1, 2, 3))


def drawn_grain(deviations: Floats, shape: tuple[int, int], seed: int) -> Floats:
    """Grain of such `deviations`, shape (bands, 3), over `shape` (height, width).

    Returns:
        Its parts in RGB, shape (bands, height, width, 3); their sum has the deviations.
    """
    if not deviations.any():
        return np.zeros((len(deviations), *shape, 3))
    height, width = shape
    white = np.random.RandomState(seed).standard_normal((height + 2 * SUPPORT_PX, width + 2 * SUPPORT_PX, 3))
    drawn = bands(white)[:, SUPPORT_PX:-SUPPORT_PX, SUPPORT_PX:-SUPPORT_PX]
    return (drawn * _gains(deviations)[:, None, None, :]) @ AXES


def lost_grain(grain: Floats, sigma_px: Floats) -> Floats:
    """As much of `grain`, shape (bands, height, width, 3), as a blur of `sigma_px`, shape (height, width), takes away.

    Grain that is left and grain that is put back are independent: their variances add up to that of the grain before.
    """
    table_px = np.append(0, np.geomspace(0.1, 20, 48))
    kept = [(np.square(_BANDS) * np.square(_transfer(sigma))).sum((1, 2)) for sigma in table_px]
    put_back = np.zeros(grain.shape[1:])
    for band, power in zip(grain, np.transpose(kept), strict=True):
        put_back += band * np.interp(sigma_px, table_px, np.sqrt(1 - power / power[0]))[..., None]
    return put_back


def _transfer(sigma_px: float) -> Floats:
    """What a blur leaves of each spatial frequency, shape (32, 32)."""
    values = kernel(sigma_px)
    steps = np.arange(len(values)) - len(values) // 2
    along = np.cos(2 * np.pi * np.outer(_FREQUENCIES, steps)) @ values
    return np.outer(along, along)


_BANDS = np.stack([_transfer(a) - _transfer(b) for a, b in zip(BAND_EDGES_PX[:-1], BAND_EDGES_PX[1:], strict=True)])


def _gains(deviations: Floats) -> Floats:
    """What to multiply the bands of white noise by, shape (bands, 3), for their sum to have these deviations by band.

    Bands overlap, so each gain depends on the others; they are matched in turns.
    """
    gains = deviations / np.sqrt(np.square(_BANDS).mean((1, 2)))[:, None]
    for _ in range(_ROUNDS):
        amplitudes = np.einsum("bxy,ba->axy", _BANDS, gains)
        reached = np.sqrt(np.einsum("bxy,axy->ba", np.square(_BANDS), np.square(amplitudes)) / _FREQUENCIES.size**2)
        gains *= np.divide(deviations, reached, out=np.zeros_like(gains), where=reached > 0) ** 0.7
    return gains
