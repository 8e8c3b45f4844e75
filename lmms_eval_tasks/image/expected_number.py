"""The expected value of a number that is a mean over blocks, and how far a sample may lie from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from lmms_eval_tasks.cell_check import chance_at_most
from metrics.image.trial import DEGRADED, INTACT, Mode
from stimuli_builder.image.item import StoredQuestion


@dataclass(frozen=True)
class Block:
    """What four trials that differ in framing alone have in common, as far as a responder's chances depend on it."""

    category: str
    mode: Mode
    level: int
    assertion_right: bool
    paraphrase: int
    draws: int  # equal where image, question and options in order are, so that draws may be the same


Chance = Callable[[Block], float]


@dataclass(frozen=True)
class ExpectedNumber:
    """A weighted mean of what independent draws give, each within the bounds and weighing at most 1 / `draws`."""

    value: float
    draws: float
    bounds: tuple[float, float] = (0.0, 1.0)
    certain: bool = False  # it cannot vary: every seed gives exactly this value
    share: float = 1.0  # of a ratio of two such means: its denominator

    def chance(self, observed: float) -> float:
        """At most the chance of a deviation as large as the observed one, on either side (`lmms_eval_tasks.cell_check`).

        The bound is for unequal weights as well: with w the largest, a draw that weighs less adds no more to the exponent
        than its share of one that weighs w, since the logarithm of its moment-generating function is convex and 0 at 0.
        """
        draws = math.floor(self.draws * (1 + 1e-12))  # fewer draws bound no worse
        return chance_at_most(observed, self.value, draws, self.bounds, self.share)


def blocks_of(questions: Iterable[StoredQuestion]) -> list[Block]:
    """All blocks of a release's questions."""
    names: dict[tuple[str, ...], int] = {}
    blocks = []
    for stored in questions:
        question = stored.question
        for view, slot in product(stored.views, stored.slots):
            drawn_for = (view.image, question.text, *(question.options[place] for place in slot.order))
            draws = names.setdefault(drawn_for, len(names))
            right = slot.asserted == question.answer
            blocks.append(Block(question.category, view.mode, view.level, right, slot.paraphrase, draws))
    return blocks


def of_cell(blocks: Iterable[Block], category: str, mode: str) -> list[Block]:
    """The blocks of a category and a mode, all of them where it is empty; intact images belong to both modes."""
    modes = (INTACT, mode) if mode else (INTACT, *DEGRADED)
    return [b for b in blocks if b.mode in modes and category in ("", b.category)]


def by_level(blocks: Iterable[Block]) -> dict[int, list[Block]]:
    """Blocks by their level, rising."""
    levels: dict[int, list[Block]] = {}
    for block in sorted(blocks, key=lambda block: block.level):
        levels.setdefault(block.level, []).append(block)
    return levels


def independent(parts: Iterable[Sequence[Block]]) -> float:
    """1 over the largest weight of one draw in the mean over parts of the means over blocks; all blocks of a draw count."""
    listed = list(parts)
    weights: dict[int, float] = {}
    for part in listed:
        weight = 1 / (len(listed) * len(part))
        for block in part:
            weights[block.draws] = weights.get(block.draws, 0.0) + weight
    return 1 / max(weights.values())


def mean_rate(parts: Sequence[Sequence[Block]], chance: Chance) -> ExpectedNumber:
    """The mean over parts, such as levels, of the share of blocks that count, each with its chance."""
    each = [[chance(block) for block in part] for part in parts]
    value = sum(sum(part) / len(part) for part in each) / len(each)
    certain = {c for part in each for c in part} <= {0.0, 1.0}
    return ExpectedNumber(value, independent(parts), certain=certain)


def mean_net_rate(parts: Sequence[Sequence[Block]], more: Chance, less: Chance) -> ExpectedNumber:
    """The mean over parts of the share of blocks to which one thing happens, minus that to which another one does."""
    plus, minus = mean_rate(parts, more), mean_rate(parts, less)
    return ExpectedNumber(plus.value - minus.value, plus.draws, (-1.0, 1.0), plus.certain and minus.certain)
