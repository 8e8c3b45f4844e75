"""Choosing θ on separate probes, so that the reported numbers were not tuned on.

Paper, "Threshold Sensitivity": θ comes from "a grid search on a separate set of videos, to meet a target coverage".
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.intervals import RESAMPLES
from metrics.reversal import checked_threshold
from metrics.reversal_readings import ReversalReadings
from metrics.reversal_table import ReversalResult, measure_reversal, measure_threshold

Target = Literal["coverage", "accuracy"]
GRID = tuple(i / 20 for i in range(1, 20))  # 0.05 to 0.95
SHARE = 0.2  # of probes, for tuning
_SLACK = 1e-12  # a rate that equals its target in decimals meets it


@dataclass(frozen=True)
class ThresholdChoice:
    """The θ that tuning videos give, with what each θ of the grid measured on them."""

    threshold: float | None  # None: no θ of the grid meets the target
    target: Target
    wanted: float  # the rate to be reached
    grid: tuple[float, ...]  # θ, ascending
    coverage: tuple[float, ...]  # at each θ of the grid; NaN without a known video
    accuracy: tuple[float, ...]  # at each θ of the grid; NaN where nothing is answered
    answered: tuple[int, ...]  # videos behind each accuracy
    probes: int  # of the tuning videos
    videos: int


@dataclass(frozen=True)
class TunedReversal:
    """A θ chosen on some probes, and what it measures on the others."""

    choice: ThresholdChoice
    evaluation: ReversalResult | None  # at the chosen θ alone; None if no θ meets the target
    seed: int  # of the split
    share: float  # of probes that were meant for tuning


def tuning_probes(names: Sequence[str] | NDArray[np.str_], seed: int = 0, share: float = SHARE) -> NDArray[np.bool_]:
    """Which probes are for tuning, shape (names,): each one's own seeded hash decides.

    A probe stays on its side whatever other probes, models or videos there are.

    Raises:
        ValueError: if the share does not lie strictly between 0 and 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"a share of {share} leaves one side without probes: give a number between 0 and 1")
    sides = {}
    for name in {str(name) for name in names}:
        digest = hashlib.sha256(f"reversal tuning\x1f{seed}\x1f{name}".encode()).digest()
        sides[name] = int.from_bytes(digest[:6], "big") / 2**48 < share
    return np.array([sides[str(name)] for name in names], dtype=np.bool_)


def choose_threshold(
    tuning: ReversalReadings, target: Target, wanted: float, grid: Sequence[float] = GRID
) -> ThresholdChoice:
    """The θ of a grid that meets a target on tuning videos.

    For a target coverage it is the largest θ whose coverage is at least `wanted`, the most careful one that
    still answers so often. For a target accuracy it is the smallest θ whose accuracy on answered videos is at least
    `wanted`, the most talkative one that is right so often; a θ that answers nothing has no accuracy.
    If no θ meets the target there is no threshold: nothing is put in its place.

    Args:
        tuning: readings of videos that are not reported on, at the schedule that will be used.
        target: which rate.
        wanted: the rate to be reached, in (0, 1].
        grid: θ in [0, 1].

    Raises:
        ValueError: for an unknown target, a rate or θ out of range, an empty grid, or tuning videos that are none.
    """
    if target not in ("coverage", "accuracy") or not 0 < wanted <= 1:
        raise ValueError(f"target {target!r} of {wanted}: give 'coverage' or 'accuracy' and a rate in (0, 1]")
    thetas = tuple(sorted({checked_threshold(t) for t in grid}))
    if not thetas or not len(tuning):
        raise ValueError(f"{len(thetas)} thresholds and {len(tuning)} tuning videos: give at least one of each")
    results = [measure_threshold(tuning, t, resamples=0) for t in thetas]
    rates = {
        "coverage": tuple(r.coverage.value for r in results),
        "accuracy": tuple(r.accuracy.value for r in results),
    }
    meeting = [t for t, rate in zip(thetas, rates[target], strict=True) if rate >= wanted - _SLACK]
    pick = max if target == "coverage" else min
    return ThresholdChoice(
        threshold=pick(meeting) if meeting else None,
        target=target,
        wanted=wanted,
        grid=thetas,
        coverage=rates["coverage"],
        accuracy=rates["accuracy"],
        answered=tuple(r.answered for r in results),
        probes=len(np.unique(tuning.probe)),
        videos=len(tuning),
    )


def tune_and_measure(
    readings: ReversalReadings,
    target: Target,
    wanted: float,
    grid: Sequence[float] = GRID,
    budgets: Sequence[int] | None = None,
    seed: int = 0,
    share: float = SHARE,
    resamples: int = RESAMPLES,
) -> TunedReversal:
    """θ chosen on about `share` of the probes, and the test measured at it on all others.

    Args:
        readings: of one model, or of a pooled group.
        target: which rate the tuning probes must reach; see `choose_threshold`.
        wanted: that rate.
        grid: θ to choose from.
        budgets: the schedule; None for all logged budgets.
        seed: of the split by names of probes.
        share: of probes for tuning.
        resamples: of the bootstrap; 0 leaves intervals out.

    Raises:
        ValueError: as `choose_threshold`; also if a side of the split is empty.
    """
    is_tuning = tuning_probes(readings.probe, seed, share)
    if is_tuning.all() or not is_tuning.any():
        raise ValueError(
            f"{len(np.unique(readings.probe))} probes leave a side of the split empty at share {share} and seed {seed}: "
            "take more probes"
        )
    scheduled = readings if budgets is None else readings.at_budgets(budgets)
    choice = choose_threshold(scheduled.of_videos(is_tuning), target, wanted, grid)
    evaluation = None
    if choice.threshold is not None:
        evaluation = measure_reversal(readings.of_videos(~is_tuning), (choice.threshold,), budgets, resamples)
    return TunedReversal(choice, evaluation, seed, share)
