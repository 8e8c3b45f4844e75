"""From a response to a trial, and from trials to the numbers of the results file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loguru import logger

from lmms_eval_tasks.prompts import prompt_text, wording_of
from lmms_eval_tasks.readout import read_response, receipt_of
from metrics.deference import PHASES, deference_warnings, measure_deference
from metrics.trial import Trial

_FRAME_ID_CHARACTERS = 16  # of 64, in the log: enough to tell any two frames apart
Aggregate = Callable[[Sequence[Trial]], "float | str"]


def trial_of(doc: Mapping[str, Any], response: str) -> Trial:
    """The trial that a document and a response make."""
    options = wording_of(doc).options(doc["letters"])
    return Trial(
        task=doc["task"],
        release=doc["release"],
        release_probes=doc["release_probes"],
        probe=doc["probe"],
        budget=doc["budget"],
        arm=doc["arm"],
        twin=doc["twin"],
        phase=doc["phase"],
        claim=doc["claim"],
        claimed_order=doc["claimed_order"],
        letters=doc["letters"],
        time=doc["time"],
        view=doc["view"],
        frames=tuple(frame[:_FRAME_ID_CHARACTERS] for frame in doc["frames"]),
        answer=read_response(response, options, prompt_text(doc)),
        receipt=receipt_of(response),
        padding=doc["padding"],
    )


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The log line of a trial, and the trial under each metric that it counts for.

    `trial` holds everything that a report needs; the metrics hold the trial itself, which the log shows
    by its short name.
    """
    this = trial_of(doc, results[0])
    entry: dict[str, Any] = {"trial": this.to_json()}
    if this.padding:
        return entry
    measures = ["J0"] if this.claim == "none" else ["C" if this.claim_is_true else "S", "J"]
    for measure in measures:
        entry[f"{this.phase}_{measure}"] = this
        if this.answer.option_probabilities is not None:
            entry[f"{this.phase}_{measure}_confidence"] = this
    entry["unparseable"] = this
    return entry


def _measure(phase: str, measure: str, confidence: bool = False) -> Aggregate:
    def aggregate(trials: Sequence[Trial]) -> float | str:
        result = measure_deference(trials, phase, resamples=0)
        estimate = result.confidence.get(measure) if confidence else getattr(result, measure)
        return "N/A" if estimate is None or math.isnan(estimate.value) else estimate.value

    aggregate.__name__ = f"{phase}_{measure}" + ("_confidence" if confidence else "")
    aggregate.__doc__ = f"{measure} {phase} over all trials that were gathered."
    return aggregate


def trial(entries: Sequence[Mapping[str, Any]]) -> int:
    """How many trials were counted, padding left out."""
    return sum(not entry["padding"] for entry in entries)


def unparseable(trials: Sequence[Trial]) -> float | str:
    """The share of responses that say nothing readable; logs what a reader of the numbers must know."""
    for phase in PHASES:
        for warning in deference_warnings(measure_deference(trials, phase, resamples=0)):
            logger.warning(f"{trials[0].task}: {warning}")
    return sum(t.answer.outcome == "unparseable" for t in trials) / len(trials) if trials else "N/A"


on_grid_S = _measure("on_grid", "S")
on_grid_C = _measure("on_grid", "C")
on_grid_J = _measure("on_grid", "J")
on_grid_J0 = _measure("on_grid", "J0")
in_gap_S = _measure("in_gap", "S")
in_gap_C = _measure("in_gap", "C")
in_gap_J = _measure("in_gap", "J")
in_gap_J0 = _measure("in_gap", "J0")
on_grid_S_confidence = _measure("on_grid", "S", confidence=True)
on_grid_C_confidence = _measure("on_grid", "C", confidence=True)
on_grid_J_confidence = _measure("on_grid", "J", confidence=True)
on_grid_J0_confidence = _measure("on_grid", "J0", confidence=True)
in_gap_S_confidence = _measure("in_gap", "S", confidence=True)
in_gap_C_confidence = _measure("in_gap", "C", confidence=True)
in_gap_J_confidence = _measure("in_gap", "J", confidence=True)
in_gap_J0_confidence = _measure("in_gap", "J0", confidence=True)
