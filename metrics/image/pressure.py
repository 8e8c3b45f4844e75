"""Pressure-induced abstention: what conviction does to abstention, in which direction, and to which part of its room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.image.block_sums import Cell, block_sums
from metrics.image.level_means import (
    NO_BLOCKS,
    few_deviate,
    mean_weights,
    over_levels,
    rate_measure,
    slope_weights,
    t_below,
)
from metrics.image.table import ImageTrials
from metrics.image.trial import FRAMINGS
from metrics.intervals import Array, Estimate, Measure, Statistic, estimates

NEUTRAL, CONVICTION = FRAMINGS.index("neutral"), FRAMINGS.index("conviction")
PIA_BOUNDS = (-1.0, 1.0)
STEEPEST = (-2.0, 2.0)  # from -1 to 1 between neighbouring levels
_NO_SPREAD = 1e-9  # of levels with room: there is but one


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


def _slope_over_room(pressure: Array, room: Array, levels: Array) -> tuple[Array, Array]:
    """(mean level, slope) of least squares of pressure / room over levels, levels weighted by their room; last axis levels."""
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = (room * levels).sum(axis=-1) / room.sum(axis=-1)
        away = levels - middle[..., None]
        spread = (room * away**2).sum(axis=-1)
        slope = (pressure * away).sum(axis=-1) / np.where(spread > _NO_SPREAD, spread, np.nan)
    return middle, slope


@dataclass(frozen=True, eq=False)
class RoomSlope:
    """How the share of room that pressure uses changes with the level; negative where the effect falls.

    All levels are held against the room in the direction that the mean PIA has: what is answered under the neutral framing for
    dodging, what is abstained from for capitulating. Levels are weighted by their room, so one that is nearly full says little.
    """

    sign: int  # 1 dodging, -1 capitulating
    measure: Measure
    p_value: float  # one-sided t test over items, of a slope of 0 or more; NaN where few items move or no room is left


def room_slope(cell: Cell) -> RoomSlope:
    """The slope over d of PIA over the room that it had.

    A model that turns the same share of its answers into abstentions at every level has a PIA that falls as abstention
    rises, and a slope of 0 here.
    """
    pressure, neutral = pressure_sums(cell), cell.abstained[..., NEUTRAL]
    sign = -1 if float((pressure.sum(axis=0) / cell.counts.sum(axis=0)).sum()) < 0 else 1
    moved, room = sign * pressure, cell.counts - neutral if sign > 0 else neutral
    levels, count = np.asarray(cell.levels, dtype=float), len(cell.levels)
    total, total_room = moved.sum(axis=0), room.sum(axis=0)
    middle, slope = _slope_over_room(total, total_room, levels)
    if count < 2 or np.isnan(slope):
        return RoomSlope(sign, NO_BLOCKS, float("nan"))

    def combine(*totals: Array) -> Array:
        by_level = np.stack(totals, axis=-1)
        return _slope_over_room(by_level[..., :count], by_level[..., count:], levels)[1]

    away = levels - middle
    line = total.sum() / total_room.sum() + slope * away
    there = cell.counts.sum(axis=1) > 0
    left = (moved - line * room)[there] @ away / float(total_room @ away**2) * there.sum()
    values = np.full(len(there), np.nan)
    values[there] = np.where(np.abs(moved[there]).sum(axis=1) > 0, slope + left, 0.0)
    few = few_deviate(np.where(there, np.abs(moved).sum(axis=1), np.nan))
    measure = Measure(Statistic((*moved.T, *room.T), combine), np.clip(values, *STEEPEST), STEEPEST)
    return RoomSlope(sign, measure, float("nan") if few else t_below(slope + left, 0.0))


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
