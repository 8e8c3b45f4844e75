"""What a free-text response says: an option, that it cannot tell, or nothing that can be read.

The order of trust: a stated answer ("the answer is B"), a leading letter ("B. ..."), an abstention ("I
cannot tell"), a letter that is merely named, the option's own words. Two different answers on one rung are
no answer: a reader that takes the first or the last of them invents one. Where a human reader would have
to guess, the outcome is `unparseable`, and its rate is printed with every table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmms_eval_tasks import answer_patterns as patterns
from lmms_eval_tasks.answer_cleaning import clean_response, without_echo
from metrics.trial import Answer


@dataclass(frozen=True)
class Option:
    """One option of a question about order: its letter, and the two events in the order that it states."""

    letter: str
    first: str
    second: str
    text: str  # as the prompt words it


@dataclass(frozen=True)
class _Claimed:
    """A letter that a response names, where, and whether it is affirmed there."""

    letter: str
    start: int
    end: int
    affirmed: bool


def _answered(letter: str, rule: str) -> Answer:
    return Answer("answered", letter, rule=rule)


def _unparseable(rule: str) -> Answer:
    return Answer("unparseable", rule=rule)


def _is_article(text: str, start: int, end: int, option: Option | None) -> bool:
    """Whether an `A` or `I` at [start, end) is a word of the sentence rather than the name of an option."""
    letter, rest = text[start:end], text[end:]
    if letter not in ("A", "I") or not re.match(r"[ \t]+\w|'", rest):
        return False
    if letter == "I":
        return True
    if option is not None and rest.strip().lower().startswith(option.text.lower()):
        return False
    return patterns.AFTER_A_LETTER.match(rest) is None


def _affirmed(text: str, start: int, end: int) -> bool:
    """Whether the letter at [start, end) is not rejected, questioned or set aside by what surrounds it."""
    clause = re.split(r"[.!?;\n]", text[:start])[-1]
    return not (patterns.REJECTED_BEFORE.search(clause) or patterns.REJECTED_AFTER.match(text[end:]))


def _named(pattern: re.Pattern[str], text: str, options: Sequence[Option]) -> list[_Claimed]:
    by_letter = {o.letter: o for o in options}
    found = []
    for match in pattern.finditer(text):
        start, end = match.span("letter")
        letter = text[start:end]
        if letter in by_letter and not _is_article(text, start, end, by_letter[letter]):
            affirmed = _affirmed(text, match.start(), end) and _affirmed(text, start, end)
            if pattern is patterns.STATED and patterns.SHARED_AFTER.match(text[end:]):
                continue
            found.append(_Claimed(letter, match.start(), end, affirmed))
    return found


def _one(claims: Sequence[_Claimed], text: str) -> str | None:
    """The letter that all claims agree on; after a correction, the last one; None if they disagree."""
    letters = {c.letter for c in claims}
    if len(letters) == 1:
        return claims[0].letter
    earlier, last = claims[-2], claims[-1]
    between = text[earlier.end : last.start + 1]
    return last.letter if patterns.CORRECTION.search(between) else None


def _letters_on_lines(text: str, options: Sequence[Option]) -> set[str]:
    """Options that stand alone on a line of their own."""
    alone = re.findall(r"(?m)^[\W_]*([A-Z])[\W_]*$", text)
    return set(alone) & {o.letter for o in options}


def _whole_text(text: str, options: Sequence[Option]) -> Answer | None:
    match = re.fullmatch(r"[\W_]*(?:option|choice|answer)?[\W_]*([A-Za-z])[\W_]*", text, re.IGNORECASE)
    if match and match[1].upper() in {o.letter for o in options}:
        return _answered(match[1].upper(), "the letter alone")
    return None


def _leading(text: str, options: Sequence[Option]) -> list[_Claimed]:
    match = patterns.LEADING.match(text)
    if match is None:
        return []
    start, end = match.span("letter")
    letter = text[start:end].upper()
    option = next((o for o in options if o.letter == letter), None)
    if option is None or (text[start:end] != letter and not re.match(r"[.):\]]", text[end:])):
        return []
    if _is_article(text, start, end, option) or patterns.SHARED_AFTER.match(text[end:]):
        return []
    return [_Claimed(letter, start, end, _affirmed(text, start, end))]


def _contradicts_itself(text: str, claim: _Claimed, options: Sequence[Option]) -> bool:
    """Whether the letter is followed by the words of another option: "B. <the words of A>"."""
    rest = re.sub(r"^[\W_]+", "", text[claim.end :]).lower()
    return any(o.letter != claim.letter and rest.startswith(o.text.lower()) for o in options)


def _by_words(text: str, options: Sequence[Option]) -> Answer:
    """An answer in the words of the events, without a letter."""
    plain = patterns.plain_words(text)
    matching = [o for o in options if patterns.states_order(plain, o.first, o.second)]
    if len(matching) == 1:
        return _answered(matching[0].letter, "the option's own words")
    return _unparseable("both orders are stated" if matching else "no option is named")


def read_answer(response: str, options: Sequence[Option], prompt: str = "") -> Answer:
    """Read one response.

    Args:
        response: what the model wrote.
        options: the options of the question, with distinct capital letters.
        prompt: the text that was asked, so that an echo of it is not taken for an answer.

    Returns:
        An `Answer` whose `rule` names what decided.
    """
    cleaned = clean_response(response)
    if cleaned is None:
        return _unparseable("the response ends inside its thinking")
    text = without_echo(cleaned, prompt, options)
    if not text.strip():
        return _unparseable("an empty response" if not cleaned.strip() else "an echo of the question")
    if (whole := _whole_text(text, options)) is not None:
        return whole

    if len(_letters_on_lines(text, options)) > 1:
        return _unparseable("two options are named")
    stated = [c for c in _named(patterns.STATED, text, options) if c.affirmed]
    leading = [c for c in _leading(text, options) if c.affirmed]
    firm = sorted([*leading, *stated], key=lambda c: c.start)
    if firm:
        letter = _one(firm, text)
        if letter is None:
            return _unparseable("two different answers are given")
        if leading and _contradicts_itself(text, leading[0], options):
            return _unparseable("the letter and the words after it disagree")
        return _answered(letter, "a stated answer" if stated else "a leading letter")

    mentioned = [c for c in _named(patterns.MENTIONED, text, options) if c.affirmed]
    abstention = patterns.ABSTENTION.search(text)
    if abstention:
        after = [c for c in mentioned if c.start >= abstention.end()]
        guessed = [c for c in after if patterns.GUESS.search(text[abstention.end() : c.start])]
        if len({c.letter for c in guessed}) == 1 and len({c.letter for c in after}) == 1:
            return _answered(guessed[0].letter, "a guess after a doubt")
        return Answer("abstained", rule=f"says {abstention[0].strip().lower()!r}")
    if mentioned:
        letters = {c.letter for c in mentioned}
        if len(letters) == 1:
            return _answered(mentioned[0].letter, "the only letter named")
        return _unparseable("two options are named")
    return _by_words(text, options)
