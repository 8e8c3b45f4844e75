"""Where a response mentions options: the longest match of any form of an option, as a whole word, by text alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from lmms_eval_tasks import answer_patterns
from lmms_eval_tasks.image.option_forms import UNSPACED, form_pattern, number_of, option_forms, plain, squeezed
from metrics.image.trial import LETTERS

_Item = TypeVar("_Item")
OPEN, CLOSE = "⟦", "⟧"  # stand around the letter of an option where it was mentioned: ⟦B⟧
NAMED = rf"{OPEN}[{LETTERS}]{CLOSE}"

MOST = 24  # mentions that are looked at, the first quarter of them at the start: bounds the work on endless repetitions
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_NO_COUNT_AFTER = re.compile(
    r"\s*(?:images?|pictures?|photos?|photographs?|sentences?|words?|options?|choices?|possibilities|candidates)\b",
    re.I,
)
_NO_COUNT_UNLESS_ASKED = re.compile(r"\s*(?P<noun>character|letter|digit|symbol|number)s?\b", re.I)
_NO_COUNT_BEFORE = re.compile(r"(?:options?|choices?|steps?|positions?|figure|fig\.|page|line|level)\s*#?$", re.I)
_ENUMERATES = re.compile(r"[.)][ \t]+\S")
_PRONOUN_BEFORE = re.compile(
    r"\b(?:no|any|some|every|which|this|that|the|each|another|either|neither|best|correct|right|wrong|first|second|last|"
    r"other|than|option|blurry|same|of|likely|likeliest|closest|only the)\s*$",
    re.I,
)
_PRONOUN_AFTER = re.compile(
    r"\s*(?:of\b|'s\b|that\b|which\b|(?:can|could|would|may|might|must|should|has to|cannot|needs?)\b)", re.I
)


@dataclass(frozen=True)
class Mention:
    """A mention of an option in a marked text, where it stands as its letter between brackets."""

    letter: str
    start: int
    end: int


@dataclass(frozen=True)
class Marked:
    """A response in which every mention of an option is replaced by its letter between brackets."""

    text: str
    mentions: tuple[Mention, ...]


@lru_cache(maxsize=512)
def _patterns(options: tuple[str, ...], unspaced: bool) -> tuple[re.Pattern[str], tuple[str, ...], tuple[bool, ...]]:
    """One expression over all forms, longest first; and for each of its groups the letter, and whether it counts something."""
    texts = [plain(option) for option in options]
    cased = len({t.casefold() for t in texts}) < len(texts)
    loose = len({squeezed(t) for t in texts}) == len(texts)
    forms = [
        (form, letter)
        for letter, several in zip(LETTERS, option_forms(options), strict=False)
        for form in several
        if form
    ]
    for letter, text, ordinal in zip(LETTERS, texts, _ORDINALS, strict=False):
        if text:
            forms += [(f"{ordinal} {noun}", letter) for noun in ("option", "choice", "alternative")]
    forms.sort(key=lambda pair: -len(pair[0]))
    whole = "|".join(f"({form_pattern(form, loose, unspaced)})" for form, _ in forms) or r"(?!)"
    flags = 0 if cased else re.IGNORECASE
    return (
        re.compile(whole, flags),
        tuple(letter for _, letter in forms),
        tuple(number_of(form) is not None for form, _ in forms),
    )


def _is_no_count(text: str, start: int, end: int, question: str) -> bool:
    """Whether a number at [start, end) counts something else than what is asked: "this 1 image", "1. red", "no one"."""
    before, after = text[max(0, start - 24) : start], text[end : end + 32]
    if _NO_COUNT_AFTER.match(after) or _NO_COUNT_BEFORE.search(before):
        return True
    noun = _NO_COUNT_UNLESS_ASKED.match(after)
    if noun and noun["noun"].lower() not in question.lower():
        return True
    word = text[start:end]
    if word.isdecimal():
        return bool(re.search(r"(?:^|\n)[ \t]*$", before) and _ENUMERATES.match(after))
    return word.lower() == "one" and bool(_PRONOUN_BEFORE.search(before) or _PRONOUN_AFTER.match(after))


def _lettered(text: str, options: Sequence[str]) -> list[tuple[int, int, str]]:
    """Letters that name options, in a response to a prompt that gave them letters."""
    found = []
    leading = answer_patterns.LEADING.match(text)
    for match in [*([leading] if leading else []), *answer_patterns.MENTIONED.finditer(text)]:
        start, end = match.span("letter")
        place = LETTERS.find(text[start:end].upper())
        if not 0 <= place < len(options):
            continue
        rest = text[end : end + 80]
        article = text[start:end] in "aA" and re.match(r"[ \t]+\w|'", rest) is not None
        if article and not (
            answer_patterns.AFTER_A_LETTER.match(rest) or rest.strip().lower().startswith(options[place].lower())
        ):
            continue
        if text[start:end].islower() and not re.fullmatch(r"[^\w]*[a-e][^\w]*", text[: end + 2]) and rest.strip():
            continue
        found.append((start, end, LETTERS[place]))
    return found


def gives_letters(prompt: str, options: Sequence[str]) -> bool:
    """Whether a prompt names its options by letters, a line each."""
    lines = {re.sub(r"\s+", " ", line).strip() for line in prompt.splitlines()}
    return all(re.sub(r"\s+", " ", f"{x}. {o}").strip() in lines for x, o in zip(LETTERS, options, strict=False))


def _ends(items: list[_Item], most: int) -> list[_Item]:
    """At most so many of the items: the first quarter of them from the start, the rest from the end."""
    return items if len(items) <= most else [*items[: most // 4], *items[-(most - most // 4) :]]


def marked(text: str, options: Sequence[str], question: str = "", letters: bool = False) -> Marked:
    """A response with its mentions of options.

    Args:
        text: the cleaned response.
        options: as displayed; they are called A, B, ... in this order.
        question: what was asked, so that a number of something else is told from a count.
        letters: whether the prompt gave letters to the options, so that a letter names one.
    """
    text = text.replace(OPEN, "[").replace(CLOSE, "]")
    pattern, group_letters, counts = _patterns(tuple(options), UNSPACED.search(text) is not None)
    spans = []
    for match in _ends(list(pattern.finditer(text)), 4 * MOST):
        group = (match.lastindex or 1) - 1
        if match.end() > match.start() and not (counts[group] and _is_no_count(text, *match.span(), question)):
            spans.append((*match.span(), group_letters[group]))
    if letters:
        taken = [(s, e) for s, e, _ in spans]
        spans += [
            (s, e, x)
            for s, e, x in dict.fromkeys(_lettered(text, options))
            if not any(a < e and s < b for a, b in taken)
        ]
    spans.sort()
    parts, mentions, done, length = [], [], 0, 0
    for start, end, letter in _ends(spans, MOST):
        parts.append(text[done:start])
        length += start - done
        mentions.append(Mention(letter, length, length + 3))
        parts.append(f"{OPEN}{letter}{CLOSE}")
        length, done = length + 3, end
    parts.append(text[done:])
    return Marked("".join(parts), tuple(mentions))


class Pieces:
    """A text cut at places; the piece around a position."""

    def __init__(self, text: str, cuts: Sequence[int]) -> None:
        self._length = len(text)
        self._cuts = sorted({0, *cuts})

    def bounds(self, position: int) -> tuple[int, int]:
        """Start and end of the piece that holds a position."""
        place = bisect_right(self._cuts, position) - 1
        end = self._cuts[place + 1] if place + 1 < len(self._cuts) else self._length
        return self._cuts[place], end

    def within(self, start: int, end: int) -> list[tuple[int, int]]:
        """Start and end of the pieces between two cuts, in order."""
        places = range(bisect_right(self._cuts, start) - 1, bisect_right(self._cuts, max(start, end - 1)))
        return [self.bounds(self._cuts[place]) for place in places]
