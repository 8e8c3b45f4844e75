"""McNemar's exact test and Holm's adjustment against statsmodels, enumeration and simulation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from metrics.multiplicity import holm
from metrics.paired_tests import PairedTest, mcnemar_exact

nan = float("nan")
binary = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)


@given(binary)
@settings(deadline=None)
def test_on_binary_outcomes_it_is_the_exact_test_of_mcnemar(pairs):
    first, second = np.array(pairs, dtype=float).T
    table = [[((first == a) & (second == b)).sum() for b in (1, 0)] for a in (1, 0)]
    ours, theirs = mcnemar_exact(first, second), mcnemar(table, exact=True)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert (ours.first_only, ours.second_only) == (table[0][1], table[1][0])
    assert (ours.pairs, ours.ties, ours.unknown) == (len(pairs), table[0][0] + table[1][1], 0)


@pytest.mark.parametrize("higher, lower", [(6, 1), (4, 4), (0, 9), (3, 5)])
def test_p_value_by_enumeration_of_all_directions(higher, lower):
    n = higher + lower
    splits = [sum(signs) for signs in product((0, 1), repeat=n)]
    extreme = sum(abs(k - n / 2) >= abs(higher - n / 2) for k in splits) / 2**n
    first = np.array([1.0] * higher + [0.0] * lower + [0.5] * 3)
    second = np.array([0.5] * higher + [0.5] * lower + [0.5] * 3)
    assert mcnemar_exact(first, second) == PairedTest(higher, lower, n + 3, 3, pytest.approx(extreme), 0)


def test_unknown_probes_are_left_out_and_counted():
    ours = mcnemar_exact(np.array([1, nan, 0, nan, 1]), np.array([0, 1, nan, nan, 1]))
    assert ours == PairedTest(1, 0, 2, 1, 1.0, 3)


def test_all_ties_say_nothing_and_no_pair_gives_no_number():
    assert mcnemar_exact(np.ones(5), np.ones(5)).p_value == 1
    assert np.isnan(mcnemar_exact(np.array([nan]), np.array([1.0])).p_value)
    assert np.isnan(mcnemar_exact(np.array([]), np.array([])).p_value)


@pytest.mark.parametrize("probes, differing", [(20, 0.3), (100, 0.2), (500, 0.1)])
def test_level_by_simulation_with_correlated_outcomes_within_probes(probes, differing):
    """Four outcomes a probe that rise and fall together: counted one by one they would reject far too often."""
    rng = np.random.default_rng(probes)
    rejected = 0
    for _ in range(600):
        direction = rng.choice([0, -1, 1], probes, p=[1 - differing, differing / 2, differing / 2])
        sizes = rng.integers(1, 5, probes) / 4  # how many of the four outcomes move
        rejected += mcnemar_exact(0.5 + direction * sizes / 2, np.full(probes, 0.5)).p_value <= 0.05
    assert 0.002 <= rejected / 600 <= 0.07


@pytest.mark.parametrize(
    "first, second, message",
    [
        ([1, 0], [1], r"shapes \(2,\) and \(1,\): give both conditions of the same probes"),
        ([1, -1], [1, 0], r"outside \[0, 1\]: give shares of right answers"),
        ([[1]], [[1]], r"shapes \(1, 1\)"),
    ],
)
def test_bad_scores_are_refused(first, second, message):
    with pytest.raises(ValueError, match=message):
        mcnemar_exact(np.array(first), np.array(second))


@pytest.mark.parametrize(
    "p_values", [[0.2], [0.04, 0.01, 0.03, 0.9], [0.02] * 4, [0, 1, 0.5], [0.001, 0.3, 0.02, 0.02]]
)
def test_holm_agrees_with_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_by_its_definition(p_values):
    """A test is rejected at alpha if it and all smaller ones pass alpha / (number of tests not yet rejected)."""
    for ours, p in zip(holm(p_values), p_values, strict=True):
        smaller = sorted(p_values)[: sorted(p_values).index(p) + 1]
        assert ours == min(1, max((len(p_values) - i) * q for i, q in enumerate(smaller)))


def test_tests_that_were_not_made_do_not_count():
    adjusted = holm([0.01, None, 0.04, nan, 0.03])
    assert (adjusted[0], adjusted[2], adjusted[4]) == tuple(pytest.approx(p) for p in (0.03, 0.06, 0.06))
    assert adjusted[1] is None and np.isnan(adjusted[3])
    assert holm([]) == [] and holm([None]) == [None]
    with pytest.raises(ValueError, match=r"p-value 1\.2 at place 1 is none"):
        holm([0.1, 1.2])
