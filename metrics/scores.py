"""Scores of readings, summed within probes: the probe is what was sampled, so it is what everything is averaged over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from metrics.intervals import NOTHING, RESAMPLES, Array, Estimate, estimate, mean_over_probes


def accepted(readings: pd.DataFrame, confidence: bool = False) -> Array:
    """What each reading with a claim gives to the claimed order: 0, one half or 1, or its probability."""
    kind = "confidence" if confidence else "hard"
    claims_e1 = (readings["claimed_order"] == "e1_first").to_numpy()
    return np.where(claims_e1, readings[f"{kind}_e1"].to_numpy(), readings[f"{kind}_e2"].to_numpy())


def informedness(readings: pd.DataFrame, confidence: bool = False) -> Array:
    """What each reading gives to the order that is shown, minus what it gives to the other (2q - 1)."""
    kind = "confidence" if confidence else "hard"
    sign = np.where((readings["twin"] == "+").to_numpy(), 1.0, -1.0)
    return np.asarray(sign * (readings[f"{kind}_e1"].to_numpy() - readings[f"{kind}_e2"].to_numpy()))


def claim_is_true(readings: pd.DataFrame) -> np.ndarray:
    """Whether the claim of each reading states the order that is shown; False without a claim."""
    shown = np.where((readings["twin"] == "+").to_numpy(), "e1_first", "e2_first")
    return np.asarray(readings["claimed_order"].astype(str).to_numpy() == shown)


def probe_names(*readings: pd.DataFrame) -> list[str]:
    """All probes that occur, in order."""
    return sorted({str(name) for part in readings for name in part["probe"].unique()})


def on_twins(readings: pd.DataFrame, values: Array, probes: Sequence[str]) -> Array:
    """The value of each probe on twin + and on twin -, shape (probes, 2); NaN where nothing is known.

    Args:
        readings: rows of `average_letters`, at most one for each probe and twin.
        values: shape (readings,); NaN is not known.
        probes: all probes of the comparison.
    """
    place = {name: i for i, name in enumerate(probes)}
    column = readings["probe"].cat
    places = np.array([place.get(str(name), -1) for name in column.categories], dtype=np.int64)[column.codes.to_numpy()]
    table = np.full((len(probes), 2), np.nan)
    table[places, np.where((readings["twin"] == "+").to_numpy(), 0, 1)] = values
    return table


def over_both_twins(readings: pd.DataFrame, values: Array, probes: Sequence[str]) -> Array:
    """The mean of each probe over its twins, shape (probes,); NaN unless both are known.

    One twin alone would not do: a model that always names the same event first is right on one of them.
    """
    return np.asarray(on_twins(readings, values, probes).mean(axis=1))


def on_one_twin(readings: pd.DataFrame, values: Array, keep: np.ndarray, probes: Sequence[str]) -> Array:
    """The value of each probe on the one twin whose reading is kept, shape (probes,); NaN where it is not known."""
    table = on_twins(readings, np.where(keep, values, np.nan), probes)
    return np.where(np.isnan(table[:, 0]), table[:, 1], table[:, 0])


def mean_over_known(
    per_probe: Array, bounds: tuple[float, float], by_construction: bool = False, resamples: int = RESAMPLES
) -> Estimate:
    """The mean of the probes whose value is known, with its interval over probes; nothing if there are none.

    A difference, such as C - S, is taken within each probe first, so that it rests on probes that have both.

    Args:
        per_probe: shape (probes,); NaN is not known.
        bounds: smallest and largest possible value.
        by_construction: the value cannot vary, whatever the model does.
        resamples: of the bootstrap; 0 leaves the interval out.
    """
    known = ~np.isnan(per_probe)
    if not known.any():
        return NOTHING
    statistic = mean_over_probes(np.where(known, per_probe, 0.0), known.astype(np.float64))
    return estimate(statistic, per_probe, bounds, by_construction, resamples)
