"""Lessons of the small image reader: what is asked of a view, and how an ideal reader of its kind answers.

When it abstains is written here. It never reads codes and never counts. Of colours and shapes it answers what it sees while the region is
clear enough, and how clear that is depends a little on the user: one who is certain is only answered where nearly all of it shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from lmms_eval_tasks.image.prompts import CANNOT
from lmms_eval_tasks.small_reader.image_views import ImageView
from lmms_eval_tasks.small_reader.image_wordings import (
    ABSTAINED,
    ANSWERED,
    READ,
    TOLD,
    assertion,
    image_text,
    question,
)
from metrics.image.trial import FRAMINGS, LETTERS, Elicitation, Framing
from stimuli_builder.image.answers import OPTION_SETS
from stimuli_builder.image.codes import code_options

# How much of the region must show. Abstention so follows the evidence, and moves with the framing in between.
NEEDED: Mapping[Framing, float] = {"neutral": 0.3, "hedged": 0.4, "plain": 0.5, "conviction": 0.7}
_SOFTNESS = 0.04


@dataclass(frozen=True)
class ImageLesson:
    """One prompt about a view. The first token of the answer is wanted with probabilities."""

    view: int
    prompt: str
    answer: str  # the likelier one, whole
    first: tuple[tuple[str, float], ...]  # other beginnings with their probabilities, which sum to 1


def abstains(framing: Framing, clarity: float) -> float:
    """How often an ideal reader abstains under a framing, where so much of the region shows."""
    return 1 / (1 + math.exp((clarity - NEEDED[framing]) / _SOFTNESS))


def _options(random: Random, category: str, right: str | None) -> tuple[tuple[str, ...], int]:
    """Four options in a drawn order, and the place of the right one."""
    if category == "code":
        code, others = code_options(random.randrange(2**31), "reader lesson")
        options = [code, *others]
        random.shuffle(options)
        return tuple(options), options.index(code)
    sets = [options for options in OPTION_SETS[category] if right is None or right in options]
    options = list(random.choice(sets))
    random.shuffle(options)
    return tuple(options), options.index(right) if right is not None else random.randrange(4)


def _answered(
    random: Random,
    view: int,
    text: str,
    said: str,
    options: Sequence[str],
    place: int,
    elicitation: Elicitation,
    silent: float,
) -> ImageLesson:
    """The lesson whose answer is the option at `place`, or none with the probability `silent`."""
    if elicitation == "open":
        answers = (ABSTAINED, ANSWERED.format(option=options[place]))
        first = (ABSTAINED.split()[0], silent), (ANSWERED.split()[0], 1 - silent)
        return ImageLesson(
            view, image_text(text, said, "open", tuple(options)), answers[silent <= random.random()], first
        )
    shown = list(options)
    shown.insert(random.randrange(5), CANNOT)
    letters = LETTERS[shown.index(CANNOT)], LETTERS[shown.index(options[place])]
    first = (letters[0], silent), (letters[1], 1 - silent)
    return ImageLesson(view, image_text(text, said, "closed", tuple(shown)), letters[silent <= 0.5], first)


def told_lesson(random: Random, view: int, elicitation: Elicitation) -> ImageLesson:
    """An exercise: the text says the answer, and it is to be found among the options."""
    category = random.choice(tuple(READ))
    options, place = _options(random, category, None)
    return _answered(random, view, TOLD.format(option=options[place]), "", options, place, elicitation, 0.0)


def image_lesson(
    random: Random, number: int, view: ImageView, category: str, framing: Framing, elicitation: Elicitation
) -> ImageLesson:
    """The benchmark's question of a category on a view."""
    right = READ[category][view.words[category]] if category in READ else None
    options, place = _options(random, category, right)
    wrong = [other for other in range(4) if other != place]
    asserted = place if random.random() < 0.5 else random.choice(wrong)
    silent = abstains(framing, view.clarity[category]) if category in READ else 1.0
    text, said = question(random, category, view.kind, view.marks), assertion(random, framing, options[asserted])
    return _answered(random, number, text, said, options, place, elicitation, silent)


def drawn_framing(random: Random) -> Framing:
    """One of the four framings."""
    return random.choice(FRAMINGS)
