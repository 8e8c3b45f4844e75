"""Twins that are the same request: where the frames cannot tell the orders apart, by construction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics.letters import key_codes

_PAIR = ("probe", "video_budget", "budget", "arm", "phase", "offset", "direction", "claim", "time")
_ANSWERED = ("hard_e1", "hard_e2", "hard_abstained", "confidence_e1", "confidence_e2", "unparseable")


@dataclass(frozen=True)
class Twins:
    """How many pairs of twins there are, how many of them are one request, and how many of those got two answers.

    Only pairs that the log holds whole count: what it lacks says nothing of the model.
    """

    pairs: int
    identical: int
    unstable: int

    @property
    def all_identical(self) -> bool:
        """Whether all twins have the frames of their counterparts."""
        return self.pairs > 0 and self.pairs == self.identical

    @property
    def by_construction(self) -> bool:
        """Whether a difference between twins cannot but be zero."""
        return self.all_identical and not self.unstable


def compare_twins(readings: pd.DataFrame) -> Twins:
    """Compare the twins of all readings."""
    readings = readings[(readings["missing"] == 0).to_numpy()]
    numbers = key_codes(readings, _PAIR)
    pairs = int(numbers.max(initial=-1)) + 1
    plus, minus = np.full(pairs, -1), np.full(pairs, -1)
    is_plus = (readings["twin"] == "+").to_numpy()
    plus[numbers[is_plus]] = np.flatnonzero(is_plus)
    minus[numbers[~is_plus]] = np.flatnonzero(~is_plus)
    both = (plus >= 0) & (minus >= 0)
    a, b = plus[both], minus[both]
    view = readings["view"].cat.codes.to_numpy()
    same = view[a] == view[b]
    differs = np.zeros(len(a), dtype=bool)
    for name in _ANSWERED:
        values = readings[name].to_numpy().astype(np.float64)
        differs |= ~((values[a] == values[b]) | (np.isnan(values[a]) & np.isnan(values[b])))
    return Twins(int(both.sum()), int(same.sum()), int((same & differs).sum()))
