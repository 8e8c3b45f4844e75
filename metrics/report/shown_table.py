"""A table as it is shown: formatted numbers, marks and how to read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from metrics.intervals import LEVEL
from metrics.report.benchmarks import BENCHMARKS, Benchmark, benchmarks_named
from metrics.report.notation import NOT_MEASURED, fixed, p_text
from metrics.report.published import SOURCE
from metrics.report.report_table import Cell, Column, ReportTable

MARKS = {"exact": "e", "by construction": "c"}
_WIDE = 9  # columns from which a table is printed on its side


@dataclass(frozen=True)
class ShownCell:
    """A cell as the page shows it; empty strings are left out."""

    value: str
    measured: bool
    text: str = ""
    mark: str = ""
    footnote: int | None = None
    interval: tuple[str, str] | None = None
    p_value: str = ""
    published: str = ""
    difference: str = ""
    first: bool = False  # of a group of columns


@dataclass(frozen=True)
class ShownRow:
    """A row as the page shows it."""

    label: str
    cells: tuple[ShownCell, ...]


@dataclass(frozen=True)
class Group:
    """Neighbouring columns under one spanning heading, or under none."""

    heading: str
    columns: tuple[Column, ...]

    @property
    def span(self) -> int:
        """How many columns it covers."""
        return len(self.columns)


@dataclass(frozen=True)
class ShownTable:
    """A table as the page shows it."""

    name: str
    title: str
    source: str
    row_heading: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]  # empty where no column has a group
    rows: tuple[ShownRow, ...]
    notes: tuple[str, ...]
    footnotes: tuple[str, ...]
    missing: tuple[str, ...]
    wide: bool
    benchmark: str


def column_groups(columns: Sequence[Column]) -> tuple[Group, ...]:
    """Neighbours with the same group together, in order; empty where no column has a group."""
    if not any(column.group for column in columns):
        return ()
    return tuple(Group(heading, tuple(members)) for heading, members in groupby(columns, key=lambda c: c.group))


def has_interval(cell: Cell) -> bool:
    """Whether a cell has an interval to show: one that cannot vary needs none."""
    e = cell.estimate
    return not (cell.text or e.method == "by construction" or any(map(math.isnan, (e.value, e.low, e.high))))


def _footnote(cell: Cell) -> str:
    """A cell's note, unless its mark says the same."""
    return "" if cell.note == cell.estimate.method else cell.note


def _shown_cell(cell: Cell, column: Column, footnotes: Sequence[str], first: bool) -> ShownCell:
    estimate, digits = cell.estimate, column.digits
    measured = not math.isnan(estimate.value) and not cell.text
    published, difference = "", ""
    if cell.published is not None:
        published = f"paper {fixed(cell.published, digits)}"
        difference = fixed(estimate.value - cell.published, digits, signed=True) if measured else ""
    return ShownCell(
        value=fixed(estimate.value, digits),
        measured=measured,
        text=cell.text,
        mark=MARKS.get(estimate.method, "") if measured else "",
        footnote=footnotes.index(_footnote(cell)) + 1 if _footnote(cell) else None,
        interval=(fixed(estimate.low, digits), fixed(estimate.high, digits)) if has_interval(cell) else None,
        p_value="" if cell.p_value is None or math.isnan(cell.p_value) else p_text(cell.p_value),
        published=published,
        difference=difference,
        first=first,
    )


def _present(table: ReportTable) -> list[Cell]:
    return [row.cells.get(column.key, Cell()) for row in table.rows for column in table.columns]


def legend(tables: Iterable[ReportTable]) -> list[tuple[str, str]]:
    """How to read the marks that any of the tables uses: (mark or method, what it means)."""
    tables = list(tables)
    cells = [cell for table in tables for cell in _present(table)]
    among = benchmarks_named(table.benchmark for table in tables)
    several, one = " or ".join(b.units for b in among), " or ".join(b.unit for b in among)
    methods = {c.estimate.method for c in cells if not c.text}
    lines = []
    if methods & {"bootstrap", "exact"}:
        lines.append(
            ("brackets", f"In brackets: {100 * LEVEL:.0f} % intervals, by bootstrap over {several} unless marked.")
        )
    if "exact" in methods:
        lines.append(
            (
                "e",
                f"e (exact): all {several} agree, or so few deviate that resampling would see too little of them; the interval "
                f"is an exact one over {several}, which says how often another {one} may still deviate.",
            )
        )
    if "by construction" in methods:
        lines.append(
            (
                "c",
                "c (by construction): the value cannot vary whatever the model does, since the requests that it compares "
                "are identical. It is no finding.",
            )
        )
    if "point" in methods:
        lines.append(("point", "A number without brackets or mark was given no interval."))
    if any(cell.p_value is not None for cell in cells):
        lines.append(("p", "p: of the test that the notes of the table name."))
    if any(cell.published is not None for cell in cells):
        lines.append(
            (
                "paper",
                f"In blue: the paper ({SOURCE}), and in parentheses measured minus published. The paper's videos are its "
                "own; numbers of another release need not agree.",
            )
        )
    if any(cell.estimate.method == "none" and not cell.text for cell in cells):
        lines.append(("unmeasured", f"{NOT_MEASURED}: not measured."))
    return lines


def _behind(cells: Iterable[Cell], benchmark: Benchmark) -> tuple[str, ...]:
    counts = sorted({c.estimate.probes for c in cells if c.estimate.method != "none" and not c.text})
    if not counts:
        return ()
    return (
        f"{benchmark.units.capitalize()} behind each number: {counts[0]}"
        + (f" to {counts[-1]}." if len(counts) > 1 else "."),
    )


def shown_table(table: ReportTable) -> ShownTable:
    """A table with its numbers formatted, its footnotes numbered and its columns grouped."""
    present = _present(table)
    footnotes = tuple(dict.fromkeys(_footnote(cell) for cell in present if _footnote(cell)))
    groups = column_groups(table.columns)
    first = {group.columns[0].key for group in groups}
    return ShownTable(
        name=table.name,
        title=table.title,
        source=table.source,
        row_heading=table.row_heading,
        columns=table.columns,
        groups=groups,
        rows=tuple(
            ShownRow(
                row.label,
                tuple(_shown_cell(row.cells.get(c.key, Cell()), c, footnotes, c.key in first) for c in table.columns),
            )
            for row in table.rows
        ),
        notes=(*table.notes, *_behind(present, BENCHMARKS[table.benchmark])),
        footnotes=footnotes,
        missing=table.missing,
        wide=len(table.columns) >= _WIDE,
        benchmark=table.benchmark,
    )
