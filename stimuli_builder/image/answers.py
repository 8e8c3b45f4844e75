"""Which colour, count and shape an item has, and its options: balanced, and such that the options alone tell nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stimuli_builder.draws import draw_order
from stimuli_builder.image.codes import code_options
from stimuli_builder.image.symbols import SHAPES
from stimuli_builder.procedural import COLOURS


def _neighbours(circle: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """All runs of four; the last value is a neighbour of the first one."""
    return tuple(tuple(circle[(start + i) % len(circle)] for i in range(4)) for start in range(len(circle)))


# Four options each. Every value is in four of the eight sets of its category, so a right answer that is drawn evenly
# from an evenly drawn set is each value equally often, and each rank of its set equally often.
OPTION_SETS: dict[str, tuple[tuple[str, ...], ...]] = {
    "colour": _neighbours(tuple(COLOURS)),
    "count": tuple(
        tuple(map(str, counts))
        for counts in (
            (2, 3, 4, 5), (6, 7, 8, 9),
            (2, 4, 6, 8), (3, 5, 7, 9),
            (2, 3, 5, 6), (4, 7, 8, 9),
            (2, 3, 4, 6), (5, 7, 8, 9),
        )
    ),
    "shape": _neighbours(SHAPES),
}  # fmt: skip
CYCLE = 32  # items in which each option of each set is right once


@dataclass(frozen=True)
class Choice:
    """Four options and the place of the right one."""

    options: tuple[str, ...]
    answer: int

    @property
    def right(self) -> str:
        """The right option."""
        return self.options[self.answer]


def balanced_choice(seed: int, index: int, category: str) -> Choice:
    """The options of item `index` in one of `OPTION_SETS`, in a drawn order.

    Items `32 n` to `32 n + 31` go through every option of every set once, in a drawn order: within them each value is
    right equally often, and given the options each of the four is.
    """
    cells = [(options, right) for options in OPTION_SETS[category] for right in options]
    options, right = draw_order(cells, str, seed, category, "cycle", index // CYCLE)[index % CYCLE]
    order = draw_order(options, str, seed, category, "order", index)
    return Choice(tuple(order), order.index(right))


def code_choice(seed: int, index: int) -> Choice:
    """The codes of item `index`, in a drawn order."""
    right, distractors = code_options(seed, "code", index)
    order = draw_order((right, *distractors), str, seed, "code", "order", index)
    return Choice(tuple(order), order.index(right))
