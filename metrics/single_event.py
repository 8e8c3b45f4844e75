"""What a model says when only one event is among the frames: Table 7 of the paper.

`early` keeps the event of the earlier slot, `late` that of the later one. A model that compares two events has
nothing to compare; one that names what it sees first is right on the early half and wrong on the late one, by the
same amount, and their mean is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from metrics.intervals import RESAMPLES, Array, Estimate
from metrics.letters import average_letters
from metrics.scores import informedness, mean_over_known, over_both_twins, probe_names
from metrics.trial_table import Trials, chosen, one_value, table_of


@dataclass(frozen=True)
class SingleEvent:
    """J0 with both events, with the early one alone, with the late one alone, and the mean of the two."""

    on_grid: Estimate
    early: Estimate
    late: Estimate
    mean: Estimate


def measure_single_event(trials: Trials, confidence: bool = False, resamples: int = RESAMPLES) -> SingleEvent:
    """The measures of Table 7 from the on-grid trials without a claim of one run at one budget.

    Raises:
        ValueError: if the trials mix releases, budgets or time channels, or contradict each other.
    """
    counted = chosen(
        table_of(trials), phase="on_grid", claim="none", arm=("intact", "early_only", "late_only"), unavailable=""
    )
    for name in ("release", "budget", "time"):
        one_value(counted, name)
    readings = average_letters(counted)
    probes = probe_names(readings)

    def informed(arm: str) -> Array:
        rows = chosen(readings, arm=arm)
        return over_both_twins(rows, informedness(rows, confidence), probes)

    early, late = informed("early_only"), informed("late_only")
    return SingleEvent(
        on_grid=mean_over_known(informed("intact"), (-1, 1), resamples=resamples),
        early=mean_over_known(early, (-1, 1), resamples=resamples),
        late=mean_over_known(late, (-1, 1), resamples=resamples),
        mean=mean_over_known((early + late) / 2, (-1, 1), resamples=resamples),
    )
