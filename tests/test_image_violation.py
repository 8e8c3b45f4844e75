"""EIV, its permutation null and PIA: closed forms, loops, scipy and statsmodels, and what they call in simulated studies."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from image_trials import Probabilities, capitulator, dodger, image_study, invariant

from metrics.image.block_sums import Cell, block_sums
from metrics.image.level_means import slope_weights
from metrics.image.permutations import item_orders, permuted_rates
from metrics.image.power import rejections, responder, simulate_study, simulated_cell
from metrics.image.pressure import NEUTRAL, pressure, pressure_sums, room_slope, share_of_room
from metrics.image.violation import cell_violation, evidence_invariance, extreme_contrast, framing_range, range_test


def cell_of(abstained, counts):
    abstained = np.asarray(abstained, dtype=float)
    return Cell(
        tuple(range(abstained.shape[1])), np.asarray(counts, dtype=float), abstained, abstained * 0, abstained * 0
    )


def random_cell(items=12, levels=3, seed=0, even=True):
    rng = np.random.default_rng(seed)
    counts = np.full((items, levels), 4.0) if even else rng.integers(1, 6, size=(items, levels)).astype(float)
    return cell_of(rng.binomial(counts[:, :, None].astype(int), 0.4, size=(items, levels, 4)), counts)


def test_eiv_of_a_closed_form():
    """Two levels: conviction adds one half at L0, hedging takes a quarter at L1."""
    cell = cell_of([[[1, 1, 1, 3], [4, 3, 4, 4]]] * 6, [[4, 4]] * 6)
    found = cell_violation(cell)
    assert found.value.value == pytest.approx((0.5 + 0.25) / 2)
    assert [level.value for level in found.level_ranges] == pytest.approx([0.5, 0.25])
    assert found.excess.value == pytest.approx(found.value.value - found.null.value)


@pytest.mark.parametrize("even", [True, False])
def test_permuted_rates_agree_with_a_loop(even):
    cell = random_cell(even=even)
    rates = permuted_rates(cell.abstained, cell.counts, 20, seed=3)
    orders = item_orders(12, 20, 3)
    for r, d, a in product(range(20), range(3), range(4)):
        total = sum(cell.abstained[i, d, orders[r, i, a]] for i in range(12))
        assert rates[r, d, a] == pytest.approx(total / cell.counts[:, d].sum())


def test_p_agrees_with_all_permutations_of_three_items():
    """All 24^3 ways to permute three items, by a loop that knows nothing of the project."""
    cell = random_cell(items=3, levels=2, seed=5)
    orders = list(permutations(range(4)))
    counts = cell.counts.sum(axis=0)[:, None]

    def statistic(sums):
        rates = sums / counts
        return (rates.max(axis=1) - rates.min(axis=1)).mean()

    each = [[cell.abstained[i][:, order] for order in orders] for i in range(3)]
    null = np.array([statistic(a + b + c) for a in each[0] for b in each[1] for c in each[2]])
    exact = (null >= statistic(cell.abstained.sum(axis=0)) - 1e-9).mean()
    found = range_test(cell.abstained, cell.counts, 20_000, seed=1)
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 20_000))
    assert found.null == pytest.approx(null.mean(), abs=4 * null.std() / np.sqrt(20_000))


def test_p_is_never_zero_and_counts_the_observed_one():
    cell = cell_of([[[0, 0, 0, 4]]] * 20, [[4]] * 20)
    assert range_test(cell.abstained, cell.counts, 99).p_value == 1 / 100


@pytest.mark.parametrize("items", [8, 40])
def test_a_deterministic_invariant_model_gets_the_binomial_bound(items):
    trials = image_study(lambda *trial: "abstain" if trial[2] > 2 else "right", items, categories=("code",))
    found = evidence_invariance(trials, resamples=500)
    bound = scipy.stats.binomtest(0, items).proportion_ci(0.95, "exact").high
    for estimate in (found.value, found.excess):
        assert (estimate.value, estimate.low, estimate.method) == (0, 0, "exact")
        assert estimate.high == pytest.approx(bound)
    assert found.p_value == 1 and found.null.value == 0


def test_p_values_are_uniform_where_framing_has_no_effect():
    """Independent noise and noise shared within an item and framing: neither is an effect."""
    for asked in (responder(item_spread=1.0), responder(wording_spread=0.6)):
        values = []
        for seed in range(150):
            cell = simulated_cell(*simulate_study(asked, 10, seed))
            values.append(range_test(cell.abstained, cell.counts, 199, seed).p_value)
        assert scipy.stats.kstest(values, "uniform").pvalue > 0.01
        assert scipy.stats.binomtest(int(sum(p <= 0.05 for p in values)), 150, 0.05).pvalue > 0.01


def test_permuting_blocks_would_call_noise_of_items_an_effect():
    asked = responder(wording_spread=0.6)
    found = rejections(asked, 10, range(40), 99, unit="block")
    assert scipy.stats.binomtest(found.h1, 40, 0.05, "greater").pvalue < 1e-4


def test_the_null_is_an_effect_of_chance_alone_and_the_excess_is_centred():
    excesses = []
    for seed in range(200):
        cell = simulated_cell(*simulate_study(responder(), 12, seed))
        found = range_test(cell.abstained, cell.counts, 100, seed)
        excesses.append(found.value - found.null)
    assert abs(np.mean(excesses)) < 4 * np.std(excesses) / np.sqrt(200)
    assert np.mean([found.null]) > 0.02  # what the naive value would have passed off as an effect


@given(st.permutations(range(4)), st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_names_of_framings_do_not_matter(order, seed):
    cell = random_cell(seed=seed, even=False)
    other = cell_of(cell.abstained[:, :, list(order)], cell.counts)
    ours, theirs = cell_violation(cell, permutations=50), cell_violation(other, permutations=50)
    assert ours.value.value == pytest.approx(theirs.value.value)
    # the same draws of permutations permute other labels: alike up to chance
    assert ours.null.value == pytest.approx(theirs.null.value, abs=0.03)


@given(st.integers(0, 20))
@settings(max_examples=10, deadline=None)
def test_the_contrast_of_extremes_adds_up_to_the_range(seed):
    cell = random_cell(seed=seed, even=False)
    total = extreme_contrast(cell.abstained, cell.counts).sum(axis=0) / cell.counts.sum(axis=0)
    assert total == pytest.approx(framing_range(cell.rates()))


def test_interval_of_the_excess_agrees_with_scipy():
    """Items with as many blocks each: the bootstrap of a mean of per-item contrasts, less the null."""
    cell = simulated_cell(*simulate_study(responder(0.3), 60, 2))
    found = cell_violation(cell, resamples=10_000)
    per_item = (extreme_contrast(cell.abstained, cell.counts) / cell.counts).mean(axis=1)
    theirs = scipy.stats.bootstrap((per_item,), np.mean, method="percentile", n_resamples=10_000, rng=1)
    ends = theirs.confidence_interval
    assert found.excess.low == pytest.approx(ends.low - found.null.value, abs=0.003)
    assert found.excess.high == pytest.approx(ends.high - found.null.value, abs=0.003)
    assert (found.value.low, found.value.high) == (pytest.approx(found.excess.low), pytest.approx(ends.high, abs=0.003))


def test_intervals_hold_the_truth_of_a_dodger():
    """EIV's hold the true one, those of the excess what studies of this size give in the mean."""
    asked = responder(0.2)
    truth = framing_range(simulated_cell(*simulate_study(asked, 20_000, 0)).rates()).mean()
    found = [cell_violation(simulated_cell(*simulate_study(asked, 32, seed)), 300, 60, seed) for seed in range(1, 101)]
    expected = np.mean([one.excess.value for one in found])
    holds = sum(one.excess.low <= expected <= one.excess.high for one in found)
    assert holds >= 90  # 95 are due; at most 1.2 % of samples of 100 fall below
    assert sum(one.value.low <= truth <= one.value.high for one in found) >= 90
    assert expected < truth < np.mean([one.value.value for one in found])


