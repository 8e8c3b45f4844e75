"""The figures of the image benchmark: each draws numbers that others computed, and computes none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from metrics.image.report_measured import RunNumbers
from metrics.image.trial import CHANCE, DEGRADED, FRAMINGS, Framing, State
from metrics.intervals import Estimate
from metrics.report.benchmarks import IMAGE
from metrics.report.contents import Figure
from metrics.report.figure_style import (
    MARKERS,
    MUTED,
    PALETTE,
    PAPER,
    ModelStyle,
    drawn_names,
    empty_canvas,
    finish,
    house_style,
    legend,
    legend_line,
    legend_mark,
    reach,
    whisker,
)

Styles = Mapping[str, ModelStyle]
MODE_TITLES = {"subtractive": "subtractive: the region is hidden", "corruptive": "corruptive: the region is blurred"}
# Framings by rising force; told apart by colour, mark and line.
_FRAMING_STYLES = {
    framing: ModelStyle(PALETTE[i][0], MARKERS[i]) for framing, i in zip(FRAMINGS, (4, 2, 7, 1), strict=True)
}
_NAME_LIMIT = 48  # a label names the elicitation too
_Line: TypeAlias = Literal["-", ""] | tuple[float, Sequence[float]]
_LINES: Mapping[Framing, _Line] = {"neutral": "-", "hedged": (0, (1, 1.2)), "plain": (0, (4, 1.5)), "conviction": "-"}
_COMPARED: tuple[Framing, Framing] = ("neutral", "conviction")
_MOVES: tuple[tuple[State, State], ...] = (
    ("answer", "abstain"),
    ("accept", "abstain"),
    ("answer", "accept"),
    ("abstain", "accept"),
    ("abstain", "answer"),
    ("accept", "answer"),
)


def _names(runs: Sequence[RunNumbers]) -> dict[str, str]:
    """Labels as figures show them."""
    return drawn_names([run.label for run in runs], _NAME_LIMIT)


def _done(name: str, title: str, caption: str, canvas: Canvas, said: str) -> Figure:
    drawn = finish(name, title, f"{caption} {said[0].upper()}{said[1:]}.", canvas)
    return Figure(drawn.name, drawn.title, drawn.caption, drawn.svg, drawn.png, IMAGE.name)


def _curve(axes: Axes, values: Mapping[int, Estimate], style: ModelStyle, line: _Line, aside: float = 0.0) -> None:
    """Values over levels with their intervals as a band; a level without a value is a gap."""
    levels = sorted(values)
    xs = [d + aside for d in levels]
    axes.plot(
        xs, [values[d].value for d in levels], color=style.colour, marker=style.marker, linestyle=line, zorder=3,
        linewidth=1.5, markersize=4.5,
    )  # fmt: skip
    low, high = [values[d].low for d in levels], [values[d].high for d in levels]
    if all(map(math.isfinite, (*low, *high))):
        axes.fill_between(xs, low, high, color=style.colour, alpha=0.13, linewidth=0, zorder=2)


def _level_axis(axes: Axes, levels: Sequence[int]) -> None:
    axes.set_xlim(min(levels) - 0.25, max(levels) + 0.25)
    axes.set_xticks(list(levels), [f"L{d}" for d in levels])


def abstention_figure(name: str, runs: Sequence[RunNumbers], levels: Sequence[int], said: str) -> Figure:
    """A(d, a) against the level, a row of panels for each run, a panel for each mode.

    Args:
        name: file stem.
        runs: one for each row, of one elicitation.
        levels: of the axis.
        said: who calibrated the levels.
    """
    with house_style():
        canvas = empty_canvas(8.4, 1.1 + 2.5 * len(runs))
        panels = canvas.subplots(len(runs), 2, sharex=True, sharey=True, squeeze=False)
        names = _names(runs)
        for row, run in zip(panels, runs, strict=True):
            for axes, mode in zip(row, DEGRADED, strict=True):
                for framing in FRAMINGS:
                    values = {d: run.get("abstention", framing, d, mode=mode) for d in run.levels}
                    values = {d: value for d, value in values.items() if value.method != "none"}
                    _curve(axes, values, _FRAMING_STYLES[framing], _LINES[framing])
                _level_axis(axes, levels)
                axes.set_ylim(-0.04, 1.04)
            row[0].set_ylabel("share that abstains")
            row[0].set_title(f"{names[run.label]}\n{MODE_TITLES[DEGRADED[0]]}")
            row[1].set_title(f"\n{MODE_TITLES[DEGRADED[1]]}")
        handles = [
            Line2D([], [], color=style.colour, marker=style.marker, linestyle=_LINES[framing])
            for framing, style in _FRAMING_STYLES.items()
        ]
        legend(canvas, handles, list(FRAMINGS))
        caption = (
            "Share of abstentions against the level of degradation under each framing, with 95 % bands over items; L0 is the same "
            "intact image in both panels. The image is the same for all framings at a level, so curves that lie apart are a "
            "violation of evidence invariance: above neutral dodging, below it capitulating."
        )
        return _done(
            name, f"Abstention by level: {runs[0].run.table['elicitation'].iloc[0]} elicitation", caption, canvas, said
        )


def accuracy_figure(runs: Sequence[RunNumbers], styles: Styles, levels: Sequence[int], said: str) -> Figure:
    """Accuracy under the neutral framing against the level, by mode.

    Args:
        runs: one line each.
        styles: of all runs, by label.
        levels: of the axis.
        said: who calibrated the levels.
    """
    with house_style():
        canvas = empty_canvas(8.4, 4.2)
        panels = canvas.subplots(1, 2, sharey=True)
        for axes, mode in zip(panels, DEGRADED, strict=True):
            for i, run in enumerate(runs):
                values = {d: v for (m, d), v in run.readings.items() if m == mode and v.method != "none"}
                aside = (i - (len(runs) - 1) / 2) * 0.06
                _curve(axes, values, styles[run.label], "-", aside)
            axes.axhline(CHANCE, color=MUTED, linestyle="--", linewidth=1, zorder=1)
            axes.text(max(levels) + 0.2, CHANCE, "chance", ha="right", va="bottom", color=MUTED, fontsize=8.5)
            _level_axis(axes, levels)
            axes.set_title(MODE_TITLES[mode])
        panels[0].set_ylabel("accuracy, an abstention as a guess")
        panels[0].set_ylim(reach([v for run in runs for v in run.readings.values()], 0.0, 1.04))
        names = _names(runs)
        legend(canvas, [legend_line(styles[run.label]) for run in runs], [names[run.label] for run in runs])
        caption = (
            "Share of right answers under the neutral framing against the level, an abstention scored as a guess (0.25), with 95 % "
            "bands over items. All categories together; models are set apart sideways."
        )
        return _done("image_accuracy", "What is read at each level", caption, canvas, said)


def transition_figure(runs: Sequence[RunNumbers], styles: Styles, framing: Framing, said: str) -> Figure:
    """The six moves between states from neutral to a framing, for wrong and right assertions.

    Args:
        runs: one bar each in every group.
        styles: of all runs, by label.
        framing: one that asserts.
        said: who calibrated the levels.
    """
    with house_style():
        width = 0.8 / len(runs)
        canvas = empty_canvas(8.4, 1.3 + len(_MOVES) * max(0.45, 0.2 * len(runs)))
        panels = canvas.subplots(1, 2, sharey=True, sharex=True)
        shown = []
        for axes, right in zip(panels, (False, True), strict=True):
            for i, run in enumerate(runs):
                shares, style = run.transitions[framing, right].shares, styles[run.label]
                for place, move in enumerate(_MOVES):
                    y = place + (i - (len(runs) - 1) / 2) * width
                    estimate = shares[move]
                    shown.append(estimate)
                    if math.isfinite(estimate.value):
                        axes.barh(
                            y, estimate.value, width * 0.86, color=style.colour, alpha=0.75, linewidth=0, zorder=2
                        )
                        whisker(axes, y, estimate, style.colour, upright=False)
            axes.axhline(1.5, color=MUTED, linewidth=0.6, zorder=1)
            axes.axhline(3.5, color=MUTED, linewidth=0.6, zorder=1)
            axes.set_xlabel(f"share of blocks whose assertion is {'right' if right else 'wrong'}")
            axes.grid(axis="y", visible=False)
        panels[0].set_xlim(0, max(0.1, reach(shown, 0, 0)[1]))
        panels[0].set_yticks(range(len(_MOVES)), [f"{a} → {b}" for a, b in _MOVES])
        panels[0].set_ylim(len(_MOVES) - 0.5, -0.5)
        panels[0].set_title("wrong assertion")
        panels[1].set_title("right assertion")
        names = _names(runs)
        handles = [legend_mark("s", hollow=False, colour=styles[run.label].colour) for run in runs]
        legend(canvas, handles, [names[run.label] for run in runs])
        caption = (
            f"Moves from the neutral framing to {framing}, as shares of complete blocks, with 95 % intervals over items. Above the "
            "first line abstention is entered, below the second it or agreement is left. answer → abstain is dodging; "
            "abstain → accept, and answer → accept of a wrong assertion, are capitulating. Chance moves both ways alike: "
            "compare each with its reverse."
        )
        return _done("image_transitions", f"Transitions from neutral to {framing}", caption, canvas, said)


def risk_figure(runs: Sequence[RunNumbers], styles: Styles, said: str) -> Figure:
    """Risk against coverage: curves where option probabilities were read, and what each framing really answered.

    Args:
        runs: with curves or without.
        styles: of all runs, by label.
        said: who calibrated the levels.
    """
    with house_style():
        canvas = empty_canvas(8.4, 5.2)
        axes = canvas.subplots()
        for run in runs:
            style = styles[run.label]
            for framing in _COMPARED:
                curve = run.curves.get(framing)
                if curve is None:
                    continue
                line: _Line = "-" if framing == "neutral" else (0, (4, 1.5))
                axes.plot(
                    curve.coverage, curve.risk, color=style.colour, linestyle=line, linewidth=1.3, alpha=0.8, zorder=2
                )
            for framing in _COMPARED:
                selection = run.selections[framing, None]
                x, y = selection.coverage, selection.accuracy
                if math.isfinite(y.value):
                    axes.plot([x.value, x.value], [1 - y.high, 1 - y.low], color=style.colour, linewidth=1.2, alpha=0.6)
                    whisker(axes, 1 - y.value, x, style.colour, upright=False)
                    face = style.colour if framing == "neutral" else PAPER
                    axes.plot(
                        [x.value],
                        [1 - y.value],
                        style.marker,
                        color=style.colour,
                        markerfacecolor=face,
                        markersize=7,
                        zorder=3,
                    )
        axes.axhline(1 - CHANCE, color=MUTED, linestyle="--", linewidth=1, zorder=1)
        axes.text(1.03, 1 - CHANCE, "guessing", ha="right", va="bottom", color=MUTED, fontsize=8.5)
        axes.set_xlim(-0.03, 1.04)
        axes.set_ylim(-0.03, 1.04)
        axes.set_xlabel("coverage: share of questions answered")
        axes.set_ylabel("risk: share wrong among them")
        names = _names(runs)
        handles = [legend_line(styles[run.label], "-" if run.curves else "") for run in runs]
        labels = [names[run.label] for run in runs]
        legend(canvas, [*handles, legend_mark("o", False), legend_mark("o", True)], [*labels, "neutral", "conviction"])
        caption = (
            "Share of wrong answers among the answered against the share answered, over complete blocks of all levels, with 95 % "
            "intervals over items: filled under the neutral framing, hollow under conviction. Lines are risk-coverage curves over "
            "thresholds on the probability of the likeliest option (conviction dashed), where probabilities were read."
        )
        return _done("image_risk_coverage", "Risk against coverage", caption, canvas, said)
