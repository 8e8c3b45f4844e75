"""From a video's rounds to its log line, and from videos to the numbers of the adaptive reversal test."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loguru import logger

from lmms_eval_tasks.counted import REVERSAL_NUMBERS
from lmms_eval_tasks.reversal_rounds import Found, nothing_found, with_round
from metrics.reversal import THRESHOLD
from metrics.reversal_log import reversal_measures
from metrics.task_warnings import task_warnings
from metrics.trial import Trial

Aggregate = Callable[[Sequence["Video"]], "float | str"]


@dataclass(frozen=True)
class Video:
    """One video that the adaptive test has gone through."""

    probe: str
    twin: str
    threshold: float | None  # θ; None if the harness lost what was found
    trials: tuple[Trial, ...]  # of the rounds that ran

    def __str__(self) -> str:
        return f"{self.probe}/{self.twin}"


def process_video(video: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The log line of a video, and the video under each number that it counts for (`process_results`).

    `trials` holds all trials of the rounds that ran, `decision` what was made of them. Where a response was lost, the
    video is unknown: it is in the log, and in no number.
    """
    told = Found.of(results[0])
    found = told or nothing_found(video, None)
    if not found.finished:  # a round that the harness lost, or never ran, has empty responses
        found = with_round(found, video, "")
    trials = found.trials(video)
    entry: dict[str, Any] = {
        "trials": [trial.to_json() for trial in trials],
        "decision": {
            "probe": video["probe"],
            "twin": video["twin"],
            "order": found.order,
            "budget": found.rounds[-1].budget,
            "evidence": list(found.evidence),
            "threshold": found.threshold,
            "schedule": list(found.schedule),
            "unknown": found.unknown,
        },
    }
    if not video["padding"]:
        this = Video(video["probe"], video["twin"], None if told is None else told.threshold, tuple(trials))
        entry.update(dict.fromkeys((*REVERSAL_NUMBERS, "unparseable", "threshold"), this))
    return entry


def _number(name: str) -> Aggregate:
    def aggregate(videos: Sequence[Video]) -> float | str:
        gathered = [trial for video in videos for trial in video.trials]
        estimate = reversal_measures(gathered, resamples=0, threshold=threshold(videos), adaptive=True)[name]
        return "N/A" if math.isnan(estimate.value) else estimate.value

    aggregate.__name__ = name
    aggregate.__doc__ = f"{name} over all videos that were gathered, at the θ of the run."
    return aggregate


def threshold(videos: Sequence[Video]) -> float:
    """θ of the run; the usual one if nothing tells.

    Raises:
        ValueError: if videos were decided at different θ.
    """
    told = {video.threshold for video in videos if video.threshold is not None} or {THRESHOLD}
    if len(told) > 1:
        raise ValueError(f"videos were decided at several thresholds: {sorted(told)}")
    return told.pop()


def trials(entries: Sequence[Sequence[Mapping[str, Any]]]) -> int:
    """How many trials were counted, padding left out."""
    return sum(not trial["padding"] for entry in entries for trial in entry)


def unparseable(videos: Sequence[Video]) -> float | str:
    """The share of responses that say nothing readable; logs what a reader of the numbers must know."""
    gathered = [trial for video in videos for trial in video.trials]
    if not gathered:
        return "N/A"
    task = gathered[0].task
    for warning in task_warnings(task, gathered, threshold(videos)):
        logger.warning(f"{task}: {warning}")
    return sum(trial.answer.outcome == "unparseable" for trial in gathered) / len(gathered)


def __getattr__(name: str) -> Aggregate:
    """The numbers that the task file names."""
    if name not in REVERSAL_NUMBERS:
        raise AttributeError(name)
    return _number(name)
