"""What four options of a question must be: told apart by a reader, no letters of options, and no abstentions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from metrics.image.trial import LETTERS, OPTIONS

_SEPARATOR = ";"  # between the options in a prompt
_HYPHENS = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_CLOSING = ".,:;!?\u2026\u3002\u3001\uff0c"
_MARKS = "*_`~"  # of mark-up
_PAIRS = tuple(zip("([{<\"'\u201c\u00ab\u300c", ")]}>\"'\u201d\u00bb\u300d", strict=True))
# Letters that are drawn like Latin ones. Small Greek and most small Cyrillic letters are not: "\u00b5m" is no "mm".
_LOOK_ALIKE = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf",
    "ABEKMHOPCTYXIJS" + "aeopcyxijs" + "ABEZHIKMNOPTYXo",
)
_BEFORE_LETTER = {"the", "option", "answer", "choice", "letter", "is"}

_WHO = r"(?:sorry )?(?:(?:it|its|this|that|answer|image|picture|text|code|there|i|im|ive|we|one|you)(?: (?:is|am|are|have|has))? )?"
_UNABLE = (
    r"(?:cannot|can not|cant|could not|couldnt|unable to|not able to|impossible to|not possible to|(?:too )?hard to|"
    r"(?:too )?difficult to|no way (?:to|of)|do not|dont|did not|didnt|(?:is|it) not|too \w+ to)"
)
_TELL = (
    r"(?:be )?(?:tell|told|telling|say|said|saying|see|seen|seeing|read|reading|know|known|knowing|sure|certain|judged?|"
    r"determined?|decided?|discern(?:ed)?|distinguish(?:ed)?|identify|identified|answer(?:ed)?|recogni[sz]ed?|"
    r"ma[kd]e (?:it |this |that )?out)"
)
_LACKING = (
    r"(?:unknown|unsure|uncertain|unclear|illegible|unreadable|unrecogni[sz]able|unidentifiable|undetermined|"
    r"undeterminable|undecidable|indeterminate|indeterminable|indiscernible|indistinguishable|unanswerable|"
    r"not (?:sure|certain|clear|visible|legible|readable|determinable|discernible|recogni[sz]able|identifiable|"
    r"available|applicable|given|shown|known|specified|enough|determined)|too (?:blurry|blurred)|"
    r"insufficient|no (?:idea|clue|answer|information|evidence)|dunno|n a)"
)
_REST = r"(?: \w+){0,7}"
_ABSTAINS = re.compile(
    rf"{_WHO}{_UNABLE} {_TELL}{_REST}|"
    rf"{_WHO}{_LACKING}(?: (?:from|in|on|at|here|what|which|whether|if|because|to|information|evidence|details?|data){_REST})?|"
    rf"(?:none|neither|no one) of (?:these|those|them|above|options|answers)(?: \w+)?|(?:i )?abstain|nothing visible"
)


def _plain(text: str) -> str:
    """`text` without compatibility forms, with plain quotes and hyphens, without invisible characters."""
    folded = unicodedata.normalize("NFKC", text).replace("\u2019", "'").replace("\u2018", "'")
    return _HYPHENS.sub("-", "".join(c for c in folded if unicodedata.category(c) != "Cf"))


def _without_ends(text: str) -> str:
    """`text` without punctuation at its ends that says nothing: "(red)." is "red", and "-5" stays as it is."""
    while True:
        before = text
        text = text.strip(_MARKS).rstrip(_CLOSING)
        for opening, closing in _PAIRS:
            if len(text) > 1 and text[0] == opening and text[-1] == closing:
                text = text[1:-1]
            elif opening != closing and text[-1:] == closing and opening not in text:
                text = text[:-1]
        if text == before:
            return text


def alike_key(text: str) -> str:
    """Equal for texts that differ in case, spaces, hyphens within, closing punctuation or Unicode form alone."""
    while True:
        before = text
        text = "".join(c for c in _plain(text).casefold() if not c.isspace())
        text = re.sub(r"(?<=[^\W_])-+(?=[^\W_])", "", text)
        text = _without_ends(text) or text
        if text == before:
            return text


def _alike_keys(text: str) -> set[str]:
    return {alike_key(text), alike_key(_plain(text).translate(_LOOK_ALIKE))}


def alike_options(options: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of options that a reader could not tell apart."""
    first: dict[str, str] = {}
    pairs = []
    for option in options:
        keys = _alike_keys(option)
        earlier = next((first[key] for key in sorted(keys) if key in first), None)
        if earlier is not None:
            pairs.append((earlier, option))
        for key in keys:
            first.setdefault(key, option)
    return pairs


def names_a_letter(option: str) -> bool:
    """Whether an option reads as the letter of one: "A", "(b)", "Option C."."""
    plain = _plain(option).translate(_LOOK_ALIKE)
    if set(plain) & set("-#") or any(unicodedata.category(c)[0] == "S" for c in plain):
        return False  # a blood group, a grade, a note
    words = re.findall(r"[^\W_]+", plain.casefold())
    return bool(words) and words[-1].upper() in tuple(LETTERS) and set(words[:-1]) <= _BEFORE_LETTER


def abstains(option: str) -> bool:
    """Whether an option says that the question cannot be answered, or that no option is right."""
    plain = _plain(option).casefold()
    words = re.findall(r"[^\W_]+", plain.replace("'", ""))
    said = " ".join(word for place, word in enumerate(words) if word not in ("the", "an") and (word, place) != ("a", 0))
    return _ABSTAINS.fullmatch(said) is not None or (bool(plain.strip()) and not plain.strip("? \t"))


def option_problems(options: Sequence[str]) -> list[str]:
    """Everything that is wrong with the options of a question, as sentences that name them."""
    problems = []
    if len(options) != OPTIONS:
        problems.append(f"{len(options)} options {list(options)}: give {OPTIONS}")
    for one, other in alike_options([option for option in options if option]):
        problems.append(
            f"the option {one!r} is given twice"
            if one == other
            else f"the options {one!r} and {other!r} are the same but for case, spaces, hyphens, punctuation at the ends or "
            "letters that look alike: give options that a reader can tell apart"
        )
    for option in options:
        if names_a_letter(option):
            problems.append(f"the option {option!r} would be read as the letter of an option: write it out in words")
        if _SEPARATOR in option:
            problems.append(f"the option {option!r} has a {_SEPARATOR!r}, which separates options in a prompt")
        if abstains(option):
            problems.append(f"the option {option!r} is an abstention, which the benchmark offers itself: give another")
    return problems
