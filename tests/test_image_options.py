"""Options that a reader could not tell apart, would take for a letter, or for an abstention; all others are let pass."""

import pytest

from lmms_eval_tasks.image.free_answer import read_free_answer
from lmms_eval_tasks.image.prompts import CANNOT
from metrics.image.trial import LETTERS
from stimuli_builder.image.annotation_options import abstains, alike_options, names_a_letter, option_problems

ABSTENTIONS = """Cannot be determined.|can\u2019t tell|cannot determine|It cannot be determined|unknown|not sure|I don't know
I don\u2019t know.|not visible|N/A|n.a.|unclear|illegible|unreadable|uncertain|unsure|no idea|I have no idea|not legible
not readable|cannot be seen|unable to tell|impossible to say|hard to tell|too blurry to read|not enough information
insufficient information|indeterminate|no answer|not clear|can't say|cannot read it|Cannot be determined from the image
The answer cannot be determined|not determinable|no way to tell|I'm not sure|It's unclear|can not tell|CANNOT  BE DETERMINED
"cannot be determined"|(cannot tell)|cannot-be-determined|\uff55\uff4e\uff4b\uff4e\uff4f\uff57\uff4e|I can't make it out
unable to determine|I do not know|none of these|none of the above|?"""
UNPARSED = (
    "cannot-be-determined",
    "none of these",
    "none of the above",
    "?",
)  # the reader finds no option in them, and no abstention
ACCEPTED = (
    ("none", "one", "two", "three"),
    ("do not enter", "no entry", "no parking", "not for sale"),
    ("unknown soldier", "hidden path", "sold out", "do not touch"),
    ("clear", "sure", "can", "canned"),
    ("A+", "A-", "AB+", "0-"),
    ("Thea", "Bea", "Dee", "Fe"),
    ("-5", "5", "3.5", "35"),
    ("5 \u00b5m", "5 mm", "5 cm", "5 %"),
    ("C++", "C#", "F#", "F"),
    ("K712", "K7I2", "X712", "K717"),
    ("O7", "07", "Q7", "D7"),
    ("\u6771\u4eac", "\u4eac\u90fd", "\u5927\u962a", "\u5948\u826f"),
    ("\u03b1 decay", "a decay", "b decay", "c decay"),
    ("yes", "no", "NA", "EU"),
)


def listed(text: str) -> list[str]:
    return [option for line in text.splitlines() for option in line.split("|")]


@pytest.mark.parametrize("option", [*listed(ABSTENTIONS), CANNOT])
def test_abstentions_are_no_options_and_are_abstentions_to_the_reader(option):
    (problem,) = option_problems(["K712", "K7I2", "X712", option])
    assert problem == f"the option {option!r} is an abstention, which the benchmark offers itself: give another"
    outcome = read_free_answer(option, ("K712", "K7I2", "X712", "K717"), None, "What code is it?").answer.outcome
    assert outcome == ("unparseable" if option in UNPARSED else "abstained")


@pytest.mark.parametrize("options", ACCEPTED, ids=" ".join)
def test_options_that_say_something_pass_and_are_answers_to_the_reader(options):
    assert option_problems(options) == []
    for letter, option in zip(LETTERS, options, strict=False):
        answer = read_free_answer(option, options, None, "Which one is it?").answer
        assert (answer.outcome, answer.option) == ("answered", letter), option


@pytest.mark.parametrize(
    "option",
    [
        "A",
        "e",
        "A)",
        "(A)",
        "a.",
        "\uff21",
        "Option A",
        "option: (b)",
        "\u0410",
        "\u0395",
        "*B*",
        "The answer is C",
        "[d]",
    ],
)
def test_letters_of_options_are_no_options(option):
    (problem,) = option_problems(["red", "green", "blue", option])
    assert problem.startswith(f"the option {option!r} would be read as the letter") and names_a_letter(option)


def test_four_letters_are_four_problems():
    assert len(option_problems(["A)", "B)", "C)", "D)"])) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("red", "red."),
        ("re d", "re-d"),
        ("K712", "K7\u201412"),
        ("A1", "\u04101"),  # Cyrillic
        ("P1", "\u03a11"),  # Greek
        ("\u04121", "\u04321"),  # both Cyrillic, capital and small
        ("K7", "\uff2b\uff17"),
        ("red", "(red)"),
        ("red", '"Red"'),
        ("red", "\u201cred\u201d"),
        ("red", "red)"),
        ("red", "**red**"),
        ("red!", "red"),
        ("don't", "don\u2019t"),
        ("-5", "\u22125"),
        ("a1", "a\u200b1"),
    ],
)
def test_options_that_look_the_same_are_named_both(one, other):
    assert alike_options([one, other]) == [(one, other)] and alike_options([other, one]) == [(other, one)]
    (problem,) = option_problems([one, other, "something", "else"])
    assert problem.startswith(f"the options {one!r} and {other!r} are the same but for case, spaces, hyphens")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5'", '5"'),
        ("$5", "5"),
        ("5%", "5"),
        (".5", "5"),
        ("+", "-"),
        ("1/2", "12"),
        ("<", ">"),
        ("O", "0"),
        ("\u03b1", "a"),
    ],
)
def test_signs_that_mean_something_tell_options_apart(one, other):
    assert alike_options([one, other]) == []
    assert not abstains(one) and not abstains(other)
