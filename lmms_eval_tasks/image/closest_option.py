"""Which of some printed codes a text is, and how strongly it speaks for each: edit distances and a recogniser's score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SHORTEST_CODE = 3  # letters and digits; what is shorter may be a count


@dataclass(frozen=True)
class Line:
    """A line of text that was recognised in an image, in reading order among its like."""

    text: str
    score: float  # the recogniser's, 0 to 1


def plain(text: str) -> str:
    """Letters and digits alone, capital: what of a printed code tells it from others."""
    return "".join(character for character in text.upper() if character.isalnum())


def are_codes(options: Sequence[str]) -> bool:
    """Whether all options are codes: three letters and digits or more, none of them a small letter."""
    return all(len(plain(option)) >= SHORTEST_CODE and option == option.upper() for option in options)


def edits(code: str, text: str) -> int:
    """The least number of characters to change, drop or add that make `code` stand somewhere in `text`."""
    row = [0] * (len(text) + 1)  # distance of what was read of the code from the best part of the text that ends here
    for read, character in enumerate(code, 1):
        above, row = row, [read]
        for place, other in enumerate(text, 1):
            row.append(min(above[place - 1] + (character != other), above[place] + 1, row[-1] + 1))
    return min(row)


def similarity(option: str, text: str) -> float:
    """1 where the option stands in the text, 0 where all its characters are other ones.

    Both are compared as `plain`. The text around the option does not count: a label says more than its code.
    """
    code = plain(option)
    return 1 - edits(code, plain(text)) / len(code)


def supports(options: Sequence[str], lines: Sequence[Line]) -> tuple[float, ...]:
    """How strongly recognised lines speak for each option: the highest score times similarity of any text, 0 to 1.

    A text is a line, or two lines that follow each other, joined, with the lower of their scores: a hidden character
    may break a code in two.
    """
    joined = [Line(a.text + b.text, min(a.score, b.score)) for a, b in pairwise(lines)]
    texts = [line for line in (*lines, *joined) if plain(line.text)]
    return tuple(max((line.score * similarity(option, line.text) for line in texts), default=0.0) for option in options)
