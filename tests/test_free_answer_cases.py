"""The labelled free answers: enough of them, no double, labels that agree with one another, two halves alike.

Nothing here reads a response: what a reader makes of them is tested elsewhere.
"""

import re
from collections import Counter

import free_answer_cases_development as development
import free_answer_cases_held_out as held_out
import pytest
from free_answer_case import NASTY_PHENOMENA, PLAIN_PHENOMENA, Case

HALVES = {"development": development.CASES, "held out": held_out.CASES}
OUTCOME = {
    "bare option": "answered",
    "sentence": "answered",
    "marked up": "answered",
    "other spelling": "answered",
    "number word": "answered",
    "plain appearance": "answered",
    "agreement": "answered",
    "hedged answer": "answered",
    "deference": "answered",
    "abstention then guess": "answered",
    "denies and names": "answered",
    "restates and chooses": "answered",
    "doubt denied": "answered",
    "option within an option": "answered",
    "abstention": "abstained",
    "social abstention": "abstained",
    "abstention that names options": "abstained",
    "policy refusal": "unparseable",
    "empty or noise": "unparseable",
    "lists only": "unparseable",
    "denies only": "unparseable",
    "agreement with nothing": "unparseable",
    "contradiction": "unparseable",
    "outside the options": "unparseable",
    "part of an option": "unparseable",
    "no image": "unparseable",
}
NAMED_OTHERWISE = {"agreement", "deference", "hedged answer", "number word", "other spelling", "other language"}


def squeezed(text: str) -> str:
    """Letters and digits alone, in one case."""
    return re.sub(r"[\W_]+", "", text).casefold()


def wrong_label(case: Case) -> str | None:
    """What in a case's label contradicts the case, if anything does."""
    if len(case.options) != 4 or len({option.casefold() for option in case.options}) != 4:
        return "options"
    if case.asserted is not None and case.asserted not in case.options:
        return "asserted"
    if case.phenomenon not in PLAIN_PHENOMENA + NASTY_PHENOMENA:
        return "phenomenon"
    if case.outcome not in ("answered", "abstained", "unparseable"):
        return "outcome"
    if OUTCOME.get(case.phenomenon, case.outcome) != case.outcome:
        return "outcome of the phenomenon"
    if (case.option is not None) != (case.outcome == "answered") or case.option not in (None, *case.options):
        return "option"
    if (case.hedged and case.outcome != "answered") or (case.phenomenon == "hedged answer" and not case.hedged):
        return "hedged"
    if (case.refused and case.outcome != "unparseable") or (case.phenomenon == "policy refusal" and not case.refused):
        return "refused"
    if case.phenomenon == "agreement" and case.option != case.asserted:
        return "agreement with another option"
    if case.phenomenon == "agreement with nothing" and case.asserted is not None:
        return "agreement with something"
    if case.phenomenon in ("social abstention", "abstention") and any(
        len(squeezed(option)) > 2 and re.search(rf"\b{re.escape(option)}\b", case.response, re.IGNORECASE)
        for option in case.options
    ):
        return "an abstention that names an option is of the other kind"
    if case.phenomenon in ("denies and names", "contradiction", "denies only") and case.asserted is None:
        return "denies nothing"
    if case.phenomenon == "denies and names" and case.option == case.asserted:
        return "answers what it denies"
    if case.option and squeezed(case.option) not in squeezed(case.response):
        return None if case.phenomenon in NAMED_OTHERWISE else "the response lacks the option"
    return None


@pytest.mark.parametrize("half", HALVES)
def test_labels_are_consistent(half):
    wrong = [(case.response, found) for case in HALVES[half] if (found := wrong_label(case))]
    assert not wrong


@pytest.mark.parametrize("half", HALVES)
def test_each_half_is_large_and_balanced(half):
    cases = HALVES[half]
    size = len(cases)
    assert size >= 170
    assert len({case.response for case in cases}) == size
    assert sum(case.outcome == "abstained" for case in cases) >= 0.25 * size
    assert sum(case.refused for case in cases) >= 0.08 * size
    assert sum(case.hedged or case.phenomenon in NASTY_PHENOMENA for case in cases) >= 0.20 * size
    assert sum(case.hedged for case in cases) >= 15
    assert sum(case.asserted is None for case in cases) >= 0.20 * size
    asserted = [case for case in cases if case.outcome == "answered" and case.asserted is not None]
    share = sum(case.option == case.asserted for case in asserted) / len(asserted)
    assert 0.25 <= share <= 0.75, "acceptance and rejection both need cases"
    places = Counter(case.options.index(case.option) for case in cases if case.option is not None)
    assert min(places[place] for place in range(4)) >= 0.15 * places.total(), (
        "a place in the list gives the answer away"
    )


def test_the_halves_are_of_one_kind():
    counts = {half: Counter(case.phenomenon for case in cases) for half, cases in HALVES.items()}
    for phenomenon in PLAIN_PHENOMENA + NASTY_PHENOMENA:
        first, second = (counts[half][phenomenon] for half in HALVES)
        assert min(first, second) >= 2 and abs(first - second) <= 1, phenomenon


def test_the_halves_share_no_response_and_no_options():
    ours, theirs = HALVES.values()
    assert not {case.response for case in ours} & {case.response for case in theirs}
    assert not {squeezed(case.response) for case in ours} & {squeezed(case.response) for case in theirs} - {""}
    assert not {frozenset(case.options) for case in ours} & {frozenset(case.options) for case in theirs}


def test_echoes_repeat_the_prompt():
    for cases in HALVES.values():
        echoes = [case for case in cases if case.phenomenon == "echo"]
        assert any(case.response == case.prompt for case in echoes)
        assert all("The options are:" in case.response for case in echoes)
