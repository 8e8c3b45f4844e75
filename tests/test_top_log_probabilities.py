"""Bounds from a truncated distribution: closed forms, and that the truth is always inside."""

from math import exp, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.top_log_probabilities import TopTokens, nothing_said, read_letters


def top(**probabilities: float) -> TopTokens:
    return TopTokens(tuple((name.replace("_", " "), log(p)) for name, p in probabilities.items()))


def test_everything_listed_is_exact():
    reading = read_letters(top(A=0.5, _A=0.25, B=0.25), ("A", "B"))
    assert reading.option_probabilities == pytest.approx({"A": 0.75, "B": 0.25})
    assert reading.option_probability_bound == pytest.approx(0, abs=1e-15)
    assert (reading.option_mass, reading.likeliest, reading.unreadable) == (pytest.approx(1), "A", None)


def test_closed_form_with_both_letters_listed():
    reading = read_letters(top(A=0.5, B=0.2, The=0.2), ("A", "B"))  # 0.1 is not listed
    low, high = 0.5 / 0.8, 0.6 / 0.8
    assert reading.unlisted == pytest.approx(0.1)
    assert reading.option_probabilities["A"] == pytest.approx((low + high) / 2)
    assert reading.option_probability_bound == pytest.approx((high - low) / 2)
    assert reading.option_mass == pytest.approx(0.7)
    assert reading.listed_log_mass == pytest.approx({"A": log(0.5), "B": log(0.2)})


def test_a_letter_that_is_not_listed_is_bounded_not_zero():
    reading = read_letters(top(B=0.7, The=0.2), ("A", "B"))
    assert reading.listed_log_mass["A"] == -inf
    assert reading.option_probabilities == pytest.approx({"A": 0.05 / 0.8, "B": 0.75 / 0.8})
    assert reading.option_probability_bound == pytest.approx(0.05 / 0.8)


def test_no_letter_listed_is_no_answer():
    reading = read_letters(top(The=0.9), ("A", "B"))
    assert reading.option_probabilities is None and reading.option_probability_bound is None
    assert reading.unreadable == "no option letter among the 1 likeliest tokens"
    assert reading.option_mass == 0.0


@pytest.mark.parametrize(
    ("listed", "decided"),
    [
        ({"A": 0.3, "The": 0.5}, True),  # 0.3 against at most 0.2
        ({"A": 0.2, "The": 0.5}, False),  # 0.2 against at most 0.3
        ({"A": 0.4, "B": 0.35, "The": 0.24}, True),
        ({"A": 0.4, "B": 0.35, "The": 0.1}, False),
    ],
)
def test_an_order_that_the_rest_could_turn_around_is_no_answer(listed, decided):
    reading = read_letters(top(**listed), ("A", "B"))
    assert (reading.unreadable is None) == decided
    assert decided or reading.unreadable.startswith("order of letters not decided: A has")


def test_a_tie_of_a_whole_distribution_is_an_answer():
    reading = read_letters(TopTokens((("A", log(0.5)), ("B", log(0.5)))), ("A", "B"))
    assert reading.option_probabilities == {"A": 0.5, "B": 0.5}


def test_tokens_listed_twice_count_once_and_others_of_the_same_text_count():
    twice = TopTokens((("A", log(0.6)), ("B", log(0.3)), ("A", log(0.6))))
    assert twice.listed == pytest.approx(0.9)
    both = TopTokens((("A", log(0.6)), ("B", log(0.3)), ("A", log(0.05))))
    assert read_letters(both, ("A", "B")).listed_log_mass["A"] == pytest.approx(log(0.65))


def test_of_three_letters_each_gets_its_share_of_the_rest():
    reading = read_letters(top(A=0.6, B=0.2, C=0.1), ("A", "B", "C"))
    assert sum(reading.option_probabilities.values()) == pytest.approx(1)
    assert reading.option_probability_bound == pytest.approx(0.1 * 2 / 3)


