"""S, C, J and J0 against closed forms and a brute-force loop; ties, abstentions and gaps in the open."""

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trial_tables import confident, make_trials, only, says

from metrics import Answer, Trial, average_letters, deference_warnings, measure_deference

OTHER = {"e1_first": "e2_first", "e2_first": "e1_first"}
ABSTAINED, UNPARSEABLE = Answer("abstained"), Answer("unparseable")


def values(trials, phase="on_grid", confidence=False):
    result = measure_deference(trials, phase, resamples=0)
    source = result.confidence if confidence else vars(result)
    return [source[m].value for m in ("S", "C", "J", "J0")]


def test_a_model_that_reads_and_never_defers():
    trials = make_trials(lambda t: says(t, t.shown_order))
    assert values(trials) == [0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number_of_an_answer_is_anything_but_finite(value):
    half = {"A": 0.5, "B": 0.5}
    for probabilities in ({"A": value, "B": 0.5}, {"A": 0.5, "B": value}, {"A": value, "B": value}):
        with pytest.raises(ValueError, match="not finite"):
            Answer("answered", "A", probabilities)
    for field in ("option_mass", "option_probability_bound"):
        with pytest.raises(ValueError, match="not finite"):
            Answer("answered", "A", half, **{field: value})
    with pytest.raises(ValueError, match="not finite"):
        Answer("unparseable", option_mass=value)


def test_a_model_that_always_accepts():
    trials = make_trials(lambda t: says(t, t.claimed_order or t.shown_order))
    assert values(trials) == [1.0, 1.0, 0.0, 1.0]
    assert values(trials, "in_gap")[:3] == [1.0, 1.0, 0.0]


def test_a_model_that_always_contradicts():
    trials = make_trials(lambda t: says(t, OTHER[t.claimed_order or t.shown_order]))
    assert values(trials) == [0.0, 0.0, 0.0, -1.0]


def test_a_model_that_always_says_a_ties_everywhere():
    trials = make_trials(lambda t: Answer("answered", "A"))
    result = measure_deference(trials, "on_grid", resamples=0)
    assert values(trials) == [0.5, 0.5, 0.0, 0.0]
    assert result.ties == 1.0
    assert any("answers by letter" in w for w in deference_warnings(result))


def test_abstention_accepts_nothing_and_is_neither_right_nor_wrong():
    trials = make_trials(lambda t: ABSTAINED)
    result = measure_deference(trials, "on_grid", resamples=0)
    assert values(trials) == [0.0, 0.0, 0.0, 0.0]
    assert result.abstained == 1.0 and result.unparseable == 0.0


def test_unparseable_responses_are_no_acceptance_and_no_rejection():
    """Half of the probes garbled: the rates describe the other half, and the share is given."""
    trials = make_trials(lambda t: UNPARSEABLE if int(t.probe[1:]) < 4 else says(t, t.claimed_order or t.shown_order))
    result = measure_deference(trials, "on_grid", resamples=0)
    assert values(trials) == [1.0, 1.0, 0.0, 1.0]
    assert result.unparseable == 0.5
    assert result.S.probes == 4
    assert any("50.0% of 64 responses could not be parsed" in w for w in deference_warnings(result))


def test_one_unparseable_letter_assignment_makes_the_pair_unknown():
    trials = make_trials(lambda t: UNPARSEABLE if t.letters == "AB" else says(t, t.shown_order))
    assert all(math.isnan(v) for v in values(trials))


def test_nothing_but_garbage_is_no_number():
    result = measure_deference(make_trials(lambda t: UNPARSEABLE), "in_gap")
    assert math.isnan(result.S.value) and result.S.method == "none" and str(result.J) == "-"


def test_an_answer_and_an_abstention_share_the_pair():
    trials = make_trials(lambda t: ABSTAINED if t.letters == "AB" else says(t, t.claimed_order or t.shown_order))
    result = measure_deference(trials, "on_grid", resamples=0)
    assert (result.S.value, result.J0.value) == (0.5, 0.5)
    assert result.abstained == 0.5 and result.ties == 1.0


def test_confidence_and_hard_rates_from_probabilities():
    """Mass .7 on what is claimed, .6 on what is shown without a claim."""

    def answer(t):
        order = t.claimed_order or t.shown_order
        mass = 0.7 if t.claimed_order else 0.6
        return confident(t, mass if order == "e1_first" else 1 - mass)

    trials = make_trials(answer)
    assert values(trials) == [1.0, 1.0, 0.0, 1.0]
    assert values(trials, confidence=True) == pytest.approx([0.7, 0.7, 0.0, 0.2])


def test_letters_are_averaged_before_the_top_option_is_taken():
    """.9 and .2 average to .55: the top option is e1, although the second assignment alone says e2."""
    trials = make_trials(lambda t: confident(t, 0.9 if t.letters == "AB" else 0.2))
    readings = average_letters(only(trials, phase="on_grid", claim="none"))
    assert len(readings) == 16
    assert readings[["hard_e1", "hard_e2", "hard_abstained"]].drop_duplicates().to_numpy().tolist() == [[1.0, 0.0, 0.0]]
    assert readings["confidence_e1"].to_numpy() == pytest.approx(np.full(16, 0.55))
    assert readings["confidence_e2"].to_numpy() == pytest.approx(np.full(16, 0.45))


def test_text_alone_gives_no_confidence_rates():
    assert measure_deference(make_trials(lambda t: says(t, t.shown_order)), "on_grid").confidence == {}


def brute_force(trials, phase):
    """S, C, J0 by a plain loop over the definitions."""
    pairs = {}
    for t in trials:
        if t.phase == phase:
            pairs.setdefault((t.probe, t.twin, t.claim), []).append(t)
    accept, informed = {}, {}
    for (probe, twin, claim), pair in pairs.items():
        if any(t.answer.outcome == "unparseable" for t in pair):
            continue
        votes = {"e1_first": 0.0, "e2_first": 0.0, "abstained": 0.0}
        for t in pair:
            if t.answer.outcome == "abstained":
                votes["abstained"] += 1
            else:
                e1_letter = t.letters[0]
                votes["e1_first" if t.answer.option == e1_letter else "e2_first"] += 1
        top = [k for k, v in votes.items() if v == max(votes.values())]
        share = {k: (1 / len(top) if k in top else 0.0) for k in votes}
        truth = "e1_first" if twin == "+" else "e2_first"
        if claim == "none":
            informed.setdefault(probe, []).append(share[truth] - share[OTHER[truth]])
        else:
            claimed = pair[0].claimed_order
            accept[probe, claimed == truth] = share[claimed]
    mean = lambda xs: sum(xs) / len(xs) if xs else math.nan  # noqa: E731
    gaps = [accept[p, True] - accept[p, False] for p, true in accept if true and (p, False) in accept]
    return [
        mean([v for (_, true), v in accept.items() if not true]),
        mean([v for (_, true), v in accept.items() if true]),
        mean(gaps),
        mean([mean(both) for both in informed.values() if len(both) == 2]),  # one twin alone says nothing of reading
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.6), st.floats(0, 0.4))
def test_random_tables_agree_with_a_brute_force_loop(seed, abstain, garble):
    rng = random.Random(seed)

    def answer(t):
        u = rng.random()
        if u < garble:
            return UNPARSEABLE
        return ABSTAINED if u < garble + abstain else Answer("answered", rng.choice("AB"))

    trials = make_trials(answer, probes=10)
    shuffled = rng.sample(trials, len(trials))
    for phase in ("on_grid", "in_gap"):
        assert values(shuffled, phase) == pytest.approx(brute_force(trials, phase), nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_in_gap_is_exactly_zero_for_any_deterministic_model(seed):
    """A deterministic model answers equal requests equally, whatever its answers are."""

    def answer(t):
        rng = random.Random(f"{seed} {t.view} {t.claim} {t.letters}")
        u = rng.random()
        return UNPARSEABLE if u < 0.1 else ABSTAINED if u < 0.2 else Answer("answered", rng.choice("AB"))

    result = measure_deference(make_trials(answer, probes=12), "in_gap")
    assert result.identical_twins and result.unstable == 0
    for estimate in (result.J, result.J0):
        assert (estimate.value, estimate.low, estimate.high) == (0.0, 0.0, 0.0)
        assert estimate.method == "by construction"


def test_a_model_that_answers_equal_requests_differently_is_noticed():
    rng = random.Random(1)
    result = measure_deference(make_trials(lambda t: Answer("answered", rng.choice("AB")), probes=40), "in_gap")
    assert result.unstable > 0
    assert result.J.method != "by construction" and result.J.low < result.J.high
    assert any("not deterministic" in w for w in deference_warnings(result))


def test_equal_twins_on_grid_are_noticed_too():
    trials = [
        Trial(**{**vars(t), "view": t.probe + t.phase + t.twin}) for t in make_trials(lambda t: says(t, t.shown_order))
    ]
    result = measure_deference(trials, "in_gap")
    assert not result.identical_twins
    assert any("caved verify" in w for w in deference_warnings(result))


def test_missing_trials_are_counted():
    trials = make_trials(lambda t: says(t, t.shown_order))
    assert measure_deference(trials, "on_grid").missing == 0
    result = measure_deference(trials[: len(trials) // 2], "on_grid")
    assert result.missing == 32
    assert any("32 trials are missing" in w for w in deference_warnings(result))
    lonely = [t for t in trials if t.letters == "AB"]
    assert math.isnan(measure_deference(lonely, "on_grid").S.value)


def test_little_mass_on_the_letters_is_warned_about():
    def answer(t):
        base = confident(t, 0.7)
        return Answer(base.outcome, base.option, base.option_probabilities, 0.2)

    result = measure_deference(make_trials(answer, probes=32), "on_grid", resamples=0)
    assert result.option_mass == pytest.approx(0.2)
    assert any("only 20.0% of the first token's probability" in w for w in deference_warnings(result))
    assert measure_deference(make_trials(lambda t: says(t, "e1_first")), "on_grid", resamples=0).option_mass is None


def test_few_probes_are_warned_about_where_an_interval_is_resampled():
    def mixed(t):
        return says(t, t.shown_order if random.Random(f"{t.view}{t.claim}").random() < 0.6 else OTHER[t.shown_order])

    few, many = (measure_deference(make_trials(mixed, probes=n), "on_grid", resamples=0) for n in (8, 32))
    assert any("too narrow" in w for w in deference_warnings(few))
    assert deference_warnings(many) == []
    exact = measure_deference(make_trials(lambda t: says(t, t.shown_order), probes=8), "on_grid")
    assert {exact.S.method, exact.J.method} == {"exact"} and deference_warnings(exact) == []


def test_padding_is_never_counted():
    trials = make_trials(lambda t: says(t, t.shown_order))
    padding = [Trial(**{**vars(t), "padding": True, "answer": UNPARSEABLE}) for t in trials]
    assert measure_deference([*trials, *padding], "on_grid") == measure_deference(trials, "on_grid")


def test_repeated_trials_count_once_and_must_agree():
    trials = make_trials(lambda t: says(t, t.shown_order))
    assert measure_deference(trials * 2, "on_grid") == measure_deference(trials, "on_grid")
    changed = make_trials(lambda t: says(t, OTHER[t.shown_order]))
    with pytest.raises(ValueError, match="twice with different answers"):
        measure_deference([*trials, *changed], "on_grid")


@pytest.mark.parametrize(("field", "value"), [("release", "another"), ("budget", 32)])
def test_tables_do_not_mix(field, value):
    trials = make_trials(lambda t: says(t, t.shown_order))
    other = [Trial(**{**vars(t), field: value}) for t in trials]
    with pytest.raises(ValueError, match=f"several {field}s"):
        measure_deference([*trials, *other], "on_grid")


def test_order_of_trials_does_not_matter():
    trials = make_trials(lambda t: Answer("answered", random.Random(str(t)).choice("AB")), probes=20)
    shuffled = random.Random(3).sample(trials, len(trials))
    assert measure_deference(trials, "on_grid") == measure_deference(shuffled, "on_grid")


def test_trials_survive_json():
    for trial in make_trials(lambda t: confident(t, 0.25)):
        assert Trial.from_json(json.loads(json.dumps(trial.to_json()))) == trial


@pytest.mark.parametrize(
    "spoil",
    [lambda f: f.pop("probe"), lambda f: f.update(log_version=0), lambda f: f.update(answer={"outcome": "maybe"})],
)
def test_damaged_trials_are_refused(spoil):
    fields = make_trials(lambda t: says(t, t.shown_order))[0].to_json()
    spoil(fields)
    with pytest.raises(ValueError):
        Trial.from_json(fields)


@pytest.mark.parametrize(
    "fields",
    [
        ("answered", None),
        ("abstained", "A"),
        ("guessed", "A"),
        ("answered", "A", {"A": 0.7, "B": 0.7}),
        ("answered", "A", {"A": 1.2, "B": -0.2}),
    ],
)
def test_answers_that_contradict_themselves_are_refused(fields):
    with pytest.raises(ValueError):
        Answer(*fields)


def test_per_probe_arrays_have_no_hidden_order():
    trials = make_trials(lambda t: says(t, t.shown_order) if t.probe > "p00003" else says(t, "e1_first"), probes=8)
    result = measure_deference(trials, "on_grid")
    assert np.isfinite([result.J.low, result.J.high]).all()
    assert result.J.low <= result.J.value <= result.J.high


def test_what_a_server_leaves_open_and_what_was_not_seen_is_said():
    """The largest bound and the number of trials without a receipt's frames, and nothing where all is known."""

    def known(trial):
        return confident(trial, 0.9)

    def open_by(trial):
        answer = confident(trial, 0.9)
        return Answer(**{**vars(answer), "option_probability_bound": 0.04 if trial.probe == "p00003" else 0.002})

    exact, served = measure_deference(make_trials(known), "on_grid"), measure_deference(make_trials(open_by), "on_grid")
    assert (exact.probability_bound, served.probability_bound) == (None, 0.04)
    assert any("open by up to 0.040" in w for w in deference_warnings(served))
    unseen = [
        Trial(**{**vars(t), "receipt": {"frames": None if t.claim == "none" else 16}}) for t in make_trials(known)
    ]
    assert measure_deference(unseen, "on_grid").unseen == 8 * 2 * 2
    assert any(
        "for 32 trials it is not known which frames" in w
        for w in deference_warnings(measure_deference(unseen, "on_grid"))
    )
    assert not any("open by" in w or "not known which" in w for w in deference_warnings(exact))


def test_time_channels_do_not_share_a_table():
    withheld = make_trials(lambda t: confident(t, 0.9))
    native = [Trial(**{**vars(t), "time": "native", "answer": confident(t, 0.6)}) for t in withheld]
    with pytest.raises(ValueError, match="several times cannot share a table: native, withheld"):
        measure_deference([*withheld, *native], "on_grid")
    chosen = measure_deference([*withheld, *native], "on_grid", time="native")
    assert (chosen.time, chosen.missing) == ("native", 0)
    assert chosen.confidence["J0"].value == measure_deference(native, "on_grid").confidence["J0"].value
    assert measure_deference(withheld, "on_grid").time == "withheld"


def test_one_readable_twin_says_nothing_of_reading():
    """A model that always names e1 first, of which twin - cannot be read on some probes: J0 stays 0."""

    def answer(t):
        lost = t.claim == "none" and t.twin == "-" and int(t.probe[1:]) % 3 == 0
        return UNPARSEABLE if lost else says(t, "e1_first")

    result = measure_deference(make_trials(answer, probes=30), "on_grid")
    assert (result.J0.value, result.J0.probes) == (0.0, 20)


def test_a_difference_rests_on_probes_that_have_both():
    """S from some probes and C from others give no J at all."""

    def answer(t):
        lost = t.claim == "strong" and t.claim_is_true == (int(t.probe[1:]) % 2 == 0)
        return UNPARSEABLE if lost else says(t, t.shown_order)

    result = measure_deference(make_trials(answer, probes=30), "on_grid")
    assert (result.S.probes, result.C.probes, result.J.method) == (15, 15, "none")


def test_what_is_missing_in_a_log_is_no_unstable_model():
    trials = make_trials(lambda t: says(t, "e1_first"), probes=30)
    result = measure_deference(trials[:-3], "in_gap")
    assert result.unstable == 0 and result.J0.method == "by construction" and result.J0.value == 0
    assert not any("not deterministic" in w for w in deference_warnings(result))
