"""The paper's tables of rates: which number of which task stands in which column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metrics.deference import PHASES
from metrics.paper_measures import TASK, TIMES
from metrics.readouts import PROBABILITIES
from metrics.report.measured import Measured
from metrics.report.report_table import Cell, Column, ReportTable, Row

BUDGETS = (8, 16, 24, 32, 48, 64)
Published = Callable[[str, str], float | None]  # of a model and a column key

_ZERO = "“by construction”: the twins are identical requests, so the value cannot differ from zero"


def main_task(budget: int) -> str:
    """The main task at a budget."""
    return TASK if budget == 16 else f"{TASK}_k{budget}"


@dataclass(frozen=True)
class Source:
    """A column, and the task and name of the number that stands in it."""

    column: Column
    task: str
    measure: str


def missing_runs(measured: Measured, tasks: Sequence[str]) -> tuple[str, ...]:
    """Which models lack which of these tasks, with the command that would run them."""
    lines = []
    for model in measured.study.models:
        absent = [task for task in dict.fromkeys(tasks) if measured.study.run(model, task) is None]
        if absent:
            lines.append(
                f"{model}: no log of {', '.join(absent)}: `lmms-eval --tasks {','.join(absent)} --log_samples`"
            )
    return tuple(lines)


def _cell(measured: Measured, model: str, source: Source, said: float | None) -> Cell:
    estimate = measured.get(model, source.task, source.measure)
    time = source.measure.removesuffix("_confidence").rpartition("_")[2]
    reason = measured.unavailable.get((model, source.task), {}).get(time, "")
    if estimate.method == "none" and reason:
        return Cell(text="no channel", note=reason, published=said)
    note = "by construction" if estimate.method == "by construction" else ""
    return Cell(estimate, note=note, published=said)


def rate_table(
    measured: Measured,
    name: str,
    title: str,
    source: str,
    sources: Sequence[Source],
    notes: Sequence[str] = (),
    published: Published | None = None,
) -> ReportTable:
    """A table with a row for each model that has any of its numbers."""
    rows = []
    for model in measured.study.models:
        cells = {}
        for s in sources:
            if measured.study.run(model, s.task) is None:
                continue
            said = published(model, s.column.key) if published is not None else None
            cells[s.column.key] = _cell(measured, model, s, said)
        if cells:
            rows.append(Row(model, cells))
    return ReportTable(
        name=name,
        title=title,
        source=source,
        row_heading="model",
        columns=tuple(s.column for s in sources),
        rows=tuple(rows),
        notes=tuple(notes),
        missing=missing_runs(measured, [s.task for s in sources]),
    )


def main_sources(confidence: bool = False) -> list[Source]:
    """Table 1: J0, S, C and J in both phases at k = 16 and 32."""
    ending = "_confidence" if confidence else ""
    return [
        Source(
            Column(f"k{k}_{phase}_{m}", m, f"k = {k}, {phase.replace('_', '-')}"),
            main_task(k),
            f"{phase}_{m}{ending}",
        )
        for k in (16, 32)
        for phase in PHASES
        for m in ("J0", "S", "C", "J")
    ]


def attribution_sources() -> list[Source]:
    """Table 2: J0 with and without event frames, and what the events add to the prior b."""
    headings = {
        "J0": "J0", "J0_no_events": "no events", "J0_placebo": "placebo", "b": "b",
        "C_minus_b": "C − b", "S_minus_b": "S − b",
    }  # fmt: skip
    task = f"{TASK}_attribution"
    return [
        Source(Column(key, heading, "J0 by arm" if key.startswith("J0") else "under a strong claim"), task, key)
        for key, heading in headings.items()
    ]


def strength_sources() -> list[Source]:
    """Table 3: J by strength of the claim and by scoring."""
    return [
        Source(
            Column(f"{scoring}_{claim}", claim, f"J, {scoring} rate"),
            f"{TASK}_mild",
            f"J_{claim}" + ("_confidence" if scoring == "confidence" else ""),
        )
        for scoring in ("hard", "confidence")
        for claim in ("strong", "mild")
    ]


def time_sources() -> list[Source]:
    """Table 4: J0 and J with frame times withheld, by the model's own channel, and as text."""
    return [
        Source(Column(f"{m}_{time}", time, f"on-grid {m}"), f"{TASK}_time", f"{m}_{time}")
        for m in ("J0", "J")
        for time in TIMES
    ] + [
        Source(Column(f"in_gap_J0_{time}", time, "in-gap J0"), f"{TASK}_time", f"in_gap_J0_{time}") for time in TIMES
    ]  # fmt: skip