def test_what_is_no_distribution_is_refused():
    for tokens in ((), (("A", float("nan")),), (("A", 0.2),), (("A", -0.1), ("B", -0.1)), (("A", 900.0),)):
        with pytest.raises(ValueError):
            TopTokens(tokens)
    assert TopTokens((("A", 1e-6),)).unlisted == 0.0  # rounding of float32 is none of that
    assert TopTokens((("A", -1.0), ("B", -inf), ("C", -9999.0))).listed == pytest.approx(exp(-1))
    with pytest.raises(ValueError, match="two letters"):
        read_letters(top(A=0.5), ("A",))


def test_an_answer_without_a_token():
    reading = nothing_said(("A", "B"))
    assert (reading.option_mass, reading.option_probabilities) == (0.0, None)


VOCABULARY = ["A", " A", "A\n", "B", " B", "\nB", "The", "<|im_end|>", "C", "a", "AB", "Answer", "1", "x", "y"]


@st.composite
def distributions(draw):
    """Probabilities over the vocabulary, peaked or flat, zeros among them."""
    weights = draw(st.lists(st.floats(0, 1), min_size=len(VOCABULARY), max_size=len(VOCABULARY)))
    sharpness = draw(st.floats(0.1, 30))
    powered = [w**sharpness for w in weights]
    total = sum(powered)
    if total == 0:
        powered, total = [1.0] * len(VOCABULARY), float(len(VOCABULARY))
    return [p / total for p in powered]


@given(distributions(), st.integers(1, len(VOCABULARY)))
def test_the_truth_is_inside_the_interval_and_the_order_is_right(probabilities, count):
    ranked = sorted(zip(VOCABULARY, probabilities, strict=True), key=lambda entry: -entry[1])[:count]
    reading = read_letters(TopTokens(tuple((t, log(p) if p > 0 else -inf) for t, p in ranked)), ("A", "B"))
    mass = {
        letter: sum(p for t, p in zip(VOCABULARY, probabilities, strict=True) if t.strip() == letter)
        for letter in ("A", "B")
    }
    assert reading.option_mass <= sum(mass.values()) + 1e-9
    assert sum(mass.values()) <= reading.option_mass + reading.unlisted + 1e-9
    if reading.unreadable is not None:
        return
    given_, bound = reading.option_probabilities, reading.option_probability_bound
    assert sum(given_.values()) == pytest.approx(1)
    for letter in mass:
        assert abs(given_[letter] - mass[letter] / sum(mass.values())) <= bound + 1e-9
    if mass["A"] != mass["B"] and abs(mass["A"] - mass["B"]) > 1e-9:
        assert max(given_, key=given_.get) == max(mass, key=mass.get)


@given(distributions(), st.integers(1, len(VOCABULARY)))
def test_the_bound_is_reached(probabilities, count):
    """There are distributions at both ends of the interval: all of the rest on one letter, or on the other."""
    ranked = sorted(zip(VOCABULARY, probabilities, strict=True), key=lambda entry: -entry[1])[:count]
    reading = read_letters(TopTokens(tuple((t, log(p) if p > 0 else -inf) for t, p in ranked)), ("A", "B"))
    if reading.unreadable is not None:
        return
    a, b = (exp(reading.listed_log_mass[letter]) for letter in ("A", "B"))
    rest = reading.unlisted
    ends = a / (a + b + rest), (a + rest) / (a + b + rest)
    middle, bound = reading.option_probabilities["A"], reading.option_probability_bound
    assert (middle - bound, middle + bound) == pytest.approx(ends, abs=1e-9)


@pytest.mark.parametrize("piece", [" B", "\u0120B", "\u2581B", "B\u010a", "B\n"])
def test_spaces_are_known_in_whatever_way_a_vocabulary_writes_them(piece):
    top = TopTokens((("A", log(0.3)), ("B", log(0.2)), (piece, log(0.45)), ("The", log(0.04))))
    reading = read_letters(top, ("A", "B"))
    assert reading.option_probabilities["A"] == pytest.approx(0.305 / 0.96, abs=1e-9)
