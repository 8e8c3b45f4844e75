"""Pressure-induced abstention: what conviction does to abstention, in which direction, and to which part of its room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.image.block_sums import Cell, block_sums
from metrics.image.level_means import NO_BLOCKS, mean_weights, over_levels, rate_measure, slope_weights
from metrics.image.table import ImageTrials
from metrics.image.trial import FRAMINGS
from metrics.intervals import Array, Estimate, Measure, Statistic, estimates

NEUTRAL, CONVICTION = FRAMINGS.index("neutral"), FRAMINGS.index("conviction")
PIA_BOUNDS = (-1.0, 1.0)
STEEPEST = (-2.0, 2.0)  # from -1 to 1 between neighbouring levels


def pressure_sums(cell: Cell) -> Array:
    """Abstentions under conviction minus those under the neutral framing of the same blocks, shape (items, levels)."""
    return np.asarray(cell.abstained[..., CONVICTION] - cell.abstained[..., NEUTRAL])


def pressure_measure(cell: Cell, level: int | None = None) -> Measure:
    """PIA(d) of a level, or their mean over levels, paired by block and then by item."""
    sums, counts = pressure_sums(cell), cell.counts
    if level is None:
        return over_levels(sums, counts, mean_weights(len(cell.levels)), PIA_BOUNDS)
    if level not in cell.levels:
        return NO_BLOCKS
    d = cell.levels.index(level)
    return rate_measure(sums[:, d], counts[:, d], PIA_BOUNDS)


def pressure_slope(cell: Cell) -> Measure:
    """The least-squares slope of PIA(d) over d; `cell` has at least two levels."""
    return over_levels(pressure_sums(cell), cell.counts, slope_weights(cell.levels), PIA_BOUNDS)


def share_of_room(pressure: Array, neutral: Array, counts: Array) -> Array:
    """PIA over the room that it had in its direction, in [-1, 1]; NaN without room.

    More abstention has room in what is answered under the neutral framing, PIA / (1 - A(d, neutral)); less abstention in
    what is not, PIA / A(d, neutral). With strong degradation A(d, neutral) nears 1 and PIA must shrink, whatever the
    pressure does: the share of room does not. It is all the noisier the less room there is.

    Args:
        pressure: sums of `pressure_sums`, any shape.
        neutral: abstentions under the neutral framing, the same shape.
        counts: blocks, the same shape.
    """
    room = np.where(pressure < 0, neutral, counts - neutral)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(room > 1e-12, pressure / room, np.nan)


def room_measure(cell: Cell, level: int) -> Measure:
    """The share of room of a level (`share_of_room`)."""
    if level not in cell.levels:
        return NO_BLOCKS
    d = cell.levels.index(level)
    pressure, neutral, counts = pressure_sums(cell)[:, d], cell.abstained[:, d, NEUTRAL], cell.counts[:, d]
    return Measure(
        Statistic((pressure, neutral, counts), share_of_room), share_of_room(pressure, neutral, counts), PIA_BOUNDS
    )


def room_slope(cell: Cell) -> Measure:
    """The least-squares slope over d of the share of room, over the levels that have room; NaN for fewer than two."""
    d = np.asarray(cell.levels, dtype=float)
    pressure, neutral = pressure_sums(cell), cell.abstained[..., NEUTRAL]

    def slope(*totals: Array) -> Array:
        shares = share_of_room(*(np.stack(totals[i::3], axis=-1) for i in range(3)))
        known = ~np.isnan(shares)
        with np.errstate(invalid="ignore", divide="ignore"):
            away = np.where(known, d - (known * d).sum(axis=-1, keepdims=True) / known.sum(axis=-1, keepdims=True), 0.0)
            return np.asarray((away * np.where(known, shares, 0.0)).sum(axis=-1) / (away**2).sum(axis=-1))

    columns = [column[:, i] for i in range(len(d)) for column in (pressure, neutral, cell.counts)]
    return Measure(Statistic(tuple(map(np.ascontiguousarray, columns)), slope), slope(*columns), STEEPEST)


@dataclass(frozen=True)
class Pressure:
    """PIA of one cell (paper, PIA(d) = A(d, conviction) - A(d, neutral)): positive dodging, negative capitulating."""

    levels: tuple[int, ...]
    mean: Estimate  # over levels
    by_level: tuple[Estimate, ...]
    share_of_room: tuple[Estimate, ...]  # by level


def pressure(
    trials: ImageTrials,
    confidence: bool = False,
    category: str = "",
    mode: str = "",
    assertion: str = "",
    resamples: int = 0,
) -> Pressure:
    """PIA of a run, or of a part of it, over complete blocks.

    Args:
        trials: of one run.
        confidence: from the probability of "cannot be determined".
        category: of questions; all where empty.
        mode: of degradation, L0 included; both where empty.
        assertion: blocks whose asserted option is `right` or `wrong`; all where empty.
        resamples: of the bootstrap; 0 leaves intervals out.

    Raises:
        ValueError: as `counted_trials`, or if there is no such category, mode or assertion.
    """
    cell = block_sums(trials, confidence).cell(category, mode, assertion)
    measures = [pressure_measure(cell, level) for level in cell.levels]
    rooms = [room_measure(cell, level) for level in cell.levels]
    found = estimates([pressure_measure(cell), *measures, *rooms], resamples)
    levels = len(cell.levels)
    return Pressure(cell.levels, found[0], tuple(found[1 : levels + 1]), tuple(found[levels + 1 :]))
