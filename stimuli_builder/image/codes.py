"""Printed codes: four that look alike, none of them nearer to the others than the rest."""

from __future__ import annotations

from stimuli_builder.draws import draw_integer, draw_order

CODE_LENGTH = 4
# Characters that a reader takes for one another once the print is degraded, and tells apart while it is intact. Q and J are
# left out since they reach below the baseline: all characters of a code have the height of capitals.
LOOK_ALIKE = ("8B", "5S", "2Z", "6G", "MN", "EF", "PR", "UV", "CG", "38", "17", "VY", "KX", "68", "HN")
PLAIN_DIGITS = "479"
PLAIN_LETTERS = "ADLT"
# Which of the two look-alikes stands at each varying place, for each of the four codes. In both families every character
# occurs twice at its place and every code has the same distances to the other three: no code is the centre of the set.
FAMILIES = (
    ((0, 0), (0, 1), (1, 0), (1, 1)),  # differ in one or two characters
    ((0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1)),  # differ in two
)


def code_set(seed: int, *name: object) -> tuple[str, str, str, str]:
    """Four codes of four characters that differ from one another in one or two look-alike ones.

    Each code holds characters of distinct look-alike pairs, at least one digit and at least one letter.
    """
    family = FAMILIES[draw_integer(0, len(FAMILIES) - 1, seed, *name, "family")]
    places = draw_order(range(CODE_LENGTH), str, seed, *name, "places")
    varying, fixed = places[: len(family[0])], places[len(family[0]) :]
    pairs: list[str] = []
    for pair in draw_order(LOOK_ALIKE, str, seed, *name, "pairs"):
        if len(pairs) < len(varying) and not set(pair) & set("".join(pairs)):
            pairs.append(pair)
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
