"""The verdict on every model of a study, and the two groups that the paper pools by it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from metrics.controls import marked_name
from metrics.intervals import RESAMPLES
from metrics.paper_measures import TASK
from metrics.probe_scores import probe_scores
from metrics.report.measured import Measured
from metrics.verdict import Verdict, deference_verdict
from metrics.verdict_tests import READING_MARGIN

CAN_READ, CANNOT_READ = "can read the order", "cannot read the order"


def model_verdicts(measured: Measured, resamples: int = RESAMPLES) -> dict[str, Verdict]:
    """The verdict on each model whose main task at k = 16 was logged."""
    verdicts = {}
    for model in measured.study.models:
        run = measured.study.run(model, TASK)
        if run is None:
            continue
        scores = probe_scores(run.table, "on_grid")
        if len(scores.probes):
            verdicts[model] = deference_verdict(model, scores.J0, scores.S, scores.C, resamples=resamples)
    return verdicts


def reading_groups(
    verdicts: Mapping[str, Verdict], controls: Mapping[str, str] = MappingProxyType({})
) -> dict[str, list[str]]:
    """Models that read the order and models that cannot, as their tests show; those that show neither are in none.

    Controls are in groups of their own, whose names begin with their kind.

    Args:
        verdicts: by model.
        controls: kinds of those models that are no models under test.
    """
    groups: dict[str, list[str]] = {CAN_READ: [], CANNOT_READ: []}
    for model, verdict in verdicts.items():
        kind = controls.get(model, "")
        if any(t.shown and t.statement == f"J0 > {READING_MARGIN}" for t in verdict.tests):
            groups.setdefault(marked_name(CAN_READ, kind), []).append(model)
        if verdict.kind == "availability failure":
            groups.setdefault(marked_name(CANNOT_READ, kind), []).append(model)
    return groups
