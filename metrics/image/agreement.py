"""How far the rules and a judge agree on what free answers say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.image.table import ImageTrials, counted_trials
from metrics.intervals import NOTHING, RESAMPLES, SEED, Array, Estimate, Measure, Statistic, estimates, mean_over_probes

OUTCOMES = ("answered", "abstained", "unparseable", "refused")
FAILED = "failed"  # a judge that gave no readable reply
ALL = "all"  # the setting in which a judge reads every response


@dataclass(frozen=True)
class Agreement:
    """The rules against a judge.

    `same` and `kappa` are of trials that a judge was asked about whatever the rules read. Where it was asked about those
    alone that rules could not read, there is nothing to compare, and both are empty.
    """

    trials: int
    judged: int  # a judge was asked
    failed: int  # of them, without a readable reply
    settled: int  # of them, the judge's reading counts, since the rules had none
    compared: int  # trials under `same` and `kappa`
    same: Estimate  # share read alike, to the option
    kappa: Estimate  # Cohen's (1960), over the four outcomes; none where both know one and the same outcome
    confusion: Mapping[tuple[str, str], int]  # outcome by the rules, outcome by the judge


def settled_by_judge(table: pd.DataFrame) -> NDArray[np.bool_]:
    """For each row whether the rules could not read it and a judge's reading counts."""
    judged, ruled = table["judged"].astype(str).to_numpy(), table["ruled"].astype(str).to_numpy()
    return np.asarray((ruled == "unparseable") & ~np.isin(judged, ("", FAILED, "unparseable")))


def _outcomes(readings: NDArray[np.str_]) -> NDArray[np.int64]:
    """Places in `OUTCOMES`; a letter of an option is an answer."""
    return np.select([readings == name for name in OUTCOMES[1:]], [1, 2, 3], default=0)


def _kappa(trials: Array, same: Array, *by_outcome: Array) -> Array:
    """Cohen's kappa of weighted sums over items: trials, those alike, and trials of each outcome by rules, then by the judge."""
    half = len(by_outcome) // 2
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = sum(one * other for one, other in zip(by_outcome[:half], by_outcome[half:], strict=True)) / trials**2
        kappa = (same / trials - chance) / (1 - chance)
    return np.where(np.isclose(chance, 1), np.nan, kappa)


def _measures(rows: pd.DataFrame) -> list[Measure]:
    items, codes = np.unique(rows["item"].astype(str).to_numpy(), return_inverse=True)
    rules, judge = (rows[name].astype(str).to_numpy() for name in ("ruled", "judged"))
    by_rules, by_judge = _outcomes(rules), _outcomes(judge)

    def per_item(flags: NDArray[np.bool_]) -> Array:
        return np.bincount(codes, flags, minlength=len(items)).astype(np.float64)

    each = per_item(np.ones(len(rows), dtype=bool))
    alike = per_item(rules == judge)
    of_outcome = [per_item(readings == place) for readings in (by_rules, by_judge) for place in range(len(OUTCOMES))]
    kappa = Statistic((each, per_item(by_rules == by_judge), *of_outcome), _kappa)
    return [
        Measure(mean_over_probes(alike, each), alike / each, (0.0, 1.0)),
        Measure(kappa, kappa(np.eye(len(items))), (-1.0, 1.0)),
    ]


def judge_agreement(trials: ImageTrials, resamples: int = RESAMPLES, seed: int = SEED) -> Agreement | None:
    """Agreement of the reading by rules and that by a judge, with intervals over items; None if no judge was asked.

    Args:
        trials: of one run.
        resamples: number of bootstrap resamples; 0 for no intervals.
        seed: of the resampling.

    Raises:
        ValueError: as `counted_trials`.
    """
    table = counted_trials(trials)
    rows = table[(table["judged"] != "").to_numpy()]
    if rows.empty:
        return None
    failed = rows["judged"].astype(str).to_numpy() == FAILED
    compared = rows[~failed & (rows["asked"] == ALL).to_numpy()]
    same, kappa = estimates(_measures(compared), resamples, seed) if len(compared) else (NOTHING, NOTHING)
    pairs = zip(*(_outcomes(compared[name].astype(str).to_numpy()) for name in ("ruled", "judged")), strict=True)
    return Agreement(
        trials=len(table),
        judged=len(rows),
        failed=int(failed.sum()),
        settled=int(settled_by_judge(rows).sum()),
        compared=len(compared),
        same=same,
        kappa=kappa,
        confusion=Counter((OUTCOMES[one], OUTCOMES[other]) for one, other in pairs),
    )
