"""Seeded draws by name: the same on every machine, and independent of the order in which they are made.

A stream of random numbers ties each draw to all earlier ones: asking for one more probe, or adding one
more quantity to a probe, would move everything after it. Here every draw is a hash of its own name, so
probe 7 is probe 7 whatever is drawn around it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def _hash(seed: int, name: Sequence[object]) -> int:
    text = "\x1f".join([str(seed), *map(str, name)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def draw_fraction(seed: int, *name: object) -> float:
    """A number in [0, 1), uniform over seeds and names; 53 bits, so that every platform rounds it alike."""
    return (_hash(seed, name) >> 11) / (1 << 53)


def draw_integer(low: int, high: int, seed: int, *name: object) -> int:
    """An integer in [low, high], both ends included.

    Raises:
        ValueError: if the range is empty.
    """
    if high < low:
        raise ValueError(f"no integer lies in [{low}, {high}]")
    return low + int(draw_fraction(seed, *name) * (high - low + 1))


def draw_order(items: Sequence[Item], key: Callable[[Item], str], seed: int, *name: object) -> list[Item]:
    """`items` in a random order that only their keys decide.

    The first acceptable item of such an order is a uniform draw, and it stays the same draw when items
    elsewhere in the list appear or vanish.
    """
    return sorted(items, key=lambda item: (_hash(seed, (*name, key(item))), key(item)))
