"""Complete blocks, summed within items: the item is what was sampled, so it is what everything is averaged over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from metrics.image.table import ImageTrials, complete_blocks, counted_trials
from metrics.image.trial import DEGRADED, FRAMINGS, INTACT
from metrics.intervals import Array

Quantity = Literal["abstained", "right", "accepted"]

MODES = (INTACT, *DEGRADED)
ASSERTIONS = ("wrong", "right")
_CONFIDENCE = {"abstained": "p_cannot", "right": "p_right", "accepted": "p_asserted"}


@dataclass(frozen=True, eq=False)
class Cell:
    """The blocks of one cell of a design, by item and level."""

    levels: tuple[int, ...]  # that have blocks
    counts: Array  # blocks, shape (items, levels)
    abstained: (
        Array  # shape (items, levels, framings), as the next two: how many of the blocks' trials, or probabilities
    )
    right: Array
    accepted: Array

    @property
    def items(self) -> int:
        """How many items have a block."""
        return int((self.counts.sum(axis=1) > 0).sum())

    def rates(self, quantity: Quantity = "abstained") -> Array:
        """A(d, a), or its like: shares over blocks, shape (levels, framings)."""
        sums: Array = getattr(self, quantity)
        return np.asarray(sums.sum(axis=0) / self.counts.sum(axis=0)[:, None])


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums over the complete blocks of a run, from which those of any cell follow.

    Shapes: `counts` (items, categories, modes, levels, assertions), the others the same and framings.
    """

    items: tuple[str, ...]  # of the run; also those without a complete block
    categories: tuple[str, ...]
    modes: tuple[str, ...]  # of degradation, that occur
    levels: tuple[int, ...]
    counts: Array
    abstained: Array
    right: Array
    accepted: Array

    def cell(self, category: str = "", mode: str = "", assertion: str = "") -> Cell:
        """The blocks of a category, mode or assertion; all of them where it is empty.

        The intact images, L0, belong to both modes.

        Raises:
            ValueError: if there is no such category, mode or assertion.
        """
        for kind, name, known in (
            ("category", category, self.categories),
            ("mode", mode, DEGRADED),
            ("assertion", assertion, ASSERTIONS),
        ):
            if name and name not in known:
                raise ValueError(f"there is no {kind} {name!r} in this run: it has {', '.join(known) or 'none'}")
        kept_modes = (INTACT, mode) if mode else MODES

        def summed(sums: Array) -> Array:
            kept = sums[:, [self.categories.index(category)] if category else slice(None)]
            kept = kept[:, :, [MODES.index(name) for name in kept_modes]]
            kept = kept[:, :, :, :, [ASSERTIONS.index(assertion)] if assertion else slice(None)]
            return np.asarray(kept.sum(axis=(1, 2, 4)))

        counts = summed(self.counts)
        some = counts.sum(axis=0) > 0
        return Cell(
            levels=tuple(level for level, there in zip(self.levels, some, strict=True) if there),
            counts=counts[:, some],
            abstained=summed(self.abstained)[:, some],
            right=summed(self.right)[:, some],
            accepted=summed(self.accepted)[:, some],
        )


def _places(column: pd.Series, names: tuple[str, ...]) -> np.ndarray:
    place = {name: i for i, name in enumerate(names)}
    codes = np.array([place.get(str(name), 0) for name in column.cat.categories], dtype=np.int64)
    return codes[column.cat.codes.to_numpy()] if len(column) else np.zeros(0, dtype=np.int64)


def block_sums(trials: ImageTrials, confidence: bool = False) -> BlockSums:
    """The sums of all complete blocks.

    Args:
        trials: of one run.
        confidence: probabilities take the place of zeros and ones: of "cannot be determined" for abstained, of the right
            option for right, of the asserted one for accepted.

    Raises:
        ValueError: as `counted_trials`.
    """
    table = counted_trials(trials)
    items, categories = (tuple(sorted(map(str, table[name].unique()))) for name in ("item", "category"))
    levels = tuple(sorted(map(int, table["level"].unique())))
    rows = complete_blocks(table, confidence)
    first = rows.iloc[:: len(FRAMINGS)]
    shape = (len(items), len(categories), len(MODES), len(levels), len(ASSERTIONS))
    size = int(np.prod(shape))
    place = (
        _places(first["item"], items),
        _places(first["category"], categories),
        _places(first["mode"], MODES),
        np.searchsorted(levels, first["level"].to_numpy()) if levels else np.zeros(0, dtype=np.int64),
        first["assertion_right"].to_numpy().astype(np.int64),
    )
    flat = np.ravel_multi_index(place, shape) if size else np.zeros(0, dtype=np.int64)

    def summed(name: str) -> Array:
        values = rows[_CONFIDENCE[name] if confidence else name].to_numpy().reshape(-1, len(FRAMINGS))
        by_framing = [np.bincount(flat, values[:, a], minlength=size).astype(np.float64) for a in range(len(FRAMINGS))]
        return np.stack(by_framing, axis=-1).reshape(*shape, len(FRAMINGS))

    return BlockSums(
        items=items,
        categories=categories,
        modes=tuple(mode for mode in DEGRADED if (table["mode"] == mode).any()),
        levels=levels,
        counts=np.bincount(flat, minlength=size).astype(np.float64).reshape(shape),
        abstained=summed("abstained"),
        right=summed("right"),
        accepted=summed("accepted"),
    )
