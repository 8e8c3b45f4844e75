"""Reading free answers: labelled cases with floors of precision and recall, and what must hold for any response."""

import importlib.util
import itertools
import sys
import time
from pathlib import Path

import pytest
from free_answer_cases_aside import CASES as ASIDE
from free_answer_cases_development import CASES as DEVELOPMENT
from free_answer_cases_further import CASES as FURTHER
from free_answer_cases_varied import CASES as VARIED
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.image.free_answer import read_free_answer
from lmms_eval_tasks.image.prompts import CANNOT, FRAMED, image_prompt

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "reader_quality.py"
spec = importlib.util.spec_from_file_location("reader_quality", SCRIPT)
reader_quality = importlib.util.module_from_spec(spec)
sys.modules["reader_quality"] = reader_quality
spec.loader.exec_module(reader_quality)

# Floors of the half whose cases nobody who wrote the rules has seen: a few points below what was measured the first time.
FLOORS = {
    "answered": (0.96, 0.91),  # precision, recall
    "abstained": (0.88, 0.77),
    "unparseable": (0.66, 0.93),
    "refused": (0.93, 0.78),
    "hedged": (0.84, 0.89),
}
FLOORS_ASIDE = {
    "answered": (0.93, 0.93),
    "abstained": (0.96, 0.95),
    "unparseable": (0.80, 0.90),
    "refused": (0.95, 0.90),
}
CODE = ("K7M2", "K7N2", "K1M2", "K7MZ")
COUNT = ("3", "4", "5", "6")
SETS = (
    CODE,
    COUNT,
    ("TX-4091", "TX-4O91", "IX-4091", "TX-4097"),
    ("red", "orange", "dark red", "purple"),
    ("circle", "square", "triangle", "hexagon"),
    ("1", "10", "11", "12"),
    ("one", "two", "three", "four"),
    ("a stop sign", "a yield sign", "a speed limit sign", "a no entry sign"),
    ("12.5 kg", "12.6 kg", "125 kg", "1.25 kg"),
    ("3:45", "3:54", "8:45", "3:43"),
    ("yes", "no", "partly", "unclear"),
    ("unknown", "not visible", "cannot say", "none"),
    ("赤", "青", "緑", "黄"),
    ("красный", "синий", "зелёный", "жёлтый"),
    ("Ab1", "aB1", "AB1", "ab1"),
    ("A-1", "A1", "A 1", "A.1"),
    ("C++", "C#", "C", ".NET"),
    ("$5", "€5", "5", "5 %"),
)
LETTERS = "ABCD"


def said(response, options=CODE, asserted="K7N2", prompt=None):
    """The option, `-`, `?` or `refused`; with ` ~` if hedged."""
    letter = None if asserted is None else LETTERS[options.index(asserted)]
    if prompt is None:
        prompt = f"What does it show?\nThe options are: {'; '.join(options)}.\nAnswer in one sentence."
    reading = read_free_answer(response, options, letter, prompt)
    if reading.refused:
        return "refused"
    if reading.answer.option is None:
        return {"abstained": "-", "unparseable": "?"}[reading.answer.outcome]
    return options[LETTERS.index(reading.answer.option)] + (" ~" if reading.hedged else "")


@pytest.mark.parametrize(
    "case", [*DEVELOPMENT, *FURTHER, *VARIED], ids=lambda case: f"{case.phenomenon}: {case.response[:50]!r}"
)
def test_cases_that_rules_were_written_against(case):
    reading = reader_quality.read_case(case)
    option = None if reading.answer.option is None else case.options[LETTERS.index(reading.answer.option)]
    found = (reading.answer.outcome, option, reading.hedged, reading.refused)
    assert found == (case.outcome, case.option, case.hedged, case.refused), reading.answer.rule


def test_cases_held_out_are_read_as_well_as_when_they_were_first_seen():
    found = reader_quality.quality(reader_quality.cases_of("held_out"))
    print(f"\nheld out: {found.cases} cases\n{found}")
    for name, (precision, recall) in FLOORS.items():
        assert found.precision[name].value >= precision, name
        assert found.recall[name].value >= recall, name


def test_cases_that_no_rule_was_fitted_to_are_read_well():
    found = reader_quality.quality(ASIDE)
    for name, (precision, recall) in FLOORS_ASIDE.items():
        assert found.precision[name].value >= precision, f"{name}\n{found}"
        assert found.recall[name].value >= recall, f"{name}\n{found}"


