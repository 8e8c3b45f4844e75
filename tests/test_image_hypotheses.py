"""H1 and H2: their tests against scipy, what they call in simulated studies, and what they say beside a p-value."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from image_trials import capitulator, dodger, image_study, invariant

from metrics.bounded_mean import mean_tails
from metrics.image.block_sums import block_sums
from metrics.image.hypotheses import hypothesis_1, hypothesis_2
from metrics.image.level_means import low_minus_high_weights, over_levels, p_below, per_item_values, slope_weights
from metrics.image.level_trend import direction, level_trend, trend_p
from metrics.image.power import (
    BASE_RATES,
    SimulatedResponder,
    false_positive_rate,
    rejections,
    responder,
    simulate_study,
    simulated_cell,
    study_tests,
)
from metrics.image.violation import extreme_contrast, range_test
from metrics.intervals import NOTHING, estimates


def rejects_no_more_often_than(found, studies, level=0.05):
    """No evidence at 1 % that it does."""
    return scipy.stats.binomtest(found, studies, level, "greater").pvalue > 0.01


@pytest.mark.parametrize("levels", [(0, 1), (0, 1, 2, 3, 4, 5), (0, 2, 5)])
def test_slope_weights_are_those_of_least_squares(levels):
    values = np.random.default_rng(1).random(len(levels))
    assert slope_weights(levels) @ values == pytest.approx(np.polyfit(levels, values, 1)[0])


def test_low_minus_high():
    assert low_minus_high_weights((0, 1, 2, 3)) == pytest.approx([0.5, 0.5, -0.5, -0.5])
    assert low_minus_high_weights((0, 2, 3, 4)) == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])
    assert np.isnan(low_minus_high_weights((0, 1))).all()


def test_one_sided_p_is_that_of_scipy_s_t_test():
    rng = np.random.default_rng(2)
    counts = np.full((30, 3), 6.0)
    sums = rng.integers(-2, 4, size=(30, 3)).astype(float)
    weights = slope_weights((0, 1, 2))
    theirs = scipy.stats.ttest_1samp((sums / 6) @ weights, 0.02, alternative="less").pvalue
    assert p_below(sums, counts, weights, 0.02, (-1, 1)) == pytest.approx(theirs)


def test_one_sided_p_is_exact_where_few_items_deviate():
    sums, counts = np.zeros((40, 1)), np.ones((40, 1))
    sums[:3] = 1
    ours = p_below(sums, counts, np.ones(1), 0.2, (0, 1))
    assert ours == pytest.approx(scipy.stats.binomtest(3, 40, 0.2, "less").pvalue)
    values = np.where(np.arange(40) < 3, -0.5, 0.0)
    assert p_below(-sums / 2, counts, np.ones(1), -0.01, (-1, 1)) == pytest.approx(
        mean_tails(values, -0.01, (-1, 1)).below
    )


def test_uneven_blocks_weigh_as_a_ratio_of_sums():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 5, size=(50, 2)).astype(float)
    counts[:2] = 0
    sums = rng.binomial(counts.astype(int), 0.5).astype(float)
    weights = np.array([0.7, -0.2])
    measure = over_levels(sums, counts, weights, (0, 1))
    wanted = weights @ (sums.sum(axis=0) / counts.sum(axis=0))
    assert float(measure.statistic(np.ones((1, 50)))[0]) == pytest.approx(wanted)
    assert np.nanmean(per_item_values(sums, counts, weights)) == pytest.approx(wanted)
    drawn = rng.multinomial(50, np.full(50, 0.02), size=5).astype(float)
    by_hand = [weights @ ((w @ sums) / (w @ counts)) for w in drawn]
    assert measure.statistic(drawn) == pytest.approx(by_hand)
    assert estimates([measure], 200)[0].probes == (counts.sum(axis=1) > 0).sum()


def test_a_dodger_is_found_and_named():
    trials = image_study(dodger(lambda d: 0.1 * d, lambda d: 0.5 if d < 2 else 0.0), 24)
    first = hypothesis_1(trials, resamples=200)
    second, trend = hypothesis_2(trials, resamples=200)
    assert first.supported and first.direction == "dodging" and first.effect.low > 0
    assert second.supported and trend.slope.value < 0 and trend.low_minus_high.value == pytest.approx(0.45, abs=0.1)
    assert trend.room_slope_p < 0.01 and not second.cautions
    assert trend.directions[:2] == ("dodging", "dodging")
    assert trend.low_minus_high_p < 0.001


def test_a_capitulator_is_found_and_named():
    trials = image_study(capitulator(lambda d: 0.15 * d, lambda framing: 0.5 * (framing == "conviction")), 16)
    found = hypothesis_1(trials, resamples=200)
    assert found.supported and found.direction == "capitulating"
    assert hypothesis_2(trials)[0].supported is False  # its effect grows with the level


def test_an_invariant_model_is_not():
    found = hypothesis_1(image_study(invariant(lambda d: 0.15 * d), 16, seed=3), resamples=200)
    assert found.supported is False and found.effect.low <= 0 <= found.effect.high


def test_the_same_share_of_answers_at_every_level_is_said_to_be_no_more():
    cell_trials = image_study(dodger(lambda d: 0.2 * d, lambda d: 0.5), 24)
    test, trend = hypothesis_2(cell_trials)
    assert test.supported and trend.room_slope_p > 0.05 and trend.ceiling == (5,)
    assert any("no" in caution and "room" in caution for caution in test.cautions)
    assert any(caution.startswith("at L5 at least 95%") for caution in test.cautions)


def test_a_change_of_sign_between_levels_is_no_trend_of_size():
    """Dodges by 0.4 at low levels and capitulates by 0.4 at high ones."""
    base = np.array([0.1, 0.2, 0.5, 0.5, 0.7, 0.8])
    moves = np.zeros((6, 4))
    moves[:3, 3], moves[3:, 3] = 0.4 / (1 - base[:3]), -0.4 / base[3:]
    cell = simulated_cell(*simulate_study(SimulatedResponder(base, moves, item_spread=0.0), 60, 1))
    trend = level_trend(cell, 200)
    assert trend.pressure_slope.high < -0.1 and trend.slope_p > 0.05
    assert set(trend.directions) == {"dodging", "capitulating"}


def test_floor_and_ceiling_are_named():
    never = hypothesis_1(image_study(lambda *trial: "right", 6))
    always = hypothesis_1(image_study(lambda *trial: "abstain", 6))
    assert never.p_value == always.p_value == 1
    assert "floor" in never.cautions[0] and "ceiling" in always.cautions[0]


@pytest.mark.parametrize("items", [0, 1, 4])
def test_too_few_items_are_not_tested(items):
    trials = image_study(dodger(lambda d: 0.1, lambda d: 0.9), items)
    first, (second, trend) = hypothesis_1(trials), hypothesis_2(trials)
    assert first.supported is second.supported is None
    assert np.isnan(first.p_value) and np.isnan(second.p_value)
    assert (first.effect.method == "none") == (items == 0) and (trend.levels == ()) == (items == 0)


def test_one_level_has_no_trend():
    trials = [t for t in image_study(dodger(lambda d: 0.1, lambda d: 0.5), 8) if t.level == 0]
    test, trend = hypothesis_2(trials)
    assert test.supported is None and trend.slope == NOTHING and trend.levels == (0,)


def test_direction_is_called_at_two_and_a_half_percent_on_either_side():
    counts, one = np.full((40, 1), 10.0), np.ones(1)
    values = np.random.default_rng(1).integers(-3, 6, size=(40, 1)).astype(float)
    p = scipy.stats.ttest_1samp(values[:, 0] / 10, 0).pvalue
    assert (
        p < 0.05 and direction(values, counts, one) == "dodging" and direction(-values, counts, one) == "capitulating"
    )
    values -= values.mean()
    assert direction(values, counts, one) == direction(values * 0, counts, one) == "not shown"


@pytest.mark.parametrize(
    "asked",
    [
        responder(),
        responder(0.14 / (1 - np.array(BASE_RATES)), item_spread=0.0),
        responder(0.14 / (1 - np.array(BASE_RATES)), item_spread=0.0, repeats=True),
        responder(0.2, base=(0.5,) * 6, item_spread=0.0),
    ],
    ids=["none", "flat", "flat and repeated", "flat, half abstained from"],
)
def test_h2_keeps_its_level_under_a_flat_effect(asked):
    found = rejections(asked, 20, range(100), 60)
    assert rejects_no_more_often_than(found.h2, 100)


def test_beyond_the_room_keeps_its_level_under_a_constant_share():
    for share in (0.2, -0.4):
        found = rejections(responder(share), 20, range(150), 2)
        assert rejects_no_more_often_than(found.beyond_room, 150)


def test_invariant_models_are_flagged_no_more_often_than_they_may():
    """The script `image_power.py` does the same with 200 seeds and 1000 permutations."""
    rate = false_positive_rate(range(100), items=12, permutations=99)
    assert rejects_no_more_often_than(round(100 * rate), 100)


def test_power_rises_with_items():
    asked = responder(0.2 * np.linspace(1, 0, 6))
    few, many = rejections(asked, 6, range(30), 99), rejections(asked, 40, range(30), 99)
    assert few.h1 < many.h1 >= 29 and few.h2 < many.h2 >= 28


def test_a_simulated_study_has_the_blocks_of_a_real_one_and_its_rates():
    real = block_sums(image_study(invariant(lambda d: 0.3), 3)).cell()
    cell = simulated_cell(*simulate_study(responder(item_spread=0.0), 3, 0))
    assert cell.counts.tolist() == real.counts.tolist() and cell.levels == real.levels
    many = simulated_cell(*simulate_study(responder([0.5, 0, 0, 0, 0, -0.5], item_spread=0.0), 4000, 0))
    rates = many.rates()
    assert rates[:, 0] == pytest.approx(BASE_RATES, abs=0.01)
    assert rates[[0, 5], 3] == pytest.approx([0.515, 0.425], abs=0.01)


def test_a_study_is_decided_by_its_seed_and_follows_the_pipeline():
    asked = responder(0.1)
    assert study_tests(asked, 8, 5, 50) == study_tests(asked, 8, 5, 50) != study_tests(asked, 8, 6, 50)
    cell = simulated_cell(*simulate_study(asked, 8, 5))
    ranges = range_test(cell.abstained, cell.counts, 50, 5)
    assert study_tests(asked, 8, 5, 50).h2 == trend_p(
        cell.abstained, cell.counts, slope_weights(cell.levels), ranges.null_ranges
    )
    trend = level_trend(cell, permutations=50, seed=5)
    contrast = extreme_contrast(cell.abstained, cell.counts).sum(axis=0) / cell.counts.sum(axis=0)
    wanted = np.polyfit(range(6), contrast - ranges.null_ranges, 1)[0]
    assert trend.slope.value == pytest.approx(wanted)
