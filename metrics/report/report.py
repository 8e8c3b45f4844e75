"""Writing a report, as one folder: the page, its tables and figures as files, and everything as data."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from metrics.report.contents import Figure, LogSource, Provenance, ReceiptSummary, Report, Sheet, Verdict
from metrics.report.page import render_page
from metrics.report.report_folder import FORMAT, MANIFEST, ReportError, check_target, replace_folder
from metrics.report.report_json import report_from_json, report_to_json
from metrics.report.report_table import ReportTable
from metrics.report.table_files import table_csv, table_latex

__all__ = [
    "Figure", "LogSource", "Provenance", "ReceiptSummary", "Report", "ReportError", "Sheet", "Verdict", "check_target",
    "read_report", "report_files", "write_report",
]  # fmt: skip


def _refuse_repeats(what: str, names: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{what} occurs twice: {repeated[0]!r}")


def _check_table(table: ReportTable) -> None:
    keys = [column.key for column in table.columns]
    _refuse_repeats(f"a column of table {table.name}", keys)
    _refuse_repeats(f"a row of table {table.name}", (row.label for row in table.rows))
    unknown = sorted({key for row in table.rows for key in row.cells} - set(keys))
    if unknown:
        raise ValueError(f"table {table.name} has cells of no column: {', '.join(unknown)}")


def _check(report: Report) -> None:
    for what, names in (("table", [t.name for t in report.tables]), ("figure", [f.name for f in report.figures])):
        _refuse_repeats(f"a {what}", names)
        for name in names:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
                raise ValueError(f"{name!r} cannot name a {what} and its files: use lower-case letters and _")
    for table in report.tables:
        _check_table(table)


def report_files(report: Report) -> dict[str, bytes]:
    """All files of a report by their path below its folder; the same report gives the same bytes.

    Raises:
        ValueError: if names, columns or rows are not distinct, a number is infinite, or a figure may not stand
            in the page.
    """
    _check(report)
    figure_files = {f.name: (f"figures/{f.name}.svg", f"figures/{f.name}.png") for f in report.figures}
    sheet_files = [f"sheets/{i:02d}.png" for i in range(1, len(report.sheets) + 1)]
    files = {"index.html": render_page(report, sheet_files).encode("utf-8")}
    for table in report.tables:
        files[f"tables/{table.name}.csv"] = table_csv(table).encode("utf-8", "backslashreplace")
        files[f"tables/{table.name}.tex"] = table_latex(table).encode("utf-8")
    for figure in report.figures:
        svg, png = figure_files[figure.name]
        files |= {svg: figure.svg.encode("utf-8"), png: figure.png}
    files |= {name: sheet.png for name, sheet in zip(sheet_files, report.sheets, strict=True)}
    data = {"format": FORMAT, "files": sorted(files), **report_to_json(report, figure_files, sheet_files)}
    text = json.dumps(data, indent=1, allow_nan=False)  # ASCII, so that broken characters of a log survive
    return {MANIFEST: (text + "\n").encode("ascii"), **files}


def write_report(report: Report, out: Path) -> None:
    """Write a report as the folder `out`, whole or not at all; a report that is there is replaced.

    Raises:
        ReportError: if `out` holds anything but a report, or cannot be written.
        ValueError: as `report_files`.
    """
    replace_folder(report_files(report), out)


def read_report(folder: Path) -> Report:
    """The report that `write_report` wrote.

    Raises:
        ReportError: if it is none, of another version, or incomplete.
    """
    try:
        value = json.loads((folder / MANIFEST).read_bytes())
        if value["format"] != FORMAT:
            raise ValueError(f"its format is {value['format']!r}")
        return report_from_json(value, lambda name: (folder / name).read_bytes())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportError(f"{folder} is no report of this version ({error}): write it again from its logs") from error
