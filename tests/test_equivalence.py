"""Two one-sided tests against statsmodels and closed forms, without variance, and at the margin."""

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from metrics.bounded_mean import SMALLEST_P
from metrics.equivalence import two_one_sided

nan = float("nan")


@pytest.mark.parametrize("mean, spread, n", [(0.0, 0.3, 60), (0.05, 0.2, 200), (-0.08, 0.5, 500), (0.4, 0.1, 100)])
@pytest.mark.parametrize("margin", [0.1, 0.2])
def test_agrees_with_statsmodels(mean, spread, n, margin):
    rng = np.random.default_rng(n)
    gaps = rng.normal(mean, spread, n).clip(-1, 1)
    ours = two_one_sided(gaps, margin)
    assert ours.p_value == pytest.approx(ttost_paired(gaps, np.zeros(n), -margin, margin)[0], abs=1e-12)
    assert ours.method == "paired t" and ours.equivalent == (ours.p_value < 0.05)
    assert ours.equivalent == (-margin < ours.low and ours.high < margin)


def test_hard_gaps_agree_with_statsmodels_too_and_unknown_ones_are_left_out():
    rng = np.random.default_rng(0)
    gaps = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 300, p=[0.05, 0.05, 0.8, 0.05, 0.05])
    ours = two_one_sided(np.append(gaps, [nan, nan]))
    assert ours.p_value == pytest.approx(ttost_paired(gaps, 0 * gaps, -0.1, 0.1)[0], abs=1e-12)
    assert (ours.probes, ours.unknown, ours.method) == (300, 2, "paired t")


@pytest.mark.parametrize("n, equivalent", [(28, False), (29, True), (500, True)])
def test_without_variance_a_binomial_bound_decides(n, equivalent):
    """None of n gaps differs: the share of those that do is below 1 - 0.05^(1/n), and each moves J by at most 1."""
    ours = two_one_sided(np.zeros(n))
    assert ours.method == "no variance" and ours.equivalent is equivalent
    assert ours.differing_at_most == pytest.approx(1 - 0.05 ** (1 / n))
    assert ours.p_value == pytest.approx(max(0.9**n, SMALLEST_P), abs=1e-9) and ours.p_value > 0
    assert (ours.low, ours.high) == (
        pytest.approx(-ours.differing_at_most, abs=1e-9),
        pytest.approx(ours.differing_at_most, abs=1e-9),
    )
    assert equivalent == (ours.differing_at_most < 0.1)


def test_equal_gaps_that_are_not_zero():
    near = two_one_sided(np.full(200, 0.05))
    assert near.method == "no variance" and near.gap == pytest.approx(0.05) and near.equivalent is True
    assert near.p_value == pytest.approx((0.9 / 0.95) ** 200, rel=1e-3)
    assert two_one_sided(np.full(30, 0.05)).equivalent is False  # a share of 5 % at the bound would reach the margin
    for gap in (0.1, 0.5, 1.0, -1.0):
        far = two_one_sided(np.full(200, gap))
        assert far.equivalent is False and far.p_value == pytest.approx(1) and far.low <= gap <= far.high


def test_identical_twins_are_no_finding():
    ours = two_one_sided(np.array([0.0, 0.0, nan]), identical=True)
    assert (ours.method, ours.equivalent, ours.low, ours.high) == ("identical by construction", True, 0, 0)
    assert np.isnan(ours.p_value) and (ours.probes, ours.unknown) == (2, 1)


def test_identical_twins_with_a_gap_are_tested():
    """Equal requests got different answers: nothing holds by construction then."""
    gaps = np.zeros(100)
    gaps[0] = 1
    ours, tested = two_one_sided(gaps, identical=True), two_one_sided(gaps)
    assert (ours.method, ours.p_value, ours.low) == ("exact", tested.p_value, tested.low)
    assert two_one_sided(np.full(50, nan), identical=True).method == "too few probes"


@pytest.mark.parametrize("gaps", [[], [0.0], [0.02, nan]])
def test_fewer_than_two_probes_decide_nothing(gaps):
    ours = two_one_sided(np.array(gaps))
    assert ours.method == "too few probes" and ours.equivalent is None and np.isnan(ours.p_value)


@pytest.mark.parametrize("gaps, chances", [([0, 1], [0.9, 0.1]), ([-1, 0, 1], [0.05, 0.8, 0.15])])
@pytest.mark.parametrize("n", [30, 50, 200])
def test_level_at_the_margin_by_simulation(gaps, chances, n):
    """J = 0.1 is called equivalent in at most 5 % of samples (s.e. 0.5); t alone does so in up to 19 % of the first."""
    samples, times = np.unique(np.random.default_rng(n).multinomial(n, chances, size=2000), axis=0, return_counts=True)
    called = sum(
        often * bool(two_one_sided(np.repeat(np.array(gaps, dtype=float), sample)).equivalent)
        for sample, often in zip(samples, times, strict=True)
    )
    assert called / 2000 < 0.065


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"a gap of -1\.5 is out of range"):
        two_one_sided(np.array([0.0, -1.5]))
    with pytest.raises(ValueError, match="margin 0 cannot be tested"):
        two_one_sided(np.zeros(5), margin=0)
