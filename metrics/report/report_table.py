"""Tables of the report as data: what every output (page, CSV, LaTeX) is written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metrics.intervals import NOTHING, Estimate
from metrics.report.benchmarks import VIDEO


@dataclass(frozen=True)
class Column:
    """A column: its key is unique in the table and heads the CSV file."""

    key: str
    heading: str
    group: str = ""  # spanning heading of neighbours that share it
    digits: int = 2


@dataclass(frozen=True)
class Cell:
    """One number with its interval, what was tested about it, and what the paper says."""

    estimate: Estimate = NOTHING
    p_value: float | None = None  # of the test that the table's notes state
    note: str = ""
    published: float | None = None
    text: str = ""  # instead of a number


@dataclass(frozen=True)
class Row:
    """A row: mostly a model. A key that is absent was not measured."""

    label: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class ReportTable:
    """A table with how to read it and what is not there."""

    name: str  # file stem
    title: str
    source: str  # which table or figure of the paper it answers
    row_heading: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # each with the command that would give it
    benchmark: str = VIDEO.name
    calibrated_by: str = ""  # who says what the levels mean that its numbers are over; empty where there are none
