"""Printed codes: four that look alike, none of them nearer to the others than the rest."""

from __future__ import annotations

from stimuli_builder.draws import draw_integer, draw_order

CODE_LENGTH = 4
# Neighbours in a class are characters that a reader takes for one another once the print is degraded, and tells apart while
# it is intact. Not among them: O and 0, I and 1, which nobody tells apart in a code without a context; J and Q, which reach
# below the baseline, so that all characters have the height of capitals.
LETTER_CLASSES = ("MNH", "EF", "PR", "UVY", "KX")
DIGIT_CLASSES = ("38B", "6GC", "5S", "2Z", "17")
PLAIN_DIGITS = "49"
PLAIN_LETTERS = "ADLT"
# Which of the two look-alikes stands at each varying place, for each of the four codes. In both families every character
# occurs twice at its place and every code has the same distances to the other three: no code is the centre of the set.
FAMILIES = (
    ((0, 0), (0, 1), (1, 0), (1, 1)),  # differ in one or two characters
    ((0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1)),  # differ in two
)


def code_set(seed: int, *name: object) -> tuple[str, str, str, str]:
    """Four codes of four characters that differ from one another in one or two look-alike ones.

    No two characters of one code look alike, and each code has a digit and a letter.
    """
    family = FAMILIES[draw_integer(0, len(FAMILIES) - 1, seed, *name, "family")]
    places = draw_order(range(CODE_LENGTH), str, seed, *name, "places")
    varying, fixed = places[: len(family[0])], places[len(family[0]) :]
    letters = draw_order(LETTER_CLASSES, str, seed, *name, "letters")
    digits = draw_order(DIGIT_CLASSES, str, seed, *name, "digits")
    pairs = []
    for alike in [letters[0], *digits][: len(varying)]:
        first = draw_integer(0, len(alike) - 2, seed, *name, "pair", alike)
        pairs.append(alike[first : first + 2])
    characters = [""] * CODE_LENGTH
    for i, place in enumerate(fixed):
        alphabet = PLAIN_LETTERS if i else PLAIN_DIGITS
        characters[place] = draw_order(alphabet, str, seed, *name, "fixed", place)[0]
    codes = []
    for choice in family:
        for place, pair, member in zip(varying, pairs, choice, strict=True):
            characters[place] = pair[member]
        codes.append("".join(characters))
    return codes[0], codes[1], codes[2], codes[3]


def code_options(seed: int, *name: object) -> tuple[str, tuple[str, str, str]]:
    """The right code and three distractors that differ from it in one or two characters that look alike.

    Each of the four is the right one with the same probability, so the options alone tell nothing.
    """
    right, first, second, third = draw_order(code_set(seed, *name), str, seed, *name, "right")
    return right, (first, second, third)
