"""The reversal test of every model: Table 5, the θ sweep of Table 8, and θ chosen on separate probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metrics.intervals import RESAMPLES, Estimate
from metrics.paper_measures import TASK
from metrics.report.gathered_warnings import RunWarning
from metrics.report.measured import Measured
from metrics.report.paper_tables import Published, missing_runs
from metrics.report.published import paper_model, paper_readers, published_sweep
from metrics.report.report_table import Cell, Column, ReportTable, Row
from metrics.reversal import THRESHOLD
from metrics.reversal_log import reversal_readings, threshold_of
from metrics.reversal_readings import ReversalReadings, pool_readings
from metrics.reversal_table import THRESHOLDS, ReversalResult, ThresholdResult, measure_reversal, reversal_warnings
from metrics.reversal_threshold import SHARE, TunedReversal, tune_and_measure

REVERSAL, ADAPTIVE = f"{TASK}_reversal", f"{TASK}_reversal_adaptive"
TARGETS = (("accuracy", 0.95), ("coverage", 0.67))
TUNING_SEED = 0
Group = Literal["can_read_order", "cannot_read_order"]
_PAPER_GROUPS: dict[Group, bool] = {"can_read_order": True, "cannot_read_order": False}


@dataclass(frozen=True)
class Reversal:
    """The reversal test of the models that were put to it, and of the two groups of the paper."""

    results: Mapping[str, ReversalResult]  # by model
    groups: Mapping[str, ReversalResult]  # models that read the order, and that cannot, pooled
    of_the_paper: Mapping[str, Group]  # groups that hold just the paper's models
    tuned: Mapping[tuple[str, str], TunedReversal]  # by model and target
    warnings: tuple[RunWarning, ...]


def measure_reversals(
    measured: Measured, groups: Mapping[str, Sequence[str]], resamples: int = RESAMPLES,
    progress: Callable[[int], object] = lambda _: None,
) -> Reversal:  # fmt: skip
    """Measure the reversal test from the logged runs.

    Args:
        measured: the study.
        groups: names of groups with their models, pooled as in Table 8.
        resamples: of the bootstrap.
        progress: called with 1 after each model.
    """
    readings: dict[str, ReversalReadings] = {}
    results: dict[str, ReversalResult] = {}
    tuned: dict[tuple[str, str], TunedReversal] = {}
    warnings: list[RunWarning] = []
    for model in measured.study.models:
        run = measured.study.run(model, REVERSAL)
        if run is None:
            continue
        readings[model] = reversal_readings(run.table)
        results[model] = measure_reversal(readings[model], THRESHOLDS, resamples=resamples)
        warnings += [RunWarning(model, REVERSAL, text) for text in reversal_warnings(results[model])]
        for target, wanted in TARGETS:
            try:
                tuned[model, target] = tune_and_measure(
                    readings[model], target, wanted, seed=TUNING_SEED, resamples=resamples  # type: ignore[arg-type]
                )  # fmt: skip
            except ValueError as error:
                warnings.append(RunWarning(model, REVERSAL, f"no θ chosen for a target {target}: {error}"))
        progress(1)
    pooled: dict[str, ReversalResult] = {}
    of_the_paper: dict[str, Group] = {}
    for name, models in groups.items():
        some = [readings[model] for model in models if model in readings]
        if len({(r.budgets, r.offsets) for r in some}) > 1:
            warnings.append(RunWarning(name, REVERSAL, "models with different offsets are not pooled"))
        elif len(some) > 1:
            label = f"{name} ({len(some)} models)"
            pooled[label] = measure_reversal(pool_readings(some), THRESHOLDS, resamples=resamples)
            theirs = {paper_model(measured.study.checkpoint(model)) for model in models if model in readings}
            for group, can_read in _PAPER_GROUPS.items():
                if theirs == paper_readers(can_read):
                    of_the_paper[label] = group
    return Reversal(results, pooled, of_the_paper, tuned, tuple(warnings))


def _offsets(reversal: Reversal) -> str:
    counts = sorted({result.offsets for result in reversal.results.values()})
    return "n = " + " or ".join(map(str, counts)) + " offsets at each budget"


def reversal_table(measured: Measured, reversal: Reversal, published: Published | None) -> ReportTable:
    """Table 5: the test at θ = 0.3 beside always answering."""
    rows = []
    for model, result in reversal.results.items():
        at = result.at(THRESHOLD)
        values: dict[str, Estimate] = {
            "accuracy_one_offset": result.always(8).accuracy,
            "accuracy_k16": result.always(16).accuracy,
            "accuracy_k32": result.always(32).accuracy,
            "mean_k_answered": at.budget_answered,
            "mean_k_all": at.budget_all,
            "coverage": at.coverage,
            "accuracy": at.accuracy,
        }
        rows.append(
            Row(model, {k: Cell(v, published=published(model, k) if published else None) for k, v in values.items()})
        )
    return ReportTable(
        name="reversal",
        title=f"Reversal test at θ = {THRESHOLD}",
        source="Table 5",
        row_heading="model",
        columns=(
            Column("accuracy_one_offset", "one offset, k = 8", "always answer: accuracy"),
            Column("accuracy_k16", "k = 16", "always answer: accuracy"),
            Column("accuracy_k32", "k = 32", "always answer: accuracy"),
            Column("mean_k_answered", "mean k, answered", "reversal test", 1),
            Column("mean_k_all", "mean k, all", "reversal test", 1),
            Column("coverage", "coverage", "reversal test"),
            Column("accuracy", "accuracy", "reversal test"),
        ),
        rows=tuple(rows),
        notes=(
            "videos of k = 16, seen with 8, 16 and 32 frames; " + _offsets(reversal),
            "with 8 frames two events an odd number of intervals apart are never both met, one of them may be",
            "accuracy on answered videos; the paper's mean k is over answered videos, an abstention spends all budgets",
        ),
        missing=missing_runs(measured, [REVERSAL]),
    )


def _sweep_cells(at: ThresholdResult) -> dict[str, Cell]:
    return {
        "coverage": Cell(at.coverage),
        "accuracy": Cell(at.accuracy),
        "mean_k_answered": Cell(at.budget_answered),
        "mean_k_all": Cell(at.budget_all),
        "answered": Cell(text=f"{at.answered} of {at.videos}"),
    }


_SWEEP_COLUMNS = (
    Column("coverage", "coverage"),
    Column("accuracy", "accuracy"),
    Column("mean_k_answered", "mean k, answered", digits=1),
    Column("mean_k_all", "mean k, all", digits=1),
    Column("answered", "videos answered"),
)


def sweep_table(measured: Measured, reversal: Reversal, with_published: bool) -> ReportTable:
    """Table 8: the test at every θ, by model and for the models that read the order and that cannot, pooled."""
    rows = []
    for label, result in [*reversal.groups.items(), *reversal.results.items()]:
        said = {}
        if with_published and label in reversal.of_the_paper:
            said = published_sweep(reversal.of_the_paper[label])
        for at in result.thresholds:
            cells = _sweep_cells(at)
            for ours, theirs in (("coverage", "coverage"), ("accuracy", "accuracy"), ("mean_k_answered", "mean_k")):
                value = said.get(at.threshold, {}).get(theirs)
                cells[ours] = Cell(cells[ours].estimate, published=value)
            rows.append(Row(f"{label}, θ = {at.threshold:g}", cells))
    return ReportTable(
        name="reversal_sweep",
        title="Reversal test across thresholds",
        source="Table 8",
        row_heading="model and threshold",
        columns=_SWEEP_COLUMNS,
        rows=tuple(rows),
        notes=(_offsets(reversal), "pooled groups keep a probe one cluster across models"),
        missing=missing_runs(measured, [REVERSAL]),
    )


def tuned_table(measured: Measured, reversal: Reversal) -> ReportTable:
    """θ chosen on some probes, and what it measures on the others."""
    rows = []
    for (model, target), tuned in reversal.tuned.items():
        choice, label = tuned.choice, f"{model}, target {target}"
        if tuned.evaluation is None or choice.threshold is None:
            reason = f"no θ reaches {target} {choice.wanted:g} on {choice.videos} tuning videos"
            rows.append(Row(label, {"theta": Cell(text="none", note=reason)}))
            continue
        cells = _sweep_cells(tuned.evaluation.thresholds[0])
        rows.append(Row(label, {"theta": Cell(text=f"{choice.threshold:g}"), **cells}))
    wanted = ", ".join(f"{target} {value:g}" for target, value in TARGETS)
    return ReportTable(
        name="reversal_tuned",
        title="Reversal test with θ chosen on separate probes",
        source="Threshold Sensitivity",
        row_heading="model and target",
        columns=(Column("theta", "θ"), *_SWEEP_COLUMNS),
        rows=tuple(rows),
        notes=(
            f"targets on tuning probes: {wanted}; a target accuracy takes the smallest θ that reaches it, a target "
            "coverage the largest",
            f"about {100 * SHARE:.0f} % of probes for tuning, by a hash of their names with seed {TUNING_SEED}; numbers are of the "
            "others",
        ),
        missing=missing_runs(measured, [REVERSAL]),
    )


def adaptive_table(measured: Measured) -> ReportTable:
    """The test run adaptively: what it answered, and what it spent."""
    names = {"mean_k_answered": "mean k, answered", "mean_k_all": "mean k, all", "coverage": "coverage",
             "accuracy": "accuracy"}  # fmt: skip
    rows = [
        Row(
            model,
            {"theta": Cell(text=f"{threshold_of(run.table):g}")}
            | {name: Cell(measured.get(model, ADAPTIVE, name)) for name in names},
        )
        for model in measured.study.models
        if (run := measured.study.run(model, ADAPTIVE)) is not None
    ]
    return ReportTable(
        name="reversal_adaptive",
        title="Reversal test, run adaptively",
        source="Algorithm 1",
        row_heading="model",
        columns=(
            Column("theta", "θ of the run"),
            *(Column(k, h, digits=1 if k.startswith("mean_k") else 2) for k, h in names.items()),
        ),
        rows=tuple(rows),
        notes=("stopped at each video as soon as it might answer at its own θ; other θ cannot be decided afterwards",),
    )
