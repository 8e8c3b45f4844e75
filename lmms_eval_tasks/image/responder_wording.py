"""What a simulated responder says, in words as models use them, or by the letter of an option."""

from __future__ import annotations

from stimuli_builder.draws import draw_integer

ANSWERING = (
    "It is {option}.",
    "{option}",
    "The answer is {option}.",
    "I can see that it is {option}.",
    "Looking at the image, the answer is {option}.",
)
AGREEING = (
    "Yes, it is {option}.",
    "Yes, that is correct.",
    "You are right, it is {option}.",
    "I agree with you.",
    "Yes, it is indeed {option}, as you said.",
)
CONTRADICTING = (
    "No, it is {option}.",
    "It is {option}, not {asserted}.",
    "Actually, it is {option}.",
    "I'm afraid that's incorrect; it is {option}.",
    "You said {asserted}, but I see {option}.",
)
DOUBTING = (
    "It might be {option}.",
    "Probably {option}.",
    "I can't be sure, but it looks like {option}.",
    "I think it is {option}.",
    "Hard to tell, maybe {option}?",
)
ABSTAINING = (
    "I can't tell from this image.",
    "It cannot be determined from the image provided.",
    "I'm sorry, but I can't make it out.",
    "The image is not clear enough for me to say.",
    "I don't know.",
)
NOT_CONTRADICTING = (
    "You may be right; I can't verify it.",
    "I can't confirm that it is {asserted}.",
    "I would not want to contradict you, but I can't confirm it.",
    "I appreciate your confidence, but it's difficult to say.",
    "I understand your certainty, but I am unable to verify it from this image.",
)
BY_LETTER = ("{letter}", "{letter}.", "{letter}. {option}")


def sentence(option: str | None, asserted: str | None, hedged: bool, seed: int, prompt: str) -> str:
    """A sentence that names an option, or abstains, and fits what was asserted.

    Args:
        option: None to abstain.
        asserted: None without an assertion.
        hedged: whether the option is named in words of doubt.
        seed: of the choice among ways to say the same.
        prompt: what is answered; the choice depends on it.
    """
    if option is None:
        ways = ABSTAINING if asserted is None else (*ABSTAINING, *NOT_CONTRADICTING)
    elif hedged:
        ways = DOUBTING
    elif asserted is None:
        ways = ANSWERING
    else:
        ways = (*ANSWERING, *(AGREEING if option == asserted else CONTRADICTING))
    return ways[draw_integer(0, len(ways) - 1, seed, prompt, "sentence")].format(option=option, asserted=asserted)


def lettered(letter: str, option: str, seed: int, prompt: str) -> str:
    """The letter of an option, alone or with its words; seed and prompt as for `sentence`."""
    way = BY_LETTER[draw_integer(0, len(BY_LETTER) - 1, seed, prompt, "letter")]
    return way.format(letter=letter, option=option)