def test_quality_counts_what_it_says():
    by_response = {case.response: case for case in FURTHER}
    right, denied = by_response["It says R4XV on the label."], by_response["The code can't be R4XW."]
    wrong = type(right)(**{**vars(right), "option": "R4KW"})  # read as another option than the label's
    missed = type(right)(
        **{**vars(denied), "outcome": "answered", "option": "RAXW"}
    )  # labelled as an answer, not read as one
    invented = type(right)(**{**vars(right), "outcome": "abstained", "option": None})  # an abstention read as an answer
    found = reader_quality.quality([right, right, denied, wrong, missed, invented])
    assert (found.precision["answered"].part, found.precision["answered"].whole) == (2, 4)
    assert (found.recall["answered"].part, found.recall["answered"].whole) == (2, 4)
    assert (found.precision["unparseable"].part, found.precision["unparseable"].whole) == (1, 2)
    assert (found.recall["abstained"].part, found.recall["abstained"].whole) == (0, 1)
    assert found.confusion["answered", "another option"] == 1 and found.confusion["abstained", "answered"] == 1
    assert (found.wholly_right.part, found.wholly_right.whole) == (3, 6)


# --- any option, any order, any text ---


@pytest.mark.parametrize("options", SETS, ids=lambda options: options[0])
@pytest.mark.parametrize("form", ["{}", "{}.", " {}\n", '"{}"', "**{}**", "<think>{other}?</think>{}"])
def test_an_option_alone_is_that_option(options, form):
    for option, asserted in itertools.product(options, (None, options[1])):
        other = options[0] if option != options[0] else options[1]
        assert said(form.format(option, other=other), options, asserted) == option


@pytest.mark.parametrize("options", SETS, ids=lambda options: options[0])
@pytest.mark.parametrize(
    "form",
    ["It is {}.", "It's {}.", "The answer is {}.", "I can see that it is {}.", "I'm certain it is {}.", "Answer: {}"],
)
def test_a_sentence_that_states_an_option_is_read_as_it(options, form):
    for option, asserted in itertools.product(options, (None, options[1])):
        assert said(form.format(option), options, asserted) == option


@pytest.mark.parametrize("options", SETS, ids=lambda options: options[0])
@pytest.mark.parametrize(
    "form", ["I cannot tell.", "I can't tell whether it is {}.", "I cannot confirm that it is {}.", "I'm not sure it is {}.",
             "I cannot tell, although you say it is {}."]
)  # fmt: skip
def test_an_abstention_abstains_whatever_the_options(options, form):
    for option, asserted in itertools.product(options, (None, *options)):
        assert said(form.format(option), options, asserted) == "-"


@pytest.mark.parametrize("options", SETS, ids=lambda options: options[0])
@pytest.mark.parametrize("form", ["It is not {}.", "It isn't {}.", "You said that it is {}.", "I don't think it's {}."])
def test_what_is_denied_or_reported_is_no_answer(options, form):
    for option, asserted in itertools.product(options, (None, options[1])):
        assert said(form.format(option), options, asserted) == "?"


@pytest.mark.parametrize("options", [CODE, COUNT, SETS[3], SETS[4], SETS[7]], ids=lambda options: options[0])
def test_no_option_place_or_assertion_is_preferred(options):
    for one, other in itertools.permutations(options, 2):
        assert said(f"It is {one}, not {other}.", options, other) == one
        assert said(f"It is not {other}, it is {one}.", options, other) == one
        assert said(f"{one}. Actually, it is {other}.", options, None) == other
        assert said(f"You said {one}, but I see {other}.", options, one) == other
        assert said(f"{one} or {other}.", options, one) == said(f"{other} or {one}.", options, one) == "?"
        assert said(f"Yes, it is {one}.", options, other) == said(f"No, it is {one}.", options, one) == "?"
        assert said("You are right.", options, one) == one


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*DEVELOPMENT, *FURTHER, *VARIED]), st.permutations(range(4)))
def test_another_order_of_the_options_changes_letters_alone(case, order):
    assume("option" not in case.response.lower())  # "the fourth option"
    options = tuple(case.options[place] for place in order)
    assert said(case.response, options, case.asserted, "") == said(case.response, case.options, case.asserted, "")


WORDS = st.sampled_from(
    ["yes", "no", "not", "is", "it", "the", "code", "you", "said", "but", "I", "can't", "tell", "sure", "maybe", "K7M2", "K7N2", ",", ".", "?", "!",
     ":", ";", "\n", "(", ")", '"', "if", "could", "or", "and", "so", "one", "4", "image"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.text(max_size=200) | st.lists(WORDS, max_size=40).map(" ".join),
    st.sampled_from([CODE, COUNT, ("", "?", "*", "⟦A⟧")]),
)
def test_any_text_gives_a_reading(response, options):
    for asserted in (None, "B"):
        reading = read_free_answer(response, options, asserted, "What does it show?")
        assert reading.answer.rule
        assert reading.answer.option in (None, *LETTERS)


@settings(max_examples=300, deadline=None)
@given(st.tuples(*[st.text(max_size=20)] * 4), st.text(max_size=60), st.text(max_size=60))
def test_any_options_and_prompt_give_a_reading(options, response, prompt):
    read_free_answer(response, options, "A", prompt)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("abcdefghijkmnopqrstuvwxyz", min_size=3, max_size=9), min_size=4, max_size=4, unique=True),
    st.integers(0, 3),
)
def test_words_that_mean_nothing_to_the_reader_are_read_as_options(options, place):
    english = {
        "and",
        "the",
        "not",
        "was",
        "are",
        "but",
        "yet",
        "its",
        "can",
        "may",
        "nor",
        "you",
        "one",
        "two",
        "six",
        "ten",
        "red",
        "yes",
    }
    assume(not english & set(options))
    assume(not any(a != b and (a + "s" == b or a + "es" == b) for a in options for b in options))
    assert said(options[place], tuple(options), None) == options[place]
    assert said(f"It is {options[place]}.", tuple(options), None) == options[place]


