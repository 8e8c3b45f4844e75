"""Which frames carry the order, and what a model does without them: Table 2 of the paper.

`no_events` replaces both event frames by background, `placebo` as many background frames by others. `b` is the
accept rate of a claim with the events gone: no order is visible, so the twins are one request and the claim is
neither true nor false for the eye; it is averaged over both. `C - b` and `S - b` say what the events add.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics.intervals import RESAMPLES, Array, Estimate
from metrics.letters import average_letters
from metrics.scores import (
    ProbeSums,
    accepted,
    claim_is_true,
    contrast,
    informedness,
    mean_score,
    probe_names,
    sum_within_probes,
)
from metrics.trial_table import Trials, chosen, one_value, table_of
from metrics.twins import compare_twins

ATTRIBUTION_ARMS = ("intact", "no_events", "placebo")


@dataclass(frozen=True)
class Attribution:
    """The measures of Table 2, with the scores behind them, one for each probe (NaN: not known)."""

    J0: Estimate
    J0_no_events: Estimate
    J0_placebo: Estimate
    b: Estimate
    C_minus_b: Estimate
    S_minus_b: Estimate
    informed: dict[str, Array]  # by arm, right minus wrong without a claim
    no_events_identical: bool  # the twins without events were the same requests and got the same answers


def measure_attribution(trials: Trials, confidence: bool = False, resamples: int = RESAMPLES) -> Attribution:
    """The measures of Table 2 from the on-grid trials of one run at one budget.

    Raises:
        ValueError: if the trials mix releases, budgets or time channels, or contradict each other.
    """
    counted = chosen(table_of(trials), phase="on_grid", arm=ATTRIBUTION_ARMS, claim=("none", "strong"))
    for name in ("release", "budget", "time"):
        one_value(counted, name)
    readings = average_letters(counted)
    probes = probe_names(readings)
    without = chosen(readings, arm="no_events")
    fixed = compare_twins(without).by_construction

    def informed(arm: str) -> ProbeSums:
        rows = chosen(readings, arm=arm, claim="none")
        return sum_within_probes(rows, informedness(rows, confidence), probes)

    def acceptance(rows: pd.DataFrame, keep: np.ndarray) -> ProbeSums:
        return sum_within_probes(rows, np.where(keep, accepted(rows, confidence), np.nan), probes)

    claimed = chosen(readings, arm="intact", claim="strong")
    true = claim_is_true(claimed)
    true_claims, false_claims = acceptance(claimed, true), acceptance(claimed, ~true)
    prior_rows = chosen(without, claim="strong")
    prior = acceptance(prior_rows, np.ones(len(prior_rows), dtype=bool))
    by_arm = {arm: informed(arm) for arm in ATTRIBUTION_ARMS}
    return Attribution(
        J0=mean_score(by_arm["intact"], (-1, 1), resamples=resamples),
        J0_no_events=mean_score(by_arm["no_events"], (-1, 1), fixed, resamples),
        J0_placebo=mean_score(by_arm["placebo"], (-1, 1), resamples=resamples),
        b=mean_score(prior, (0, 1), resamples=resamples),
        C_minus_b=contrast([(1, true_claims), (-1, prior)], (-1, 1), resamples=resamples),
        S_minus_b=contrast([(1, false_claims), (-1, prior)], (-1, 1), resamples=resamples),
        informed={arm: sums.means for arm, sums in by_arm.items()},
        no_events_identical=fixed,
    )
