"""A table of the report as files: CSV to compute with, LaTeX to print."""

from __future__ import annotations

import csv
import io
import math
import re

from metrics.report.benchmarks import BENCHMARKS
from metrics.report.notation import MINUS, fixed, p_text, plain
from metrics.report.report_table import Cell, Column, ReportTable, Row
from metrics.report.shown_table import MARKS, column_groups, has_interval

CSV_FIELDS = (
    "row", "column", "group", "heading", "value", "low", "high", "probes", "method", "p_value", "note", "published",
    "text",
)  # fmt: skip

# Brackets and stars would be read as an argument of the line break before them.
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "`": "{`}", "[": "{[}", "]": "{]}", "*": "{*}",
    MINUS: "$-$", "–": "--", "—": "---", "…": r"\ldots{}", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$",
    "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "→": r"$\to$", "∞": r"$\infty$", "₀": r"$_0$",
    "Δ": r"$\Delta$", "θ": r"$\theta$", "ρ": r"$\rho$", "τ": r"$\tau$", "α": r"$\alpha$", "β": r"$\beta$",
    "“": "``", "”": "''", "‘": "{`}", "’": "'",
}  # fmt: skip
_ACCENTED = re.compile("[À-ÏÑ-ÖØ-Ýß-ïñ-öø-ýÿ]")  # letters that pdfLaTeX reads as they are


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else repr(float(value))


def _writable(text: str) -> str:
    """Text without the one character that a CSV file cannot hold (Python 3.10 refuses to write it)."""
    return text.replace("\0", "\ufffd")


def table_csv(table: ReportTable) -> str:
    """A table with one line for each row and column, in full precision.

    The column `probes` is named after what the benchmark samples: `items` for the image one.
    What is unknown is an empty field; a cell that was not measured has the method `none`. A table over levels of degradation
    ends in a column `calibrated_by`, the same in every line.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    units = BENCHMARKS[table.benchmark].units
    calibrated = [_writable(table.calibrated_by)] if table.calibrated_by else []
    heading = [units if name == "probes" else name for name in CSV_FIELDS]
    writer.writerow([*heading, *(["calibrated_by"] if calibrated else [])])
    for row in table.rows:
        for column in table.columns:
            cell = row.cells.get(column.key, Cell())
            e = cell.estimate
            numbers = [_number(x) for x in (e.value, e.low, e.high)]
            writer.writerow(
                [
                    *map(_writable, (row.label, column.key, column.group, column.heading)),
                    *(*numbers, e.probes, e.method, _number(cell.p_value)),
                    *(_writable(cell.note), _number(cell.published), _writable(cell.text), *calibrated),
                ]
            )
    return out.getvalue()


def _letter(c: str) -> str:
    if c in _ESCAPES:
        return _ESCAPES[c]
    return c if " " <= c <= "~" or _ACCENTED.match(c) else rf"\texttt{{{{[}}U+{ord(c):04X}{{]}}}}"


def latex_text(text: str) -> str:
    """Any text so that pdfLaTeX prints it; a character that it has no letter for is printed as its code."""
    letters = "".join(_letter(c) for c in re.sub(r"\s+", " ", plain(text)))
    return re.sub("-(?=-)", "-{}", letters) if "--" in text else letters


def _heading(text: str) -> str:
    """A heading with measures as the paper sets them."""
    parts = re.split(r"\b(J0|[JSCb])\b", text)
    return "".join(latex_text(p) if i % 2 == 0 else "$J_0$" if p == "J0" else f"${p}$" for i, p in enumerate(parts))


def _value(cell: Cell, column: Column) -> str:
    if cell.text:
        return latex_text(cell.text)
    if math.isnan(cell.estimate.value):
        return "--"
    mark = MARKS.get(cell.estimate.method)
    number = fixed(cell.estimate.value, column.digits).replace(MINUS, "-")
    return f"${number}^{{\\mathrm{{{mark}}}}}$" if mark else f"${number}$"


def _interval(cell: Cell, column: Column) -> str:
    if not has_interval(cell):
        return ""
    low, high = (fixed(x, column.digits).replace(MINUS, "-") for x in (cell.estimate.low, cell.estimate.high))
    return rf"{{\scriptsize $[{low}, {high}]$}}"


def _p_value(cell: Cell) -> str:
    if cell.p_value is None or math.isnan(cell.p_value):
        return ""
    return rf"{{\scriptsize ${p_text(cell.p_value)}$}}"


def _row(table: ReportTable, row: Row) -> list[str]:
    """One to three lines: numbers, intervals, p-values."""
    cells = [(row.cells.get(column.key, Cell()), column) for column in table.columns]
    lines = [[latex_text(row.label), *(_value(*c) for c in cells)]]
    for below in ([_interval(*c) for c in cells], [_p_value(c) for c, _ in cells]):
        if any(below):
            lines.append(["", *below])
    return [" & ".join(line) + r" \\" for line in lines]


def _head(table: ReportTable) -> list[str]:
    groups = column_groups(table.columns)
    headings = " & ".join([latex_text(table.row_heading), *(_heading(c.heading) for c in table.columns)]) + r" \\"
    if not groups:
        return [headings]
    spans, rules, at = [""], [], 2
    for group in groups:
        spans.append(rf"\multicolumn{{{group.span}}}{{c}}{{{_heading(group.heading)}}}" if group.heading else "")
        spans += [""] * (0 if group.heading else group.span - 1)
        if group.heading:
            rules.append(rf"\cmidrule(lr){{{at}-{at + group.span - 1}}}")
        at += group.span
    return [" & ".join(spans) + r" \\", " ".join(rules), headings]


def table_latex(table: ReportTable) -> str:
    """A table as a `tabular` for the package booktabs, with intervals below the numbers.

    Published numbers are left out: they are another paper's.
    """
    marks = {c.estimate.method for r in table.rows for c in r.cells.values() if not c.text}
    notes = [table.title, table.source, *table.notes, r"needs \usepackage{booktabs}"]
    if "exact" in marks:
        units = BENCHMARKS[table.benchmark].units
        notes.append(f"e: all {units} agree or few deviate; exact interval over {units}")
    if "by construction" in marks:
        notes.append("c: by construction, the value cannot vary")
    lines = ["% " + re.sub(r"\s+", " ", plain(note)) for note in notes]
    lines += [rf"\begin{{tabular}}{{l{'c' * len(table.columns)}}}", r"\toprule"]
    lines += [*_head(table), r"\midrule"]
    for i, row in enumerate(table.rows):
        lines += [*([r"\addlinespace"] if i else []), *_row(table, row)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
