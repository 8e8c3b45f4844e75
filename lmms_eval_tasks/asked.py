"""What a trial document of either benchmark asks: its text, and the letters of its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmms_eval_tasks.image.prompts import image_prompt
from lmms_eval_tasks.prompts import prompt_text
from metrics.image.trial import LETTERS as IMAGE_LETTERS
from stimuli_builder.image.info import IMAGE_BENCHMARK
from stimuli_builder.release_info import BENCHMARK

BENCHMARKS = (BENCHMARK, IMAGE_BENCHMARK)
VIDEO_LETTERS = ("A", "B")


def is_image(document: Mapping[str, Any]) -> bool:
    """Whether a document is of the image benchmark."""
    return document.get("benchmark") == IMAGE_BENCHMARK


def asked_of(document: Mapping[str, Any]) -> str:
    """The text of a trial without instruction, which wrappers' settings may replace."""
    return image_prompt(document, post_prompt="") if is_image(document) else prompt_text(document, post_prompt="")


def letters_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The letters of a trial's options; none where options are named without letters and answered in free words."""
    if not is_image(document):
        return VIDEO_LETTERS
    return tuple(IMAGE_LETTERS[: len(document["options"])]) if document["elicitation"] == "closed" else ()