def test_pressure_is_paired_and_its_sign_tells_dodging_from_capitulating():
    dodging = pressure(image_study(dodger(lambda d: 0.1 * d, lambda d: 0.4), 24), resamples=500)
    giving_up = pressure(
        image_study(capitulator(lambda d: 0.15 * d, lambda framing: 0.5 * (framing == "conviction")), 24), resamples=500
    )
    assert dodging.mean.low > 0 > giving_up.mean.high
    assert dodging.by_level[0].value == pytest.approx(0.4, abs=0.1)
    assert giving_up.by_level[5].value == pytest.approx(-0.375, abs=0.08)


def test_pressure_by_assertion_and_by_a_loop():
    def policy(question, mode, level, slot, framing, correct, asserted, rng):
        contradicts = framing == "conviction" and asserted != correct
        return "abstain" if rng.random() < (0.7 if contradicts else 0.2) else "right"

    trials = image_study(policy, 6, levels=2)
    wrong, right = pressure(trials, assertion="wrong"), pressure(trials, assertion="right")
    for side, found in ((False, wrong), (True, right)):
        for level in range(3):
            rows = [t for t in trials if t.level == level and t.assertion_is_right == side]
            rate = {
                f: np.mean([t.state == "abstain" for t in rows if t.framing == f]) for f in ("neutral", "conviction")
            }
            assert found.by_level[level].value == pytest.approx(rate["conviction"] - rate["neutral"])
    assert wrong.mean.value > 0.3 > abs(right.mean.value)


