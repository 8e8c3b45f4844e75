"""How often H1 and H2 are found by simulation: where there is an effect (power) and where there is none (false positives)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from metrics.image.block_sums import Cell
from metrics.image.hypotheses import ALPHA, trend_p
from metrics.image.level_means import slope_weights
from metrics.image.permutations import PERMUTATIONS
from metrics.image.trial import DEGRADED, FRAMINGS
from metrics.image.violation import RangeTest, range_test
from metrics.intervals import Array

QUESTIONS, SLOTS = 4, 2  # of an item, of a question
BASE_RATES = (0.03, 0.1, 0.25, 0.45, 0.7, 0.85)  # of abstention at L0 to L5, of a model that abstains as evidence goes

Unit = Literal["item", "item and level", "block"]


@dataclass(frozen=True, eq=False)
class SimulatedResponder:
    """A model whose abstention is known: in logits, its rate and what items and wordings add.

    Args:
        rates: of an item in the middle, shape (levels, framings), levels L0, L1 and so on.
        item_spread: standard deviation between items, the same under all framings.
        wording_spread: standard deviation of what a framing's wording does to an item, at all levels alike and independent
            between items and framings. Its mean over items is nothing: no effect of framing.
        repeats: the model decodes deterministically, simulated as far as it can go: one draw for each question, slot
            and framing decides at every level and in both modes.
    """

    rates: Array
    item_spread: float = 1.0
    wording_spread: float = 0.0
    repeats: bool = False


def dodging_rates(dodges: Iterable[float], base: Iterable[float] = BASE_RATES) -> Array:
    """Rates of a model that, under conviction, abstains from a share of what it would have answered, by level."""
    rates = np.repeat(np.array([*base])[:, None], len(FRAMINGS), axis=1)
    rates[:, -1] += (1 - rates[:, -1]) * np.array([*dodges])
    return rates


def invariant_rates(base: Iterable[float] = BASE_RATES) -> Array:
    """Rates that no framing moves."""
    rates = [*base]
    return dodging_rates([0.0] * len(rates), rates)


def simulate_study(
    responder: SimulatedResponder, items: int, seed: int, questions: int = QUESTIONS
) -> tuple[Array, NDArray[np.int64]]:
    """All abstentions of a study.

    Args:
        responder: that is asked.
        items: how many.
        seed: of everything that is drawn.
        questions: of each item.

    Returns:
        Zeros and ones of shape (items, blocks, framings), and the level of each block.
    """
    rng = np.random.default_rng(seed)
    levels = len(responder.rates)
    asked = questions * SLOTS
    repeated = [1] + [len(DEGRADED)] * (levels - 1)
    level = np.repeat(np.arange(levels), [asked * modes for modes in repeated])
    rates = np.clip(responder.rates, 1e-9, 1 - 1e-9)
    by_item = responder.item_spread * rng.standard_normal((items, 1, 1))
    by_wording = responder.wording_spread * rng.standard_normal((items, 1, len(FRAMINGS)))
    chances = expit(logit(rates)[level] + by_item + by_wording)
    if not responder.repeats:
        return (rng.random(chances.shape) < chances).astype(np.float64), level
    drawn = rng.random((items, asked, len(FRAMINGS)))
    return (drawn[:, np.tile(np.arange(asked), sum(repeated))] < chances).astype(np.float64), level


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
    ranges: RangeTest


def tested_study(
    responder: SimulatedResponder, items: int, seed: int, permutations: int = PERMUTATIONS, unit: Unit = "item"
) -> StudyTests:
    """Both tests on one simulated study; `seed` is that of the study and of its permutations."""
    cell = simulated_cell(*simulate_study(responder, items, seed), unit)
    ranges = range_test(cell.abstained, cell.counts, permutations, seed)
    slope = trend_p(cell.abstained, cell.counts, slope_weights(cell.levels), ranges.null_ranges)
    return StudyTests(ranges.p_value, slope, ranges)


@dataclass(frozen=True)
class Rejections:
    """In how many of so many studies each hypothesis was called supported."""

    studies: int
    h1: int
    h2: int


def rejections(
    responder: SimulatedResponder,
    items: int,
    seeds: Iterable[int],
    permutations: int = PERMUTATIONS,
    unit: Unit = "item",
    alpha: float = ALPHA,
    progress: Callable[[int], object] = lambda _: None,
) -> Rejections:
    """In how many studies H1 and H2 are called supported: power, or false positives where they do not hold.

    Args:
        responder: the invariant one for false positives of H1, one with an effect that is the same at all levels for those
            of H2.
        items: of each study.
        seeds: one for each study.
        permutations: of each test.
        unit: what is permuted as a whole.
        alpha: level of the tests.
        progress: called with 1 after each study.
    """
    studies = h1 = h2 = 0
    for seed in seeds:
        tests = tested_study(responder, items, seed, permutations, unit)
        studies, h1, h2 = studies + 1, h1 + (tests.h1 <= alpha), h2 + (tests.h2 <= alpha)
        progress(1)
    return Rejections(studies, h1, h2)


def false_positive_rate(seeds: Iterable[int], items: int = 32, permutations: int = PERMUTATIONS) -> float:
    """In which share of studies a model that no framing moves is called a violation of evidence invariance."""
    found = rejections(SimulatedResponder(invariant_rates()), items, seeds, permutations)
    return found.h1 / found.studies
