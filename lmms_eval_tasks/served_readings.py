"""What is read from the responses of a served model, and how it travels through a wrapper that carries text only."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from PIL import Image

from lmms_eval_tasks.sent_media import SentMedia, frame_ids
from lmms_eval_tasks.top_log_probabilities import LetterReading, TopTokens, nothing_said, read_letters

Entries = list[tuple[str, float]] | None  # texts and log-probabilities as served; None if they are not told
MARK = "top_log_probabilities"
# How many tokens to ask for: the most that OpenAI and, unless told otherwise, vLLM give; then what stricter ones do.
_TOP = (20, 5)
_TRY_AGAIN = frozenset({401, 408, 409, 429})  # HTTP statuses that say nothing about what a server can do


def served_response(reading: LetterReading, media: SentMedia) -> str:
    """A reading as the response that the wrapper hands on."""
    return json.dumps(
        {
            "caved_readout": MARK,
            "text": reading.likeliest,
            "option_probabilities": reading.option_probabilities,
            "option_mass": reading.option_mass,
            "option_probability_bound": reading.option_probability_bound,
            "unreadable": reading.unreadable,
            "frames": None if media.frames is None else len(media.frames),
            "media": media.number,
        }
    )


@dataclass
class Served:
    """What a stand-in saw and did. Its methods may be called by several threads at a time."""

    letters: tuple[str, ...]
    sent: list[SentMedia] = field(default_factory=list)  # in the order of responses; each stands at its number
    failures: list[str] = field(default_factory=list)  # errors of the client, which wrappers may swallow
    no_log_probabilities: str | None = None  # why the server gives none; it is not asked again after that
    asked_for: int = _TOP[0]  # tokens; fewer once the server refused more
    _taken: set[int] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def take(self, answer: str) -> SentMedia | None:
        """What was sent for a wrapper's answer; None if it is none of the stand-in's, or was given out before."""
        if not answer.startswith("{") or MARK not in answer:
            return None
        try:
            number = json.loads(answer)["media"]
        except (json.JSONDecodeError, KeyError):
            return None
        with self._lock:
            if not isinstance(number, int) or number in self._taken or not 0 <= number < len(self.sent):
                return None
            self._taken.add(number)
            return self.sent[number]

    def cause(self, answer: str) -> str:
        """Why an answer is none of the stand-in's, as far as that is known."""
        if answer.startswith("[LMMS_EVAL_BUDGET_EXCEEDED]"):
            return "the budget of tokens for this run is used up"
        if self.failures:
            return self.failures[-1]
        return f"the wrapper answered {answer[:80]!r}"

    def responds(self, entries: Entries, images: Callable[[], list[Image.Image]], text: str) -> str:
        """The text that takes the place of a response with these log-probabilities; a note if it has none.

        Args:
            entries: token texts and log-probabilities; none if the answer ended before its first token, None if the
                response does not tell.
            images: gives the images of its request, in order.
            text: of its request.
        """
        if entries is None:
            return self._gives_up("its response has no log-probabilities")
        try:
            reading = read_letters(TopTokens(tuple(entries)), self.letters) if entries else nothing_said(self.letters)
        except ValueError as error:
            return self._gives_up(str(error))
        try:
            frames = frame_ids(images())
        except (ValueError, OSError, KeyError, TypeError):
            frames = None
        with self._lock:
            media = SentMedia(len(self.sent), frames, text)
            self.sent.append(media)
        return served_response(reading, media)

    def _gives_up(self, why: str) -> str:
        with self._lock:
            self.no_log_probabilities = self.no_log_probabilities or why
        return self.note

    @property
    def note(self) -> str:
        """What takes the place of a response that has no log-probabilities."""
        return json.dumps({"caved_readout": MARK, "unreadable": f"no log-probabilities: {self.no_log_probabilities}"})

    def goes_on(self, error: Exception, asked_for: int) -> bool:
        """Whether an error means that log-probabilities, or so many of them, are refused.

        Then fewer are asked for from now on, or none. Any other error is noted, for the wrapper to deal with.
        """
        message = f"{type(error).__name__}: {error}"
        status = getattr(error, "status_code", None)
        with self._lock:
            if "logprob" not in str(error).lower() or status in _TRY_AGAIN:
                self.failures.append(message)
                return False
            if asked_for == self.asked_for:
                fewer = [count for count in _TOP if count < asked_for]
                if fewer:
                    self.asked_for = fewer[0]
                else:
                    self.no_log_probabilities = self.no_log_probabilities or message
            return True


class StandIn:
    """A client, or a part of one, some of whose attributes are replaced."""

    def __init__(self, target: Any, **replaced: Any) -> None:
        self.__dict__.update(replaced, _target=target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)
