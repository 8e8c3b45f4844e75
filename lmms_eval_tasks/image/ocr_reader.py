"""A real model that cannot know what a user believes: it reads printed codes with PP-OCR, and says when it cannot.

It gets what any model gets, an image and a prompt, and of the prompt it takes the options alone. Whatever a user
asserts, its answer is the same: its Evidence-Invariance Violation and its Pressure-Induced Abstention are zero, and
its accuracy by level is a measured curve.

    lmms-eval --tasks cant_tell_or_wont_say --model ocr_reader --model_args confidence=0.6

Colours, counts and shapes are not for it to read: it abstains, whatever is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from PIL import Image

from lmms_eval_tasks.image.asked_question import AskedQuestion, asked_question
from lmms_eval_tasks.image.closest_option import Line, are_codes, supports
from lmms_eval_tasks.image.control_model import ControlModel
from lmms_eval_tasks.image.ocr_engine import read_lines
from lmms_eval_tasks.image.prompts import CANNOT
from lmms_eval_tasks.readout import stated_to_response
from lmms_eval_tasks.stop import RunStopped
from stimuli_builder.frames import frame_id

# Found by `scripts/ocr_confidence.py` on 100 procedural items of another seed than any release has by default: the lowest
# tenth at which 98 % of answers are right, and the sharpness with which forced choices are likeliest.
CONFIDENCE = 0.6
SHARPNESS = 15.0
LEAD = 0.05  # less than a character of a code whose score is at the threshold


@dataclass(frozen=True)
class Judgement:
    """How strongly lines of text speak for each displayed option, "cannot be determined" among them."""

    supports: dict[str, float]

    @property
    def choice(self) -> str:
        """The option that is answered, or "cannot be determined"."""
        return max(self.supports, key=lambda option: self.supports[option])

    def probabilities(self, sharpness: float = SHARPNESS) -> dict[str, float]:
        """Supports as probabilities: exp(sharpness x support), sum 1. The likeliest option is the choice."""
        weights = {option: math.exp(sharpness * support) for option, support in self.supports.items()}
        total = sum(weights.values())
        return {option: weight / total for option, weight in weights.items()}


def judge(options: tuple[str, ...], lines: tuple[Line, ...], confidence: float = CONFIDENCE) -> Judgement:
    """What some lines of text say of a question.

    An option's support is the recogniser's score times the similarity of option and text. The support of "cannot be
    determined" is the threshold, or that of the second best option and a little more: a text that fits two
    options alike determines neither.

    Args:
        options: four, without "cannot be determined".
        lines: as recognised.
        confidence: the least support with which an option is answered.
    """
    found = supports(options, lines) if are_codes(options) else (0.0,) * len(options)
    second = sorted(found)[-2]
    return Judgement({CANNOT: max(confidence, second + LEAD), **dict(zip(options, found, strict=True))})


class OcrReader(ControlModel):
    """An lmms-eval chat model: PP-OCR, and the closest option."""

    model_id = "ocr_reader"
    control = "control"

    def __init__(
        self,
        confidence: float = CONFIDENCE,
        batch_size: Any = 1,
        max_batch_size: Any = None,
        device: Any = None,
        **unknown: Any,
    ) -> None:
        super().__init__()
        if unknown:
            raise RunStopped(f"ocr_reader has no argument {', '.join(unknown)}: --model_args takes confidence")
        if isinstance(confidence, str) or not 0 < confidence <= 1:
            raise RunStopped(f"ocr_reader: confidence={confidence}: give a number above 0 and at most 1")
        self.confidence = float(confidence)
        self._lines: dict[str, tuple[Line, ...]] = {}  # by image, which many prompts ask about

    def _lines_of(self, image: Image.Image) -> tuple[Line, ...]:
        name = frame_id(image)
        if name not in self._lines:
            self._lines[name] = read_lines(image)
        return self._lines[name]

    def _judgement(self, image: Image.Image, question: AskedQuestion) -> Judgement:
        options = question.answers
        return judge(options, self._lines_of(image) if are_codes(options) else (), self.confidence)

    def respond(self, image: Image.Image, prompt: str) -> str:
        """The answer to a question: a sentence where it is put openly, else a readout with stated probabilities.

        Raises:
            RunStopped: if the prompt is none of this benchmark.
        """
        question = asked_question(prompt, self.model_id)
        judgement = self._judgement(image, question)
        if question.elicitation == "open":
            return "I cannot tell." if judgement.choice == CANNOT else f"It is {judgement.choice}."
        stated = judgement.probabilities()
        by_letter = {question.letter_of(option): stated[option] for option in question.options}
        receipt = {"frames": 1, "size_px": list(image.size)}
        return stated_to_response(question.letter_of(judgement.choice), by_letter, receipt)
