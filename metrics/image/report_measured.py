"""Every number of every run of an image study, measured once; tables and figures only choose from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from metrics.image.agreement import Agreement, judge_agreement
from metrics.image.calibration import Calibration, measure_calibration
from metrics.image.image_measures import image_measures, measure_name
from metrics.image.image_warnings import image_warnings
from metrics.image.logged_image_run import identity
from metrics.image.recoverability import NOT_BY_PEOPLE, Cell, Recoverability, level_strengths
from metrics.image.report_study import ImageStudy
from metrics.image.selective import RiskCurve, Selection, risk_curve, select
from metrics.image.table import ImageTrials, complete_blocks, counted_trials
from metrics.image.transitions import (
    Directions,
    Transitions,
    block_states,
    measure_directions,
    measure_transitions,
)
from metrics.image.trial import ASSERTING, CHANCE, DEGRADED, FRAMINGS, INTACT, Framing
from metrics.image.verdict import ImageVerdict, image_verdict
from metrics.intervals import NOTHING, RESAMPLES, Estimate, Measure, estimates, mean_over_probes
from metrics.logged_run import LoggedRun
from metrics.report.gathered_warnings import RunWarning
from metrics.sample_log import LogError
from metrics.several_processes import work_on_all


@dataclass(frozen=True)
class RunNumbers:
    """What one run of one elicitation says."""

    label: str
    run: LoggedRun
    numbers: Mapping[str, Estimate]  # of `image_measures`
    levels: tuple[int, ...]
    categories: tuple[str, ...]
    cells: tuple[Cell, ...]  # (category, mode, level) that it has
    strengths: Mapping[Cell, float]  # of those whose questions all have the same
    readings: Mapping[tuple[str, int], Estimate]  # by mode and level: neutral accuracy, an abstention scored as a guess
    transitions: Mapping[tuple[Framing, bool], Transitions]  # by framing and whether the assertion is right
    directions: Mapping[Framing, Directions]
    selections: Mapping[tuple[Framing, int | None], Selection]  # by level; None: all levels
    curves: Mapping[Framing, RiskCurve]  # empty without option probabilities
    calibration: Calibration
    agreement: Agreement | None
    verdict: ImageVerdict
    warnings: tuple[str, ...]

    def get(
        self,
        quantity: str,
        framing: str = "",
        level: int | None = None,
        category: str = "",
        mode: str = "",
        confidence: bool = False,
    ) -> Estimate:
        """A number by the parts of its name; one of method `none` if there is nothing that it could be measured from."""
        at = "" if level is None else f"L{level}"
        return self.numbers.get(measure_name(quantity, framing, at, category, mode, confidence), NOTHING)

    @property
    def has_confidence(self) -> bool:
        """Whether abstention was read as a probability too."""
        return self.get("EIV", confidence=True).method != "none"


@dataclass(frozen=True)
class MeasuredImages:
    """A study with its numbers."""

    study: ImageStudy
    runs: tuple[RunNumbers, ...]
    recoverability: Recoverability | None
    resamples: int

    @property
    def levels(self) -> tuple[int, ...]:
        """Every level that any run has."""
        return tuple(sorted({level for run in self.runs for level in run.levels}))

    @property
    def cells(self) -> frozenset[Cell]:
        """Every (category, mode, level) that any run has."""
        return frozenset(cell for run in self.runs for cell in run.cells)

    @property
    def strengths(self) -> dict[Cell, float]:
        """Of the cells whose questions all have the same."""
        return {cell: value for run in self.runs for cell, value in run.strengths.items()}

    @property
    def standing(self) -> str:
        """Who says what the levels mean."""
        return NOT_BY_PEOPLE if self.recoverability is None else self.recoverability.standing_over(self.cells)

    @property
    def warnings(self) -> list[RunWarning]:
        """Of all runs."""
        return [RunWarning(run.run.model, run.run.task, text) for run in self.runs for text in run.warnings]


def _cells(table: pd.DataFrame) -> tuple[Cell, ...]:
    cells = table[["category", "mode", "level"]].drop_duplicates()
    return tuple((str(c.category), str(c.mode), int(c.level)) for c in cells.itertuples())


def _check_levels(recoverability: Recoverability | None, strengths: Mapping[Cell, float]) -> None:
    other = () if recoverability is None else recoverability.other_levels(strengths)
    if recoverability is not None and other:
        category, mode, level = other[0]
        raise ValueError(
            f"the recoverability of {recoverability.source} is of other levels: {category}, {mode} L{level} is "
            f"{recoverability.strengths[other[0]]:g} there and {strengths[other[0]]:g} here; calibrate these levels"
        )


def neutral_readings(trials: ImageTrials, resamples: int = RESAMPLES) -> dict[tuple[str, int], Estimate]:
    """Accuracy under the neutral framing by mode and level, an abstention scored as a guess (0.25).

    Over neutral trials that were answered or abstained from, whether their block is complete or not.

    Args:
        trials: of one run.
        resamples: of the bootstrap over items; 0 leaves intervals out.
    """
    table = counted_trials(trials)
    rows = table[((table["framing"] == "neutral") & table["abstained"].notna()).to_numpy()]
    scores = np.where(rows["abstained"].to_numpy() == 1, CHANCE, rows["right"].to_numpy())
    items = rows["item"].cat.codes.to_numpy()
    size = len(rows["item"].cat.categories)
    measures = {}
    for mode, level in sorted({(str(m), int(d)) for m, d in zip(rows["mode"], rows["level"], strict=True)}):
        here = ((rows["mode"] == mode) & (rows["level"] == level)).to_numpy()
        total = np.bincount(items[here], scores[here], size).astype(np.float64)
        count = np.bincount(items[here], minlength=size).astype(np.float64)
        with np.errstate(invalid="ignore"):
            per_item = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        measures[mode, level] = Measure(mean_over_probes(total, count), per_item, (0, 1))
    return dict(zip(measures, estimates(list(measures.values()), resamples), strict=True))


def _both_modes(readings: Mapping[tuple[str, int], Estimate]) -> dict[tuple[str, int], Estimate]:
    """With the intact images in both modes."""
    intact = {(str(mode), level): value for (m, level), value in readings.items() for mode in DEGRADED if m == INTACT}
    return {**readings, **intact}


def measure_run(
    labelled: tuple[str, LoggedRun], recoverability: Recoverability | None, resamples: int = RESAMPLES
) -> RunNumbers:
    """All numbers of one run.

    Args:
        labelled: what its rows are called, and the run.
        recoverability: what images still give, for H3.
        resamples: of the bootstrap behind the intervals.

    Raises:
        LogError: if the run contradicts itself, or mixes what does not belong together.
    """
    label, run = labelled
    try:
        table = counted_trials(run.table)
        strengths = level_strengths(table)
        _check_levels(recoverability, strengths)
        rows, confident = complete_blocks(table), complete_blocks(table, confidence=True)
        blocks = block_states(rows)
        levels = tuple(sorted(map(int, table["level"].unique())))
        directions = {framing: measure_directions(blocks, framing, resamples) for framing in ASSERTING}
        curves = {framing: risk_curve(confident, framing, resamples) for framing in FRAMINGS}
        return RunNumbers(
            label=label,
            run=run,
            numbers=image_measures(run.task, table, resamples, crossed=False),
            levels=levels,
            categories=tuple(sorted(map(str, table["category"].unique()))),
            cells=_cells(table),
            strengths=strengths,
            readings=_both_modes(neutral_readings(table, resamples)),
            transitions={
                (framing, right): measure_transitions(blocks, framing, right, resamples)
                for framing in ASSERTING
                for right in (False, True)
            },
            directions=directions,
            selections={
                (framing, level): select(rows, framing, level, resamples)
                for framing in FRAMINGS
                for level in (None, *levels)
            },
            curves={framing: curve for framing, curve in curves.items() if curve is not None},
            calibration=measure_calibration(table, recoverability, identity(run), resamples),
            agreement=judge_agreement(table, resamples),
            verdict=image_verdict(label, table, resamples, directions=directions["conviction"]),
            warnings=tuple(image_warnings(run.task, run.table, calibrated_by_people=True)),  # said once for all runs
        )
    except ValueError as error:
        raise LogError(f"{run.path}: {error}") from error  # each says what to do about it


def measure_image_study(
    study: ImageStudy,
    recoverability: Recoverability | None = None,
    resamples: int = RESAMPLES,
    workers: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> MeasuredImages:
    """Measure all runs of a study.

    Args:
        study: the runs.
        recoverability: what images still give, for H3; None if it is not known.
        resamples: of the bootstrap behind the intervals.
        workers: processes that measure.
        progress: called with 1 after each run.

    Raises:
        LogError: if a run contradicts itself.
    """
    work = partial(measure_run, recoverability=recoverability, resamples=resamples)
    runs = work_on_all(work, list(study.labels().items()), workers, lambda _: progress(1))
    return MeasuredImages(study, tuple(runs), recoverability, resamples)
