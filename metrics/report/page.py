"""The report as one page of HTML that loads nothing, runs nothing and escapes everything."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from metrics.report.benchmarks import BENCHMARKS, benchmarks_named
from metrics.report.contents import Report
from metrics.report.inline_svg import inline_svg, model_colours
from metrics.report.notation import plain
from metrics.report.shown_table import legend, shown_table


def _name(text: str) -> Markup:
    """Text as it is, in a form that a page can hold."""
    return escape(plain(str(text)))


def _label(text: str) -> Markup:
    """A name that may break where its parts end."""
    return Markup(re.sub("([/_])", r"\1<wbr>", str(_name(text))))


def _prose(text: str) -> Markup:
    """Text with `commands` set as code, and J0 as the paper writes it."""
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(_name(text)))
    return Markup(re.sub(r"\bJ0\b", "J<sub>0</sub>", safe))


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters.update(name=_name, label=_label, prose=_prose)
    return environment.from_string(files("metrics.report").joinpath("page.html.jinja").read_text(encoding="utf-8"))


def _css() -> str:
    light, dark = (f":root {{ {model_colours(dark=dark)} }}" for dark in (False, True))
    sheet = files("metrics.report").joinpath("page.css").read_text(encoding="utf-8")
    return f"{sheet}{light}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}"


def render_page(report: Report, sheet_files: Sequence[str]) -> str:
    """The page of a report.

    Args:
        report: what to show.
        sheet_files: where each contact sheet lies beside the page.

    Raises:
        ValueError: if a figure holds anything but shapes.
    """
    tables = [shown_table(table) for table in report.tables]
    benchmarks = benchmarks_named(report.benchmarks)
    elsewhere = [f"{t.title}: {m}" for t in report.tables for m in t.missing if m not in report.missing]
    encoded = [base64.b64encode(sheet.png).decode() for sheet in report.sheets]
    return _template().render(
        report=report,
        benchmarks=benchmarks,
        several=len(benchmarks) > 1,
        headings={name: benchmark.heading for name, benchmark in BENCHMARKS.items()},
        css=Markup(_css()),
        tables=tables,
        legend=legend(report.tables),
        missing=[*report.missing, *elsewhere],
        figures=[(figure, Markup(inline_svg(figure))) for figure in report.figures],
        sheets=list(zip(report.sheets, encoded, sheet_files, strict=True)),
    )
