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
    "right_asserted_in": 2,  # the slot in which the right option is asserted
    "right_0": OPTIONS,  # place of the right option in slot 0; each once in four questions
    "right_1": OPTIONS,  # in slot 1
    "wrong": OPTIONS - 1,  # which wrong option is asserted in the other slot
    "wrong_place": OPTIONS,  # where it is displayed there
    "cannot_0": OPTIONS + 1,
    "cannot_1": OPTIONS + 1,
    "paraphrase_0": PARAPHRASES,
    "paraphrase_1": PARAPHRASES,
}
_OTHER_THAN = {"right_1": "right_0", "cannot_1": "cannot_0", "paraphrase_1": "paraphrase_0"}
Levels = dict[str, int]


def _allowed(factor: str, drawn: Levels, earlier: list[Levels]) -> set[int]:
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


def _names(factor: str, drawn: Levels) -> list[str]:
    """What a factor is counted as: by the slot's number, and by whether the right option is asserted in it."""
    stem, _, slot = factor.rpartition("_")
    if not slot.isdigit():
        return [factor]
    return [factor, f"{stem}_{'right' if int(slot) == drawn['right_asserted_in'] else 'wrong'}_asserted"]


@lru_cache(maxsize=256)
def _block(seed: int, category: str, block: int) -> tuple[Levels, ...]:
    """The levels of every factor for the questions of one block."""
    counts: Counter[tuple[object, ...]] = Counter()  # of levels by name, and of pairs of them
    earlier: list[Levels] = []
    for place in range(BLOCK):
        drawn: Levels = {}
        known: list[tuple[str, int, int]] = []  # name, level, number of levels
        for factor, levels in _FACTORS.items():
            names = _names(factor, drawn)
            ranked = []
            for level in _allowed(factor, drawn, earlier):
                # Counts over their expected shares: of the level alone, and of it with each that is drawn already.
                alone = sum(counts[name, level] for name in names) * levels * (len(known) + 1) / 2
                pairs = [counts[name, level, other, at] * among for name in names for other, at, among in known]
                tie = draw_fraction(seed, "slot", category, block, place, factor, level)
                ranked.append((alone + sum(pairs) * levels, tie, level))
            drawn[factor] = min(ranked)[-1]
            for name in names:
                counts[name, drawn[factor]] += 1
                counts.update((name, drawn[factor], other, at) for other, at, _ in known)
            known += [(name, drawn[factor], levels) for name in names]
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
