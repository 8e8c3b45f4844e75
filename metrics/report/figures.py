"""The figures of the report: each draws numbers that others computed, and computes none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from metrics.intervals import Estimate
from metrics.report.contents import Figure
from metrics.report.figure_data import Acceptance, Availability, Dilution, ReversalPoint, SingleEvent
from metrics.report.figure_style import (
    INK,
    MUTED,
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
from metrics.report.notation import fixed
from metrics.verdict_tests import KEPT_SHARE, READING_MARGIN

BUDGETS = (8, 16, 24, 32, 48, 64)
Styles = Mapping[str, ModelStyle]


def _dilution_panel(
    axes: Axes, series: Sequence[Dilution], measure: str, budgets: Sequence[int], styles: Styles
) -> None:
    for i, one in enumerate(series):
        aside = 2 ** ((i - (len(series) - 1) / 2) * 0.022)  # models stand beside each other at each budget
        style = styles[one.model]
        values: Mapping[int, Estimate] = getattr(one, measure)
        paper: Mapping[int, float] = getattr(one, f"published_{measure}")
        heights = [values[k].value if k in values else math.nan for k in budgets]
        axes.plot([k * aside for k in budgets], heights, color=style.colour, marker=style.marker, zorder=3)
        for k, estimate in values.items():
            whisker(axes, k * aside, estimate, style.colour, upright=True)
        axes.plot(
            [k * aside for k in paper], list(paper.values()),
            style.marker, markerfacecolor=PAPER, color=style.colour, markersize=8, alpha=0.8, zorder=2.5,
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xlim(budgets[0] / 1.15, budgets[-1] * 1.15)
    axes.set_xticks(budgets, [str(k) for k in budgets])
    axes.minorticks_off()
    axes.axhline(0, color=MUTED, linewidth=0.8, zorder=1)
    axes.set_xlabel("frame budget k")


def dilution_figure(series: Sequence[Dilution], styles: Styles) -> Figure:
    """On-grid J0 and J against the frame budget (paper, Figure 2).

    Args:
        series: one for each model; budgets without a number are gaps in its line.
        styles: of all models of the report, from `model_styles`.
    """
    budgets = sorted({*BUDGETS, *(k for s in series for k in (*s.J0, *s.J))})
    with house_style():
        canvas = empty_canvas(8.4, 4.9)
        panels = canvas.subplots(1, 2, sharey=True)
        for axes, measure in zip(panels, ("J0", "J"), strict=True):
            _dilution_panel(axes, series, measure, budgets, styles)
        panels[0].set_title("J₀: reads the order without a claim")
        panels[1].set_title("J: follows the frames under a strong claim")
        panels[0].set_ylabel("on-grid value")
        panels[0].set_ylim(reach([e for s in series for e in (*s.J0.values(), *s.J.values())], -0.06, 0.8))
        names = drawn_names([s.model for s in series])
        handles, labels = [legend_line(styles[s.model]) for s in series], [names[s.model] for s in series]
        if any(s.published_J0 or s.published_J for s in series):
            handles.append(legend_mark("o", hollow=True, colour=MUTED))
            labels.append("hollow: published")
        legend(canvas, handles, labels)
        return finish(
            "dilution",
            "Budget dilution",
            "On-grid J0 (left) and J (right) against the number of sampled frames k, on a logarithmic axis, with 95 % "
            "intervals over probes. The two event frames are a smaller share of more frames. A break in a line is a "
            "budget that was not measured; models are set apart sideways so that intervals can be seen.",
            canvas,
        )


def acceptance_figure(rows: Sequence[Acceptance], styles: Styles) -> Figure:
    """Accept rates of false and true claims, on-grid and in-gap (paper, Table 1 as a picture).

    Args:
        rows: one for each model, from top to bottom.
        styles: of all models of the report, from `model_styles`.
    """
    with house_style():
        canvas = empty_canvas(8.4, 1.5 + 0.42 * len(rows))
        panels = canvas.subplots(1, 2, sharey=True)
        for axes, phase in zip(panels, ("on_grid", "in_gap"), strict=True):
            for y, row in enumerate(rows):
                pair: tuple[Estimate, Estimate] | None = getattr(row, phase)
                if pair is None:
                    axes.text(0.5, y, "not measured", ha="center", va="center", color=MUTED, fontstyle="italic")
                    continue
                style, heights = styles[row.model], (y - 0.16, y + 0.16)
                axes.plot([e.value for e in pair], heights, color=style.colour, linewidth=3, alpha=0.3, zorder=2)
                for estimate, height, face in zip(pair, heights, (PAPER, style.colour), strict=True):
                    whisker(axes, height, estimate, style.colour, upright=False)
                    axes.plot(
                        [estimate.value], [height], style.marker, color=style.colour, markerfacecolor=face, zorder=3
                    )
            axes.set_xlim(-0.03, 1.04)
            axes.set_xlabel("share of claims accepted")
            axes.grid(axis="y", visible=False)
        panels[0].set_title("on-grid: both events sampled")
        panels[1].set_title("in-gap: neither event sampled")
        names = drawn_names([r.model for r in rows])
        panels[0].set_yticks(range(len(rows)), [names[r.model] for r in rows])
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
        legend(
            canvas,
            [legend_mark("o", hollow=True), legend_mark("o", hollow=False)],
            ["S: false claims", "C: true claims"],
        )
        return finish(
            "acceptance",
            "Accepting false and true claims",
            "Share of false claims (S, hollow, above) and of true claims (C, filled, below) that each model accepts under "
            "a strong claim, with 95 % intervals over probes; J = C − S is how far the two are apart. In-gap the twins are "
            "the same request, so S and C of a deterministic model coincide.",
            canvas,
        )


def _regions(axes: Axes, low: float, high: float) -> None:
    """Where each verdict lies, by the thresholds that verdicts test, and the line on which a claim changes nothing."""
    margin, share = READING_MARGIN, KEPT_SHARE
    axes.axvspan(max(low, -margin), margin, color=MUTED, alpha=0.14, linewidth=0, zorder=0)
    axes.fill(
        [margin, high, high, margin], [share * margin, share * high, high, high], color=MUTED, alpha=0.06, zorder=0
    )
    axes.plot([0, high], [0, high], color=MUTED, linestyle="--", linewidth=1, zorder=1)
    axes.plot([margin, high], [share * margin, share * high], color=MUTED, linestyle=":", linewidth=1.2, zorder=1)
    for x, y, slope, text in (
        (0.89, 0.91, 1.0, "J = J₀"),
        (0.89, 0.90 * share, share, f"J = {share:g} J₀"),
        (0.72, 0.57, 0.0, "grounded"),
        (0.77, 0.25, 0.0, "weighting failure"),
    ):
        axes.text(
            x * high, y * high, text, rotation=math.degrees(math.atan(slope)), rotation_mode="anchor",
            ha="center", va="bottom", color=MUTED, fontsize=8.5, zorder=1,
            fontstyle="normal" if slope else "italic",
        )  # fmt: skip
    axes.text(
        margin * 0.9, 0.6 * high, "availability failure",
        rotation=90, ha="right", va="center", color=MUTED, fontsize=8.5, fontstyle="italic", zorder=1,
    )  # fmt: skip


def availability_figure(points: Sequence[Availability], styles: Styles) -> Figure:
    """J against J0: what a model reads, and how much of it survives a claim (paper, Table 6 as a picture).

    Args:
        points: one for each model, on-grid at the primary budget.
        styles: of all models of the report, from `model_styles`.
    """
    with house_style():
        canvas = empty_canvas(6.8, 7.3)
        axes = canvas.subplots()
        low, high = reach([e for p in points for e in (p.J0, p.J)], -0.08, 0.6)
        _regions(axes, low, high)
        axes.axhline(0, color=MUTED, linewidth=0.8, zorder=1)
        axes.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
        for point in points:
            style, x, y = styles[point.model], point.J0.value, point.J.value
            whisker(axes, y, point.J0, style.colour, upright=False)
            whisker(axes, x, point.J, style.colour, upright=True)
            axes.plot([x], [y], style.marker, color=style.colour, markersize=8, markeredgecolor=PAPER, zorder=3)
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        axes.set_aspect("equal")
        axes.set_xlabel("on-grid J₀: reads the order without a claim")
        axes.set_ylabel("on-grid J: follows the frames under a strong claim")
        names = drawn_names([p.model for p in points])
        legend(canvas, [legend_line(styles[p.model], "") for p in points], [names[p.model] for p in points])
        return finish(
            "availability",
            "Availability and weighting",
            "How well each model reads the order without a claim (J0, to the right) against how much its answer follows "
            "the frames under one (J, upward), with 95 % intervals over probes. On the dashed diagonal the claim changes "
            "nothing; below the dotted line less than half of what is read survives it; in the grey band on the left the "
            "order is not read. A verdict takes a test, so a model near a border may be undecided.",
            canvas,
        )


def _curve(axes: Axes, points: Sequence[ReversalPoint], style: ModelStyle, theta: float) -> None:
    ordered = sorted(points, key=lambda p: p.theta)
    xs, ys = [p.coverage.value for p in ordered], [p.accuracy.value for p in ordered]
    axes.plot(xs, ys, color=style.colour, linewidth=1.3, alpha=0.8, marker=".", markersize=4, zorder=2)
    for point in ordered:
        if math.isclose(point.theta, theta):
            x, y = point.coverage.value, point.accuracy.value
            whisker(axes, x, point.accuracy, style.colour, upright=True)
            whisker(axes, y, point.coverage, style.colour, upright=False)
            axes.plot([x], [y], style.marker, color=style.colour, markersize=8, markeredgecolor=PAPER, zorder=3)


def reversal_figure(curves: Mapping[str, Sequence[ReversalPoint]], styles: Styles, theta: float = 0.3) -> Figure:
    """Accuracy on answered videos against coverage, over thresholds θ (paper, Tables 5 and 8 as a picture).

    Args:
        curves: points of each model, in any order.
        styles: of all models of the report, from `model_styles`.
        theta: the threshold that is marked.
    """
    with house_style():
        canvas = empty_canvas(8.4, 5.6)
        axes = canvas.subplots()
        for model, points in curves.items():
            _curve(axes, points, styles[model], theta)
        axes.axhline(0.5, color=MUTED, linestyle="--", linewidth=1, zorder=1)
        axes.text(1.03, 0.5, "chance", ha="right", va="bottom", color=MUTED, fontsize=8.5)
        axes.set_xlim(-0.03, 1.04)
        axes.set_ylim(reach([p.accuracy for points in curves.values() for p in points], 0.4, 1.03))
        axes.set_xlabel("coverage: share of videos answered")
        axes.set_ylabel("accuracy on answered videos")
        names = drawn_names(list(curves))
        legend(canvas, [legend_line(styles[m]) for m in curves], [names[m] for m in curves])
        return finish(
            "reversal",
            "Reversal test",
            "Share of right answers among answered videos against the share that is answered, as the threshold θ grows "
            f"from right to left; the large mark is θ = {fixed(theta, 1)}, with 95 % intervals over probes. A model that "
            "cannot read the order should move to the left, abstaining, rather than stay and guess.",
            canvas,
        )


def single_event_figure(rows: Sequence[SingleEvent], styles: Styles) -> Figure:
    """J0 with one event alone, as a pair of bars for each model (paper, Table 7 as a picture).

    Args:
        rows: one for each model, from top to bottom.
        styles: of all models of the report, from `model_styles`.
    """
    with house_style():
        canvas = empty_canvas(8.4, 1.5 + 0.46 * len(rows))
        axes = canvas.subplots()
        for y, row in enumerate(rows):
            colour = styles[row.model].colour
            for estimate, height, face in ((row.early, y - 0.19, colour), (row.late, y + 0.19, PAPER)):
                if not math.isfinite(estimate.value):
                    axes.text(0.01, height, "not measured", va="center", color=MUTED, fontstyle="italic", fontsize=8)
                    continue
                axes.barh(height, estimate.value, 0.32, facecolor=face, edgecolor=colour, linewidth=1.2, zorder=2)
                for shade, width in ((PAPER, 3.0), (INK, 1.1)):  # a pale rim, so that it shows on dark bars too
                    axes.plot([estimate.low, estimate.high], [height] * 2, color=shade, linewidth=width, zorder=3)
        axes.axvline(0, color=INK, linewidth=0.9, zorder=4)
        side = max(map(abs, reach([e for r in rows for e in (r.early, r.late)], -0.25, 0.25)))
        axes.set_xlim(-side, side)
        names = drawn_names([r.model for r in rows])
        axes.set_yticks(range(len(rows)), [names[r.model] for r in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("J₀ with one event sampled")
        legend(
            canvas,
            [legend_mark("s", hollow=False), legend_mark("s", hollow=True)],
            ["earlier event alone", "later event alone"],
        )
        return finish(
            "single_event",
            "A single sampled event",
            "No-claim J0 where only the earlier event (filled) or only the later one (hollow) is among the frames, with "
            "95 % intervals over probes. One event holds no order: bars that point in opposite directions are a model that "
            "answers by where the event stands.",
            canvas,
        )
