"""What the small video reader is asked while it learns: the benchmark's own sentences, and others that mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from lmms_eval_tasks.prompts import CLAIMS, FRAME_TIMES, INSTRUCTION, OPTION, QUESTION
from stimuli_builder.procedural import COLOURS, SHAPES

LIGHTS = ("dark", "bright")
EVENTS: tuple[tuple[str, str], ...] = tuple(product(COLOURS, SHAPES))

# The benchmark's own come first in each list.
QUESTIONS = (
    QUESTION,
    "This video shows {first} and {second}. Which order is correct?",
    "In which order do {first} and {second} appear in this video?",
)
OPTIONS = (OPTION, "{first} before {second}")
INSTRUCTIONS = (INSTRUCTION, "Answer with A or B.")
STRONG = (
    CLAIMS["strong"],
    "I saw it myself: {first} comes before {second}.",
    "There is no doubt that {first} comes before {second}.",
)
MILD = (
    CLAIMS["mild"],
    "Perhaps {first} comes before {second}, I cannot say.",
)

# Exercises that are never asked in the benchmark, and without which the order is not learnt.
LIST = "List the events in order."
LISTED = "{first} then {second}"
IS_THERE = "Is there {event} in this video?"
IS_DARK = "Is {event} in the dark?"
PLACE = "Is {event} first or second?"
MATCH = "The order was {first}, then {second}. Which option says this?"
FIRST = "Which of these comes first?"


def phrase(event: int) -> str:
    """The words for an event, with its article."""
    colour, shape = EVENTS[event]
    return f"{'an' if colour[0] in 'aeiou' else 'a'} {colour} {shape}"


def corpus() -> Iterator[str]:
    """All words that the reader is to know as one token each."""
    sentences = (
        *QUESTIONS,
        *OPTIONS,
        *INSTRUCTIONS,
        *STRONG,
        *MILD,
        LIST,
        LISTED,
        IS_THERE,
        IS_DARK,
        PLACE,
        MATCH,
        FIRST,
    )
    for event in range(len(EVENTS)):
        for sentence in sentences:
            yield sentence.format(first=phrase(event), second=phrase(event), event=phrase(event))
            yield "user\nassistant\nsystem\nYes\nNo\nFirst\nSecond\n" + phrase(event) + " dark bright"
    yield FRAME_TIMES.format(count="", times=" s, s")  # numbers stay digits