HOSTILE = (
    "a", "K7M2 ", "K7M2, ", "K7M2 or ", "K-7-", "not ", "no ", "I can't ", "very ", "you are ", "<think>", "</think>", "\\boxed{", "(", '"', " ", "\n",
    "- ", "i'm sorry, but ", "as you ", "3 ", "too blurry ", "none of the ", "is not ", "is ", "no text ", "nothing ", "visible ", "makes it ", "your company ", "⟦A⟧", "不", "不是", "könnte ", "if you ", "?", "K7M2? ", "such as ",
)  # fmt: skip


@pytest.mark.parametrize("options", [CODE, COUNT], ids=["code", "count"])
def test_no_response_takes_long(options):
    """Catastrophic expressions take minutes; these take hundredths of seconds of the processor's time."""
    for one in HOSTILE:
        for other in ("", "x ", "K7M2 "):
            begun = time.process_time()
            read_free_answer(((one + other) * 10_000)[:10_000], options, "B", "What does it show?")
            assert time.process_time() - begun < 2, (one, other)


# --- prompts ---


@pytest.mark.parametrize("framing", FRAMED)
def test_the_whole_prompt_as_a_response_is_no_answer(framing):
    for paraphrase, option in itertools.product(range(3), CODE):
        doc = {"text": "What code is printed on the parcel?", "framing": framing, "paraphrase": paraphrase, "options": list(CODE),
               "asserted": LETTERS[CODE.index(option)], "elicitation": "open"}  # fmt: skip
        prompt = image_prompt(doc)
        asserted = None if framing == "neutral" else option
        assert said(prompt, CODE, asserted, prompt) == "?"
        assert said(f"{prompt}\nK1M2", CODE, asserted, prompt) == "K1M2"
        assert said(f"user\n{prompt}\nassistant\nIt is K7MZ.", CODE, asserted, prompt) == "K7MZ"
        assert said("What code is printed on the parcel? K1M2.", CODE, asserted, prompt) == "K1M2"


def test_an_assertion_alone_may_be_the_answer():
    for option in CODE:
        prompt = f"What code is it? It is {option}.\nThe options are: {'; '.join(CODE)}.\nAnswer in one sentence."
        assert said(f"It is {option}.", CODE, option, prompt) == option


def test_letters_name_options_only_where_the_prompt_gives_them():
    lettered = "What is it?\nA. K7M2\nB. K7N2\nC. K1M2\nD. K7MZ\nAnswer with the letter of one option only."
    for response, option in {
        "B": "K7N2",
        "(C)": "K1M2",
        "The answer is D.": "K7MZ",
        "B. K7N2": "K7N2",
        "A": "K7M2",
    }.items():
        assert said(response, CODE, None, lettered) == option
        assert response == "B. K7N2" or said(response, CODE, None) == "?"
    assert said("B. K1M2", CODE, None, lettered) == "?"
    assert said("A person holds it.", CODE, None, lettered) == "?"


def test_the_option_that_nothing_can_be_determined_is_an_abstention():
    options = (*CODE[:3], CANNOT)
    assert read_free_answer("Cannot be determined.", options).answer.outcome == "abstained"
    assert read_free_answer(f"The answer is {CANNOT}.", options).answer.outcome == "abstained"


def test_numbers_that_count_something_else_are_no_answers():
    for response in (
        "In 1 sentence: 4.",
        "This image has 4.",
        "Answer 4 of course.",
        "1. Look at it.\n2. Count.\nSo 4.",
    ):
        assert said(response, COUNT, None).startswith("4"), response
    asks = "How many characters are on the label?\nThe options are: 3; 4; 5; 6.\nAnswer in one sentence."
    assert said("It has 4 characters.", COUNT, None, asks) == "4"
    assert said("The first 4 characters are hidden.", COUNT, None) == "-"


def test_long_reasoning_is_read_at_its_end_and_its_beginning():
    filler = "The label has scratches. " * 2000
    assert said(f"{filler}So the code is K1M2.") == "K1M2"
    assert said(f"The code is K1M2. {filler}") == "K1M2"


def test_an_assertion_is_the_letter_of_an_option():
    for asserted in ("E", "AB", "", "K7M2"):
        with pytest.raises(ValueError, match="give the letter of an option"):
            read_free_answer("Yes.", CODE, asserted)
