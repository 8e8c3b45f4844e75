"""How figures look: one colour and one marker for each model in all of them, no state left behind in matplotlib."""

from __future__ import annotations

import io
import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ft2font import FT2Font
from matplotlib.lines import Line2D

from metrics.controls import split_mark
from metrics.intervals import Estimate
from metrics.report.contents import Figure
from metrics.report.notation import plain, shorten

INK, MUTED, GRID, PAPER = "#1f2430", "#59626f", "#dde1e7", "#ffffff"

# (on white, on a dark page). Chosen so that any two differ by at least 0.1 in OKLab also without red, green or blue
# cones, and stand out from the page by at least 3:1.
PALETTE = (
    ("#113492", "#44bffb"),
    ("#bc3118", "#f68f2e"),
    ("#0e765a", "#0b9b9e"),
    ("#814fa8", "#9b6eec"),
    ("#300a30", "#fdfecc"),
    ("#dc5d9e", "#d2a9b4"),
    ("#8e9307", "#b1de5c"),
    ("#4f85f1", "#8defff"),
    ("#692503", "#b6734e"),
)
# One more than colours, so that a tenth model differs from all others in the pair of both.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
NAME_LIMIT = 34

_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "text.parse_math": False,  # a model's name may hold a dollar sign
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "lines.markersize": 5.5,
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "savefig.dpi": 200,
    "svg.fonttype": "path",  # looks the same without the font
    "svg.hashsalt": "caved-or-convinced",  # else ids differ from run to run
}


@dataclass(frozen=True)
class ModelStyle:
    """The colour and the marker of a model."""

    colour: str
    marker: str


def model_styles(models: Iterable[str]) -> dict[str, ModelStyle]:
    """A style for each model by its place among all models of a report, so that it is the same in each figure."""
    names = list(dict.fromkeys(models))
    return {name: ModelStyle(PALETTE[i % len(PALETTE)][0], MARKERS[i % len(MARKERS)]) for i, name in enumerate(names)}


@cache
def _font() -> FT2Font:
    return FT2Font(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"))


def drawn_names(models: Sequence[str], limit: int = NAME_LIMIT) -> dict[str, str]:
    """Models' names as figures show them: without the publisher where that leaves them distinct, and shortened.

    A character that the font lacks becomes a replacement character. Names that would look alike are numbered. That a
    model is simulated, or a control, is never cut off.
    """
    split = {name: split_mark(name) for name in models}
    short = {name: (mark, rest.rstrip("/").split("/")[-1] or rest) for name, (mark, rest) in split.items()}
    if len(set(short.values())) < len(set(models)):
        short = split
    drawn = {name: mark + shorten(_drawable(text), limit - len(mark)) for name, (mark, text) in short.items()}
    if len(set(drawn.values())) == len(drawn):
        return drawn
    return {
        name: f"{mark}{i}: {shorten(_drawable(text), limit - len(mark) - 4)}"
        for i, (name, (mark, text)) in enumerate(short.items(), 1)
    }


def _drawable(text: str) -> str:
    """`text` without letters that the font lacks, and without marks that turn the direction of writing."""
    return "".join(
        c if _font().get_char_index(ord(c)) and unicodedata.category(c) != "Cf" else "\ufffd" for c in plain(text)
    )


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save in the style of the report, whatever a user's own settings are; they return afterwards."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def finish(name: str, title: str, caption: str, canvas: Canvas) -> Figure:
    """A drawn figure in both formats, the same bytes each time."""
    svg, png = io.BytesIO(), io.BytesIO()
    canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    canvas.savefig(png, format="png", metadata={"Software": None, "Title": title})
    return Figure(name, title, caption, svg.getvalue().decode(), png.getvalue())


def empty_canvas(width_in: float, height_in: float) -> Canvas:
    """An empty figure of this size in inches."""
    canvas = Canvas(figsize=(width_in, height_in), layout="constrained")
    engine = canvas.get_layout_engine()
    if engine is not None:
        engine.set(w_pad=0.09, h_pad=0.09)  # type: ignore[call-arg]
    return canvas


def whisker(axes: Axes, at: float, estimate: Estimate, colour: str, upright: bool) -> None:
    """The interval of an estimate as a thin line; nothing where there is none."""
    ends, place = [estimate.low, estimate.high], [at, at]
    axes.plot(*((place, ends) if upright else (ends, place)), color=colour, linewidth=1.2, alpha=0.6, zorder=2)


def reach(estimates: Iterable[Estimate], low: float, high: float) -> tuple[float, float]:
    """Ends of an axis that show all estimates with their intervals, and at least `low` to `high`."""
    ends = [x for e in estimates for x in (e.value, e.low, e.high) if math.isfinite(x)]
    return min([low, *(x - 0.03 for x in ends)]), max([high, *(x + 0.03 for x in ends)])


def legend(canvas: Canvas, handles: Sequence[Line2D], names: Sequence[str]) -> None:
    """A legend below all panels; names are set afterwards, because matplotlib drops those that begin with "_"."""
    columns = int(canvas.get_figwidth() * 13.5 / (max(map(len, names)) + 7))  # 13.5 letters an inch, 7 for the mark
    columns = max(1, min(4, columns, len(handles)))
    canvas.set_figheight(canvas.get_figheight() + 0.23 * max(0, -(-len(handles) // columns) - 5))
    drawn = canvas.legend(handles, ["-"] * len(handles), loc="outside lower center", ncols=columns)
    for text, name in zip(drawn.get_texts(), names, strict=True):
        text.set_text(name)


def legend_line(style: ModelStyle, line: Literal["-", ""] = "-") -> Line2D:
    """What stands for a model in a legend."""
    return Line2D([], [], color=style.colour, marker=style.marker, linestyle=line, linewidth=1.5)


def legend_mark(marker: str, hollow: bool, colour: str = INK) -> Line2D:
    """What stands for a kind of mark in a legend, whichever the model."""
    face = PAPER if hollow else colour
    return Line2D([], [], color=colour, marker=marker, linestyle="", markerfacecolor=face, markersize=7)
