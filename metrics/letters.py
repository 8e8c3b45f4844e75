"""From two trials to one reading: the average over the two assignments of letters to orders.

A model that always says "A" would accept half of all claims whatever they say. Each question is therefore
asked with both assignments and averaged before anything is counted (paper, "Implementation").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from metrics.trial_table import Trials, table_of

READING_KEY = (
    *("probe", "video_budget", "budget", "arm", "twin", "phase", "offset", "direction", "claim", "time"),
)  # fmt: skip
_CARRIED = (*READING_KEY, "release", "release_probes", "claimed_order", "view", "events_sampled")
_ANSWER = ("e1", "e2", "abstained", "has_probabilities", "option_mass")


def key_codes(table: pd.DataFrame, key: Sequence[str]) -> np.ndarray:
    """For each row a whole number that only rows with the same key share, ordered as the keys are.

    Columns are counted one after the other; numbers are made small again before they could overflow.
    """
    codes = np.zeros(len(table), dtype=np.int64)
    for name in key:
        column = table[name]
        values = column.cat.codes.to_numpy() if isinstance(column.dtype, pd.CategoricalDtype) else column.to_numpy()
        _, places = np.unique(values, return_inverse=True)
        codes = codes * (int(places.max(initial=0)) + 1) + places
        if codes.max(initial=0) > 2**31:
            _, codes = np.unique(codes, return_inverse=True)
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def _group_numbers(table: pd.DataFrame) -> tuple[np.ndarray, int]:
    """For each row the number of its reading, in order of the keys; and how many readings there are."""
    numbers = key_codes(table, READING_KEY)
    return numbers, int(numbers.max(initial=-1)) + 1


def _once(table: pd.DataFrame, places: np.ndarray) -> np.ndarray:
    """Rows to keep where a trial occurs several times (a log that was written to twice).

    Raises:
        ValueError: if its occurrences do not agree.
    """
    order = np.argsort(places, kind="stable")
    first = np.r_[True, places[order][1:] != places[order][:-1]]
    if first.all():
        return np.arange(len(table))
    stands_for = order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    for name in (*_ANSWER, "view"):
        column = table[name].cat.codes.to_numpy() if name == "view" else table[name].to_numpy()
        same = (column[order] == column[stands_for]) | (pd.isna(column[order]) & pd.isna(column[stands_for]))
        if not same.all():
            row = table.iloc[int(order[int(np.argmin(same))])]
            name = "/".join(str(row[key]) for key in (*READING_KEY, "letters"))
            raise ValueError(f"trial {name} occurs twice with different answers: read one run at a time")
    return np.sort(order[first])


def average_letters(trials: Trials) -> pd.DataFrame:
    """One row for each view, claim and time channel: what the model makes of it, letters averaged out.

    Trials that were never counted (padding) or never put to the model (unavailable) are dropped. A trial that occurs
    twice must agree with itself. Beside the columns of a trial that its reading shares, there are:

    - `hard_e1`, `hard_e2`, `hard_abstained`: which comes out on top; they sum to 1, and a tie splits evenly, so two
      letter assignments that cancel give one half to each order. NaN where an assignment is missing or cannot be
      parsed: then nothing is known.
    - `confidence_e1`, `confidence_e2`: mean probabilities; NaN without.
    - `tie`; `unparseable` and `missing`, of the two trials.

    Raises:
        ValueError: if two trials with the same key answer differently.
    """
    table = table_of(trials)
    table = table[~table["padding"].to_numpy() & (table["unavailable"] == "").to_numpy()]
    numbers, count = _group_numbers(table)
    second = (table["letters"] == "BA").to_numpy().astype(np.int64)
    kept = _once(table, numbers * 2 + second)
    table, numbers, second = table.iloc[kept], numbers[kept], second[kept]

    mass = np.full((count, 2, 3), np.nan)
    mass[numbers, second] = table[["e1", "e2", "abstained"]].to_numpy()
    present = np.zeros((count, 2), dtype=bool)
    present[numbers, second] = True
    confident = np.zeros((count, 2), dtype=bool)
    confident[numbers, second] = table["has_probabilities"].to_numpy()

    mean = mass.sum(axis=1) / 2
    known = present.all(axis=1) & ~np.isnan(mean).any(axis=1)
    best = mean == mean.max(axis=1, keepdims=True)
    hard = np.where(known[:, None], best / np.maximum(best.sum(axis=1, keepdims=True), 1), np.nan)
    confidence = np.where((known & confident.all(axis=1))[:, None], mean[:, :2], np.nan)

    first_row = np.full(count, -1)
    first_row[numbers[::-1]] = np.arange(len(table))[::-1]
    readings = table.iloc[first_row][list(_CARRIED)].reset_index(drop=True)
    for i, name in enumerate(("hard_e1", "hard_e2", "hard_abstained")):
        readings[name] = hard[:, i]
    readings["confidence_e1"], readings["confidence_e2"] = confidence[:, 0], confidence[:, 1]
    readings["tie"] = known & (best.sum(axis=1) > 1)
    readings["unparseable"] = (present & np.isnan(mass[:, :, 0])).sum(axis=1)
    readings["missing"] = (~present).sum(axis=1)
    return readings
