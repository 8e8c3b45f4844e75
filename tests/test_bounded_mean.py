"""Exact tests of bounded means against the binomial, against enumeration with another optimizer, and at the boundary."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom

from metrics.bounded_mean import SMALLEST_P, deviating, exact_interval, mean_tails


@pytest.mark.parametrize("n, k, mean", [(10, 0, 0.3), (10, 10, 0.3), (37, 5, 0.1), (500, 260, 0.5), (80, 79, 0.9)])
def test_values_of_0_and_1_get_the_binomial_test(n, k, mean):
    tails = mean_tails(np.arange(n) < k, mean, (0, 1))
    assert tails.below == pytest.approx(binom.cdf(k, n, mean), abs=1e-11)
    assert tails.above == pytest.approx(binom.sf(k - 1, n, mean), abs=1e-11)


@pytest.mark.parametrize("value, mean, bounds", [(0, 0.1, (-1, 1)), (-0.5, 0, (-1.5, 1.5)), (0.3, 0.4, (0, 1))])
@pytest.mark.parametrize("n", [1, 10, 40])
def test_without_variance_the_rest_may_stand_at_the_far_bound(value, mean, bounds, n):
    """All n probes agree with probability (1 - share)^n, where the share is what moves the mean to the candidate."""
    share = (mean - value) / (bounds[1] - value)
    tails = mean_tails(np.full(n, float(value)), mean, bounds)
    assert tails.below == pytest.approx((1 - share) ** n, abs=1e-9)
    assert tails.above == pytest.approx(1)


@pytest.mark.parametrize("values", [[1, 0, 0, 0, -1, 0], [0.5, 0.5, 0, 0, 0], [1, 1, 1, 0, 1, -1], [0, 0, -1, -0.5]])
@pytest.mark.parametrize("mean", [-0.3, 0.1, 0.6])
def test_tails_by_enumeration_under_a_distribution_found_by_another_optimizer(values, mean):
    support = np.array([-1, -0.5, 0, 0.5, 1])
    seen = np.array([values.count(v) for v in support])
    n, observed = len(values), sum(values)
    found = minimize(
        lambda p: -(seen * np.log(np.maximum(p, 1e-300))).sum(),
        np.full(5, 0.2),
        bounds=[(1e-12 if s else 0, 1) for s in seen],
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "eq", "fun": lambda p: p @ support - mean},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    below = above = 0.0
    for counts in product(range(n + 1), repeat=5):
        if sum(counts) == n:
            probability = factorial(n) / prod(map(factorial, counts)) * prod(found.x**counts)
            total = np.dot(counts, support)
            below += probability * (total <= observed + 1e-9)
            above += probability * (total >= observed - 1e-9)
    tails = mean_tails(np.array(values, dtype=float), mean, (-1, 1))
    assert (tails.below, tails.above) == (pytest.approx(below, abs=2e-4), pytest.approx(above, abs=2e-4))


def test_values_off_every_lattice_are_close_to_what_sampling_gives():
    rng = np.random.default_rng(0)
    values = rng.beta(2, 5, 40)
    tails = mean_tails(values, 0.28, (0, 1))  # near enough for no mass to stand at a bound
    away = values - 0.28
    tilts = np.linspace(-1 / 0.72, 1 / 0.28, 20_001)[1:-1]
    tilt = tilts[np.abs((away / (1 + tilts[:, None] * away)).sum(1)).argmin()]
    chances = 1 / 40 / (1 + tilt * away)
    assert chances @ values / chances.sum() == pytest.approx(0.28, abs=1e-4)
    drawn = rng.multinomial(40, chances / chances.sum(), size=100_000) @ values
    assert tails.below == pytest.approx((drawn <= values.sum()).mean(), abs=0.006)


scores = st.lists(st.sampled_from([-1.0, -0.5, -0.125, 0.0, 0.5, 1.0]), min_size=1, max_size=30)


@given(scores, st.floats(-0.95, 0.9))
@settings(max_examples=60, deadline=None)
def test_tails_turn_with_the_sign_and_fall_with_distance(values, mean):
    values = np.array(values)
    tails, mirrored = mean_tails(values, mean, (-1, 1)), mean_tails(-values, -mean, (-1, 1))
    assert (tails.below, tails.above) == (
        pytest.approx(mirrored.above, abs=1e-6),
        pytest.approx(mirrored.below, abs=1e-6),
    )
    farther = mean_tails(values, mean + 0.05, (-1, 1))
    assert farther.below <= tails.below + 1e-6 and farther.above >= tails.above - 1e-6


@given(scores)
@settings(max_examples=30, deadline=None)
def test_the_interval_holds_what_the_tests_do_not_reject(values):
    values = np.array(values)
    low, high = exact_interval(values, (-1, 1))
    assert low <= values.mean() <= high
    for end, outside in ((low, -1e-3), (high, 1e-3)):
        if abs(end) < 0.99:
            assert min(vars(mean_tails(values, end + outside, (-1, 1))).values()) < 0.025
            assert min(vars(mean_tails(values, end - outside, (-1, 1))).values()) > 0.025


SHAPES = [  # values, probabilities and bounds of one probe; t tests err in up to 27 % of samples at some of them
    ([0, 1], [0.9, 0.1], (-1, 1)),
    ([0, 0.5], [0.8, 0.2], (-1, 1)),
    ([-1, 0, 1], [0.05, 0.8, 0.15], (-1, 1)),
    ([-0.5, 0, 1.5], [0.12, 0.84, 0.04], (-1.5, 1.5)),
    ([-0.25, 0, 0.5, 1.5], [0.21, 0.745, 0.015, 0.03], (-1.5, 1.5)),
]


@pytest.mark.parametrize("values, chances, bounds", SHAPES)
@pytest.mark.parametrize("n", [10, 36, 100])
def test_each_side_is_called_at_the_boundary_no_more_often_than_its_level(values, chances, bounds, n):
    """Over 2000 samples at a level of 2.5 % (s.e. 0.35 points), skewed shapes and few probes included."""
    values, mean = np.array(values), float(np.dot(values, chances))
    samples, times = np.unique(np.random.default_rng(n).multinomial(n, chances, size=2000), axis=0, return_counts=True)
    below = above = 0
    for sample, often in zip(samples, times, strict=True):
        tails = mean_tails(np.repeat(values, sample), mean, bounds)
        below, above = below + often * (tails.below <= 0.025), above + often * (tails.above <= 0.025)
    assert below / 2000 < 0.035 and above / 2000 < 0.035


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(0, 0.01), min_size=1, max_size=6),
    st.booleans(),
    st.lists(st.integers(1, 3), min_size=6, max_size=6),
)
def test_values_next_to_a_bound_have_an_interval(distances, above, counts):
    """Confidences near 0 or 1 of a few probes: an end that no mean up to the bound would be rejected at is the bound."""
    values = np.array([1 - d if above else d for d in distances])
    for weights in (None, np.array(counts[: len(values)], dtype=float)):
        low, high = exact_interval(values, (0, 1), counts=weights)
        mean = np.average(values, weights=weights)
        assert 0 <= low <= mean + 1e-9 and mean - 1e-9 <= high <= 1


def test_two_confidences_next_to_one():
    low, high = exact_interval(np.array([0.9987254424159553, 0.9995066043430986]), (0, 1), counts=np.ones(2))
    assert low < 0.2 and high == 1


def test_deviating_counts_those_that_differ_from_the_commonest():
    assert deviating(np.array([0, 0, 0.5, np.nan, 1, 0.1 + 0.2, 0.3])) == 4
    assert deviating(np.array([np.nan])) == 0


def test_bad_input_names_itself_and_tiny_probabilities_are_not_zero():
    with pytest.raises(ValueError, match="there is nothing to test"):
        mean_tails(np.array([np.nan]), 0.1, (0, 1))
    with pytest.raises(ValueError, match=r"reach from -0.2 to 1.0: the bounds are \(0, 1\)"):
        exact_interval(np.array([1, -0.2]), (0, 1))
    with pytest.raises(ValueError, match="the mean 1 cannot be tested"):
        mean_tails(np.ones(3), 1, (0, 1))
    with pytest.raises(ValueError, match="2 dimensions: give one value per probe"):
        mean_tails(np.ones((3, 1)), 0.5, (0, 1))
    assert mean_tails(np.ones(500), 0.1, (0, 1)).above == SMALLEST_P
