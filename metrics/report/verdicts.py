"""The verdict on every model of a study, and the two groups that the paper pools by it."""

from __future__ import annotations

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


def reading_groups(verdicts: dict[str, Verdict]) -> dict[str, list[str]]:
    """Models that read the order and models that cannot, as their tests show; those that show neither are in none."""
    reads = [
        m for m, v in verdicts.items() if any(t.shown and t.statement == f"J0 > {READING_MARGIN}" for t in v.tests)
    ]
    cannot = [m for m, v in verdicts.items() if v.kind == "availability failure"]
    return {CAN_READ: reads, CANNOT_READ: cannot}
