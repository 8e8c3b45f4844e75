"""The grain of an image: what blur takes away and would be missed, measured around a region and drawn anew.

A smooth patch in a grainy image announces that something was done there. Grain is described by its deviation in a few bands
of spatial frequency, each along three axes of colour, so that it comes back as fine or coarse, grey or coloured as it was.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.stats import norm

Floats = NDArray[np.float64]

BAND_EDGES_PX = (0.0, 0.7, 1.4, 2.8)  # sigmas; a band is the difference of two blurs; coarser than that is structure
SUPPORT_PX = 12  # how far a pixel's bands look
ENOUGH_PIXELS = 64  # to measure grain on
QUANTILE = 0.25  # of magnitudes: where up to half of the pixels lie at edges, most of those below it are grain alone
# Lightness and two opponent axes, orthonormal: grey grain lies along the first one only.
AXES = np.array([[1, 1, 1], [1, -1, 0], [1, 1, -2]]) / np.sqrt([[3], [2], [6]])


def bands(values: Floats) -> Floats:
    """The bands of `values`, shape (height, width, 3): shape (bands, height, width, 3), the finest first."""
    blurs = [gaussian_filter(values, (sigma, sigma, 0), mode="nearest") if sigma else values for sigma in BAND_EDGES_PX]
    return np.stack([finer - coarser for finer, coarser in zip(blurs, blurs[1:])])


def measured_grain(pixels: NDArray[np.uint8], around: NDArray[np.bool_], inside: NDArray[np.bool_]) -> Floats:
    """Standard deviation of the grain of `pixels`, shape (height, width, 3), by band and axis: shape (bands, 3).

    It is the lower one of what is measured `around` and `inside` a region (masks of shape (height, width)): a clean
    label on rough cardboard does not become rough, nor is fine print taken for grain. Deviations come from a low quantile of
    magnitudes, which edges hardly move.
    """
    magnitudes = np.abs(bands(pixels.astype(float) @ AXES.T))
    per_deviation = norm.ppf((1 + QUANTILE) / 2)
    where = [mask for mask in (around, inside) if mask.sum() >= ENOUGH_PIXELS]
    if not where:
        return np.zeros((len(magnitudes), 3))
    return np.min([np.quantile(magnitudes[:, mask], QUANTILE, axis=1) / per_deviation for mask in where], axis=0)


def drawn_grain(deviations: Floats, shape: tuple[int, int], seed: int) -> Floats:
    """Grain of such `deviations`, shape (bands, 3), over `shape` (height, width): shape (bands, height, width, 3), RGB."""
    if not deviations.any():
        return np.zeros((len(deviations), *shape, 3))
    height, width = shape
    white = np.random.RandomState(seed).standard_normal((height + 2 * SUPPORT_PX, width + 2 * SUPPORT_PX, 3))
    drawn = bands(white)[:, SUPPORT_PX:-SUPPORT_PX, SUPPORT_PX:-SUPPORT_PX]
    spread = drawn.std(axis=(1, 2, 3), keepdims=True)
    return (drawn / spread * deviations[:, None, None, :]) @ AXES


def lost_grain(grain: Floats, sigma_px: Floats) -> Floats:
    """As much of `grain`, shape (bands, height, width, 3), as a blur of `sigma_px`, shape (height, width), takes away.

    Grain that is left and grain that is put back are independent: their variances add up to that of the grain before.
    """
    put_back = np.zeros(grain.shape[1:])
    for band, finer_px, coarser_px in zip(grain, BAND_EDGES_PX[:-1], BAND_EDGES_PX[1:], strict=True):
        left = _power(finer_px, coarser_px, sigma_px) / _power(finer_px, coarser_px, np.zeros(1))
        put_back += band * np.sqrt(np.maximum(0, 1 - left))[..., None]
    return put_back


def _power(finer_px: float, coarser_px: float, sigma_px: Floats) -> Floats:
    """Power of white noise in a band after a blur: the overlap of Gaussians is 1 / 2 pi times their summed variance."""
    pixel = 1 / (4 * math.pi)  # variance of the Gaussian with the power of a single pixel
    finer, coarser = (edge**2 + pixel + sigma_px**2 for edge in (finer_px, coarser_px))
    return 1 / (2 * finer) + 1 / (2 * coarser) - 2 / (finer + coarser)
