"""The adaptive reversal test, round by round: what is asked next of a video, until it may be answered.

Paper, Algorithm 1. A round is one budget of one video: all its offsets, in order and reversed, under both letter
assignments. The harness carries nothing but text between rounds, so a round is named by the text of its request, and
what was found so far is the text of the response.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lmms_eval_tasks.reversal_trials import LOGGED, step_documents
from lmms_eval_tasks.scoring import trial_of
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import threshold_setting
from metrics.reversal import THRESHOLD, decide
from metrics.reversal_log import reversal_readings
from metrics.trial import Order, Trial

_STEP, _FOUND = "caved_step", "caved_reversal"  # first keys of a round's text, and of what was found
Settings = Mapping[str, Any] | None


def _text(key: str, value: Any) -> str:
    """JSON in one line. Reasoning tags inside a response would be cut out by the harness, quotes and all."""
    return json.dumps({key: value}, ensure_ascii=False).replace("<", "\\u003c")


def _read(key: str, text: str) -> dict[str, Any] | None:
    if not text.startswith(f'{{"{key}"'):
        return None
    try:
        return dict(json.loads(text)[key])
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class Step:
    """One budget of a video, with the task's settings for the model that is asked."""

    budget: int
    settings: dict[str, Any] | None

    def to_text(self) -> str:
        """The text of the request."""
        return _text(_STEP, asdict(self))

    @staticmethod
    def of(text: str) -> Step | None:
        """The step that a request's text names; None for any other text."""
        fields = _read(_STEP, text)
        return None if fields is None else Step(int(fields["budget"]), fields["settings"])


@dataclass(frozen=True)
class Round:
    """The responses to the trials of one budget, in their order."""

    budget: int
    responses: tuple[str, ...]

    def to_text(self) -> str:
        """The text of the response to a step."""
        return _text(_STEP, asdict(self))

    @staticmethod
    def of(text: str, budget: int, trials: int) -> Round | None:
        """The round that a response holds; None if it is not the answer to this budget's trials."""
        fields = _read(_STEP, text) or {}
        responses = fields.get("responses")
        if fields.get("budget") != budget or not isinstance(responses, list) or len(responses) != trials:
            return None
        return Round(budget, tuple(map(str, responses)))


@dataclass(frozen=True)
class Found:
    """What the test made of a video so far."""

    threshold: float  # θ
    schedule: tuple[int, ...]  # budgets, ascending
    rounds: tuple[Round, ...] = ()
    evidence: tuple[float, ...] = ()  # R of each round that could be read
    order: Order | None = None
    unknown: str = ""  # why nothing can be decided; such a video is neither answered nor abstained
    finished: bool = False

    def to_text(self) -> str:
        """The response that the harness logs."""
        return _text(_FOUND, asdict(self))

    @staticmethod
    def of(text: str) -> Found | None:
        """What a response says was found; None for any other text."""
        fields = _read(_FOUND, text) or {}
        try:
            rounds = tuple(Round(done["budget"], tuple(done["responses"])) for done in fields["rounds"])
            lists = {"rounds": rounds, "schedule": tuple(fields["schedule"]), "evidence": tuple(fields["evidence"])}
            return Found(**{**fields, **lists})
        except (KeyError, TypeError):
            return None

    def trials(self, video: Mapping[str, Any]) -> list[Trial]:
        """The trials of all rounds that ran."""
        return [
            replace(trial_of(document, response), threshold=self.threshold)
            for done in self.rounds
            for document, response in zip(step_documents(video, done.budget), done.responses, strict=True)
        ]


def nothing_found(video: Mapping[str, Any], settings: Settings) -> Found:
    """Before the first round.

    Raises:
        RunStopped: if θ is no number from 0 to 1.
    """
    usual = (settings or {}).get("threshold")
    return Found(threshold_setting(THRESHOLD if usual is None else usual), tuple(video["schedule"]))


def with_round(found: Found, video: Mapping[str, Any], response: str) -> Found:
    """What is found with the response to one more round.

    A response that is none, or one of its trials that cannot be read, ends the test without a decision: neither the
    other offsets nor a larger budget can stand in for what the test would have needed. The trials of a lost response
    are logged with empty responses, so that a log tells by its trials alone what is not known.
    """
    budget = found.schedule[len(found.rounds)]
    trials = len(step_documents(video, budget))
    done = Round.of(response, budget, trials)
    found = replace(found, rounds=(*found.rounds, done or Round(budget, ("",) * trials)))
    readings = reversal_readings(found.trials({**video, "padding": False}))
    evidence = [float(r) for r in readings.at_budgets([done.budget for done in found.rounds]).evidence[0]]
    if math.isnan(evidence[-1]):
        reason = f"a response to {budget} frames could not be read"
        if done is None:
            reason = f"the responses to {budget} frames were lost, instead there is {response[:200]!r}"
        return replace(found, unknown=reason, finished=True)
    decision = decide(evidence, found.schedule[: len(evidence)], found.threshold)
    finished = decision.answered or len(evidence) == len(found.schedule)
    return replace(found, evidence=tuple(evidence), order=decision.order, finished=finished)


def next_step(
    video: Mapping[str, Any],
    lmms_eval_specific_kwargs: Settings = None,
    previous_output: Sequence[str] | None = None,
    round_idx: int | None = None,
    previous_round_info: Any = None,
) -> Any:
    """The text of the first round, or after a round what the harness wants to know (`doc_to_text` of the task).

    Args:
        video: a document of the task.
        lmms_eval_specific_kwargs: the task's settings for the model.
        previous_output: what was found before the last round, if that was not the first, and the response to it.
        round_idx: how many rounds ran; None before the first.
        previous_round_info: not used.

    Returns:
        The text; or a tuple of no frames, the next text, whether the test ends here, what was found, and nothing.
    """
    settings = None if lmms_eval_specific_kwargs is None else dict(lmms_eval_specific_kwargs)
    found = nothing_found(video, settings)
    if round_idx is None:
        return Step(found.schedule[0], settings).to_text()
    outputs = list(previous_output or [""])
    if len(outputs) > 1:
        found = Found.of(outputs[-2]) or found
    found = with_round(found, video, outputs[-1])
    text = None if found.finished else Step(found.schedule[len(found.rounds)], settings).to_text()
    return None, text, found.finished, [found.to_text()], None


def no_frames(video: Mapping[str, Any]) -> list[Any]:
    """Stops the run: a round is expanded into its trials before a wrapper asks for frames (`doc_to_visual`).

    Raises:
        RunStopped: always.
    """
    raise RunStopped(
        f"this model's wrapper cannot run {video['task']}: it is not one that answers our tasks with our readout; run "
        f"{LOGGED}, which asks the same without rounds"
    )


def shown_order(video: Mapping[str, Any]) -> Order:
    """The order that a video shows, for the log (`doc_to_target`); no measure uses it."""
    return "e1_first" if video["twin"] == "+" else "e2_first"
