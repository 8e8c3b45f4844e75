"""The numbers of a run as text, with intervals and warnings: for the main task S, C, J and J0 in both phases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from metrics.controls import control_kind, control_warnings, marked_name
from metrics.deference import MEASURES, PHASES, Deference, deference_warnings, measure_deference
from metrics.intervals import LEVEL, RESAMPLES, SEED, Estimate
from metrics.paper_measures import is_main_task, paper_measures
from metrics.readouts import readout_of
from metrics.reversal_log import threshold_of
from metrics.sample_log import Run
from metrics.task_warnings import task_warnings
from metrics.trial_table import table_of

Expected = Mapping[tuple[str, str], float]  # (phase, measure) -> value


def format_rows(rows: Sequence[Sequence[str]]) -> str:
    """Rows as columns of equal width, the first one as a heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.1%}"


def _cell(estimate: Estimate) -> str:
    marks = {"exact": " e", "by construction": " c"}
    return f"{estimate}{marks.get(estimate.method, '')}"


def deference_rows(results: Sequence[Deference], expected: Expected | None = None) -> list[list[str]]:
    """Heading and rows: one for each phase and scoring, and one of expected values where they are known."""
    rows = [["phase", "scoring", *MEASURES, "unparseable", "abstained", "ties"]]
    for result in results:
        shares = [_percent(x) for x in (result.unparseable, result.abstained, result.ties)]
        hard = [_cell(getattr(result, m)) for m in MEASURES]
        rows.append([result.phase, "hard", *hard, *shares])
        if expected is not None:
            values = [f"{expected[result.phase, m]:.3f}" for m in MEASURES]
            rows.append(["", "expected", *values, "", "", ""])
        if result.confidence:
            rows.append(["", "confidence", *(_cell(result.confidence[m]) for m in MEASURES), "", "", ""])
    return rows


def describe_run(run: Run, expected: Expected | None = None) -> str:
    """The table of one run with a heading, how to read it, and its warnings first.

    Raises:
        ValueError: if the run mixes releases, budgets, readouts, or trials of several models.
    """
    table = table_of(run.trials)
    readout_of(table)
    if is_main_task(run.task):
        results = [measure_deference(table, phase) for phase in PHASES]
        rows = deference_rows(results, expected)
        measures = [getattr(result, m) for result in results for m in MEASURES]
        warnings = [w for result in results for w in deference_warnings(result)]
        without_confidence = not any(result.confidence for result in results)
    else:
        numbers = {k: v for k, v in paper_measures(run.task, table, RESAMPLES).items() if v.method != "none"}
        rows = [["measure", "value", "probes"], *([k, _cell(v), str(v.probes)] for k, v in numbers.items())]
        measures = list(numbers.values())
        warnings = task_warnings(run.task, table)
        without_confidence = not table["has_probabilities"].any()
    first = run.trials[0]
    kind = control_kind(run.model, table)
    name = marked_name(run.model, kind)
    heading = f"{run.task}: {name}" + (f" ({run.model_args})" if run.model_args else "")
    warnings = [*(control_warnings({name: kind}) if kind else []), *run.problems, *warnings]
    budgets = ", ".join(map(str, sorted(table["budget"].unique())))
    times = ", ".join(sorted(map(str, table["time"].unique())))
    probes = table["probe"].nunique()
    facts = f"release {first.release[:16]}, {probes} probes, k = {budgets}, frame times {times}"
    if table["threshold"].notna().any():
        facts += f", θ = {threshold_of(table):g}"
    notes = [
        f"95 % intervals: percentile bootstrap over probes ({RESAMPLES} resamples, seed {SEED})"
        if LEVEL == 0.95
        else f"intervals at {LEVEL:.0%}"
    ]
    methods = {measure.method for measure in measures}
    if "exact" in methods:
        notes.append("e: all probes agree, or few deviate: exact bounds over probes")
    if "by construction" in methods:
        notes.append("c: zero by construction, the twins are identical requests")
    if without_confidence:
        notes.append("no confidence rates: this readout gives text, not option probabilities")
    return "\n".join([heading, facts, *(f"WARNING {w}" for w in warnings), "", format_rows(rows), "", *notes])
