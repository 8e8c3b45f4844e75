"""What a control model takes from the text of a prompt: what is asked, and the options in the order displayed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from lmms_eval_tasks.image.prompts import CANNOT, OPTIONS_NAMED
from lmms_eval_tasks.stop import RunStopped
from metrics.image.trial import LETTERS, OPTIONS, Elicitation

_NAMED = re.compile(r"(?m)^" + re.escape(OPTIONS_NAMED).replace(r"\{options\}", "(?P<options>.+)") + "$")
_LETTERED = re.compile(r"(?m)^" + r"\n".join(rf"{letter}\. (?P<{letter}>.+)" for letter in LETTERS) + "$")


@dataclass(frozen=True)
class AskedQuestion:
    """The parts of a prompt."""

    asked: str  # all before the options: question and assertion
    options: tuple[str, ...]  # as displayed; five in the closed elicitation, one of them "cannot be determined"
    elicitation: Elicitation

    @property
    def answers(self) -> tuple[str, ...]:
        """The options that are answers, in order."""
        return tuple(option for option in self.options if option != CANNOT)

    def letter_of(self, option: str) -> str:
        """The letter of a displayed option."""
        return LETTERS[self.options.index(option)]


def asked_question(prompt: str, model: str) -> AskedQuestion:
    """The parts of a prompt of this benchmark.

    Args:
        prompt: the whole text that a model gets.
        model: who reads it, for messages.

    Raises:
        RunStopped: if it is no prompt of this benchmark, or its options cannot be told apart.
    """
    found = _LETTERED.search(prompt)
    if found is not None:
        asked = AskedQuestion(prompt[: found.start()].strip(), tuple(found.groups()), "closed")
    elif (found := _NAMED.search(prompt)) is not None:
        asked = AskedQuestion(prompt[: found.start()].strip(), tuple(found["options"].split("; ")), "open")
    else:
        raise RunStopped(f"{model} answers questions of cant_tell_or_wont_say only: choose another model")
    told_apart = len(set(asked.answers)) == len(asked.answers) == OPTIONS
    if not told_apart or (CANNOT in asked.options) != (asked.elicitation == "closed"):
        raise RunStopped(
            f"{model} cannot tell the options apart in {found[0]!r}: it reads {OPTIONS} distinct ones without a "
            "semicolon; run another model on this release"
        )
    return asked


def image_and_text(messages: Sequence[Mapping[str, Any]], model: str) -> tuple[Image.Image, str]:
    """The one image and the text of a request.

    Raises:
        RunStopped: if there is not exactly one image.
    """
    images: list[Image.Image] = []
    texts: list[str] = []
    for message in messages:
        for item in message["content"]:
            if item["type"] == "text":
                texts.append(item["text"])
            else:
                images.extend(item["url"] if isinstance(item["url"], list) else [item["url"]])
    if len(images) != 1:
        raise RunStopped(
            f"{model} got {len(images)} images, and answers questions of cant_tell_or_wont_say about one: choose "
            "another model"
        )
    return images[0], "\n".join(texts)