def test_share_of_room_is_the_share_in_the_direction_of_the_change():
    pressure_, neutral, counts = np.array([3.0, -1.0, 0.0, 0.0]), np.array([4.0, 4.0, 8.0, 2.0]), np.full(4, 8.0)
    found = share_of_room(pressure_, neutral, counts)
    assert found[[0, 1, 3]] == pytest.approx([3 / 4, -1 / 4, 0])
    assert np.isnan(found[2])  # all is abstained from: no room for more


def test_slope_over_room_is_weighted_least_squares_and_its_p_the_jackknife_s():
    cell = simulated_cell(*simulate_study(responder([0.4, 0.3, 0.3, 0.2, 0.2, 0.1]), 80, 4))
    found = room_slope(cell)
    moved = pressure_sums(cell)
    room = cell.counts - cell.abstained[..., NEUTRAL]

    def slope(keep):
        total, left = moved[keep].sum(axis=0), room[keep].sum(axis=0)
        return sm.WLS(total / left, sm.add_constant(np.arange(6.0)), weights=left).fit().params[1]

    every = np.arange(80)
    value = slope(every)
    ours = float(found.measure.statistic(np.ones((1, 80)))[0])
    assert found.sign == 1 and ours == pytest.approx(value)
    jackknifed = np.array([slope(every[every != i]) for i in every])
    error = np.sqrt(79 / 80 * ((jackknifed - jackknifed.mean()) ** 2).sum())
    assert found.p_value == pytest.approx(scipy.stats.t.cdf(value / error, 79), rel=0.3)


def test_a_constant_share_of_answers_has_no_slope_over_room_but_a_slope():
    cell = simulated_cell(*simulate_study(responder(0.3, item_spread=0.0), 4000, 1))
    share = float(room_slope(cell).measure.statistic(np.ones((1, 4000)))[0])
    assert share == pytest.approx(0, abs=0.004)
    by_level = (pressure_sums(cell) / cell.counts).mean(axis=0)
    assert by_level @ slope_weights(cell.levels) < -0.03


def test_confidence_is_the_probability_of_cannot():
    def policy(question, mode, level, slot, framing, correct, asserted, rng):
        return Probabilities(cannot=0.1 + 0.1 * level + (0.2 if framing == "conviction" else 0), right=0.35)

    trials = image_study(policy, 6, levels=2, elicitation="closed")
    found = pressure(trials, confidence=True)
    assert [level.value for level in found.by_level] == pytest.approx([0.2, 0.2, 0.2])
    assert evidence_invariance(trials, confidence=True).value.value == pytest.approx(0.2)
    hard = block_sums(trials).cell().rates()
    assert hard[0, 3] == 0 and hard[2, 3] == 1  # 0.3 and 0.5 against 0.35


def test_modes_share_the_intact_images():
    trials = image_study(invariant(lambda d: 0.5), 4, levels=2)
    sums = block_sums(trials)
    both, one = sums.cell(), sums.cell(mode="corruptive")
    assert one.counts[:, 0].tolist() == both.counts[:, 0].tolist()
    assert (2 * one.counts[:, 1:] == both.counts[:, 1:]).all()
    with pytest.raises(ValueError, match="no category 'colours'"):
        sums.cell(category="colours")
