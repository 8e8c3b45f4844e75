"""What abstention looks like if framing means nothing: framings permuted within items.

Under invariance the four trials of a block differ in nothing that matters, so their framing labels may be exchanged. One
permutation is drawn for each item and applied to all of its blocks: a label never leaves its item, level and block, but the
labels of an item move together. Drawn for each block alone, or for each item and level, they would take the trials of an
item for independent draws. They are not: questions share an image, neighbouring levels look nearly the same, and a model
that decodes deterministically reacts to a wording in the same way in many of them. A wording that sways one item up and
another one down, with no direction in the mean, is no effect of framing in the population of items: its EIV is 0. Permuting
whole items counts it as the noise that it is, and calls it an effect in 3 to 4 % of simulated studies at a level of 5 %;
permuting items and levels does in 5 to 9 %, permuting blocks in 31 to 50 % (`scripts/image_power.py`).

Invariance makes the labels of an item exchangeable, whatever its trials have to do with each other, so the test is exact. It
stays close to its level where wordings sway items at unequal strengths around equal means: about 8 % if one framing alone does.
A framing is the paraphrases that it has: what one wording does to all items alike is an effect.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations as all_orders

import numpy as np
from numpy.typing import NDArray

from metrics.image.trial import FRAMINGS
from metrics.intervals import Array

PERMUTATIONS = 1000
SEED = 0
_ORDERS = np.array(list(all_orders(range(len(FRAMINGS)))), dtype=np.int8)  # which label stands at each place
_TOGETHER = 2_000_000  # entries of an indicator matrix at a time: bounds memory


@lru_cache(maxsize=8)
def item_orders(items: int, permutations: int, seed: int) -> NDArray[np.int8]:
    """Which framing's trials are called by each framing's name, shape (permutations, items, framings); read-only."""
    drawn = np.random.default_rng(seed).integers(len(_ORDERS), size=(permutations, items))
    orders = _ORDERS[drawn]
    orders.flags.writeable = False
    return orders


def permuted_rates(sums: Array, counts: Array, permutations: int = PERMUTATIONS, seed: int = SEED) -> Array:
    """A(d, a) after each permutation.

    Args:
        sums: abstentions, shape (items, levels, framings).
        counts: blocks, shape (items, levels).
        permutations: how many are drawn.
        seed: of their drawing.

    Returns:
        Shape (permutations, levels, framings).
    """
    items, levels, framings = sums.shape
    by_item_and_label = np.ascontiguousarray(sums.transpose(0, 2, 1)).reshape(items * framings, levels)
    orders = item_orders(items, permutations, seed)
    totals = np.empty((permutations, levels, framings))
    step = max(1, _TOGETHER // max(1, items * framings))
    places = np.arange(items) * framings
    for start in range(0, permutations, step):
        some = orders[start : start + step]
        for a in range(framings):
            taken = np.zeros((len(some), items * framings))
            np.put_along_axis(taken, some[:, :, a] + places, 1.0, axis=1)
            totals[start : start + step, :, a] = taken @ by_item_and_label
    return np.asarray(totals / counts.sum(axis=0)[:, None])
