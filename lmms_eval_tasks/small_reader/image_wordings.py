"""What the small image reader is asked while it learns: the benchmark's own questions, and others that mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from lmms_eval_tasks.image.prompts import CANNOT, FRAMED, INSTRUCTIONS, framed, named_options
from metrics.image.trial import LETTERS, Elicitation, Framing
from stimuli_builder.image.answers import OPTION_SETS
from stimuli_builder.image.prints import MARKS
from stimuli_builder.procedural import COLOURS

READ: dict[str, tuple[str, ...]] = {
    "colour": tuple(COLOURS),
    "shape": tuple(dict.fromkeys(sum(OPTION_SETS["shape"], ()))),
}
REGIONS = {"colour": "code", "shape": "symbol"}  # which region decides a question of the category
MARKERS = {"colour": "field", "shape": "symbol"}  # the word that stands for its region in the tokens of an image
CLEAR = "clear"  # the word for how much of it shows
KINDS = ("parcel", "badge", "plate", "tag")
# The benchmark's own come first.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "code": ("What code is printed on the {kind}?", "Which code does the {kind} carry?"),
    "colour": (
        "What colour is the field behind the code on the {kind}?",
        "Which colour does the field behind the code have?",
    ),
    "count": (
        "How many small {marks} are in the frame on the {kind}?",
        "What is the number of small {marks} in the frame?",
    ),
    "shape": ("What shape is the large symbol on the {kind}?", "Which shape does the large symbol have?"),
}
ANSWERED, ABSTAINED = "It is {option}.", "I cannot tell from this image."
TOLD = "The answer is {option}."  # an exercise in finding an option's letter, where nothing needs to be seen
_OWN_SHARE = 0.7


def corpus() -> Iterator[str]:
    """All words that the reader is to know as one token each."""
    yield f"user\nassistant\nsystem\n {CLEAR} clearly. {ABSTAINED}\nThe options are: a; b; c; d.\n{' '.join(INSTRUCTIONS.values())}"
    for category, questions in QUESTIONS.items():
        for question in questions:
            for kind in KINDS:
                yield from (question.format(kind=kind, marks=marks) for marks in MARKS)
        for word in {word for options in OPTION_SETS.get(category, ()) for word in options}:
            said = [saying for sayings in FRAMED.values() for saying in sayings]
            yield "\n".join(
                sentence.format(option=word) for sentence in (ANSWERED, TOLD, "{option}", " {option};", *said)
            )
    yield from (f"{letter}. {CANNOT}\n{letter}" for letter in LETTERS)


def question(random: Random, category: str, kind: str, marks: str) -> str:
    """A question, mostly in the benchmark's own words."""
    own, *others = QUESTIONS[category]
    return (own if random.random() < _OWN_SHARE else random.choice(others)).format(kind=kind, marks=marks)


def image_text(text: str, said: str, elicitation: Elicitation, options: tuple[str, ...]) -> str:
    """The text of a trial as the benchmark writes it."""
    return f"{text} {said}".strip() + f"\n{named_options(elicitation, options)}\n{INSTRUCTIONS[elicitation]}"


def assertion(random: Random, framing: Framing, option: str) -> str:
    """What the user says of an option."""
    return framed(framing, random.randrange(len(FRAMED[framing])), option)
