"""From a response to a trial, and from trials to the numbers of the results file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loguru import logger

from lmms_eval_tasks.counted import ALL_NUMBERS, counts_for
from lmms_eval_tasks.prompts import prompt_text, wording_of
from lmms_eval_tasks.readout import read_response, receipt_of, unavailable_of
from lmms_eval_tasks.stop import RunStopped
from metrics.intervals import Estimate
from metrics.paper_measures import paper_measures
from metrics.task_warnings import task_warnings
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
        video_budget=doc["video_budget"],
        budget=doc["budget"],
        arm=doc["arm"],
        twin=doc["twin"],
        phase=doc["phase"],
        offset=doc["offset"],
        direction=doc["direction"],
        events_sampled=doc["events_sampled"],
        claim=doc["claim"],
        claimed_order=doc["claimed_order"],
        letters=doc["letters"],
        time=doc["time"],
        view=doc["view"],
        frames=tuple(frame[:_FRAME_ID_CHARACTERS] for frame in doc["frames"]),
        answer=read_response(response, options, prompt_text(doc)),
        receipt=receipt_of(response),
        padding=doc["padding"],
        release_offsets=doc["release_offsets"],
        unavailable=unavailable_of(response),
    )


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The log line of a trial, and the trial under each number that it counts for.

    `trial` holds everything that a report needs; the numbers hold the trial itself, which the log shows
    by its short name.
    """
    this = trial_of(doc, results[0])
    entry: dict[str, Any] = {"trial": this.to_json(), **dict.fromkeys(counts_for(this), this)}
    if not this.padding and not this.unavailable:
        entry["unparseable"] = this
    return entry


_last: tuple[list[Trial], dict[str, Estimate]] | None = None  # several numbers of a task stand on the same trials


def _measures(trials: Sequence[Trial]) -> dict[str, Estimate]:
    global _last
    if _last is None or _last[0] != list(trials):
        _last = (list(trials), paper_measures(trials[0].task, trials, resamples=0))
    return _last[1]


def _number(name: str) -> Aggregate:
    def aggregate(trials: Sequence[Trial]) -> float | str:
        estimate = _measures(trials).get(name) if trials else None
        return "N/A" if estimate is None or math.isnan(estimate.value) else estimate.value

    aggregate.__name__ = name
    aggregate.__doc__ = f"{name} over all trials that were gathered."
    return aggregate


def trial(entries: Sequence[Mapping[str, Any]]) -> int:
    """How many trials were counted: padding, and those that could not be put to the model, left out.

    Raises:
        RunStopped: if a time channel was available for some trials and not for others.
    """
    for time in {entry["time"] for entry in entries}:
        reasons = {str(entry["unavailable"]) for entry in entries if entry["time"] == time}
        if len(reasons) > 1 and "" in reasons:
            raise RunStopped(
                f"some trials with time {time} were answered and others not ({max(reasons, key=len)}): the numbers "
                "would stand on a choice of trials; run again, and report this if it stays"
            )
    return sum(not entry["padding"] and not entry["unavailable"] for entry in entries)


def unparseable(trials: Sequence[Trial]) -> float | str:
    """The share of responses that say nothing readable; logs what a reader of the numbers must know."""
    if not trials:
        return "N/A"
    task = trials[0].task
    for warning in task_warnings(task, trials):
        logger.warning(f"{task}: {warning}")
    return sum(t.answer.outcome == "unparseable" for t in trials) / len(trials)


def __getattr__(name: str) -> Aggregate:
    """The numbers that task files name, such as `on_grid_J` or `J0_placebo_confidence`."""
    if name not in ALL_NUMBERS:
        raise AttributeError(name)
    return _number(name)
