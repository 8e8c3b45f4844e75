"""From neutral to pressure: transitions, dodging and capitulating, an exact test of them, selective answers."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_trials import capitulator, dodger, image_study, invariant
from scipy.stats import permutation_test

from metrics.image.selective import area_under, risk_curve, select
from metrics.image.sign_flip import sign_flip_p
from metrics.image.table import complete_blocks
from metrics.image.transitions import (
    STATES,
    block_states,
    count_moves,
    measure_directions,
    measure_transitions,
)
from metrics.image.trial import ASSERTING, FRAMINGS
from metrics.trial import Answer


def states(trials):
    return block_states(complete_blocks(trials))


def noisy(question, mode, level, slot, framing, correct, asserted, rng):
    """Anything at all, one answer in thirteen of it unreadable."""
    return str(rng.choice(["right", "asserted", "wrong", "abstain"] * 6 + ["unparseable", "refused"]))


def blocks_of(trials):
    """Complete blocks as plain dictionaries, by a loop over trials."""
    found = {}
    for trial in trials:
        found.setdefault(trial.block, {})[trial.framing] = trial
    return [b for b in found.values() if len(b) == 4 and None not in {t.state for t in b.values()}]


@pytest.mark.parametrize("framing", ASSERTING)
def test_transitions_are_those_of_a_loop_over_trials(framing):
    trials = image_study(noisy, items=5, levels=2)
    reference = blocks_of(trials)
    assert len(reference) < len(trials) / 4
    blocks = states(trials)
    for right in (True, False, None):
        mine = measure_transitions(blocks, framing, right, resamples=0)
        chosen = [b for b in reference if right is None or b["neutral"].assertion_is_right == right]
        moves = [(b["neutral"].state, b[framing].state) for b in chosen]
        assert mine.blocks == len(chosen) and set(mine.shares) == set(product(STATES, STATES))
        for pair, share in mine.shares.items():
            assert share.value == pytest.approx(moves.count(pair) / len(moves), abs=1e-12)
        assert sum(share.value for share in mine.shares.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("framing", ASSERTING)
def test_pia_is_what_comes_to_abstention_minus_what_leaves_it(framing):
    trials = image_study(noisy, items=6, levels=2, seed=1)
    reference = blocks_of(trials)

    def abstention(which):
        return np.mean([b[which].state == "abstain" for b in reference])

    pressure = measure_directions(states(trials), framing, resamples=0)
    assert pressure.pia.value == pytest.approx(abstention(framing) - abstention("neutral"), abs=1e-12)
    assert pressure.pia.value == pytest.approx(pressure.to_abstain.value - pressure.from_abstain.value, abs=1e-12)

    def share(*moves):
        return np.mean([(b["neutral"].state, b[framing].state) in moves for b in reference])

    def of_wrong(*move):
        moves = [(b["neutral"].state, b[framing].state) for b in reference if not b["neutral"].assertion_is_right]
        return moves.count(move) / len(reference)

    flipped, unflipped = of_wrong("answer", "accept"), of_wrong("accept", "answer")
    assert pressure.dodging.value == pytest.approx(share(("answer", "abstain")))
    assert pressure.dodging_net.value == pytest.approx(share(("answer", "abstain")) - share(("abstain", "answer")))
    assert pressure.capitulating.value == pytest.approx(share(("abstain", "accept")) + flipped)
    net = share(("abstain", "accept")) + flipped - share(("accept", "abstain")) - unflipped
    assert pressure.capitulating_net.value == pytest.approx(net)


def at(level):
    return 0.1 * level


def test_a_dodger_dodges_and_a_capitulator_capitulates():
    dodges = measure_directions(states(image_study(dodger(at, lambda d: 0.5), items=24)), resamples=200)
    gives_in = measure_directions(states(image_study(capitulator(at, lambda f: 0.5), items=24)), resamples=200)
    calm = measure_directions(states(image_study(invariant(at), items=24)), resamples=200)
    assert dodges.dodging_p < 1e-4 and dodges.dodging_net.low > 0.1 and dodges.capitulating_p > 0.9
    assert gives_in.capitulating_p < 1e-4 and gives_in.capitulating_net.low > 0.1 and gives_in.dodging_p > 0.05
    assert gives_in.pia.high < 0 < dodges.pia.low
    assert min(calm.dodging_p, calm.capitulating_p) > 0.01 and abs(calm.pia.value) < 0.03


def test_a_model_that_does_both_has_no_pia_and_shows_in_the_transitions():
    """Half of the questions are dodged, of the other half what is asserted is taken instead of abstaining."""

    def both(question, mode, level, slot, framing, correct, asserted, rng):
        dodges = question.endswith(("code", "count"))
        if framing != "conviction":
            return "wrong" if dodges else "abstain"
        return "abstain" if dodges else "asserted"

    pressure = measure_directions(states(image_study(both, items=12, levels=1)), resamples=200)
    assert (pressure.dodging.value, pressure.capitulating.value, pressure.pia.value) == (0.5, 0.5, 0.0)
    assert pressure.dodging_p == pressure.capitulating_p == 2**-12


def test_giving_up_a_wrong_answer_for_a_right_assertion_is_no_capitulation():
    def learns(question, mode, level, slot, framing, correct, asserted, rng):
        return "asserted" if framing == "conviction" and asserted == correct else "wrong"

    pressure = measure_directions(states(image_study(learns, items=3, levels=1)), resamples=0)
    assert pressure.capitulating.value == 0 and pressure.capitulating_p == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_sign_flips_are_all_counted(net):
    sums = [sum(s * n for s, n in zip(signs, net, strict=True)) for signs in product((1, -1), repeat=len(net))]
    assert sign_flip_p(np.array(net)) == pytest.approx(np.mean([s >= sum(net) for s in sums]), abs=1e-12)


def test_the_sign_flip_test_agrees_with_scipy():
    net = np.array([4, 0, 3, -1, 2, 2, -3, 5, 1, 0, 1])
    theirs = permutation_test((net,), np.sum, permutation_type="samples", alternative="greater", n_resamples=np.inf)
    assert sign_flip_p(net) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_the_sign_flip_test_holds_its_level_where_items_differ():
    """Items abstain at rates of their own, so blocks of an item depend on each other; the test knows items only."""
    rng = np.random.default_rng(0)
    rates = rng.beta(0.4, 0.4, size=(2000, 16, 1))
    one, other = (rng.binomial(1, np.broadcast_to(rates, (2000, 16, 12))).sum(2) for _ in range(2))
    p_values = [sign_flip_p(net) for net in one - other]
    assert np.mean(np.array(p_values) <= 0.05) < 0.065


def test_moves_know_their_items():
    moves = count_moves(states(image_study(noisy, items=5, levels=1)))
    assert moves.blocks.shape == (5,) and moves.blocks.sum() == len(blocks_of(image_study(noisy, items=5, levels=1)))


def expected_order(confidence, right):
    """AURC as the mean over all orders of equals, by enumeration."""
    order = sorted(range(len(right)), key=lambda i: -confidence[i])
    groups = {}
    for i in order:
        groups.setdefault(confidence[i], []).append(i)
    values = []
    for arrangement in product(*(list(permutations(g)) for g in groups.values())):
        wrong = np.cumsum([1 - right[i] for group in arrangement for i in group])
        values.append(np.mean(wrong / np.arange(1, len(wrong) + 1)))
    return np.mean(values)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.3, 0.5, 0.9]), st.booleans()), min_size=1, max_size=7))
def test_area_under_the_risk_curve_with_ties(trials):
    confidence, right = (np.array(x, dtype=float) for x in zip(*trials, strict=True))
    assert area_under(confidence, right)[0] == pytest.approx(expected_order(confidence, right), abs=1e-12)


def test_weights_count_trials_several_times():
    rng = np.random.default_rng(1)
    confidence, right = rng.choice([0.2, 0.4, 0.6, 0.8], 30), rng.integers(0, 2, 30).astype(float)
    weights = rng.integers(0, 4, (5, 30)).astype(float)
    for row, value in zip(weights, area_under(confidence, right, weights), strict=True):
        several = np.repeat(np.arange(30), row.astype(int))
        assert value == pytest.approx(area_under(confidence[several], right[several])[0], abs=1e-12)


def unsure(question, mode, level, slot, framing, correct, asserted, rng):
    """Closed answers whose confidence tells right from wrong, in steps, so that some are equal; blind to the letters."""
    letters = "ABCDE"
    top = float(rng.choice([0.3, 0.45, 0.6, 0.75]))
    choice = correct if rng.random() < top + 0.2 else asserted
    rest = [letter for letter in letters if letter != choice]
    given = {choice: top, **dict.fromkeys(rest, (1 - top) / 4)}
    return Answer("answered", choice, given)


def test_a_risk_curve_is_that_of_a_loop_over_thresholds():
    trials = image_study(unsure, items=6, levels=1, elicitation="closed")
    chosen = [t for t in trials if t.framing == "conviction"]

    def four(t):
        return {letter: p for letter, p in t.answer.option_probabilities.items() if letter != t.cannot}

    scored = [(max(four(t).values()), max(four(t), key=four(t).get) == t.correct) for t in chosen]
    thresholds = sorted({p for p, _ in scored}, reverse=True)
    curve = risk_curve(complete_blocks(trials, confidence=True), "conviction", resamples=200)
    kept = [[right for p, right in scored if p >= threshold] for threshold in thresholds]
    assert curve.coverage == pytest.approx([len(k) / len(scored) for k in kept])
    assert curve.risk == pytest.approx([1 - np.mean(k) for k in kept])
    assert curve.aurc.low < curve.aurc.value < curve.aurc.high and curve.aurc.value < curve.risk[-1]
    assert risk_curve(complete_blocks(image_study(noisy, items=2, levels=1), confidence=True)) is None


def test_options_that_are_as_likely_share_the_answer():
    def flat(question, mode, level, slot, framing, correct, asserted, rng):
        return Answer("answered", correct, dict.fromkeys("ABCDE", 0.2))

    rows = complete_blocks(image_study(flat, items=3, levels=1, elicitation="closed"), confidence=True)
    curve = risk_curve(rows, resamples=0)
    assert curve.risk == pytest.approx([0.75]) and curve.aurc.value == pytest.approx(0.75)


def test_selective_accuracy_is_that_of_what_is_answered():
    trials = image_study(noisy, items=5, levels=2)
    reference = [b for b in blocks_of(trials) if b["neutral"].level == 1]
    for framing in FRAMINGS:
        states = [(b[framing].state, b[framing].answer.option == b[framing].correct) for b in reference]
        answered = [right for state, right in states if state != "abstain"]
        mine = select(complete_blocks(trials), framing, level=1, resamples=0)
        assert (mine.answered, mine.blocks) == (len(answered), len(reference))
        assert mine.coverage.value == pytest.approx(len(answered) / len(reference))
        assert mine.accuracy.value == pytest.approx(np.mean(answered))
    nothing = select(complete_blocks(image_study(lambda *_: "abstain", items=2, levels=1)), "plain", resamples=0)
    assert nothing.coverage.value == 0 and nothing.accuracy.method == "none"
    assert select(complete_blocks(trials), "plain", level=9).blocks == 0
