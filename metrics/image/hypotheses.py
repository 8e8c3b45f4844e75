"""H1 and H2: does abstention vary with framing at matched evidence, and most of all where evidence is strong?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.image.block_sums import Cell, block_sums
from metrics.image.level_trend import ALPHA, CEILING, Direction, LevelTrend, level_trend, mean_direction
from metrics.image.permutations import PERMUTATIONS, SEED
from metrics.image.table import ImageTrials
from metrics.image.violation import cell_violation
from metrics.intervals import Estimate

WITHOUT_L0 = "no complete block at L0, where the effect should be largest"
FEWEST_ITEMS = 5  # of which labels can be permuted in enough ways


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


def _cautions(cell: Cell, trend: LevelTrend | None = None) -> tuple[str, ...]:
    found = [f"not tested: {WITHOUT_L0}"] if trend is not None and 0 not in cell.levels else []
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
        direction=mean_direction(cell),
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
    fewer than `FEWEST_ITEMS` items, or without a block at L0, nothing is tested.
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
        direction=mean_direction(cell),
        cautions=_cautions(cell, trend),
    )
    return test, trend
