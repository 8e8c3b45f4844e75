"""The scores of single probes behind a table: what tests and verdicts are made from."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.intervals import Array
from metrics.letters import average_letters
from metrics.scores import accepted, claim_is_true, informedness, on_one_twin, over_both_twins, probe_names
from metrics.trial_table import Trials, chosen, one_value, table_of
from metrics.twins import compare_twins


@dataclass(frozen=True, eq=False)
class ProbeScores:
    """Scores of one phase, each of shape (probes,); NaN where nothing is known."""

    probes: tuple[str, ...]
    S: Array  # accepts the claim on the twin for which it is false
    C: Array  # accepts it on the twin for which it is true
    J0: Array  # right minus wrong without a claim, mean over the twins
    identical: bool  # the twins were the same requests, and got the same answers

    @property
    def gap(self) -> Array:
        """c_ω - s_ω of each probe, whose mean is J."""
        return self.C - self.S


def probe_scores(
    trials: Trials, phase: str, claim: str = "strong", arm: str = "intact", confidence: bool = False
) -> ProbeScores:
    """The scores of one phase of one run at one budget.

    Raises:
        ValueError: if the trials mix releases, budgets or time channels, or contradict each other.
    """
    counted = chosen(table_of(trials), phase=phase, arm=arm, claim=("none", claim))
    for name in ("release", "budget", "time"):
        one_value(counted, name)
    readings = average_letters(counted)
    probes = probe_names(readings)
    claimed, unclaimed = chosen(readings, claim=claim), chosen(readings, claim="none")
    accepts, true = accepted(claimed, confidence), claim_is_true(claimed)
    return ProbeScores(
        probes=tuple(probes),
        S=on_one_twin(claimed, accepts, ~true, probes),
        C=on_one_twin(claimed, accepts, true, probes),
        J0=over_both_twins(unclaimed, informedness(unclaimed, confidence), probes),
        identical=compare_twins(readings).by_construction,
    )
