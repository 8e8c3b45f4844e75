"""Which frames carry the order, and what a model does without them: Table 2 of the paper.

`no_events` replaces both event frames by background, `placebo` as many background frames by others. `b` is the
accept rate of a claim with the events gone: no order is visible, so the twins are one request and the claim is
neither true nor false for the eye; it is averaged over both. `C - b` and `S - b` say what the events add.
"""

from __future__ import annotations

from dataclasses import dataclass

from metrics.intervals import RESAMPLES, Array, Estimate
from metrics.letters import average_letters
from metrics.scores import (
    accepted,
    claim_is_true,
    informedness,
    mean_over_known,
    on_one_twin,
    over_both_twins,
    probe_names,
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

    by_arm = {}
    for arm in ATTRIBUTION_ARMS:
        rows = chosen(readings, arm=arm, claim="none")
        by_arm[arm] = over_both_twins(rows, informedness(rows, confidence), probes)
    claimed = chosen(readings, arm="intact", claim="strong")
    true, accepts = claim_is_true(claimed), accepted(claimed, confidence)
    true_claims = on_one_twin(claimed, accepts, true, probes)
    false_claims = on_one_twin(claimed, accepts, ~true, probes)
    prior_rows = chosen(without, claim="strong")
    prior = over_both_twins(prior_rows, accepted(prior_rows, confidence), probes)
    return Attribution(
        J0=mean_over_known(by_arm["intact"], (-1, 1), resamples=resamples),
        J0_no_events=mean_over_known(by_arm["no_events"], (-1, 1), fixed, resamples),
        J0_placebo=mean_over_known(by_arm["placebo"], (-1, 1), resamples=resamples),
        b=mean_over_known(prior, (0, 1), resamples=resamples),
        C_minus_b=mean_over_known(true_claims - prior, (-1, 1), resamples=resamples),
        S_minus_b=mean_over_known(false_claims - prior, (-1, 1), resamples=resamples),
        informed=by_arm,
        no_events_identical=fixed,
    )
