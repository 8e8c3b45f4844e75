"""What a response to five lettered options says: by its option probabilities, or by its text where it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_tasks.answer_text import Option, read_answer
from lmms_eval_tasks.image.free_answer import read_free_answer
from lmms_eval_tasks.readout import option_fields, text_of
from metrics.image.table import TIE
from metrics.image.trial import LETTERS
from metrics.trial import Answer

_BY_WORDS = ("the option's own words", "no option is named", "both orders are stated")  # of a question about order


def _chosen(letter: str, cannot: str, rule: str, **read: Any) -> Answer:
    if letter == cannot:
        return Answer("abstained", rule=rule, **read)
    return Answer("answered", letter, rule=rule, **read)


def _from_probabilities(fields: Mapping[str, Any], letters: str, cannot: str) -> Answer:
    mass = None if fields["option_mass"] is None else float(fields["option_mass"])
    if fields.get("unreadable"):
        return Answer("unparseable", option_mass=mass, rule=str(fields["unreadable"]))
    probabilities = {letter: float(fields["option_probabilities"][letter]) for letter in letters}
    top = max(probabilities, key=lambda letter: probabilities[letter])
    if sum(value == probabilities[top] for value in probabilities.values()) > 1:
        return Answer("unparseable", option_mass=mass, rule=TIE)
    bound = fields.get("option_probability_bound")
    return _chosen(
        top,
        cannot,
        "next-token probabilities" if bound is None else "top log-probabilities",
        option_probabilities=probabilities,
        option_mass=mass,
        option_probability_bound=None if bound is None else float(bound),
    )


def read_closed_answer(response: str, options: Sequence[str], cannot: str, prompt: str) -> Answer:
    """Read one response.

    Where several options are exactly as likely and none more, which of them stands first may not decide: unparseable.

    Args:
        response: as the harness logs it.
        options: the five texts as displayed.
        cannot: the letter of "cannot be determined"; choosing it is to abstain.
        prompt: the text that was asked.
    """
    letters = LETTERS[: len(options)]
    fields = option_fields(response)
    if fields is not None:
        return _from_probabilities(fields, letters, cannot)
    text = text_of(response) or ""
    lettered = [Option(letter, option, "", option) for letter, option in zip(letters, options, strict=True)]
    answer = read_answer(text, lettered, prompt)
    if answer.outcome == "answered" and answer.option is not None and answer.rule not in _BY_WORDS:
        return _chosen(answer.option, cannot, answer.rule)
    if answer.rule not in _BY_WORDS:
        return answer
    substantive = [option for letter, option in zip(letters, options, strict=True) if letter != cannot]
    free = read_free_answer(text, substantive, None, prompt).answer
    if free.option is None:
        return free
    return _chosen(letters[list(options).index(substantive[LETTERS.index(free.option)])], cannot, free.rule)