def dilution_sources(measure: str) -> list[Source]:
    """Figure 2 as a table: on-grid J0 or J at every budget."""
    return [
        Source(Column(f"k{k}_{measure}", f"k = {k}", f"on-grid {measure}"), main_task(k), f"on_grid_{measure}")
        for k in BUDGETS
    ]


def availability_sources() -> list[Source]:
    """Table 6: availability, prior and deference."""
    headings = {"on_grid_J0": "on-grid J0", "in_gap_S": "in-gap S", "on_grid_J": "on-grid J"}
    return [Source(Column(key, heading), TASK, key) for key, heading in headings.items()]


def single_event_sources() -> list[Source]:
    """Table 7: J0 with one event among the frames."""
    headings = {"on_grid": "both events", "early": "early only", "late": "late only", "mean": "mean of early and late"}
    return [
        Source(Column(key, heading, "J0"), f"{TASK}_single_event", f"J0_{key}") for key, heading in headings.items()
    ]


def paper_tables(measured: Measured, published: Callable[[str, str, str], float | None] | None) -> list[ReportTable]:
    """Tables 1 to 4, 6 and 7, and Figure 2 as tables.

    Args:
        measured: the numbers.
        published: the paper's value by table, checkpoint and column key; None to leave it out.
    """

    def said(table: str) -> Published | None:
        return None if published is None else lambda model, key: published(table, measured.study.checkpoint(model), key)

    tables = [
        rate_table(
            measured, "main", "Main results under a strong claim", "Table 1", main_sources(),
            ("J0 without a claim; S and C: accept rates of a false and of a true claim; J = C − S", _ZERO), said("main"),
        ),
        rate_table(
            measured, "attribution", "Which frames carry the order, and the prior without them", "Table 2",
            attribution_sources(),
            ("no events: both event frames replaced by background; placebo: as many background frames replaced", _ZERO),
            said("attribution"),
        ),
        rate_table(
            measured, "claim_strength", "Strength of the claim and scoring", "Table 3", strength_sources(),
            ("on-grid, k = 16",), said("claim_strength"),
        ),
        rate_table(
            measured, "time", "Absolute time withheld, by the model's own channel, and as text", "Table 4",
            time_sources(), ("k = 16", _ZERO), said("time"),
        ),
        rate_table(measured, "dilution_informedness", "Budget dilution: order read without a claim", "Figure 2", dilution_sources("J0")),
        rate_table(measured, "dilution_deference", "Budget dilution: J under a strong claim", "Figure 2", dilution_sources("J")),
        rate_table(
            measured, "availability", "Availability, prior and deference", "Table 6", availability_sources(),
            ("k = 16",), said("availability"),
        ),
        rate_table(
            measured, "single_event", "One event among the frames", "Table 7", single_event_sources(),
            ("k = 16, no claim; early and late name the event that is kept",), said("single_event"),
        ),
    ]  # fmt: skip
    if measured.study.readout == PROBABILITIES:
        confident = rate_table(
            measured, "main_confidence", "Main results from option probabilities", "Table 1, confidence rates",
            main_sources(confidence=True), ("probability on the claimed (S, C) and on the right order (J0)", _ZERO),
        )  # fmt: skip
        tables.insert(1, confident)
    return [table for table in tables if table.rows]
