"""Selective answering: how much is answered, and how much of that is wrong.

A model that abstains where it would err has a lower risk at a lower coverage. Each framing gives one point (coverage, share of
blocks answered; selective accuracy, share of right ones among the answered; risk, 1 minus that). Where option probabilities
were read there is a whole curve: answer with the likeliest of the four options, "cannot be determined" left aside,
wherever its probability is at least a threshold; that probability is taken as it is, so doubt lowers it. AURC is the mean risk over all coverages 1/n .. 1 (Geifman et al., 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.image.trial import Framing
from metrics.intervals import NOTHING, RESAMPLES, SEED, Array, Estimate, Measure, estimates, mean_over_probes

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Selection:
    """What is answered under a framing, and how well, over complete blocks."""

    coverage: Estimate
    accuracy: Estimate  # among the answered
    answered: int
    blocks: int


@dataclass(frozen=True)
class RiskCurve:
    """Risk against coverage over thresholds, from the most confident answers alone to all of them."""

    coverage: Array  # shape (thresholds,), rising to 1; one entry for each distinct confidence
    risk: Array  # share of wrong answers among those at or above the threshold
    aurc: Estimate


def select(
    rows: pd.DataFrame, framing: Framing, level: int | None = None, resamples: int = RESAMPLES, seed: int = SEED
) -> Selection:
    """Coverage and selective accuracy under a framing.

    Args:
        rows: of `complete_blocks`.
        framing: whose trials.
        level: one level of degradation, both modes together; None for all.
        resamples: of the bootstrap over items; 0 leaves intervals out.
        seed: of the bootstrap.
    """
    rows = rows[(rows["framing"] == framing).to_numpy()]
    if level is not None:
        rows = rows[(rows["level"] == level).to_numpy()]
    if rows.empty:
        return Selection(NOTHING, NOTHING, 0, 0)
    _, item = np.unique(rows["item"].astype(str).to_numpy(), return_inverse=True)
    answered = rows["abstained"].to_numpy() == 0
    total, answers = (np.bincount(item, weights).astype(np.float64) for weights in (None, answered))
    right = np.bincount(item, rows["right"].to_numpy() == 1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        of_item = np.where(answers > 0, right / answers, np.nan)
    coverage, accuracy = estimates(
        [
            Measure(mean_over_probes(answers, total), answers / total, (0, 1)),
            Measure(mean_over_probes(right, answers), of_item, (0, 1)),
        ],
        resamples,
        seed,
    )
    return Selection(coverage, accuracy, int(answered.sum()), len(rows))


def _ordered(confidence: Array, right: Array) -> tuple[Places, Places, Array]:
    """Order from the most confident trial on, the last place of each group of equals, and whether right, in that order."""
    order = np.argsort(-confidence, kind="stable")
    sorted_confidence = confidence[order]
    last = np.append(np.flatnonzero(np.diff(sorted_confidence)), len(order) - 1)
    return order, last, right[order]


def area_under(confidence: Array, right: Array, weights: Array | None = None) -> Array:
    """AURC: the mean over all coverages of the risk of the trials that are at least so confident.

    Trials of the same confidence come in no order: the risk among them is that of their expected order, in which
    errors are spread evenly over the group.

    Args:
        confidence: shape (trials,).
        right: share of a right answer, in [0, 1], shape (trials,).
        weights: how often each trial counts, shape (resamples, trials); None for once.

    Returns:
        Shape (resamples,); NaN where nothing counts.
    """
    order, last, ordered = _ordered(confidence, right)
    counts = np.ones((1, len(order))) if weights is None else weights[:, order]
    seen = np.cumsum(counts, axis=1)
    wrong = np.cumsum(counts * (1 - ordered), axis=1)
    seen_at, wrong_at = seen[:, last], wrong[:, last]
    before_seen = np.concatenate([np.zeros((len(seen), 1)), seen_at[:, :-1]], axis=1)
    before_wrong = np.concatenate([np.zeros((len(seen), 1)), wrong_at[:, :-1]], axis=1)
    size, errors = seen_at - before_seen, wrong_at - before_wrong
    # Within a group of t trials with e errors the k-th one brings the errors to E + k e / t, of s + k trials:
    # sum over k of (E + k r) / (s + k) = r t + (E - r s) (H(s + t) - H(s)), with r = e / t and harmonic numbers H.
    top = int(np.ceil(seen_at[:, -1].max(initial=0)))
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, top + 1))])
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(size > 0, errors / size, 0.0)
        spread = harmonic[seen_at.astype(np.int64)] - harmonic[before_seen.astype(np.int64)]
        return np.asarray((errors + (before_wrong - rate * before_seen) * spread).sum(1) / seen_at[:, -1])


def risk_curve(
    rows: pd.DataFrame, framing: Framing = "neutral", resamples: int = RESAMPLES, seed: int = SEED
) -> RiskCurve | None:
    """The risk-coverage curve of a framing, over blocks whose four trials all have option probabilities.

    Args:
        rows: of `complete_blocks`, those of confidence.
        framing: whose trials.
        resamples: of the bootstrap over items behind the interval of AURC; 0 leaves it out.
        seed: of the bootstrap.

    Returns:
        None where no option probabilities were read.
    """
    rows = rows[(rows["framing"] == framing).to_numpy()]
    if rows.empty:
        return None
    confidence, right = rows["p_top"].to_numpy(), rows["top_right"].to_numpy()
    names, item = np.unique(rows["item"].astype(str).to_numpy(), return_inverse=True)
    order, last, ordered = _ordered(confidence, right)
    of_item = np.array([area_under(confidence[item == i], right[item == i])[0] for i in range(len(names))])
    measure = Measure(lambda weights: area_under(confidence, right, weights[:, item]), of_item, (0, 1))
    (aurc,) = estimates([measure], resamples, seed)
    places = last + 1.0
    return RiskCurve(places / len(order), np.cumsum(1 - ordered)[last] / places, aurc)
