"""What was tested about each model: the gate in both directions, the event frames, the gap in-gap, and the power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from metrics.attribution import measure_attribution
from metrics.equivalence import ALPHA, MARGIN, Equivalence, two_one_sided
from metrics.intervals import Array, Estimate
from metrics.multiplicity import holm
from metrics.paired_tests import PairedTest, mcnemar_exact
from metrics.paper_measures import TASK
from metrics.power import MOST_PROBES, POWER, probes_needed, smallest_detectable
from metrics.probe_scores import ProbeScores, probe_scores
from metrics.report.measured import Measured
from metrics.report.paper_tables import missing_runs
from metrics.report.report_table import Cell, Column, ReportTable, Row

ATTRIBUTION = f"{TASK}_attribution"


def _aligned(first: ProbeScores, second: ProbeScores, name: str) -> tuple[Array, Array]:
    """A score of two phases for the probes that both have."""
    place = {probe: i for i, probe in enumerate(second.probes)}
    rows = [(i, place[probe]) for i, probe in enumerate(first.probes) if probe in place]
    a, b = np.array([i for i, _ in rows], dtype=int), np.array([j for _, j in rows], dtype=int)
    return getattr(first, name)[a], getattr(second, name)[b]


def _paired_cell(test: PairedTest | None, adjusted: float | None) -> Cell:
    if test is None or not test.pairs:
        return Cell(text="not measured")
    return Cell(text=f"{test.first_only} : {test.second_only}", p_value=adjusted, note=f"{test.pairs} probes")


def _equivalence_cell(result: Equivalence | None, adjusted: float | None) -> Cell:
    if result is None:
        return Cell(text="not measured")
    if result.method == "identical by construction":
        return Cell(text="identical by construction", note=f"{result.probes} probes")
    words = "no decision"
    if result.equivalent is not None and adjusted is not None:
        words = "equivalent" if result.equivalent and adjusted < ALPHA else "not shown"
    estimate = Estimate(result.gap, result.low, result.high, result.probes, "point")
    detail = f", gap {estimate}" if not np.isnan(result.low) else ""
    return Cell(text=words, p_value=adjusted, note=f"{result.method}{detail}")


def _power_cells(gap: Array) -> dict[str, Cell]:
    known = gap[~np.isnan(gap)]
    if len(known) < 2:
        return {}
    discordant, size = float((known != 0).mean()), float(abs(known.mean()))
    if discordant == 0:
        return {"detectable": Cell(text="no probe differs"), "needed": Cell(text="no probe differs")}
    detectable = smallest_detectable(len(known), discordant)
    found = "none" if np.isnan(detectable) else f"{detectable:.2f}"
    cells = {"detectable": Cell(text=f"{found} ({100 * discordant:.0f} % differ)")}
    if size > 0:
        try:
            needed = f"{probes_needed(min(size, discordant), discordant):,}"
        except ValueError:
            needed = f"more than {MOST_PROBES:,}"
        cells["needed"] = Cell(text=f"{needed} (|J| = {size:.2f})")
    return cells


def _adjusted(tests: Sequence[PairedTest | Equivalence | None]) -> list[float | None]:
    return holm([None if test is None else test.p_value for test in tests])


def _made(adjusted: Mapping[str, Sequence[float | None]]) -> str:
    names = {"S": "false claims", "C": "true claims", "events": "order read", "zero": "in-gap"}
    counts = {key: sum(p is not None and not np.isnan(p) for p in ps) for key, ps in adjusted.items()}
    return ", ".join(f"{names[key]} {count}" for key, count in counts.items())


def significance_table(measured: Measured) -> ReportTable:
    """The tests of each model at k = 16, p-values adjusted by Holm over the models of a column."""
    models = measured.study.models
    scores: dict[str, tuple[ProbeScores, ProbeScores]] = {}
    events: dict[str, PairedTest] = {}
    for model in models:
        if (run := measured.study.run(model, TASK)) is not None:
            scores[model] = (probe_scores(run.table, "on_grid"), probe_scores(run.table, "in_gap"))
        if (run := measured.study.run(model, ATTRIBUTION)) is not None:
            informed = measure_attribution(run.table, resamples=0).informed
            events[model] = mcnemar_exact((informed["placebo"] + 1) / 2, (informed["no_events"] + 1) / 2)
    paired = {name: {m: mcnemar_exact(*_aligned(*pair, name)) for m, pair in scores.items()} for name in ("S", "C")}
    zero = {m: two_one_sided(in_gap.gap, identical=in_gap.identical) for m, (_, in_gap) in scores.items()}
    adjusted = {
        "S": _adjusted([paired["S"].get(m) for m in models]),
        "C": _adjusted([paired["C"].get(m) for m in models]),
        "events": _adjusted([events.get(m) for m in models]),
        "zero": _adjusted([zero.get(m) for m in models]),
    }
    rows = []
    for i, model in enumerate(models):
        if model not in scores and model not in events:
            continue
        cells = {
            "false_claims": _paired_cell(paired["S"].get(model), adjusted["S"][i]),
            "true_claims": _paired_cell(paired["C"].get(model), adjusted["C"][i]),
            "event_frames": _paired_cell(events.get(model), adjusted["events"][i]),
            "in_gap_J": _equivalence_cell(zero.get(model), adjusted["zero"][i]),
        }
        if model in scores:
            cells |= _power_cells(scores[model][0].gap)
        rows.append(Row(model, cells))
    return ReportTable(
        name="tests",
        title="Tests at k = 16",
        source="Controls and Statistics",
        row_heading="model",
        columns=(
            Column("false_claims", "false claims", "accepted on-grid only : in-gap only"),
            Column("true_claims", "true claims", "accepted on-grid only : in-gap only"),
            Column("event_frames", "order read", "better with placebo : without events"),
            Column("in_gap_J", f"in-gap |J| < {MARGIN}", "two one-sided tests"),
            Column("detectable", "smallest J found", f"power {100 * POWER:.0f} %"),
            Column("needed", "probes for the observed J", f"power {100 * POWER:.0f} %"),
        ),
        rows=tuple(rows),
        notes=(
            "counts of probes that differ; p by the exact McNemar test, which is the exact sign test over probes where both "
            "twins of a probe count",
            "p-values are adjusted by Holm over the tests that were made in a column: " + _made(adjusted),
            "power of the exact sign test of J = 0, for the share of probes whose answers differ here",
        ),
        missing=missing_runs(measured, [TASK, ATTRIBUTION]),
    )
