"""A control model with known tendencies, which sees what any model sees: the frames and the prompt.

It reads events of procedural releases by their colours, and claims and frame times by their wording. Run it
to know that the pipeline measures what it says: every cell of every table must show the parameters that it
was given (`expected_cells` has the numbers, `scripts/validate.py` compares).

    lmms-eval --tasks caved_or_convinced --model scripted_observer --model_args reading=0.9,deference=0.3
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from PIL import Image
from tqdm import tqdm

from lmms_eval_tasks.adaptive_requests import answer_adaptive, name_of_step
from lmms_eval_tasks.native_time import first_native, is_native, native_channel
from lmms_eval_tasks.observer_policy import Named, ObserverPolicy, Sight
from lmms_eval_tasks.prompts import CLAIMS, FRAME_TIMES, OPTION, QUESTION
from lmms_eval_tasks.readout import marked_response, stated_to_response, unavailable_response
from lmms_eval_tasks.stop import RunStopped
from stimuli_builder.procedural import COLOURS

_STRIDE_PX = 8  # every 8th pixel is enough to find an event, which covers a tenth of the canvas
_TELLING_PX = 56  # pixels a side that tell frames apart; small canvases are compared whole, since neighbours look alike
_TOLERANCE = 12  # per channel; procedural colours are stored without loss and lie farther apart
_LEAST_SHARE = 0.02


def _pattern(template: str) -> re.Pattern[str]:
    """A template of the prompt as a pattern whose fields are groups."""
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(template)))


_QUESTION = _pattern(QUESTION)
_FRAME_TIMES = _pattern(FRAME_TIMES)
_CLAIMS = {name: _pattern(text) for name, text in CLAIMS.items() if name != "none"}
_OPTION_LINES = [re.compile(rf"(?m)^{letter}\. {_pattern(OPTION).pattern}$") for letter in "AB"]


def _colour_of(phrase: str) -> tuple[int, int, int]:
    for word in phrase.split():
        if word in COLOURS:
            return COLOURS[word]
    raise RunStopped(
        f"scripted_observer recognises procedural events only, not {phrase!r}: unset CAVED_RELEASE, or run "
        "a real model on this release"
    )


def _first_shown(thumbnails: np.ndarray, colour: tuple[int, int, int]) -> int | None:
    """The place of the first frame that shows a colour; thumbnails are of shape (frames, height, width, 3)."""
    distance = np.abs(thumbnails.astype(np.int16) - np.array(colour, dtype=np.int16)).max(axis=-1)
    shown = (distance <= _TOLERANCE).mean(axis=(1, 2)) >= _LEAST_SHARE
    return int(shown.argmax()) if shown.any() else None


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


def _events(thumbnails: np.ndarray, named: tuple[str, str]) -> tuple[Named, ...]:
    """The named events that some frame shows, in the order in which they first appear.

    However many frames show an event, its first one counts. Two events in one frame have no order, and none is seen.
    """
    first, second = (_first_shown(thumbnails, _colour_of(phrase)) for phrase in named)
    if first is not None and second is not None:
        return () if first == second else ("first", "second") if first < second else ("second", "first")
    return ("first",) if first is not None else ("second",) if second is not None else ()


def _sight(frames: Sequence[Image.Image], text: str, question: str, named: tuple[str, str]) -> Sight:
    pixels = [np.asarray(frame) for frame in frames]
    step = max(1, min(pixels[0].shape[:2]) // _TELLING_PX)
    times = _FRAME_TIMES.search(text)
    if times is not None and not int(times["count"]) == times["times"].count(",") + 1 == len(frames):
        raise RunStopped(
            f"the prompt tells {times['times'].count(',') + 1} times of {times['count']} frames, and there are "
            f"{len(frames)}: the task hands over other frames than it describes"
        )
    sight = Sight(
        view=hashlib.sha256(b"".join(frame[::step, ::step].tobytes() for frame in pixels)).hexdigest(),
        question=question,
        frames=len(frames),
        events=_events(np.stack([frame[::_STRIDE_PX, ::_STRIDE_PX] for frame in pixels]), named),
        times_told=times is not None,
    )
    for strength, pattern in _CLAIMS.items():
        if (claim := pattern.search(text)) is not None:
            return replace(sight, claim=strength, claimed_first="first" if claim["first"] == named[0] else "second")
    return sight


class ScriptedObserver(lmms):
    """An lmms-eval chat model that follows an `ObserverPolicy`."""

    is_simple = False
    control = "simulated"  # what its logs are marked as, whatever they are called later

    def __init__(self, batch_size: Any = 1, max_batch_size: Any = None, device: Any = None, **parameters: Any) -> None:
        super().__init__()
        self.device = torch.device("cpu")  # the harness gathers counts on it when it runs on several ranks
        try:
            self.policy = ObserverPolicy(**parameters)
        except (TypeError, ValueError) as error:
            known = ", ".join(ObserverPolicy.__dataclass_fields__)
            raise RunStopped(f"scripted_observer: {error}; --model_args takes {known}") from error

    def respond(self, frames: Sequence[Image.Image], text: str) -> str:
        """The observer's answer to some frames and a prompt: a letter, or a readout with stated probabilities.

        Raises:
            RunStopped: if the prompt is none of our questions, or its events are not procedural.
        """
        question = _QUESTION.search(text)
        options = [match for pattern in _OPTION_LINES if (match := pattern.search(text))]
        if question is None or len(options) != len(_OPTION_LINES):
            raise RunStopped("scripted_observer answers questions of caved_or_convinced only: choose another model")
        named = (question["first"], question["second"])
        sight = _sight(frames, text, question[0], named)
        if self.policy.insists_on_a(sight):
            letter = "A"
        else:
            first = named[0] if self.policy.order(sight) == "first" else named[1]
            letter = next(letter for letter, option in zip("AB", options, strict=True) if option["first"] == first)
        if not self.policy.confidence:
            return letter
        other = "B" if letter == "A" else "A"
        stated = {letter: self.policy.confidence, other: 1 - self.policy.confidence}
        return stated_to_response(letter, stated, {"frames": len(frames), "size_px": list(frames[0].size)})

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Answer requests one by one; those of the task that compares time channels without the native one."""
        round_name = name_of_step(self, requests)

        def answer(ordinary: list[Any]) -> list[str]:
            channel = native_channel(self, ordinary)
            if first_native(self, ordinary) is not None:
                channel.rule_out("scripted_observer sees frames and prompt alone")
            bar = tqdm(ordinary, round_name or "Model Responding", leave=not round_name, disable=self.rank != 0)
            return [self._answer(request, channel.missing) for request in bar]

        return answer_adaptive(self, requests, answer)

    def _answer(self, request: Any, no_native_channel: str) -> str:
        if is_native(self, request):
            return marked_response(unavailable_response(no_native_channel), self.control)
        _, doc_to_messages, _, doc_id, task, split = request.args
        frames, text = _frames_and_text(doc_to_messages(self.task_dict[task][split][doc_id]))
        got = {"frames": len(frames), "order": "as shown", "size_px": list(frames[0].size)}
        return marked_response(self.respond(frames, text), self.control, got)

    def generate_until_multi_round(self, requests: list[Instance]) -> list[str]:
        """Not offered."""
        raise RunStopped("scripted_observer answers single questions only")

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Not offered."""
        raise RunStopped("scripted_observer generates text only")
