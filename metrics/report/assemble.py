"""From the runs of a study to its report: measured once, warnings first."""

from __future__ import annotations

from collections.abc import Callable

from metrics.controls import control_warnings, counted_models, marked_name
from metrics.intervals import RESAMPLES, SEED
from metrics.logged_run import LoggedRun
from metrics.report.contents import Provenance, ReceiptSummary, Report, Verdict
from metrics.report.drawn import draw_figures
from metrics.report.gathered_warnings import gather_warnings
from metrics.report.measured import Measured, measure_study
from metrics.report.paper_tables import paper_tables
from metrics.report.published import SOURCE, published
from metrics.report.report_table import ReportTable
from metrics.report.reversal_tables import (
    REVERSAL,
    TUNING_SEED,
    Reversal,
    adaptive_table,
    measure_reversals,
    reversal_table,
    sweep_table,
    tuned_table,
)
from metrics.report.significance_tables import significance_table
from metrics.report.sources import listed, log_source, receipt_summary, versions_of
from metrics.report.study import Study
from metrics.report.verdicts import model_verdicts, reading_groups
from metrics.reversal_table import FEW_PROBES

_SAID_ONCE = "are too narrow below about 30"


def _provenance(study: Study) -> Provenance:
    return Provenance(
        versions=versions_of(study.runs.values()),
        releases=(study.release,),
        seeds={f"bootstrap of {RESAMPLES} resamples": SEED, "split of tuning probes": TUNING_SEED},
        logs=tuple(log_source(run, study.readout) for run in study.runs.values()),
    )


def _receipt(run: LoggedRun) -> ReceiptSummary:
    table = run.table[~run.table["padding"].to_numpy() & (run.table["unavailable"] == "").to_numpy()]
    shown = ", ".join(map(str, sorted(table["budget"].unique())))
    return receipt_summary(run, table, shown, listed(table, "time"))


def _tables(measured: Measured, reversal: Reversal, with_published: bool) -> list[ReportTable]:
    tables = paper_tables(measured, published if with_published else None)
    tables.append(significance_table(measured))
    if reversal.results:
        said = (
            (lambda model, key: published("reversal", measured.study.checkpoint(model), key))
            if with_published
            else None
        )
        tables.append(reversal_table(measured, reversal, said))
        tables.append(sweep_table(measured, reversal, with_published))
        tables.append(tuned_table(measured, reversal))
    tables.append(adaptive_table(measured))
    return [table for table in tables if table.rows]


def _few_probes(measured: Measured) -> list[str]:
    """One line for each model of which a resampled interval rests on few probes, instead of one for each number."""
    few: dict[str, int] = {}
    for (model, _), numbers in measured.numbers.items():
        for value in numbers.values():
            if value.method == "bootstrap" and value.probes < FEW_PROBES:
                few[model] = min(few.get(model, value.probes), value.probes)
    return [
        f"{model}: bootstrap intervals {_SAID_ONCE} probes, and some rest on {probes}: take more probes"
        for model, probes in few.items()
    ]


def _missing(study: Study, tables: list[ReportTable]) -> tuple[str, ...]:
    lines = [line for table in tables for line in table.missing]
    if not any(study.run(model, REVERSAL) for model in study.models):
        lines.append(f"no log of the reversal test: `lmms-eval --tasks {REVERSAL} --log_samples`")
    return tuple(dict.fromkeys(lines))


def build_report(
    study: Study,
    with_published: bool = False,
    resamples: int = RESAMPLES,
    workers: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> Report:
    """Everything that a report says about a study, but for pictures of its probes.

    Args:
        study: runs of one release and one readout.
        with_published: set the paper's numbers beside the measured ones.
        resamples: of the bootstrap behind every interval.
        workers: processes that measure.
        progress: called with 1 after each run that was measured, and after each model's reversal test.

    Raises:
        LogError: if a run contradicts itself.
    """
    measured = measure_study(study, resamples, workers, progress)
    verdicts = model_verdicts(measured, resamples)
    reversal = measure_reversals(measured, reading_groups(verdicts, study.controls), resamples, progress)
    tables = _tables(measured, reversal, with_published)
    of_runs = [w for w in measured.warnings + reversal.warnings if not w.text.endswith(_SAID_ONCE)]
    warnings = [
        *control_warnings(study.controls),
        *study.problems,
        *_few_probes(measured),
        *gather_warnings(dict.fromkeys(of_runs)),
    ]
    if with_published:
        warnings.append(
            f"published numbers ({SOURCE}) are of the paper's own 500 videos a budget; this release has others, so small "
            "differences mean nothing"
        )
    return Report(
        title=f"Caved or convinced: {counted_models(study.models, study.controls)}",
        warnings=tuple(dict.fromkeys(warnings)),
        verdicts=tuple(
            Verdict(model, marked_name(v.kind, study.controls.get(model, "")), v.sentence)
            for model, v in verdicts.items()
        ),
        missing=_missing(study, tables),
        tables=tuple(tables),
        figures=draw_figures(measured, reversal, with_published),
        receipts=tuple(_receipt(run) for run in study.runs.values()),
        provenance=_provenance(study),
    )
