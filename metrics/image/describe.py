"""The numbers of a run of the image benchmark as text: warnings and the verdict first, then the tables of the report."""

from __future__ import annotations

from collections.abc import Collection

from metrics.image.recoverability import Recoverability
from metrics.image.report_assemble import image_seeds, image_tables, image_warning_lines
from metrics.image.report_measured import measure_image_study
from metrics.image.report_study import collect_image_study
from metrics.image.report_tables import COMPLETE
from metrics.intervals import RESAMPLES
from metrics.logged_run import LoggedRun
from metrics.report.notation import MINUS, fixed, p_text, plain
from metrics.report.report_table import Cell, Column, ReportTable
from metrics.report.shown_table import MARKS, column_groups, has_interval
from metrics.table import format_rows

# In this order; the page has the others too.
SHOWN = ("violation", "pressure", "directions", "abstention", "answers", "degradation_trend", "calibration", "reading")


def _cell(cell: Cell, column: Column) -> str:
    parts = []
    if cell.text:
        parts.append(plain(cell.text))
    else:
        parts.append(fixed(cell.estimate.value, column.digits))
        if has_interval(cell):
            parts.append(f"[{fixed(cell.estimate.low, column.digits)}, {fixed(cell.estimate.high, column.digits)}]")
        parts.append(MARKS.get(cell.estimate.method, ""))
    if cell.p_value is not None and cell.p_value == cell.p_value:
        parts.append(p_text(cell.p_value))
    return " ".join(part for part in parts if part).replace(MINUS, "-")  # a terminal may lack it


def table_text(table: ReportTable, drop: str = "", said: Collection[str] = ()) -> str:
    """A table of the report as text, its title above and how to read it below.

    Args:
        table: of a report.
        drop: what all row labels begin with, left out.
        said: notes that were given already.
    """
    rows = [["", *(column.heading for column in table.columns)]]
    notes = []
    for row in table.rows:
        label = plain(row.label.removeprefix(drop).lstrip(" :,"))
        cells = [(row.cells.get(column.key, Cell()), column) for column in table.columns]
        rows.append([label, *(_cell(*cell) for cell in cells)])
        notes += [plain(cell.note) for cell, _ in cells if cell.note and cell.text]
    lines = [f"  {note}" for note in dict.fromkeys((*table.notes, *notes)) if note not in said]
    return "\n".join([table.title, *_spanning(table, rows), format_rows(rows), *lines])


def _spanning(table: ReportTable, rows: list[list[str]]) -> list[str]:
    """A line with the headings of groups of columns, each above its first column; none where there are no groups."""
    widths = [max(len(row[i]) for row in rows) + 2 for i in range(len(rows[0]))]
    at = {column.key: sum(widths[: i + 1]) for i, column in enumerate(table.columns)}
    line = ""
    for group in column_groups(table.columns):
        if group.heading:
            line = (
                f"{line.ljust(at[group.columns[0].key] - 1)} {group.heading}"
                if line
                else (" " * at[group.columns[0].key] + group.heading)
            )
    return [line] if line else []


def describe_image_run(run: LoggedRun, recoverability: Recoverability | None = None, resamples: int = RESAMPLES) -> str:
    """One run as text: what it is, warnings, the verdict, and its tables.

    EIV stands in a row with what chance gives it, its excess, an interval and a p-value, and nowhere without.

    Args:
        run: of one elicitation.
        recoverability: what images still give, for H3; None if it is not known.
        resamples: of the bootstrap behind the intervals.

    Raises:
        LogError: if the run contradicts itself, or mixes releases or readouts.
    """
    measured = measure_image_study(collect_image_study([run]), recoverability, resamples)
    (numbers,) = measured.runs
    counted = run.table[~run.table["padding"].to_numpy()]
    facts = (
        f"release {measured.study.release[:16]}, {counted['item'].nunique()} items, {counted['question'].nunique()} questions, "
        f"levels {', '.join(f'L{level}' for level in numbers.levels)}, {run.table['elicitation'].iloc[0]} elicitation"
    )
    tables = {table.name: table for table in image_tables(measured)}
    said = plain(numbers.verdict.sentence.removeprefix(f"{numbers.label}: "))
    common = (COMPLETE, measured.standing)
    seeds = ", ".join(f"{purpose} (seed {seed})" for purpose, seed in image_seeds(resamples).items())
    return "\n".join(
        [
            f"{run.task}: {plain(numbers.run.model)}"
            + (f" ({run.model_args})" if run.model_args and run.named else ""),
            facts,
            *(f"WARNING {plain(line)}" for line in image_warning_lines(measured)),
            "",
            f"verdict: {numbers.verdict.kind}: {said.replace(MINUS, '-')}",
            "",
            *(f"{table_text(tables[name], numbers.label, common)}\n" for name in SHOWN if name in tables),
            *common,
            f"95 % intervals over items; {seeds}",
            "e: all items agree, or few deviate: exact bounds over items",
        ]
    )
