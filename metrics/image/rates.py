"""Abstention, accuracy and acceptance by framing, and the shares of trials that are no plain answers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from metrics.image.block_sums import Cell, Quantity
from metrics.image.level_means import NO_BLOCKS, mean_weights, over_levels, rate_measure
from metrics.image.table import BLOCK_KEY
from metrics.image.trial import FRAMINGS
from metrics.intervals import Array, Measure
from metrics.letters import key_codes

SHARE = (0.0, 1.0)


def level_rate(cell: Cell, quantity: Quantity, framing: str, level: int) -> Measure:
    """The share of blocks of a level in which the trial of this framing abstained, is right, or accepts.

    An abstention is neither right nor accepting: accuracy is over all blocks, not over those answered.
    """
    if level not in cell.levels:
        return NO_BLOCKS
    d = cell.levels.index(level)
    sums: Array = getattr(cell, quantity)
    return rate_measure(sums[:, d, FRAMINGS.index(framing)], cell.counts[:, d], SHARE)


def mean_level_rate(cell: Cell, quantity: Quantity, framing: str) -> Measure:
    """The mean over levels of `level_rate`, each level counting alike, as EIV takes it."""
    sums: Array = getattr(cell, quantity)
    return over_levels(sums[..., FRAMINGS.index(framing)], cell.counts, mean_weights(len(cell.levels)), SHARE)


def block_share(cell: Cell, quantity: Quantity, framing: str) -> Measure:
    """The share of all blocks of a cell; a level counts by its blocks, L0 less than one with images of both modes."""
    sums: Array = getattr(cell, quantity)
    return rate_measure(sums[..., FRAMINGS.index(framing)].sum(axis=1), cell.counts.sum(axis=1), SHARE)


def _by_item(items: np.ndarray, values: np.ndarray, size: int) -> Array:
    return np.bincount(items, values, minlength=size).astype(np.float64)


def trial_share(table: pd.DataFrame, flag: str, answered: bool = False) -> Measure:
    """The share of trials with a flag, such as `unparseable`.

    Args:
        table: of `counted_trials`, or some rows of it.
        flag: a column of truth values.
        answered: of trials that name an option only.
    """
    rows = table[(table["abstained"] == 0).to_numpy()] if answered else table
    size = len(table["item"].cat.categories)
    items = rows["item"].cat.codes.to_numpy()
    return rate_measure(_by_item(items, rows[flag].to_numpy(), size), _by_item(items, np.ones(len(items)), size), SHARE)


def trial_mean(table: pd.DataFrame, name: str) -> Measure:
    """The mean of a column of shares over the trials that have one.

    Args:
        table: of `counted_trials`.
        name: of the column, NaN where there is none.
    """
    rows = table[table[name].notna().to_numpy()]
    size = len(table["item"].cat.categories)
    items = rows["item"].cat.codes.to_numpy()
    return rate_measure(_by_item(items, rows[name].to_numpy(), size), _by_item(items, np.ones(len(items)), size), SHARE)


def incomplete_share(table: pd.DataFrame, complete: pd.DataFrame) -> Measure:
    """The share of blocks left out because a trial of them is missing, unparseable or refused.

    Args:
        table: of `counted_trials`.
        complete: of `complete_blocks`.
    """
    size = len(table["item"].cat.categories)
    _, first = np.unique(key_codes(table, BLOCK_KEY), return_index=True)
    seen = _by_item(table["item"].cat.codes.to_numpy()[first], np.ones(len(first)), size)
    whole_items = complete["item"].cat.codes.to_numpy()[:: len(FRAMINGS)]
    return rate_measure(seen - _by_item(whole_items, np.ones(len(whole_items)), size), seen, SHARE)
