"""How option probabilities travel through the harness, which carries text only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lmms_eval_tasks.answer_text import Option, read_answer
from lmms_eval_tasks.next_token import FirstToken
from metrics.trial import Answer

_MARK = "caved_readout"
_STATED = "stated"
_TEXT = "text"
_NOT_KNOWN: Mapping[str, Any] = {"frames": None, "order": None, "size_px": None, "digest": None}  # receipt of a text


def to_response(first: FirstToken, receipt: Mapping[str, Any]) -> str:
    """A first token as the response that the harness logs, with what is known to have reached the model."""
    return json.dumps(
        {
            _MARK: "next_token",
            "text": first.likeliest,
            "option_probabilities": first.option_probabilities(),
            "option_mass": first.option_mass,
            "unreadable": first.unreadable,
            "receipt": {**receipt, "float32_head": first.float32_head},
        }
    )


def stated_to_response(letter: str, option_probabilities: Mapping[str, float], receipt: Mapping[str, Any]) -> str:
    """What a control model states of its options as the response that the harness logs.

    Args:
        letter: what it answers.
        option_probabilities: of the letters, sum 1.
        receipt: what it got.
    """
    return json.dumps(
        {
            _MARK: _STATED,
            "text": letter,
            "option_probabilities": dict(option_probabilities),
            "option_mass": 1.0,
            "receipt": dict(receipt),
        }
    )


def served_to_response(reading: str, receipt: Mapping[str, Any]) -> str:
    """What was read from a served model as the response that the harness logs."""
    fields = json.loads(reading)
    kept = (_MARK, "text", "option_probabilities", "option_mass", "option_probability_bound", "unreadable")
    return json.dumps({**{name: fields[name] for name in kept}, "receipt": dict(receipt)})


def text_to_response(text: str, receipt: Mapping[str, Any] | None) -> str:
    """What a model wrote as the response that the harness logs; the text as it is where nothing is known to have arrived."""
    if receipt is None:
        return text
    return json.dumps({_MARK: _TEXT, "text": text, "receipt": dict(receipt)}, ensure_ascii=False)


def marked_response(response: str, control: str, got: Mapping[str, Any] = MappingProxyType({})) -> str:
    """A control model's response with a receipt that says what made it, so that its log is never taken for a model's.

    Args:
        response: of any kind, also one to a trial that could not be put to the model.
        control: what the model is, one of `metrics.controls.KINDS`.
        got: what is known to have reached the model, beside what the response says of it.
    """
    fields = json.loads(response) if _is_readout(response) else {"receipt": None}
    receipt = {**(fields["receipt"] or _NOT_KNOWN), **got, "control": control}
    if not _is_readout(response):
        return text_to_response(response, receipt)
    return json.dumps({**fields, "receipt": receipt})


def text_of(response: str) -> str | None:
    """What a model wrote, behind a response; None where its text was not read."""
    if not _is_readout(response):
        return response
    fields = json.loads(response)
    return str(fields["text"]) if fields[_MARK] == _TEXT else None


def option_fields(response: str) -> dict[str, Any] | None:
    """Option probabilities and what belongs to them, behind a response; None for one that is text."""
    return json.loads(response) if _is_readout(response) and text_of(response) is None else None


def unavailable_response(reason: str) -> str:
    """The response to a trial that could not be put to this model; it counts nowhere."""
    return json.dumps({_MARK: "unavailable", "unavailable": reason, "receipt": None})


def receipt_of(response: str) -> dict[str, Any] | None:
    """What is known to have reached the model; None for text, which tells nothing of it."""
    receipt = json.loads(response)["receipt"] if _is_readout(response) else None
    return None if receipt is None else dict(receipt)


def unavailable_of(response: str) -> str:
    """Why a trial could not be put to the model; empty if it was."""
    return str(json.loads(response).get("unavailable", "")) if _is_readout(response) else ""


def _is_readout(response: str) -> bool:
    return response.startswith("{") and _MARK in response


def read_response(response: str, options: Sequence[Option], prompt: str) -> Answer:
    """The answer of a response: from its probabilities if it carries them, else from its text.

    With exactly equal probabilities the option is the first one; measures use the probabilities, where such a
    pair counts one half.
    """
    text = text_of(response)
    if text is not None:
        return read_answer(text, options, prompt)
    fields = json.loads(response)
    if fields.get("unavailable"):
        return Answer("unparseable", rule="unavailable")
    mass = None if fields["option_mass"] is None else float(fields["option_mass"])
    if fields.get("unreadable"):
        return Answer("unparseable", option_mass=mass, rule=str(fields["unreadable"]))
    probabilities = {o.letter: float(fields["option_probabilities"][o.letter]) for o in options}
    option = max(probabilities, key=lambda letter: probabilities[letter])
    bound = fields.get("option_probability_bound")
    rule = "next-token probabilities" if bound is None else "top log-probabilities"
    if fields[_MARK] == _STATED:
        rule = "stated probabilities"
    return Answer("answered", option, probabilities, mass, rule, None if bound is None else float(bound))
