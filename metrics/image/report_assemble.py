"""From the runs of an image study to its report: measured once, warnings first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from metrics.controls import control_warnings, counted_models, marked_name
from metrics.image import permutations
from metrics.image.calibration import HOW
from metrics.image.recoverability import Recoverability
from metrics.image.report_detail_tables import (
    calibration_table,
    category_table,
    level_table,
    reading_table,
    selective_table,
    trend_table,
)
from metrics.image.report_figures import abstention_figure, accuracy_figure, risk_figure, transition_figure
from metrics.image.report_measured import MeasuredImages, measure_image_study
from metrics.image.report_study import ImageStudy, image_readout
from metrics.image.report_tables import (
    abstention_table,
    answer_table,
    direction_table,
    pressure_table,
    transition_table,
    violation_table,
)
from metrics.image.table import counted_trials
from metrics.image.trial import TASKS
from metrics.intervals import RESAMPLES, SEED
from metrics.logged_run import LoggedRun
from metrics.readouts import TEXT
from metrics.report.benchmarks import IMAGE
from metrics.report.contents import Figure, Provenance, ReceiptSummary, Report, Verdict
from metrics.report.figure_style import model_styles
from metrics.report.gathered_warnings import gather_warnings
from metrics.report.report_table import ReportTable
from metrics.report.sources import log_source, receipt_summary, versions_of

_RUNS_A_FIGURE = 5  # rows of panels that fit on a page
_TABLES: tuple[Callable[[MeasuredImages], ReportTable], ...] = (
    violation_table,
    pressure_table,
    direction_table,
    abstention_table,
    answer_table,
    transition_table,
    trend_table,
    calibration_table,
    category_table,
    selective_table,
    level_table,
    reading_table,
)


def image_tables(measured: MeasuredImages) -> list[ReportTable]:
    """Every table that has a row."""
    return [table for table in (make(measured) for make in _TABLES) if table.rows]


def image_seeds(resamples: int) -> dict[str, int]:
    """What was drawn at random, and with which seed."""
    return {
        f"bootstrap of {resamples} resamples over items": SEED,
        f"{permutations.PERMUTATIONS} permutations of framings within items": permutations.SEED,
    }


def standing_warnings(measured: MeasuredImages) -> Iterator[str]:
    """What holds for all numbers: who calibrated the levels, and which models are no models under test."""
    known = measured.recoverability
    if known is None or not known.by_people or not known.covers(measured.cells):
        yield f"{measured.standing}; which of them people can still answer is not known"
    unchecked = [] if known is None else [c for c in known.unchecked_levels(measured.strengths) if c in measured.cells]
    if known is not None and unchecked:
        category, mode, level = unchecked[0]
        yield (
            f"{known.source}: it is not known whether {len(unchecked)} of its levels, such as {category}, {mode} L{level}, are those "
            "of this release: their strengths are not in the file, or differ between questions; give the strength of each"
        )
    for reason in known.left_out if known else ():
        yield f"{known.source if known else ''}: no recoverability of {reason}"
    yield from control_warnings(measured.study.controls)


def image_warning_lines(measured: MeasuredImages) -> list[str]:
    """All warnings, those about the whole report first."""
    return list(
        dict.fromkeys(
            [*standing_warnings(measured), *measured.study.problems, *gather_warnings(dict.fromkeys(measured.warnings))]
        )
    )


def _figures(measured: MeasuredImages) -> Iterator[Figure]:
    runs, levels, said = measured.runs, measured.levels, measured.standing
    styles = model_styles(run.label for run in runs)
    for elicitation, task in TASKS.items():
        some = [run for run in runs if run.run.task == task and run.get("abstention", "neutral").method != "none"]
        for start in range(0, len(some), _RUNS_A_FIGURE):
            number = f"_{start // _RUNS_A_FIGURE + 1}" if len(some) > _RUNS_A_FIGURE else ""
            name = f"image_abstention_{elicitation}{number}"
            yield abstention_figure(name, some[start : start + _RUNS_A_FIGURE], levels, said)
    read = [run for run in runs if any(value.method != "none" for value in run.readings.values())]
    if read:
        yield accuracy_figure(read, styles, levels, said)
    moved = [
        run for run in runs if run.transitions["conviction", False].blocks or run.transitions["conviction", True].blocks
    ]
    if moved:
        yield transition_figure(moved, styles, "conviction", said)
    if any(run.selections["neutral", None].answered for run in runs):
        yield risk_figure([run for run in runs if run.selections["neutral", None].blocks], styles, said)


def _missing(measured: MeasuredImages) -> Iterator[str]:
    study, recoverability = measured.study, measured.recoverability
    for elicitation, task in TASKS.items():
        tested = [model for model in study.models if model not in study.controls]
        absent = [model for model in tested if study.run(model, elicitation) is None]
        if absent:
            yield f"no log of {task} of {', '.join(absent)}: `lmms-eval --tasks {task} --log_samples`"
    if recoverability is None:
        yield f"H3, calibration of abstention to what the image still gives: {HOW}"
    elif not recoverability.by_people or not recoverability.covers(measured.cells):
        yield (
            "levels calibrated by people: `caved report LOGS --out DIR --recoverability FILE`, with people's accuracies in every "
            "category, mode and level"
        )


def _receipt(run: LoggedRun) -> ReceiptSummary:
    table = counted_trials(run.table)
    return receipt_summary(run, table, "1", "none: one image")


def _provenance(study: ImageStudy, resamples: int) -> Provenance:
    runs = study.runs.values()
    return Provenance(
        versions=versions_of(runs),
        releases=(study.release,),
        seeds=image_seeds(resamples),
        logs=tuple(log_source(run, image_readout(run) or TEXT) for run in runs),
    )


def build_image_report(
    study: ImageStudy,
    recoverability: Recoverability | None = None,
    resamples: int = RESAMPLES,
    workers: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> Report:
    """Everything that a report says about an image study.

    Args:
        study: runs of one release.
        recoverability: what images still give, for H3 and the table of levels; None if it is not known.
        resamples: of the bootstrap behind every interval.
        workers: processes that measure.
        progress: called with 1 after each run that was measured.

    Raises:
        LogError: if a run contradicts itself.
    """
    measured = measure_image_study(study, recoverability, resamples, workers, progress)
    verdicts = []
    for run in measured.runs:
        shown = marked_name(run.verdict.kind, study.controls.get(run.run.model, ""))
        verdicts.append(Verdict(run.label, shown, run.verdict.sentence, IMAGE.name))
    return Report(
        title=f"Can't tell or won't say: {counted_models(study.models, study.controls)}",
        warnings=tuple(image_warning_lines(measured)),
        verdicts=tuple(verdicts),
        missing=tuple(_missing(measured)),
        tables=tuple(image_tables(measured)),
        figures=tuple(_figures(measured)),
        receipts=tuple(_receipt(run) for run in study.runs.values()),
        provenance=_provenance(study, resamples),
        benchmarks=(IMAGE.name,),
    )
