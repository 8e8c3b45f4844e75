"""How often H1 and H2 are found by simulation: where there is an effect (power) and where there is none (false positives)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from metrics.image.block_sums import Cell
from metrics.image.level_means import slope_weights
from metrics.image.level_trend import ALPHA, trend_p
from metrics.image.permutations import PERMUTATIONS
from metrics.image.pressure import room_slope
from metrics.image.trial import DEGRADED, FRAMINGS
from metrics.image.violation import range_test
from metrics.intervals import Array

QUESTIONS, SLOTS = 4, 2  # of an item, of a question
BASE_RATES = (0.03, 0.1, 0.25, 0.45, 0.7, 0.85)  # of abstention at L0 to L5, of a model that abstains as evidence goes

Unit = Literal["item", "item and level", "block"]


@dataclass(frozen=True, eq=False)
class SimulatedResponder:
    """A model whose abstention is known.

    Args:
        base: rate of abstention of an item in the middle, if framing had no effect, shape (levels,), L0 first.
        moves: what a framing adds, shape (levels, framings): the share of would-be answers that become abstentions or, below
            0, the share of would-be abstentions that are given up.
        item_spread: standard deviation between items in logits, the same under all framings.
        wording_spread: standard deviation in logits of what a framing's wording does to an item, at all levels alike and
            independent between items and framings. Its mean over items is nothing: no effect of framing.
        repeats: the model decodes deterministically, simulated as far as it can go: one draw for each question, slot
            and framing decides at every level and in both modes.
    """

    base: Array
    moves: Array
    item_spread: float = 1.0
    wording_spread: float = 0.0
    repeats: bool = False


def responder(
    conviction: Iterable[float] | float = 0.0,
    base: Iterable[float] = BASE_RATES,
    item_spread: float = 1.0,
    wording_spread: float = 0.0,
    repeats: bool = False,
) -> SimulatedResponder:
    """A responder that conviction alone moves, by a share for each level or one for all; 0: an invariant one."""
    rates = np.array([*base])
    moves = np.zeros((len(rates), len(FRAMINGS)))
    moves[:, -1] = conviction if isinstance(conviction, float) else np.array([*conviction])
    return SimulatedResponder(rates, moves, item_spread, wording_spread, repeats)


def simulate_study(
    asked: SimulatedResponder, items: int, seed: int, questions: int = QUESTIONS
) -> tuple[Array, NDArray[np.int64]]:
    """All abstentions of a study.

    Args:
        asked: whom.
        items: how many.
        seed: of everything that is drawn.
        questions: of each item.

    Returns:
        Zeros and ones of shape (items, blocks, framings), and the level of each block.
    """
    rng = np.random.default_rng(seed)
    levels, each = len(asked.base), questions * SLOTS
    repeated = [1] + [len(DEGRADED)] * (levels - 1)
    level = np.repeat(np.arange(levels), [each * modes for modes in repeated])
    base = logit(np.clip(asked.base, 1e-9, 1 - 1e-9))[level][:, None]
    by_item = asked.item_spread * rng.standard_normal((items, 1, 1))
    by_wording = asked.wording_spread * rng.standard_normal((items, 1, len(FRAMINGS)))
    chances = expit(base + by_item + by_wording)
    moves = asked.moves[level]
    chances = np.where(moves < 0, chances * (1 + moves), chances + (1 - chances) * moves)
    if not asked.repeats:
        return (rng.random(chances.shape) < chances).astype(np.float64), level
    drawn = rng.random((items, each, len(FRAMINGS)))
    return (drawn[:, np.tile(np.arange(each), sum(repeated))] < chances).astype(np.float64), level


def simulated_cell(abstained: Array, level: NDArray[np.int64], unit: Unit = "item") -> Cell:
    """The sums of a simulated study, with what is permuted as a whole in the place of items.

    Args:
        abstained: of `simulate_study`.
        level: of each block.
        unit: other than `item` only to show what goes wrong with it.
    """
    levels = tuple(range(int(level.max()) + 1))
    at = [level == d for d in levels]
    sums = np.stack([abstained[:, blocks].sum(axis=1) for blocks in at], axis=1)
    counts = np.tile([float(blocks.sum()) for blocks in at], (len(abstained), 1))
    if unit != "item":
        one = np.eye(len(levels))
        if unit == "item and level":
            sums = (sums[:, :, None] * one[None, :, :, None]).reshape(-1, len(levels), len(FRAMINGS))
            counts = (counts[:, :, None] * one).reshape(-1, len(levels))
        else:
            sums = (abstained[:, :, None] * one[level][None, :, :, None]).reshape(-1, len(levels), len(FRAMINGS))
            counts = np.tile(one[level], (len(abstained), 1))
    nothing = np.zeros_like(sums)
    return Cell(levels, counts, sums, nothing, nothing)


@dataclass(frozen=True)
class StudyTests:
    """p-values of one simulated study."""

    h1: float
    h2: float
    beyond_room: float  # H2 beyond the room that the effect has (`pressure.RoomSlope`)


def study_tests(
    asked: SimulatedResponder, items: int, seed: int, permutations: int = PERMUTATIONS, unit: Unit = "item"
) -> StudyTests:
    """The tests on one simulated study; `seed` is that of the study and of its permutations."""
    cell = simulated_cell(*simulate_study(asked, items, seed), unit)
    ranges = range_test(cell.abstained, cell.counts, permutations, seed)
    slope = trend_p(cell.abstained, cell.counts, slope_weights(cell.levels), ranges.null_ranges)
    return StudyTests(ranges.p_value, slope, room_slope(cell).p_value)


@dataclass(frozen=True)
class Rejections:
    """In how many of so many studies each hypothesis was called supported."""

    studies: int
    h1: int
    h2: int
    beyond_room: int


def rejections(
    asked: SimulatedResponder,
    items: int,
    seeds: Iterable[int],
    permutations: int = PERMUTATIONS,
    unit: Unit = "item",
    alpha: float = ALPHA,
) -> Rejections:
    """In how many studies H1 and H2 are called supported: power, or false positives where they do not hold.

    Args:
        asked: the invariant responder for false positives of H1; one with the same effect at all levels for those of H2.
        items: of each study.
        seeds: one for each study.
        permutations: of each test.
        unit: what is permuted as a whole.
        alpha: level of the tests.
    """
    tests = [study_tests(asked, items, seed, permutations, unit) for seed in seeds]
    return Rejections(
        studies=len(tests),
        h1=sum(test.h1 <= alpha for test in tests),
        h2=sum(test.h2 <= alpha for test in tests),
        beyond_room=sum(test.beyond_room <= alpha for test in tests),
    )


def false_positive_rate(seeds: Iterable[int], items: int = 32, permutations: int = PERMUTATIONS) -> float:
    """In which share of studies a model that no framing moves is called a violation of evidence invariance."""
    found = rejections(responder(), items, seeds, permutations)
    return found.h1 / found.studies
