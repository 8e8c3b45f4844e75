"""The figures of a study: which numbers each is drawn from."""

from __future__ import annotations

from metrics.deference import PHASES
from metrics.intervals import Estimate
from metrics.paper_measures import TASK
from metrics.report.contents import Figure
from metrics.report.figure_data import Acceptance, Availability, Dilution, ReversalPoint, SingleEvent
from metrics.report.figure_style import model_styles
from metrics.report.figures import (
    acceptance_figure,
    availability_figure,
    dilution_figure,
    reversal_figure,
    single_event_figure,
)
from metrics.report.measured import Measured
from metrics.report.paper_tables import BUDGETS, main_task
from metrics.report.published import published_dilution
from metrics.report.reversal_tables import Reversal


def _by_budget(measured: Measured, model: str, measure: str) -> dict[int, Estimate]:
    values = {k: measured.get(model, main_task(k), f"on_grid_{measure}") for k in BUDGETS}
    return {k: value for k, value in values.items() if value.method != "none"}


def _acceptance(measured: Measured, model: str) -> Acceptance:
    pairs: dict[str, tuple[Estimate, Estimate] | None] = {}
    for phase in PHASES:
        s, c = (measured.get(model, TASK, f"{phase}_{m}") for m in ("S", "C"))
        pairs[phase] = None if "none" in (s.method, c.method) else (s, c)
    return Acceptance(model, pairs["on_grid"], pairs["in_gap"])


def draw_figures(measured: Measured, reversal: Reversal, with_published: bool) -> tuple[Figure, ...]:
    """Every figure for which there is something to draw."""
    models, figures = measured.study.models, []
    styles = model_styles(models)
    acceptance = [a for a in (_acceptance(measured, m) for m in models) if a.on_grid or a.in_gap]
    if acceptance:
        figures.append(acceptance_figure(acceptance, styles))
    points = [Availability(m, *(measured.get(m, TASK, f"on_grid_{x}") for x in ("J0", "J"))) for m in models]
    points = [p for p in points if "none" not in (p.J0.method, p.J.method)]
    if points:
        figures.append(availability_figure(points, styles))
    series = [
        Dilution(
            m,
            _by_budget(measured, m, "J0"),
            _by_budget(measured, m, "J"),
            published_dilution(measured.study.checkpoint(m), "J0") if with_published else {},
            published_dilution(measured.study.checkpoint(m), "J") if with_published else {},
        )
        for m in models
    ]
    if any(len(s.J0) > 1 for s in series):
        figures.append(dilution_figure([s for s in series if s.J0 or s.J], styles))
    curves = {
        m: [ReversalPoint(at.threshold, at.coverage, at.accuracy) for at in result.thresholds]
        for m, result in reversal.results.items()
    }
    if curves:
        figures.append(reversal_figure(curves, styles))
    single = [
        SingleEvent(m, *(measured.get(m, f"{TASK}_single_event", f"J0_{x}") for x in ("early", "late"))) for m in models
    ]
    single = [s for s in single if "none" not in (s.early.method, s.late.method)]
    if single:
        figures.append(single_event_figure(single, styles))
    return tuple(figures)
