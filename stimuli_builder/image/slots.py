"""How a question is put in its two slots: places of the options, the asserted one, paraphrase, balanced over items.

The questions of one category are numbered. Each factor in turn takes the level that it has had least often so far, alone and
together with the levels that the factors before it have; ties are drawn. So levels come about equally often, and equally
often together: the place of the right option tells nothing of what is asserted, nor of where "cannot be determined" stands.
Counts start anew after `BLOCK` questions, so question 7 is put the same way whether 10 or 500 are asked for.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from metrics.image.trial import OPTIONS
from stimuli_builder.draws import draw_fraction, draw_order
from stimuli_builder.image.info import PARAPHRASES
from stimuli_builder.image.item import Slot

BLOCK = 120  # a multiple of the number of levels of every factor

_FACTORS = {
    "right_0": OPTIONS,  # place of the right option in slot 0; each once in four questions
    "right_asserted_in": 2,  # the slot in which the right option is asserted
    "right_1": OPTIONS,  # in slot 1
    "wrong": OPTIONS - 1,  # which wrong option is asserted in the other slot
    "wrong_place": OPTIONS,  # where it is displayed there
    "cannot_0": OPTIONS + 1,
    "cannot_1": OPTIONS + 1,
    "paraphrase_0": PARAPHRASES,
    "paraphrase_1": PARAPHRASES,
}
_OTHER_THAN = {"right_1": "right_0", "cannot_1": "cannot_0", "paraphrase_1": "paraphrase_0"}


def _allowed(factor: str, drawn: dict[str, int], earlier: list[dict[str, int]]) -> set[int]:
    """The levels that a factor may take after those in `drawn`."""
    levels = set(range(_FACTORS[factor]))
    if factor in _OTHER_THAN:  # the slots of a question differ
        levels -= {drawn[_OTHER_THAN[factor]]}
    if factor == "right_0":
        begun = len(earlier) - len(earlier) % OPTIONS
        levels -= {question["right_0"] for question in earlier[begun:]}
    if factor == "wrong_place":
        levels -= {drawn[f"right_{1 - drawn['right_asserted_in']}"]}
    return levels


def _excess(counts: Counter[tuple[object, ...]], factor: str, level: int, drawn: dict[str, int]) -> float:
    """How often a level came about so far, alone and together with what is drawn; each count over its expected share."""
    levels = _FACTORS[factor]
    together = sum(counts[factor, level, other, at] * levels * _FACTORS[other] for other, at in drawn.items())
    return counts[factor, level] * levels * len(drawn) / 2 + together


@lru_cache(maxsize=256)
def _block(seed: int, category: str, block: int) -> tuple[dict[str, int], ...]:
    """The levels of every factor for the questions of one block."""
    counts: Counter[tuple[object, ...]] = Counter()
    earlier: list[dict[str, int]] = []
    for place in range(BLOCK):
        drawn: dict[str, int] = {}
        for factor in _FACTORS:
            ranked = [
                (
                    _excess(counts, factor, level, drawn),
                    draw_fraction(seed, "slot", category, block, place, factor, level),
                    level,
                )
                for level in _allowed(factor, drawn, earlier)
            ]
            drawn[factor] = min(ranked)[-1]
        for factor, level in drawn.items():
            counts[factor, level] += 1
            counts.update((factor, level, other, at) for other, at in drawn.items() if other != factor)
        earlier.append(drawn)
    return tuple(earlier)


def draw_slots(seed: int, index: int, category: str, answer: int) -> tuple[Slot, Slot]:
    """The two slots of a question; the right option is asserted in one of them, a wrong one in the other.

    Args:
        seed: of the release.
        index: number of the question among those of its category; of procedural items, that of the item.
        category: of the question.
        answer: place of the right option in `Question.options`.
    """
    block, place = divmod(index, BLOCK)
    levels = _block(seed, category, block)[place]
    wrong = [option for option in range(OPTIONS) if option != answer]
    slots = []
    for number in (0, 1):
        at = {levels[f"right_{number}"]: answer}
        asserted = answer
        if number != levels["right_asserted_in"]:
            asserted = wrong[levels["wrong"]]
            at[levels["wrong_place"]] = asserted
        others = [option for option in wrong if option not in at.values()]
        rest = iter(draw_order(others, str, seed, "slot_order", category, index, number))
        order = tuple(at[place] if place in at else next(rest) for place in range(OPTIONS))
        slots.append(Slot(order, levels[f"cannot_{number}"], levels[f"paraphrase_{number}"], asserted))
    return slots[0], slots[1]
