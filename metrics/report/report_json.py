"""A report as plain data and back: full precision, and null where there is no number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from metrics.intervals import NOTHING, Estimate
from metrics.report.benchmarks import VIDEO
from metrics.report.contents import Figure, LogSource, Provenance, ReceiptSummary, Report, Sheet, Verdict
from metrics.report.report_table import Cell, Column, ReportTable, Row

VERSION = 1  # raised when a field changes its meaning


def _plain_number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _cell_to_json(cell: Cell) -> dict[str, Any]:
    e = cell.estimate
    numbers = {name: _plain_number(getattr(e, name)) for name in ("value", "low", "high")}
    return {
        "estimate": {**numbers, "probes": int(e.probes), "method": e.method},
        "p_value": _plain_number(cell.p_value),
        "note": cell.note,
        "published": _plain_number(cell.published),
        "text": cell.text,
    }


def _table_to_json(table: ReportTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "source": table.source,
        "row_heading": table.row_heading,
        "columns": [asdict(column) for column in table.columns],
        "rows": [
            {"label": r.label, "cells": {key: _cell_to_json(c) for key, c in r.cells.items()}} for r in table.rows
        ],
        "notes": list(table.notes),
        "missing": list(table.missing),
        "benchmark": table.benchmark,
        "calibrated_by": table.calibrated_by,
    }


def report_to_json(
    report: Report, figure_files: Mapping[str, tuple[str, str]], sheet_files: list[str]
) -> dict[str, Any]:
    """A report as JSON values; pictures are named by their files.

    Args:
        report: what to write.
        figure_files: by figure, where its SVG and its PNG lie.
        sheet_files: where each contact sheet lies.
    """
    files = [figure_files[f.name] for f in report.figures]
    return {
        "version": VERSION,
        "title": report.title,
        "benchmarks": list(report.benchmarks),
        "warnings": list(report.warnings),
        "verdicts": [asdict(v) for v in report.verdicts],
        "missing": list(report.missing),
        "tables": [_table_to_json(table) for table in report.tables],
        "figures": [
            {"name": f.name, "title": f.title, "caption": f.caption, "svg": svg, "png": png, "benchmark": f.benchmark}
            for f, (svg, png) in zip(report.figures, files, strict=True)
        ],
        "sheets": [
            {"model": s.model, "caption": s.caption, "png": png}
            for s, png in zip(report.sheets, sheet_files, strict=True)
        ],
        "receipts": [asdict(r) for r in report.receipts],
        "provenance": {
            "versions": dict(report.provenance.versions),
            "releases": list(report.provenance.releases),
            "seeds": dict(report.provenance.seeds),
            "logs": [asdict(log) for log in report.provenance.logs],
        },
    }


def _estimate_from_json(numbers: Mapping[str, Any]) -> Estimate:
    if numbers["method"] == "none":
        return NOTHING
    value, low, high = (math.nan if numbers[n] is None else float(numbers[n]) for n in ("value", "low", "high"))
    return Estimate(value, low, high, numbers["probes"], numbers["method"])


def _cell_from_json(value: Mapping[str, Any]) -> Cell:
    return Cell(
        _estimate_from_json(value["estimate"]), value["p_value"], value["note"], value["published"], value["text"]
    )


def _table_from_json(value: Mapping[str, Any]) -> ReportTable:
    rows = tuple(Row(r["label"], {k: _cell_from_json(c) for k, c in r["cells"].items()}) for r in value["rows"])
    return ReportTable(
        value["name"], value["title"], value["source"], value["row_heading"],
        tuple(Column(**c) for c in value["columns"]), rows, tuple(value["notes"]), tuple(value["missing"]),
        value.get("benchmark", VIDEO.name), value.get("calibrated_by", ""),
    )  # fmt: skip


def report_from_json(value: Mapping[str, Any], read: Callable[[str], bytes]) -> Report:
    """The report behind its JSON values.

    Args:
        value: as `report_to_json` gives it.
        read: the content of a file beside it.

    Raises:
        KeyError, TypeError, ValueError: if it is none, or of another version.
    """
    if value["version"] != VERSION:
        raise ValueError(f"version {value['version']!r}, this package reads {VERSION}")
    provenance = value["provenance"]
    return Report(
        title=value["title"],
        warnings=tuple(value["warnings"]),
        verdicts=tuple(Verdict(**v) for v in value["verdicts"]),
        missing=tuple(value["missing"]),
        tables=tuple(_table_from_json(t) for t in value["tables"]),
        figures=tuple(
            Figure(
                f["name"],
                f["title"],
                f["caption"],
                read(f["svg"]).decode(),
                read(f["png"]),
                f.get("benchmark", VIDEO.name),
            )
            for f in value["figures"]
        ),
        sheets=tuple(Sheet(s["model"], s["caption"], read(s["png"])) for s in value["sheets"]),
        receipts=tuple(ReceiptSummary(**r) for r in value["receipts"]),
        provenance=Provenance(
            versions=provenance["versions"],
            releases=tuple(provenance["releases"]),
            seeds=provenance["seeds"],
            logs=tuple(LogSource(**log) for log in provenance["logs"]),
        ),
        benchmarks=tuple(value.get("benchmarks", (VIDEO.name,))),
    )
