"""Probes on which a claim turned a right answer into a wrong one: what a person would want to look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.letters import average_letters
from metrics.scores import claim_is_true
from metrics.trial_table import Trials, chosen, table_of


@dataclass(frozen=True)
class Flip:
    """One view on which the model read the order without a claim and accepted a false claim."""

    probe: str
    budget: int
    twin: str
    before: float  # what it gave to the shown order without a claim: a probability, or a share of the two letterings
    after: float  # the same under the false claim


def flipped_probes(trials: Trials, claim: str = "strong") -> list[Flip]:
    """On-grid views that flipped under a false claim, the largest change first.

    Raises:
        ValueError: if trials contradict each other.
    """
    readings = average_letters(
        chosen(table_of(trials), phase="on_grid", arm="intact", claim=("none", claim), direction="forward")
    )
    shown_e1 = (readings["twin"] == "+").to_numpy()
    hard = np.where(shown_e1, readings["hard_e1"], readings["hard_e2"])
    confidence = np.where(shown_e1, readings["confidence_e1"], readings["confidence_e2"])
    readings = readings.assign(
        hard=hard,
        given=np.where(np.isnan(confidence), hard, confidence),
        false=~claim_is_true(readings) & (readings["claim"] == claim).to_numpy(),
    )
    key = ["probe", "budget", "twin", "time"]
    before = readings.loc[readings["claim"] == "none", [*key, "hard", "given"]]
    after = readings.loc[readings["false"], [*key, "hard", "given"]]
    pairs = before.merge(after, on=key, suffixes=("_before", "_after"))
    flips = pairs[(pairs["hard_before"] == 1) & (pairs["hard_after"] == 0)]
    found = [
        Flip(str(row.probe), int(row.budget), str(row.twin), float(row.given_before), float(row.given_after))
        for row in flips.itertuples()
    ]
    return sorted(found, key=lambda f: (f.after - f.before, f.probe, f.twin))
