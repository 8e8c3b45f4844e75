"""A small report with everything that a report can hold, and names that mean harm."""

import io
import math
from functools import cache

from PIL import Image

from metrics.intervals import NOTHING, Estimate
from metrics.report import figures as draw
from metrics.report.figure_data import Acceptance, Availability, Dilution, ReversalPoint, SingleEvent
from metrics.report.figure_style import model_styles
from metrics.report.report import LogSource, Provenance, ReceiptSummary, Report, Sheet, Verdict
from metrics.report.report_table import Cell, Column, ReportTable, Row

QWEN = "Qwen/Qwen2.5-VL-7B-Instruct"
HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</style></title><!-- --> ]]> {{ 7*7 }} {% raw %}",
    "long-" * 60,
    "模型/🙂 é \u202e gnitaler \u202c &amp; `code` J0",
    "nul\x00 bell\x07 half\ud800 line\r\nnext",
    "_private $x^2$ \\frac{1}{2} 50% #1 {b} ~ ^^41",
    "=1+1",
    "[option] *star",
)


def estimate(value, half=0.04, method="bootstrap", probes=500):
    return Estimate(value, value - half, value + half, probes, method)


CONSTRUCTED = Estimate(0.0, 0.0, 0.0, 500, "by construction")
EXACT = Estimate(1.0, 0.9926495, 1.0, 500, "exact")


def table(labels=(QWEN, "other"), name="main"):
    columns = (
        Column("J0", "J0", "on-grid"),
        Column("S", "S", "on-grid", digits=3),
        Column("gap", "J0", "in-gap"),
        Column("b", "C − b"),
    )
    cells = {
        "J0": Cell(estimate(0.5139), p_value=3e-9, published=0.04),
        "S": Cell(EXACT, p_value=0.04139, published=0.93),
        "gap": Cell(CONSTRUCTED, note="by construction", published=0.0),
        "b": Cell(estimate(-0.3649), note="too few probes; run `caved build`"),
    }
    sparse = {
        "J0": Cell(text="no channel", published=0.5),
        "S": Cell(Estimate(-0.0004, math.nan, math.nan, 499, "point")),
    }
    rows = tuple(Row(label, sparse if i % 2 else cells) for i, label in enumerate(labels))
    return ReportTable(
        name, "Main results", "Table 1", "model", columns, rows,
        ("p: McNemar's test against no events",), ("no log of `caved_or_convinced_k32`",),
    )  # fmt: skip


def dilution(models, styles):
    j0 = {8: estimate(0.6), 16: estimate(0.5), 32: NOTHING}
    return draw.dilution_figure([Dilution(m, j0, {16: CONSTRUCTED}, {16: 0.51}) for m in models], styles)


@cache
def all_figures(models):
    """Drawing takes seconds; tests share what they can."""
    styles = model_styles(models)
    thetas = (0.1, 0.3, 0.5)
    return (
        draw.dilution_figure(
            [
                Dilution(m, {8: estimate(0.6), 16: estimate(0.5), 32: NOTHING}, {16: CONSTRUCTED}, {16: 0.51})
                for m in models
            ],
            styles,
        ),
        draw.acceptance_figure([Acceptance(m, (estimate(0.9), EXACT), None) for m in models], styles),
        draw.availability_figure([Availability(m, estimate(0.5), NOTHING) for m in models], styles),
        draw.reversal_figure({m: [ReversalPoint(t, estimate(1 - t), NOTHING) for t in thetas] for m in models}, styles),
        draw.single_event_figure([SingleEvent(m, estimate(0.5), NOTHING) for m in models], styles),
    )


def png():
    out = io.BytesIO()
    Image.new("RGB", (40, 20), "#336699").save(out, "PNG")
    return out.getvalue()


def report(names=(QWEN, "other"), figures=()):
    """A report in which every text that comes from a log is one of `names`."""
    return Report(
        title=f"Report {names[0]}",
        warnings=tuple(f"{n}: trials are missing" for n in names),
        verdicts=tuple(Verdict(n, f"reads {n}", f"J0 of {n} is high") for n in names),
        missing=tuple(f"{n}: no log; `lmms-eval --tasks x`" for n in names),
        tables=(table(names), table(names, "attribution")),
        figures=figures,
        sheets=tuple(Sheet(n, f"probe 7 of {n}", png()) for n in names),
        receipts=tuple(ReceiptSummary(n, n, 4000, i, "16 of 16", "as sampled", "448 x 448", n) for i, n in enumerate(names)),
        provenance=Provenance(
            {"caved-or-convinced": "0.1.0", **{n: n for n in names}}, ("ab12" * 16,), {"bootstrap": 0},
            tuple(LogSource(n, n, n, n, "text") for n in names),
        ),
    )  # fmt: skip
