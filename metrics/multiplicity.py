"""What several tests together may claim."""

from __future__ import annotations

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment: rejecting where it is at most alpha makes any false rejection that rare.

    Args:
        p_values: one for each test, in [0, 1]; None or NaN for a test that was not made, which does not count.

    Returns:
        Adjusted p-values in the same order; None and NaN stay what they are.

    Raises:
        ValueError: if a p-value lies outside [0, 1].
    """
    made = [(p, i) for i, p in enumerate(p_values) if p is not None and not math.isnan(p)]
    for p, i in made:
        if not 0 <= p <= 1:
            raise ValueError(f"p-value {p} at place {i} is none: it must lie in [0, 1]")
    adjusted = list(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(sorted(made)):
        largest = max(largest, min(1.0, (len(made) - rank) * p))
        adjusted[i] = largest
    return adjusted
