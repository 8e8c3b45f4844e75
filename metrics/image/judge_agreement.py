"""How far rules and a judge agree on what free answers say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.image.table import ImageTrials, counted_trials

_NO_ANSWERS = ("abstained", "unparseable", "refused")


@dataclass(frozen=True)
class Agreement:
    """Rules against a judge, over the trials that a judge read."""

    judged: int
    trials: int
    same: float  # share of judged trials read alike, to the option; NaN without any
    kappa: float  # Cohen's, over answered, abstained, unparseable and refused; NaN where one class is all that there is


def _classes(readings: np.ndarray) -> np.ndarray:
    return np.where(np.isin(readings, _NO_ANSWERS), readings, "answered")


def cohen_kappa(one: np.ndarray, other: np.ndarray) -> float:
    """Agreement beyond what the frequencies of the classes give by chance; NaN where both name one and the same class."""
    names = np.unique(np.concatenate([one, other]))
    observed = float((one == other).mean())
    expected = sum(float((one == name).mean() * (other == name).mean()) for name in names)
    return float("nan") if expected >= 1 else (observed - expected) / (1 - expected)


def judge_agreement(trials: ImageTrials) -> Agreement:
    """Agreement of the reading by rules and that by a judge.

    Args:
        trials: of one run. Where a judge was asked about unparseable answers alone, the agreement is about those.

    Raises:
        ValueError: as `counted_trials`.
    """
    table = counted_trials(trials)
    rows = table[(table["judged"] != "").to_numpy()]
    if rows.empty:
        return Agreement(0, len(table), float("nan"), float("nan"))
    read, judged = (rows[name].astype(str).to_numpy() for name in ("read", "judged"))
    return Agreement(
        len(rows), len(table), float((read == judged).mean()), cohen_kappa(_classes(read), _classes(judged))
    )
