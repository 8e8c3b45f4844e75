"""What a free-text response says: an option, that it cannot tell, or nothing that can be read.

The order of trust: a stated answer ("the answer is B"), a leading letter ("B. ..."), an abstention ("I
cannot tell"), a letter that is merely named, the option's own words. Two different answers on one rung are
no answer: a reader that takes the first or the last of them invents one. Where a human reader would have
to guess, the outcome is `unparseable`, and its rate is printed with every table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

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
class _Named:
    """An option letter in a response: where it stands, and whether the response affirms it there."""

    letter: str
    start: int
    end: int
    affirmed: bool


def _answered(letter: str, rule: str) -> Answer:
    return Answer("answered", letter, rule=rule)


def _unparseable(rule: str) -> Answer:
    return Answer("unparseable", rule=rule)


def _shared(text: str, letters: Collection[str]) -> set[int]:
    """Where letters stand that share their place with another one: "A or B", "A -> B"."""
    places: set[int] = set()
    for match in re.finditer(r"(?<![A-Za-z])([A-Z])(?![A-Za-z'])", text):
        other = patterns.SHARED_AFTER.match(text[match.end() :])
        if match[1] in letters and other and other["other"] in letters and other["other"] != match[1]:
            places |= {match.start(), match.end() + other.start("other")}
    return places


def _is_article(text: str, start: int, end: int, option: Option | None) -> bool:
    """Whether an `A` or `I` at [start, end) is a word of the sentence rather than the name of an option."""
    letter, rest = text[start:end], text[end:]
    if letter == "A" and patterns.FOREIGN_A.match(rest):
        return True
    if letter not in ("A", "I") or not re.match(r"[ \t]+\w|'", rest):
        return False
    if letter == "I":
        return True
    if option is not None and rest.strip().lower().startswith(option.text.lower()):
        return False
    return patterns.AFTER_A_LETTER.match(rest) is None


def _last_end(pattern: re.Pattern[str], text: str) -> int:
    return max((m.end() for m in pattern.finditer(text)), default=0)


def _affirmed(text: str, start: int, end: int, option: Option, first_person: bool = False) -> bool:
    """Whether the letter at [start, end) is asserted there: not denied, attributed to the user, or supposed."""
    before = text[:start]
    before = patterns.AGREEMENT.sub(" ", before[_last_end(patterns.BOUNDARY, before) :])
    before = patterns.DEFERRING.sub(" ", before)
    if patterns.NEGATED_SIGN.search(text[:start]):
        return False
    rest = text[end:]
    words = re.match(rf"[^\w]*{re.escape(option.text)}", rest, re.IGNORECASE)
    if words:
        rest = rest[words.end() :]
    boundary = patterns.BOUNDARY.search(rest)
    after = rest[: boundary.start()] if boundary else rest
    if patterns.DENIED.search(before[_last_end(patterns.COMMA, before) :]) or patterns.DENIED_AFTER.match(after):
        return False
    if patterns.VERDICT_AGAINST.match(rest):
        return False
    sentence = re.split(r"[.!?\n]", rest)[0]
    withheld = re.search(r"\b(?:but|if|unless|only)\b(?! I (?:had|have|must)\b)", before + "|" + sentence)
    if (patterns.MODAL if first_person else patterns.HYPOTHETICAL).search(before) and withheld:
        return False
    if first_person:
        return not patterns.CONDITIONAL.search(after)
    around = before + " " + patterns.COMMA.split(patterns.AGREEMENT.sub(" ", after))[0]
    supposed = patterns.CONDITIONAL.search(after)
    return not (patterns.ATTRIBUTED.search(around) or patterns.CONDITIONAL.search(before) or supposed)


def _named(pattern: re.Pattern[str], text: str, options: Sequence[Option], first_person: bool = False) -> list[_Named]:
    by_letter = {o.letter: o for o in options}
    shared = _shared(text, by_letter)
    found = []
    for match in pattern.finditer(text):
        start, end = match.span("letter")
        letter = text[start:end]
        if letter not in by_letter or _is_article(text, start, end, by_letter[letter]):
            continue
        affirmed = start not in shared and _affirmed(text, start, end, by_letter[letter], first_person)
        found.append(_Named(letter, start, end, affirmed))
    return found


def _one(named: Sequence[_Named], text: str) -> str | None:
    """The letter that all agree on; after a correction, the last one; None if they disagree."""
    if len({c.letter for c in named}) == 1:
        return named[0].letter
    earlier, last = named[-2], named[-1]
    return last.letter if patterns.CORRECTION.search(text[earlier.end : last.start]) else None


def _only_letters(text: str, options: Sequence[Option]) -> Answer | None:
    """The answer of a response that is nothing but letters: one of them decides, several are none."""
    if re.search(r"[~!¬≠]\s*[A-Za-z]", text):
        return None
    words = re.findall(r"[^\W_]+", text)
    names = {o.letter for o in options}
    frame = {
        "option",
        "choice",
        "answer",
        "or",
        "and",
        "then",
        "before",
        "after",
        "vs",
        "versus",
        "comes",
        "first",
        "both",
    }
    if not words or any(w.upper() not in names and w.lower() not in frame for w in words):
        return None
    letters = {w.upper() for w in words if len(w) == 1 and w.upper() in names}
    if len(letters) == 1 and (len(words) < 3 or {w.upper() for w in words} == letters):
        return _answered(letters.pop(), "the letter alone")
    return _unparseable("two options are named") if len(letters) > 1 else None


def _on_lines_of_their_own(text: str, options: Sequence[Option]) -> set[str]:
    alone = re.findall(r"(?m)^[\W_]*([A-Z])[\W_]*$", text)
    return set(alone) & {o.letter for o in options}


def _lists_verdicts(text: str, options: Sequence[Option]) -> bool:
    """Whether each option gets a line of its own ("A: no, B: yes"), which is not read."""
    return sum(bool(re.search(rf"(?:^|[\s,{{])[\W_]{{0,2}}{o.letter}[\"'*)\]]{{0,2}}\s*:", text)) for o in options) > 1


def _leading(text: str, options: Sequence[Option]) -> list[_Named]:
    match = patterns.LEADING.match(text)
    if match is None:
        return []
    start, end = match.span("letter")
    letter = text[start:end].upper()
    option = next((o for o in options if o.letter == letter), None)
    if option is None or (text[start:end] != letter and not re.match(r"[.):\]]", text[end:])):
        return []
    if _is_article(text, start, end, option) or start in _shared(text, {o.letter for o in options}):
        return []
    return [_Named(letter, start, end, _affirmed(text, start, end, option))]


def _contradicts_itself(text: str, named: _Named, options: Sequence[Option]) -> bool:
    """Whether the letter is followed by the words of another option: "B. <the words of A>"."""
    rest = re.sub(r"^[\W_]+", "", text[named.end :]).lower()
    return any(o.letter != named.letter and rest.startswith(o.text.lower()) for o in options)


def _taken_back(text: str, leading: _Named, mentioned: Sequence[_Named]) -> bool:
    """Whether a leading letter is followed by a turn to another one: "A. No, B."."""
    for other in mentioned:
        between = text[leading.end : other.start]
        turns = patterns.CORRECTION.search(between) or patterns.CONTRAST.search(between)
        if turns and other.affirmed and other.letter != leading.letter and other.start > leading.end:
            return True
    return False


def _by_words(text: str, options: Sequence[Option]) -> Answer:
    """An answer in the words of the events, without a letter."""
    plain = patterns.plain_words(text)
    matching = [o for o in options if patterns.states_order(plain, o.first, o.second)]
    if len(matching) == 1:
        return _answered(matching[0].letter, "the option's own words")
    return _unparseable("both orders are stated" if matching else "no option is named")


def _by_mention(text: str, mentioned: Sequence[_Named], options: Sequence[Option]) -> Answer:
    """The outcome of a response that neither leads with a letter nor states one as its answer."""
    affirmed = [c for c in mentioned if c.affirmed]
    letters = {c.letter for c in affirmed}
    abstention = patterns.ABSTENTION.search(text)
    if abstention:
        guessed = [c for c in affirmed if c.start >= abstention.end()]
        if len(letters) == 1 and guessed and patterns.GUESS.search(text[abstention.end() : guessed[0].start]):
            return _answered(guessed[0].letter, "a guess after a doubt")
        return Answer("abstained", rule=f"says {abstention[0].strip().lower()!r}")
    if len(letters) == 1 and len({c.letter for c in mentioned if not c.affirmed} - letters) <= 1:
        return _answered(affirmed[0].letter, "the only letter affirmed")
    if letters:
        return _unparseable("two options are named")
    return _unparseable("a letter is named, but not as the answer") if mentioned else _by_words(text, options)


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
    if (whole := _only_letters(text, options)) is not None:
        return whole

    by_name = [*_named(patterns.STATED, text, options), *_named(patterns.FIRST_PERSON, text, options, True)]
    stated = [c for c in by_name if c.affirmed]
    verdicts = _lists_verdicts(text, options)
    leading = [] if verdicts else [c for c in _leading(text, options) if c.affirmed]
    refused = {c.start for c in by_name if not c.affirmed}
    mentioned = [
        replace(c, affirmed=False) if c.start in refused else c for c in _named(patterns.MENTIONED, text, options)
    ]
    firm = sorted([*leading, *stated], key=lambda c: c.start)
    if not firm and verdicts:
        return _unparseable("each option gets a verdict of its own")
    if not firm:
        return _by_mention(text, mentioned, options)
    letter = _one(firm, text)
    if _on_lines_of_their_own(text, options) - {letter} and not stated:
        return _unparseable("two options are named")
    if letter is None or (not stated and _taken_back(text, leading[0], mentioned)):
        return _unparseable("two different answers are given")
    if leading and _contradicts_itself(text, leading[0], options):
        return _unparseable("the letter and the words after it disagree")
    return _answered(letter, "a stated answer" if stated else "a leading letter")
