"""Scores of readings, summed within probes: the probe is what was sampled, so it is what everything is averaged over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics.intervals import NOTHING, RESAMPLES, Array, Estimate, estimate, mean_over_probes, weighted_sum


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


@dataclass(frozen=True)
class ProbeSums:
    """Sums of a score within each probe, in the order of `probes`; counts of 0 where nothing is known."""

    totals: Array  # shape (probes,)
    counts: Array  # shape (probes,)

    @property
    def means(self) -> Array:
        """The mean of each probe; NaN where nothing is known."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.counts > 0, self.totals / self.counts, np.nan)


def probe_names(*readings: pd.DataFrame) -> list[str]:
    """All probes that occur, in order."""
    return sorted({str(name) for part in readings for name in part["probe"].unique()})


def sum_within_probes(readings: pd.DataFrame, values: Array, probes: Sequence[str]) -> ProbeSums:
    """Sums of the values that are known, one for each reading.

    Args:
        readings: rows of `average_letters`.
        values: shape (readings,); NaN is not known.
        probes: all probes of the comparison.
    """
    place = {name: i for i, name in enumerate(probes)}
    column = readings["probe"].cat
    places = np.array([place.get(str(name), -1) for name in column.categories], dtype=np.int64)[column.codes.to_numpy()]
    known = ~np.isnan(values)
    return ProbeSums(
        np.bincount(places[known], weights=values[known], minlength=len(probes)).astype(np.float64),
        np.bincount(places[known], minlength=len(probes)).astype(np.float64),
    )


def contrast(
    parts: Sequence[tuple[float, ProbeSums]],
    bounds: tuple[float, float],
    by_construction: bool = False,
    resamples: int = RESAMPLES,
) -> Estimate:
    """A weighted sum of means over probes, such as C - S, with its interval over probes.

    Args:
        parts: weights with sums, all over the same probes.
        bounds: smallest and largest possible value.
        by_construction: the value cannot vary, whatever the model does.
        resamples: of the bootstrap; 0 leaves the interval out.
    """
    if not len(parts[0][1].totals):
        return NOTHING
    statistic = weighted_sum([(weight, mean_over_probes(sums.totals, sums.counts)) for weight, sums in parts])
    per_probe = np.asarray(sum(weight * sums.means for weight, sums in parts))
    return estimate(statistic, per_probe, bounds, by_construction, resamples)


def mean_score(
    sums: ProbeSums, bounds: tuple[float, float], fixed: bool = False, resamples: int = RESAMPLES
) -> Estimate:
    """The mean of a score, with its interval over probes."""
    return contrast([(1.0, sums)], bounds, fixed, resamples)
