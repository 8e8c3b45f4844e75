"""What a reader recovers at each level of degradation, and that no framing moves it: tables and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics.image.table import complete_blocks
from metrics.image.trial import CHANCE, DEGRADED, INTACT
from metrics.intervals import RESAMPLES, Array, Estimate, Measure, estimates, mean_over_probes
from metrics.report.contents import Figure
from metrics.report.figure_style import PALETTE, empty_canvas, finish, house_style
from metrics.report.notation import p_text

_FIELDS = ("answered", "right_of_answered", "recovered", "forced")
_TITLES = {
    "answered": "answered",
    "right_of_answered": "right among the answered",
    "recovered": "accuracy, an abstention scored as a guess",
    "forced": "accuracy of the likeliest of four",
}
_MODES = {"subtractive": "occlusion: share of the region hidden", "corruptive": "blur: sigma over the region's height"}


@dataclass(frozen=True)
class CurvePoint:
    """What a reader does with the images of one mode and level, under the neutral framing."""

    mode: str  # L0 once for each mode of degradation
    level: int
    strength: float
    answered: Estimate  # share of blocks, open elicitation
    right_of_answered: Estimate  # of these
    recovered: Estimate  # right, an abstention counting as chance does
    forced: Estimate  # closed elicitation: the likeliest option, "cannot be determined" left aside; ties share


def _neutral(table: pd.DataFrame, category: str, mode: str, level: int) -> pd.DataFrame:
    rows = complete_blocks(table)
    modes = (INTACT, mode) if level == 0 else (mode,)
    wanted = (rows["framing"] == "neutral") & (rows["category"] == category) & (rows["level"] == level)
    return rows[(wanted & rows["mode"].isin(modes)).to_numpy()]


def _share(rows: pd.DataFrame, values: Array, counted: Array) -> Measure:
    """The mean of values over the rows that count, as a measure over items."""
    item = rows["item"].cat.codes.to_numpy()
    size = len(rows["item"].cat.categories)
    there = np.bincount(item, minlength=size) > 0
    sums, counts = (np.bincount(item, v, minlength=size)[there].astype(np.float64) for v in (values * counted, counted))
    with np.errstate(invalid="ignore", divide="ignore"):
        return Measure(mean_over_probes(sums, counts), np.where(counts > 0, sums / counts, np.nan), (0.0, 1.0))


def curve_points(
    opened: pd.DataFrame, closed: pd.DataFrame, category: str, resamples: int = RESAMPLES
) -> list[CurvePoint]:
    """The curve of a reader over the levels of both modes.

    Args:
        opened: trials of the open task.
        closed: trials of the closed task, with option probabilities.
        category: of the questions that it can read.
        resamples: of the bootstrap over items.

    Raises:
        ValueError: as `complete_blocks`.
    """
    points = []
    for mode in DEGRADED:
        for level in sorted(map(int, opened["level"].unique())):
            rows, lettered = (_neutral(table, category, mode, level) for table in (opened, closed))
            abstained, right = (rows[name].to_numpy() for name in ("abstained", "right"))
            all_of = np.ones(len(rows))
            measures = [
                _share(rows, 1 - abstained, all_of),
                _share(rows, right, 1 - abstained),
                _share(rows, np.where(abstained == 1, CHANCE, right), all_of),
                _share(lettered, lettered["top_right"].to_numpy(), np.ones(len(lettered))),
            ]
            found = estimates(measures, resamples)
            points.append(CurvePoint(mode, level, float(rows["strength"].iloc[0]), *found))
    return points


def _rows(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], f"|{'|'.join(['---'] * len(rows[0]))}|", *lines[1:], ""]


def _shown(number: Estimate, digits: int = 2) -> str:
    if number.method == "none":
        return "-"
    value, low, high = (f"{round(x, digits) + 0.0:.{digits}f}" for x in (number.value, number.low, number.high))
    return f"{value} [{low}, {high}]"  # no -0.00


def curve_table(points: Sequence[CurvePoint]) -> list[str]:
    """The curve in Markdown, a table for each mode."""
    lines = []
    for mode, title in _MODES.items():
        rows = [["level", title, *_TITLES.values()]]
        for point in (p for p in points if p.mode == mode):
            rows.append([f"L{point.level}", f"{point.strength:g}", *(_shown(getattr(point, f)) for f in _FIELDS)])
        lines += _rows(rows)
    return lines


def invariance_table(measured: Mapping[str, Mapping[str, Estimate]]) -> list[str]:
    """EIV with its null and PIA by level, in Markdown; `measured` has all numbers by task."""
    levels = sorted({name for numbers in measured.values() for name in numbers if name.removeprefix("PIA_L").isdigit()})
    rows = [["task", "`EIV`", "`EIV_null`", "`EIV_excess`", "`EIV_p`", *(f"`{name}`" for name in levels)]]
    for task, numbers in measured.items():
        for suffix, title in (("", task), ("_confidence", f"{task}, confidence rates")):
            if f"EIV{suffix}" not in numbers or numbers[f"EIV{suffix}"].method == "none":
                continue
            rows.append(
                [
                    title,
                    f"{numbers[f'EIV{suffix}'].value:.3f}",
                    f"{numbers[f'EIV_null{suffix}'].value:.3f}",
                    _shown(numbers[f"EIV_excess{suffix}"], 3),
                    p_text(numbers[f"EIV_p{suffix}"].value),
                    *(_shown(numbers[f"{name}{suffix}"], 3) for name in levels),
                ]
            )
    return _rows(rows)


def moved(measured: Mapping[str, Mapping[str, Estimate]]) -> list[str]:
    """Numbers by which a framing moves the model, though it never reads one; empty if all is well.

    A number without an interval must be 0.
    """
    wrong = []
    for task, numbers in measured.items():
        for name, number in numbers.items():
            invariant = name.startswith(("PIA", "EIV_excess")) and number.method != "none"
            if invariant and not number.low <= 0 <= number.high and abs(number.value) > 1e-12:
                wrong.append(f"{task}: {name} is {number}")
    return wrong


def curve_figure(points: Sequence[CurvePoint], title: str) -> Figure:
    """Accuracy and answers over levels, a panel for each mode, with 95 % intervals."""
    with house_style():
        canvas = empty_canvas(8.0, 3.4)
        panels = canvas.subplots(1, 2, sharey=True)
        for panel, (mode, name) in zip(panels, _MODES.items(), strict=True):
            some = [point for point in points if point.mode == mode]
            levels = [point.level for point in some]
            for field, (colour, _), marker in zip(("recovered", "forced", "answered"), PALETTE, "os^", strict=False):
                numbers = [getattr(point, field) for point in some]
                panel.plot(levels, [n.value for n in numbers], color=colour, marker=marker, label=_TITLES[field])
                panel.fill_between(
                    levels, [n.low for n in numbers], [n.high for n in numbers], color=colour, alpha=0.15, linewidth=0
                )
            panel.axhline(CHANCE, color="0.5", linewidth=0.8, linestyle="--")
            panel.set_title(name)
            panel.set_xticks(levels, [f"L{point.level}\n{point.strength:g}" for point in some])
            panel.set_ylim(-0.02, 1.02)
        panels[0].set_ylabel("share of questions")
        canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return finish("reader_curves", title, "Dashed: chance. Bands: 95 % intervals over items.", canvas)
