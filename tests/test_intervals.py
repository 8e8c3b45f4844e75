"""Intervals against scipy, closed forms, and a simulation of their coverage."""

import numpy as np
import pytest
import scipy.stats

from metrics.intervals import NOTHING, estimate, mean_over_probes


def rate(values, **kwargs):
    values = np.asarray(values, dtype=float)
    return estimate(mean_over_probes(values, np.ones(len(values))), values, (0, 1), **kwargs)


def test_bootstrap_agrees_with_scipy():
    values = np.random.default_rng(5).random(60) < 0.7
    ours = rate(values)
    theirs = scipy.stats.bootstrap((values.astype(float),), np.mean, method="percentile", n_resamples=10_000, rng=1)
    assert ours.value == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.02)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.02)
    assert ours.method == "bootstrap"


def test_bootstrap_agrees_with_the_normal_approximation_at_large_n():
    values = np.random.default_rng(6).normal(0.4, 0.1, 4000)
    ours = rate(values)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert (ours.low, ours.high) == (
        pytest.approx(values.mean() - half, abs=3e-4),
        pytest.approx(values.mean() + half, abs=3e-4),
    )


def test_clusters_not_trials_are_resampled():
    """Ten trials per probe that all agree carry the information of one."""
    probes = (np.random.default_rng(7).random(40) < 0.5).astype(float)
    clustered = estimate(mean_over_probes(probes * 10, np.full(40, 10.0)), probes, (0, 1))
    assert clustered == rate(probes)


def test_seed_decides():
    values = np.random.default_rng(8).random(50)
    assert rate(values) == rate(values)
    assert rate(values, seed=1).low != rate(values).low


@pytest.mark.parametrize("n", [5, 64, 500])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_probes_alike_gets_the_binomial_bound(n, value):
    ours = rate([value] * n)
    theirs = scipy.stats.binomtest(int(value * n), n).proportion_ci(0.95, "exact")
    assert (ours.low, ours.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    assert ours.method == "exact"


def test_differences_that_are_all_zero_are_bounded_on_both_sides():
    zeros = np.zeros(64)
    ours = estimate(mean_over_probes(zeros, np.ones(64)), zeros, (-1, 1))
    assert ours.low == -ours.high == pytest.approx(-(1 - 0.025 ** (1 / 64)))


def test_by_construction_has_no_width_and_nothing_has_no_number():
    zeros = np.zeros(10)
    ours = estimate(mean_over_probes(zeros, np.ones(10)), zeros, (-1, 1), by_construction=True)
    assert (ours.low, ours.value, ours.high, ours.method) == (0, 0, 0, "by construction")
    nothing = estimate(mean_over_probes(zeros, zeros), np.full(10, np.nan), (0, 1))
    assert nothing.method == NOTHING.method == "none"


def test_probes_without_a_count_do_not_count():
    numerators, denominators = np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0])
    ours = estimate(mean_over_probes(numerators, denominators), np.array([1.0, 0.0, np.nan]), (0, 1))
    assert ours.value == 0.5 and ours.probes == 2


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_coverage_by_simulation(p):
    """Of 300 samples of 64 probes, the intervals hold the truth about as often as they say (s.e. 1.3 %)."""
    rng = np.random.default_rng(11)
    held = 0
    for i in range(300):
        interval = rate(rng.random(64) < p, resamples=2000, seed=i)
        held += interval.low <= p <= interval.high
    assert 0.90 <= held / 300 <= 0.99
