"""H3: is abstention better calibrated to what the image still gives where evidence is hidden than where it is blurred?

The calibration target of a cell (category, mode, level) is 1 - r, with r the share of questions that can still be answered
(`recoverability`); A is the abstention rate under the neutral framing. L0 belongs to no mode and is left out; a (category, level)
counts if it is known in both modes. Three errors, each a mean over the cells of a mode:

- **absolute**, |A - (1 - r)|, as one would print it. It is biased upwards: a perfectly calibrated model has an error
  of about sqrt(2 / pi) standard errors of A, more where A is near one half. Modes differ in that, so a difference of
  absolute errors tests noise: with 100 items and perfect calibration in both modes it is called above zero in more
  than nine of ten samples. It is given beside `noise`, what it would be on average without any error of calibration.
- **squared**, (A - (1 - r))^2 without that bias: the mean over all pairs of different items of the product of their deviations
  (a U-statistic), which has the right expectation with any number of items, and may fall below zero. H3 is tested on it.
- **Brier**, the mean over trials of (a - (1 - r))^2 for a = 1 if abstained; beside calibration it holds how decided the model is.

H3 = squared(corruptive) - squared(subtractive), paired by item. A bootstrap resamples items. Its resamples come from a world in which
the observed rates are true, whose error is the plain square, so they are centred there before they are turned into
an interval and a p-value. What r itself leaves open (people or trials behind it) is not in the interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics.image.recoverability import Recoverability
from metrics.image.table import ImageTrials, complete_blocks
from metrics.image.trial import DEGRADED, Mode
from metrics.intervals import LEVEL, NOTHING, RESAMPLES, SEED, Array, Estimate
from metrics.resampling import resampled_weights

FEWEST_ITEMS = 10
NEARLY = 0.02  # of trials; a model that abstains less often, or answers less often, has no abstention to calibrate
HOW = (
    "give what people can still read, or the log of a reader: `lmms-eval --tasks cant_tell_or_wont_say --model ocr_reader "
    "--log_samples`, then `caved report LOGS --recoverability FILE_OR_LOGS`"
)


@dataclass(frozen=True)
class ModeCalibration:
    """Errors of calibration in one mode of degradation."""

    absolute: float
    noise: float  # the absolute error that a calibrated model would have with so many items
    squared: Estimate
    brier: float


@dataclass(frozen=True)
class Calibration:
    """H3 of one run; `reason` says why nothing was measured, if so."""

    modes: Mapping[Mode, ModeCalibration]
    difference: Estimate = NOTHING  # squared error, corruptive minus subtractive; above 0: H3
    p_value: float = math.nan  # one-sided
    cells: int = 0  # (category, level) pairs
    items: int = 0
    reason: str = ""
    categories: tuple[str, ...] = ()  # of these pairs, as the next
    levels: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Cells:
    abstained: Array  # (items, 2 * cells): mean over slots; NaN where there is no block; subtractive first
    target: Array  # (2 * cells,): 1 - r
    trials: Array  # (items, 2 * cells): how many
    pairs: tuple[tuple[str, int], ...] = ()  # (category, level) of the cells of a mode


def _neutral(trials: ImageTrials) -> pd.DataFrame:
    rows = complete_blocks(trials)
    rows = rows[(rows["framing"] == "neutral").to_numpy()]
    return rows[["item", "category", "mode", "level", "abstained"]].astype({"item": str, "category": str, "mode": str})


def _cells(rows: pd.DataFrame, recoverability: Recoverability) -> _Cells:
    levels = ["category", "mode", "level"]
    grouped = rows.groupby(["item", *levels])["abstained"]
    means, counts = grouped.mean(), grouped.size()
    several = means.groupby(level=levels).size()
    known = {
        (str(category), str(mode), int(level))
        for (category, mode, level), there in several.items()
        if there > 1 and recoverability.recoverable(category, mode, level) is not None
    }
    subtractive, corruptive = DEGRADED
    pairs = sorted((c, d) for c, m, d in known if m == subtractive and (c, corruptive, d) in known)
    columns = [(c, mode, d) for mode in DEGRADED for c, d in pairs]
    items = pd.Index(sorted(rows["item"].unique()))
    wide = means.unstack(levels).reindex(index=items, columns=pd.MultiIndex.from_tuples(columns, names=levels))
    sizes = counts.unstack(levels).reindex(index=items, columns=wide.columns).fillna(0)
    target = np.array([1 - (recoverability.recoverable(*cell) or 0.0) for cell in columns])
    return _Cells(wide.to_numpy(dtype=float), target, sizes.to_numpy(dtype=float), tuple(pairs))


def _squared(weights: Array, cells: _Cells) -> tuple[Array, Array]:
    """Squared errors by mode without bias, and as they are; each of shape (resamples, 2).

    Args:
        weights: of items, shape (resamples, items).
        cells: of the run.
    """
    known = (~np.isnan(cells.abstained)).astype(float)
    deviation = np.where(known > 0, cells.abstained - cells.target, 0.0)
    count, total, squares = weights @ known, weights @ deviation, weights @ deviation**2
    with np.errstate(invalid="ignore", divide="ignore"):
        unbiased = np.where(count > 1, (total**2 - squares) / (count * (count - 1)), np.nan)
        plain = np.where(count > 1, (total / count) ** 2, np.nan)
    shape = (len(weights), len(DEGRADED), -1)
    return np.nanmean(unbiased.reshape(shape), axis=2), np.nanmean(plain.reshape(shape), axis=2)


def _interval(value: float, centred: Array, items: int) -> Estimate:
    tail = (1 - LEVEL) / 2
    low, high = value - np.nanquantile(centred, [1 - tail, tail])
    return Estimate(value, float(low), float(high), items, "bootstrap")


def _mode_errors(cells: _Cells, place: int) -> tuple[float, float, float]:
    """Absolute error, its share of noise, and the Brier form of a mode."""
    half = len(cells.target) // 2
    here = slice(place * half, (place + 1) * half)
    abstained, target, trials = cells.abstained[:, here], cells.target[here], cells.trials[:, here]
    items = (~np.isnan(abstained)).sum(0)
    rate = np.nanmean(abstained, axis=0)
    error = np.nanstd(abstained, axis=0) / np.sqrt(np.maximum(items - 1, 1))
    share = np.where(np.isnan(abstained), 0.0, abstained)
    brier = float((trials * (share * (1 - 2 * target) + target**2)).sum() / trials.sum())
    return float(np.abs(rate - target).mean()), float(math.sqrt(2 / math.pi) * error.mean()), brier


def _compare(cells: _Cells, resamples: int, seed: int) -> Calibration:
    items, half = len(cells.abstained), len(cells.target) // 2
    unbiased, plain = (values[0] for values in _squared(np.ones((1, items)), cells))
    difference = float(unbiased[1] - unbiased[0])
    squared = [Estimate(float(v), math.nan, math.nan, items, "point") for v in unbiased]
    gap, p_value = Estimate(difference, math.nan, math.nan, items, "point"), math.nan
    if resamples:
        drawn = np.concatenate([_squared(w, cells)[0] for w in resampled_weights(items, resamples, seed)])
        centred = drawn - plain
        squared = [_interval(float(v), centred[:, i], items) for i, v in enumerate(unbiased)]
        between = centred[:, 1] - centred[:, 0]
        gap = _interval(difference, between, items)
        p_value = float((1 + (between >= difference).sum()) / (resamples + 1))
    modes: dict[Mode, ModeCalibration] = {}
    for i, mode in enumerate(DEGRADED):
        absolute, noise, brier = _mode_errors(cells, i)
        modes[mode] = ModeCalibration(absolute, noise, squared[i], brier)
    categories, levels = sorted({c for c, _ in cells.pairs}), sorted({d for _, d in cells.pairs})
    return Calibration(modes, gap, p_value, half, items, categories=tuple(categories), levels=tuple(levels))


def measure_calibration(
    trials: ImageTrials,
    recoverability: Recoverability | None,
    reader: str = "",
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Calibration:
    """H3 of one run.

    Args:
        trials: of the run.
        recoverability: what images still give; None if it is not known.
        reader: checkpoint or model id of the run, which must not be judged by its own reading.
        resamples: of the bootstrap over items; 0 leaves intervals and the p-value out.
        seed: of the bootstrap.

    Raises:
        ValueError: as `complete_blocks`.
    """
    if recoverability is None:
        return Calibration({}, reason=f"not measured: {HOW}")
    if recoverability.reader and recoverability.reader == reader:
        return Calibration(
            {}, reason="circular: it would be judged by its own reading; take people's, or another reader's"
        )
    rows = _neutral(trials)
    cells = _cells(rows, recoverability)
    items, half = len(cells.abstained), len(cells.target) // 2
    if not half:
        return Calibration({}, reason=f"not measured: the recoverability knows none of its cells in both modes; {HOW}")
    if items < FEWEST_ITEMS:
        return Calibration({}, reason=f"not measured: {items} items; take {FEWEST_ITEMS} or more")
    rate = float(rows["abstained"].mean())
    if not NEARLY < rate < 1 - NEARLY:
        return Calibration(
            {}, reason=f"says nothing: it abstains on {rate:.1%} of neutral questions, whatever they show"
        )
    return _compare(cells, resamples, seed)
