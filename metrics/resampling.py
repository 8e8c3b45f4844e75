"""How often each probe is drawn in each bootstrap resample; drawn once and kept, since only its size and seed matter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT_BYTES = 64 * 2**20  # of all kept draws together; the paper's 500 probes and 10,000 resamples take 5 MB
_CHUNK = 500  # resamples at a time: bounds memory at _CHUNK x probes numbers

_Draws = tuple[NDArray[np.unsignedinteger[Any]], ...]
_kept: dict[tuple[int, int, int], _Draws] = {}  # latest use last


def _draw(probes: int, resamples: int, seed: int) -> Iterator[NDArray[np.unsignedinteger[Any]]]:
    generator = np.random.default_rng(seed)
    for done in range(0, resamples, _CHUNK):
        counts = generator.multinomial(probes, np.full(probes, 1 / probes), size=min(_CHUNK, resamples - done))
        yield counts.astype(np.min_scalar_type(int(counts.max())))


def _bytes(draws: _Draws) -> int:
    return sum(chunk.nbytes for chunk in draws)


def _keep(key: tuple[int, int, int], draws: _Draws) -> None:
    _kept.pop(key, None)
    _kept[key] = draws
    while sum(map(_bytes, _kept.values())) > KEPT_BYTES:
        _kept.pop(next(iter(_kept)))


def resampled_weights(probes: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Weights of probes in resamples of as many probes, in chunks of at most 500 resamples.

    The same arguments give the same weights on every call. They are kept between calls, the latest used first,
    up to `KEPT_BYTES`; larger ones are drawn again each time.

    Args:
        probes: how many there are to draw from.
        resamples: how often they are drawn.
        seed: of the drawing.

    Yields:
        Arrays of shape (resamples of this chunk, probes), each row summing to `probes`.
    """
    key = (probes, resamples, seed)
    draws = _kept.get(key)
    chunks: Iterator[NDArray[np.unsignedinteger[Any]]]
    if draws is None and probes * resamples <= KEPT_BYTES:
        draws = tuple(_draw(probes, resamples, seed))
    if draws is None:
        chunks = _draw(probes, resamples, seed)
    else:
        _keep(key, draws)
        chunks = iter(draws)
    for chunk in chunks:
        yield chunk.astype(np.float64)
