"""An exact test of a net change between two framings that are exchangeable within each item if nothing but evidence counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sign_flip_p(net: NDArray[np.int64]) -> float:
    """One-sided p-value of a net change above what exchanged framings give.

    If a model's answers do not depend on the framing, the two framings of an item may change names without any change
    in what is likely, and each item's net change is as likely as its negative, whatever the answers within the item
    have to do with each other. All 2^n sign patterns are counted, by convolution; nothing is approximated or drawn.

    Args:
        net: whole numbers, shape (items,): changes one way minus changes the other way within each item.

    Returns:
        Share of sign patterns whose sum is at least the observed one; 1 without any change.
    """
    changed = np.abs(np.asarray(net, dtype=np.int64))
    changed = changed[changed > 0]
    observed = int(np.sum(net))
    reach = int(changed.sum())
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for size in changed.tolist():
        flipped = np.zeros_like(chances)
        flipped[size:] += chances[:-size] / 2
        flipped[:-size] += chances[size:] / 2
        chances = flipped
    return min(1.0, float(chances[reach + observed :].sum()))
