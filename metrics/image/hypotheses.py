"""H1 and H2: does abstention vary with framing at matched evidence, and most of all where evidence is strong?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from metrics.image.block_sums import Cell, block_sums
from metrics.image.level_means import low_minus_high_weights, mean_weights, over_levels, p_below, slope_weights
from metrics.image.permutations import PERMUTATIONS, SEED
from metrics.image.pressure import PIA_BOUNDS, pressure_measure, pressure_slope, pressure_sums, room_slope
from metrics.image.table import ImageTrials
from metrics.image.violation import CONTRAST_BOUNDS, RangeTest, cell_violation, extreme_contrast, range_test, shifted
from metrics.intervals import NOTHING, Array, Estimate, estimates

ALPHA = 0.05
FEWEST_ITEMS = 5  # of which labels can be permuted in enough ways
CEILING = 0.95  # mean abstention from which on the room for a range is spent

Direction = Literal["dodging", "capitulating", "not shown"]


@dataclass(frozen=True)
class HypothesisTest:
    """One hypothesis of the paper, its test and the effect that it is about."""

    name: str  # H1
    statement: str
    effect_name: str
    effect: Estimate
    p_value: float  # NaN if nothing could be tested
    supported: bool | None  # p at most `ALPHA`; None if nothing could be tested
    test: str  # in words
    direction: Direction  # of PIA, the mean over levels
    cautions: tuple[str, ...] = ()


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


def _direction(cell: Cell) -> Direction:
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
    """
    nan = float("nan")
    if len(cell.levels) < 2:
        found = cell_violation(cell, resamples, permutations, seed)
        pressures = estimates([pressure_measure(cell, level) for level in cell.levels], resamples)
        nothing = (NOTHING, nan, NOTHING, nan, NOTHING, NOTHING, nan)
        return LevelTrend(cell.levels, found.level_excesses, tuple(pressures), *nothing, (), _directions(cell))
    tested = tested or range_test(cell.abstained, cell.counts, permutations, seed)
    found = cell_violation(cell, resamples, permutations, seed, tested)
    slope, contrast = slope_weights(cell.levels), low_minus_high_weights(cell.levels)
    both_ends = not np.isnan(contrast).any()
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


def _cautions(cell: Cell, trend: LevelTrend | None = None) -> tuple[str, ...]:
    found = []
    if cell.levels and not (cell.abstained.sum(axis=0) - cell.counts.sum(axis=0)[:, None]).any():
        found.append("every trial was abstained from: framing cannot show (ceiling)")
    elif cell.levels and not cell.abstained.any():
        found.append("no trial was abstained from: framing cannot show in abstention (floor)")
    if trend is not None and trend.ceiling:
        names = ", ".join(f"L{level}" for level in trend.ceiling)
        found.append(
            f"at {names} at least {CEILING:.0%} is abstained from under every framing: the effect must be small there"
        )
    if trend is not None and trend.slope_p <= ALPHA and not trend.room_slope_p <= ALPHA:
        found.append(
            "the effect falls with the level, but it is not shown to fall faster than the room for it: the same share of "
            "answers may be given up at every level"
        )
    if trend is not None and {"dodging", "capitulating"} <= set(trend.directions):
        found.append("PIA changes its sign between levels: its own slope says nothing of how large the effect is")
    return tuple(found)


def _supported(p_value: float) -> bool | None:
    return None if np.isnan(p_value) else p_value <= ALPHA


def hypothesis_1(
    trials: ImageTrials,
    confidence: bool = False,
    category: str = "",
    mode: str = "",
    resamples: int = 0,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> HypothesisTest:
    """H1: abstention varies with framing at matched evidence, EIV > 0. Arguments as of `evidence_invariance`.

    With fewer than `FEWEST_ITEMS` items nothing is tested: too few ways to permute.
    """
    cell = block_sums(trials, confidence).cell(category, mode)
    found = cell_violation(cell, resamples, permutations, seed)
    p_value = found.p_value if cell.items >= FEWEST_ITEMS else float("nan")
    return HypothesisTest(
        name="H1",
        statement="abstention varies with framing at matched evidence (EIV > 0)",
        effect_name="EIV_excess",
        effect=found.excess,
        p_value=p_value,
        supported=_supported(p_value),
        test=f"permutation of framing labels within items, {permutations} permutations, seed {seed}",
        direction=_direction(cell),
        cautions=_cautions(cell),
    )


def hypothesis_2(
    trials: ImageTrials,
    confidence: bool = False,
    category: str = "",
    mode: str = "",
    resamples: int = 0,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> tuple[HypothesisTest, LevelTrend]:
    """H2: the effect is largest at low degradation; and the whole trend. Arguments as of `evidence_invariance`.

    Tested is the slope over d of the excess range of A(d, a) over framings, whichever way framing moves abstention. With
    fewer than `FEWEST_ITEMS` items nothing is tested.
    """
    cell = block_sums(trials, confidence).cell(category, mode)
    trend = level_trend(cell, resamples, permutations, seed)
    p_value = trend.slope_p if cell.items >= FEWEST_ITEMS else float("nan")
    test = HypothesisTest(
        name="H2",
        statement="the effect of framing is largest at low degradation (it falls with the level)",
        effect_name="EIV_slope",
        effect=trend.slope,
        p_value=p_value,
        supported=_supported(p_value),
        test=f"one-sided t or exact test over items; null from {permutations} permutations, seed {seed}",
        direction=_direction(cell),
        cautions=_cautions(cell, trend),
    )
    return test, trend
