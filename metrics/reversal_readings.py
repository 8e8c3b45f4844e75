"""The logged readings of the reversal test, many videos at once, decided afterwards at any schedule and θ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.intervals import Array
from metrics.reversal import ROUNDING, checked_budgets, checked_threshold, order_evidence, reaches


@dataclass(frozen=True, eq=False)
class ReversalReadings:
    """What one model read from some videos at every budget and offset, in both directions.

    A video is a probe and a twin. Arrays are taken over as read-only copies.

    Raises:
        ValueError: if shapes do not fit, a reading is no probability (NaN is allowed: unreadable or missing), a
            truth is not +1 or -1, or a probe has no name.
    """

    forward: Array  # (videos, budgets, offsets), u: probability of e1-first from the frames in order
    reversed: Array  # the same shape, ū: from the same frames reversed
    truth: NDArray[np.int64]  # (videos,), +1 where e1 is first, -1 where e2 is
    probe: NDArray[np.str_]  # (videos,), names of probes; videos of a probe are one cluster
    budgets: tuple[int, ...]  # frames, ascending

    def __post_init__(self) -> None:
        budgets, names = checked_budgets(self.budgets), list(self.probe)
        truth = np.asarray(self.truth)
        forward, backward = (np.array(a, dtype=np.float64) for a in (self.forward, self.reversed))
        if forward.ndim != 3 or forward.shape != backward.shape or forward.shape[2] < 1:
            raise ValueError(
                f"readings of shapes {forward.shape} forward and {backward.shape} reversed: both must be "
                "(videos, budgets, offsets)"
            )
        if forward.shape[:2] != (len(names), len(budgets)) or truth.shape != (len(names),):
            raise ValueError(
                f"readings of shape {forward.shape} do not fit {len(names)} names of probes, truths of shape "
                f"{truth.shape} and {len(budgets)} budgets"
            )
        if not np.isin(truth, (-1, 1)).all():
            raise ValueError("truth must be +1 where e1 is first and -1 where e2 is")
        if not all(isinstance(name, (str, int, np.integer)) for name in names):
            raise ValueError("probes must be named by text or whole numbers, none missing")
        for name, values in (("forward", forward), ("reversed", backward)):
            if ((values < -ROUNDING) | (values > 1 + ROUNDING)).any():
                raise ValueError(f"{name} readings outside [0, 1]: give probabilities of e1-first, no logits")
            np.clip(values, 0, 1, out=values)
        labels = np.array([str(name) for name in names], dtype=np.str_)
        kept = {"forward": forward, "reversed": backward, "truth": truth.astype(np.int64), "probe": labels}
        for name, array in kept.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "budgets", budgets)

    def __len__(self) -> int:
        """The number of videos."""
        return len(self.truth)

    @property
    def offsets(self) -> int:
        """n, sampling grids at each budget."""
        return self.forward.shape[2]

    @property
    def evidence(self) -> Array:
        """R, shape (videos, budgets); NaN where any of the offsets is missing in a direction."""
        return order_evidence(self.forward, self.reversed)

    def at_budgets(self, budgets: Sequence[int]) -> ReversalReadings:
        """The readings of another schedule, of budgets that were logged.

        Raises:
            ValueError: for a bad schedule, or a budget that was not logged.
        """
        schedule = checked_budgets(budgets)
        absent = [b for b in schedule if b not in self.budgets]
        if absent:
            raise ValueError(f"budgets {absent} were not logged: choose from {list(self.budgets)}")
        columns = [self.budgets.index(b) for b in schedule]
        return ReversalReadings(
            self.forward[:, columns], self.reversed[:, columns], self.truth, self.probe, schedule
        )  # fmt: skip

    def of_videos(self, chosen: NDArray[np.bool_]) -> ReversalReadings:
        """The readings of the videos that `chosen`, shape (videos,), marks."""
        return ReversalReadings(
            self.forward[chosen], self.reversed[chosen], self.truth[chosen], self.probe[chosen], self.budgets
        )


def pool_readings(readings: Sequence[ReversalReadings]) -> ReversalReadings:
    """Several models as one group (paper, Table 8); a probe stays one cluster across models.

    Raises:
        ValueError: if there are none, or budgets or offsets differ.
    """
    if len({(r.budgets, r.offsets) for r in readings}) != 1:
        raise ValueError("readings of several schedules cannot be pooled: take the same budgets and offsets")
    return ReversalReadings(
        np.concatenate([r.forward for r in readings]),
        np.concatenate([r.reversed for r in readings]),
        np.concatenate([r.truth for r in readings]),
        np.concatenate([r.probe for r in readings]),
        readings[0].budgets,
    )


@dataclass(frozen=True, eq=False)
class Decisions:
    """The decisions on many videos at one θ; all arrays have the shape (videos,).

    A video is unknown if a budget that had to be looked at lacks a reading. It is then not decided at all,
    neither from the other offsets nor at a larger budget: the test would have needed what is missing.
    """

    order: NDArray[np.int64]  # +1 e1 first, -1 e2 first, 0 abstained or unknown
    budget: NDArray[np.int64]  # frames of the last grid that was looked at
    unknown: NDArray[np.bool_]

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which videos have an answer."""
        return self.order != 0


def decide_all(readings: ReversalReadings, threshold: float) -> Decisions:
    """`metrics.reversal.decide` for all videos at once, at the schedule of the readings.

    Raises:
        ValueError: if the threshold does not lie in [0, 1].
    """
    evidence = readings.evidence
    answers = reaches(evidence, checked_threshold(threshold))
    stops = answers | np.isnan(evidence)
    last = np.where(stops.any(axis=1), stops.argmax(axis=1), len(readings.budgets) - 1)
    video = np.arange(len(readings))
    order = np.where(answers[video, last], np.sign(np.nan_to_num(evidence[video, last])), 0).astype(np.int64)
    return Decisions(order, np.array(readings.budgets)[last], np.isnan(evidence[video, last]))
