"""Power and numbers of probes against loops, Monte Carlo and statsmodels."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from statsmodels.stats.weightstats import ttost_paired

from metrics.paired_tests import mcnemar_exact
from metrics.power import (
    equivalence_power,
    probes_for_equivalence,
    probes_for_mean,
    probes_needed,
    sign_test_power,
    smallest_detectable,
)


def power_by_loop(probes, gap, discordant, alpha=0.05):
    total = 0.0
    for m in range(1, probes + 1):
        for k in range(m + 1):
            if binomtest(k, m).pvalue <= alpha:
                chance = binom.pmf(m, probes, discordant) * binom.pmf(k, m, (discordant + gap) / 2 / discordant)
                total += chance
    return total


@pytest.mark.parametrize(
    "probes, gap, discordant, alpha",
    [(10, 0.5, 0.6, 0.05), (24, 0.3, 0.3, 0.05), (17, 0.0, 0.5, 0.05), (6, 0.9, 0.9, 0.05), (30, -0.2, 0.5, 0.01)],
)
def test_power_by_a_loop_over_all_outcomes(probes, gap, discordant, alpha):
    assert sign_test_power(probes, gap, discordant, alpha) == pytest.approx(
        power_by_loop(probes, gap, discordant, alpha), abs=1e-12
    )


@pytest.mark.parametrize("probes, gap, discordant", [(100, 0.12, 0.2), (500, 0.04, 0.06), (60, 0.3, 1.0)])
def test_power_by_monte_carlo_with_the_test_itself(probes, gap, discordant):
    rng = np.random.default_rng(probes)
    chances = [(discordant - gap) / 2, 1 - discordant, (discordant + gap) / 2]
    rejected = 0
    for _ in range(800):
        gaps = rng.choice([0.0, 0.5, 1.0], probes, p=chances)
        rejected += mcnemar_exact(gaps, np.full(probes, 0.5)).p_value <= 0.05
    assert sign_test_power(probes, gap, discordant) == pytest.approx(rejected / 800, abs=0.055)  # 3 s.e.


@pytest.mark.parametrize(
    "gap, discordant", [(0.5, 0.6), (0.3, 0.3), (0.3, 1.0), (0.2, 0.25), (0.9, 1.0), (1.0, 1.0), (-0.4, 0.7)]
)
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_probes_needed_by_a_search_over_all_numbers(gap, discordant, power):
    """The first number after the last that falls short, teeth of the saw included."""
    short = [n for n in range(1, 400) if sign_test_power(n, gap, discordant) < power]
    assert probes_needed(gap, discordant, power) == max(short) + 1


def test_teeth_matter():
    """With all probes discordant, a number with enough power may be followed by one without."""
    enough = [n for n in range(1, 200) if sign_test_power(n, 0.3, 1.0) >= 0.8]
    assert min(enough) < probes_needed(0.3, 1.0)


def test_large_numbers_are_near_the_normal_approximation():
    """(1.96 sqrt(D) + 0.84 sqrt(D - J^2))^2 / J^2, which the exact test exceeds by little."""
    for gap, discordant in ((0.05, 0.5), (0.03, 0.2)):
        approximate = ((1.95996 * discordant**0.5 + 0.84162 * (discordant - gap**2) ** 0.5) / gap) ** 2
        assert approximate < probes_needed(gap, discordant) < approximate * 1.08


@pytest.mark.parametrize("probes, discordant", [(40, 0.3), (500, 0.1), (5000, 0.5)])
def test_smallest_detectable_has_just_the_power(probes, discordant):
    gap = smallest_detectable(probes, discordant)
    assert sign_test_power(probes, gap, discordant) >= 0.8 > sign_test_power(probes, gap - 1e-4, discordant)


def test_what_cannot_be_detected_or_cannot_be():
    assert np.isnan(smallest_detectable(5, 1.0)) and np.isnan(smallest_detectable(500, 0.004))
    with pytest.raises(ValueError, match="the share of discordant probes lies between"):
        sign_test_power(100, 0.3, 0.2)
    with pytest.raises(ValueError, match="a gap of zero is never detected"):
        probes_needed(0, 0.5)
    with pytest.raises(ValueError, match="more than 200000 probes"):
        probes_needed(1e-4, 1.0)
    with pytest.raises(ValueError, match="0 < alpha < power < 1"):
        probes_needed(0.1, 0.2, power=1.0)


def test_equivalence_power_by_monte_carlo():
    rng = np.random.default_rng(0)
    shown = sum(ttost_paired(rng.normal(0.03, 0.4, 150), np.zeros(150), -0.1, 0.1)[0] < 0.05 for _ in range(800))
    assert equivalence_power(150, 0.03, 0.4) == pytest.approx(shown / 800, abs=0.055)
    assert equivalence_power(10, 0.0, 1.0) == 0  # the interval is wider than the margins
    assert (equivalence_power(10, 0.05, 0.0), equivalence_power(10, 0.2, 0.0)) == (1, 0)


def test_probes_for_equivalence_are_just_enough():
    probes = int(probes_for_equivalence(0.02, 0.5))
    assert equivalence_power(probes, 0.02, 0.5) >= 0.8 > equivalence_power(probes - 1, 0.02, 0.5)
    assert probes_for_equivalence(0.1, 0.5) == np.inf and probes_for_equivalence(0.09999, 0.7) == np.inf


def test_probes_for_a_mean_is_the_textbook_formula():
    assert probes_for_mean(0.1, 0.5, power=0.8, alpha=0.05) == np.ceil((1.64485 + 0.84162) ** 2 * 25)
    assert probes_for_mean(0.0, 0.5) == np.inf
