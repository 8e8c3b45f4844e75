"""How the effect of framing changes with the level of degradation, and how much of that the ceiling makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from metrics.image.block_sums import Cell
from metrics.image.level_means import (
    low_minus_high_weights,
    mean_weights,
    over_levels,
    p_below,
    slope_weights,
)
from metrics.image.permutations import PERMUTATIONS, SEED
from metrics.image.pressure import PIA_BOUNDS, pressure_measure, pressure_slope, pressure_sums, room_slope
from metrics.image.violation import CONTRAST_BOUNDS, RangeTest, cell_violation, extreme_contrast, range_test, shifted
from metrics.intervals import NOTHING, Array, Estimate, estimates

ALPHA = 0.05
CEILING = 0.95  # abstention under every framing from which on the room for a range is spent

Direction = Literal["dodging", "capitulating", "not shown"]


@dataclass(frozen=True)
class LevelTrend:
    """How the effect of framing changes with the level; slopes are per level, negative where H2 holds."""

    levels: tuple[int, ...]
    effects: tuple[Estimate, ...]  # excess range of A(d, a) over framings, by level
    pressures: tuple[Estimate, ...]  # PIA(d), by level
    slope: Estimate  # of the excess range over d
    slope_p: float  # one-sided, of a slope of 0 or more
    low_minus_high: Estimate  # excess range at L0 and L1 minus at higher levels; positive where H2 holds
    low_minus_high_p: float  # one-sided, of a difference of 0 or less
    pressure_slope: Estimate  # of PIA with its sign
    room_slope: (
        Estimate  # of PIA over the room that it had (`pressure.RoomSlope`); negative where H2 holds beyond the room
    )
    room_slope_p: float  # one-sided, of a slope of 0 or more
    ceiling: tuple[int, ...]  # levels at which nearly everything is abstained from under every framing
    directions: tuple[Direction, ...]  # by level


def direction(sums: Array, counts: Array, weights: Array) -> Direction:
    """What PIA shows: above or below 0 by a one-sided test over items at half of `ALPHA`. Arguments as of `over_levels`."""
    if p_below(-sums, counts, weights, 0.0, PIA_BOUNDS) <= ALPHA / 2:
        return "dodging"
    return "capitulating" if p_below(sums, counts, weights, 0.0, PIA_BOUNDS) <= ALPHA / 2 else "not shown"


def _directions(cell: Cell) -> tuple[Direction, ...]:
    sums, one = pressure_sums(cell), np.ones(1)
    return tuple(direction(sums[:, [d]], cell.counts[:, [d]], one) for d in range(len(cell.levels)))


def mean_direction(cell: Cell) -> Direction:
    """What the mean of PIA over levels shows."""
    if not cell.levels:
        return "not shown"
    return direction(pressure_sums(cell), cell.counts, mean_weights(len(cell.levels)))


def trend_p(sums: Array, counts: Array, weights: Array, null_ranges: Array) -> float:
    """One-sided p-value of sum_d weights(d) (range(d) - null(d)) being 0 or more; small if it is negative.

    Each level's range is followed along the two framings that were observed as its extremes. Where framing has no effect
    the test is conservative (the framings that come out as extremes vary more than their range does); under effects that
    are the same at all levels it rejects in 0 to 4 % of simulated studies (`scripts/image_power.py`). Without the null it would not: L0 has one
    image for both modes, so half of the blocks, more noise and a larger range. PIA with its sign would not either: a model
    that dodges at low levels and capitulates at high ones by the same amount has a steep slope of PIA and a flat effect.

    Args:
        sums: abstentions, shape (items, levels, framings).
        counts: blocks, shape (items, levels).
        weights: shape (levels,), summing to 0.
        null_ranges: mean range of each level over permutations.
    """
    contrast = extreme_contrast(sums, counts)
    return p_below(contrast, counts, weights, float(weights @ null_ranges), CONTRAST_BOUNDS)


def _combined(cell: Cell, tested: RangeTest, weights: Array, resamples: int) -> Estimate:
    contrast = extreme_contrast(cell.abstained, cell.counts)
    found = estimates([over_levels(contrast, cell.counts, weights, CONTRAST_BOUNDS)], resamples)[0]
    return shifted(found, float(weights @ tested.null_ranges))


def level_trend(
    cell: Cell,
    resamples: int = 0,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
    tested: RangeTest | None = None,
) -> LevelTrend:
    """The trend over levels of one cell.

    The ceiling bends it: with strong degradation A(d, a) nears 1 under every framing and the range shrinks. A model that
    turns the same share of its answers into abstentions at every level has a range that falls with the level, and H2 holds
    for it as the paper states it. Whether the effect falls faster than the room for it is what `room_slope` asks.

    Without a block at L0 there are no slopes: where the effect should be largest it is not known. L0 and L1 are set against
    the others only if both have blocks.
    """
    nan = float("nan")
    if len(cell.levels) < 2 or cell.levels[0]:
        found = cell_violation(cell, resamples, permutations, seed)
        pressures = estimates([pressure_measure(cell, level) for level in cell.levels], resamples)
        nothing = (NOTHING, nan, NOTHING, nan, NOTHING, NOTHING, nan)
        return LevelTrend(cell.levels, found.level_excesses, tuple(pressures), *nothing, (), _directions(cell))
    tested = tested or range_test(cell.abstained, cell.counts, permutations, seed)
    found = cell_violation(cell, resamples, permutations, seed, tested)
    slope, contrast = slope_weights(cell.levels), low_minus_high_weights(cell.levels)
    both_ends = not np.isnan(contrast).any() and cell.levels[:2] == (0, 1)
    measures = [pressure_measure(cell, level) for level in cell.levels]
    room = room_slope(cell)
    *pressures, by_level, by_room = estimates([*measures, pressure_slope(cell), room.measure], resamples)
    full = cell.rates().min(axis=1) >= CEILING
    return LevelTrend(
        levels=cell.levels,
        effects=found.level_excesses,
        pressures=tuple(pressures),
        slope=_combined(cell, tested, slope, resamples),
        slope_p=trend_p(cell.abstained, cell.counts, slope, tested.null_ranges),
        low_minus_high=_combined(cell, tested, contrast, resamples) if both_ends else NOTHING,
        low_minus_high_p=trend_p(cell.abstained, cell.counts, -contrast, tested.null_ranges) if both_ends else nan,
        pressure_slope=by_level,
        room_slope=by_room,
        room_slope_p=room.p_value,
        ceiling=tuple(level for level, at in zip(cell.levels, full, strict=True) if at),
        directions=_directions(cell),
    )
