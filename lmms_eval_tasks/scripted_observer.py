"""A control model with known tendencies, which sees what any model sees: the frames and the prompt.

It reads events of procedural releases by their colours. Run it to know that the pipeline measures what it
says: the table must show the parameters that it was given.

    lmms-eval --tasks caved_or_convinced --model scripted_observer --model_args reading=0.9,deference=0.3
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from PIL import Image
from tqdm import tqdm

from lmms_eval_tasks.observer_policy import ObserverPolicy, Seen
from lmms_eval_tasks.prompts import CLAIMS, OPTION, QUESTION
from lmms_eval_tasks.stop import RunStopped
from stimuli_builder.procedural import COLOURS

_STRIDE_PX = 8  # every 8th pixel is enough: events cover a tenth of the canvas
_TOLERANCE = 12  # per channel; procedural colours are stored without loss and lie farther apart
_LEAST_SHARE = 0.02


def _pattern(template: str) -> re.Pattern[str]:
    """A template of the prompt as a pattern whose fields are groups."""
    escaped = re.escape(template).replace(r"\{first\}", "(?P<first>.+?)").replace(r"\{second\}", "(?P<second>.+?)")
    return re.compile(escaped)


_QUESTION = _pattern(QUESTION)
_CLAIMS = [_pattern(text) for name, text in CLAIMS.items() if name != "none"]
_OPTION_LINES = [re.compile(rf"(?m)^{letter}\. {_pattern(OPTION).pattern}$") for letter in "AB"]


def _colour_of(phrase: str) -> tuple[int, int, int]:
    for word in phrase.split():
        if word in COLOURS:
            return COLOURS[word]
    raise RunStopped(
        f"scripted_observer recognises procedural events only, not {phrase!r}: unset CAVED_RELEASE, or run "
        "a real model on this release"
    )


def _shows(frame: np.ndarray, colour: tuple[int, int, int]) -> bool:
    distance = np.abs(frame.astype(int) - np.array(colour)).max(axis=-1)
    return bool((distance <= _TOLERANCE).mean() >= _LEAST_SHARE)


def _frames_and_text(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Image.Image], str]:
    frames: list[Image.Image] = []
    texts: list[str] = []
    for message in messages:
        for item in message["content"]:
            if item["type"] == "text":
                texts.append(item["text"])
            else:
                frames.extend(item["url"] if isinstance(item["url"], list) else [item["url"]])
    return frames, "\n".join(texts)


class ScriptedObserver(lmms):
    """An lmms-eval chat model that follows an `ObserverPolicy`."""

    is_simple = False

    def __init__(self, batch_size: Any = 1, max_batch_size: Any = None, device: Any = None, **parameters: Any) -> None:
        super().__init__()
        self.device = torch.device("cpu")  # the harness gathers counts on it when it runs on several ranks
        try:
            self.policy = ObserverPolicy(**parameters)
        except (TypeError, ValueError) as error:
            known = ", ".join(ObserverPolicy.__dataclass_fields__)
            raise RunStopped(f"scripted_observer: {error}; --model_args takes {known}") from error

    def respond(self, frames: Sequence[Image.Image], text: str) -> str:
        """The observer's answer to some frames and a prompt: a letter.

        Raises:
            RunStopped: if the prompt is none of our questions, or its events are not procedural.
        """
        question, claim = _QUESTION.search(text), next((m for p in _CLAIMS if (m := p.search(text))), None)
        options = [pattern.search(text) for pattern in _OPTION_LINES]
        if question is None or None in options:
            raise RunStopped("scripted_observer answers questions of caved_or_convinced only: choose another model")
        named = (question["first"], question["second"])
        thumbnails = [np.asarray(frame)[::_STRIDE_PX, ::_STRIDE_PX] for frame in frames]
        view = hashlib.sha256(b"".join(t.tobytes() for t in thumbnails)).hexdigest()
        at = [next((i for i, t in enumerate(thumbnails) if _shows(t, _colour_of(phrase))), None) for phrase in named]
        seen: Seen | None = None
        if at[0] is not None and at[1] is not None:
            seen = "first" if at[0] < at[1] else "second"
        claimed: Seen | None = None
        if claim is not None:
            claimed = "first" if claim["first"] == named[0] else "second"
        if self.policy.insists_on_a(view, question[0]):
            return "A"
        first = named[0] if self.policy.order(view, question[0], seen, claimed) == "first" else named[1]
        return next(letter for letter, option in zip("AB", options, strict=True) if option and option["first"] == first)

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Answer requests one by one."""
        answers = []
        for request in tqdm(requests, desc="Model Responding", disable=self.rank != 0):
            _, doc_to_messages, _, doc_id, task, split = request.args
            messages = doc_to_messages(self.task_dict[task][split][doc_id])
            answers.append(self.respond(*_frames_and_text(messages)))
        return answers

    def generate_until_multi_round(self, requests: list[Instance]) -> list[str]:
        """Not offered."""
        raise RunStopped("scripted_observer answers single questions only")

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Not offered."""
        raise RunStopped("scripted_observer generates text only")
