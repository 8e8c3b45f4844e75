"""Trials of every task of the paper from a rule, and logs of them, without a harness."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

from metrics.trial import Answer, Trial

TASK = "caved_or_convinced"
BOTH, CLAIMS, TIMES = ("on_grid", "in_gap"), ("none", "strong"), ("withheld", "native", "text")
# (video budget, budget, arm, phase, offset, direction, claim, time)
SETTINGS = {
    "": [(16, 16, "intact", p, None, "forward", c, "withheld") for p, c in product(BOTH, CLAIMS)],
    "_k32": [(32, 32, "intact", p, None, "forward", c, "withheld") for p, c in product(BOTH, CLAIMS)],
    "_attribution": [
        (16, 16, a, "on_grid", None, "forward", c, "withheld")
        for a, c in product(("intact", "no_events", "placebo"), CLAIMS)
    ],
    "_mild": [(16, 16, "intact", p, None, "forward", c, "withheld") for p, c in product(BOTH, (*CLAIMS, "mild"))],
    "_time": [(16, 16, "intact", p, None, "forward", c, t) for p, c, t in product(BOTH, CLAIMS, TIMES)],
    "_single_event": [
        (16, 16, a, "on_grid", None, "forward", "none", "withheld") for a in ("intact", "early_only", "late_only")
    ],
    "_reversal": [
        (16, k, "intact", "offset", j, d, "none", "withheld")
        for k, j, d in product((8, 16, 32), range(3), ("forward", "reversed"))
    ],
}


def paper_trials(task: str, answer: Callable[[Trial], Answer], probes: int = 8, release: str = "d" * 64) -> list[Trial]:
    """All trials of a task, named by its ending; odd probes claim e2-first."""
    trials = []
    for probe, setting, twin, letters in product(range(probes), SETTINGS[task], "+-", ("AB", "BA")):
        video, budget, arm, phase, offset, direction, claim, time = setting
        visible = phase == "offset" or (phase == "on_grid" and arm != "no_events")
        where = f"{probe} {budget} {arm} {phase} {offset} {direction} {twin if visible else ''}"
        blank = Trial(
            task=f"{TASK}{task}", release=release, release_probes=probes, probe=f"p{probe:05d}", video_budget=video,
            budget=budget, arm=arm, twin=twin, phase=phase, offset=offset, direction=direction,
            events_sampled=2 if visible else 0, claim=claim,
            claimed_order=None if claim == "none" else ("e1_first", "e2_first")[probe % 2], letters=letters, time=time,
            view=where, frames=("a", "b"), answer=Answer("unparseable"),
        )  # fmt: skip
        trials.append(Trial(**{**vars(blank), "answer": answer(blank)}))
    return trials


def write_run(
    folder: Path, trials: list[Trial], model_args: str = "pretrained=someone/model-7B", stamp: str = "20260101_000000"
) -> Path:
    """The log and the results file of a run, as the harness names them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stamp}_samples_{trials[0].task}.jsonl"
    path.write_text("".join(json.dumps({"doc_id": i, "trial": t.to_json()}) + "\n" for i, t in enumerate(trials)))
    config = {"config": {"model": "some_wrapper", "model_args": model_args}}
    (folder / f"{stamp}_results.json").write_text(json.dumps(config))
    return path
