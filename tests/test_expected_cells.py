"""Every cell of the paper's tables has a closed form: checked by brute force, cell by cell, and by its own identities."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observer_simulation import Simulation, random_draws
from reversal_observer import Tendencies
from reversal_observer import expected_reversal as enumerated
from scipy.stats import norm

from lmms_eval_tasks.expected_cells import TASKS, expected_cells, expected_measures
from lmms_eval_tasks.expected_deference import expected_deference, sight_of
from lmms_eval_tasks.expected_reversal import expected_one_offset, expected_reversal
from lmms_eval_tasks.observer_policy import ObserverPolicy
from stimuli_builder.build import build_release
from stimuli_builder.draws import draw_fraction
from stimuli_builder.release import Release

SEEDS = 2000
FAMILY_ERROR = 0.01  # chance that any cell of any policy is called wrong though all are right
POLICIES = {
    "reader": ObserverPolicy(),
    "defers": ObserverPolicy(reading=0.9, deference=1.0),
    "half defers": ObserverPolicy(reading=0.9, deference=0.5, mild_deference=0.2, order_prior=0.7),
    "prior by question": ObserverPolicy(reading=0.3, order_prior=0.85, prior_by="question", letter_bias=0.2),
    "prior by view": ObserverPolicy(reading=0.1, order_prior=0.9),
    "position": ObserverPolicy(reading=0.8, visible_first=0.9, order_prior=0.3),
    "letters": ObserverPolicy(reading=0.7, letter_bias=0.6, deference=0.3, order_prior=0.8),
    "dilutes": ObserverPolicy(reading=0.95, dilution=1.2, reading_with_time=0.6, deference=0.4),
    "states confidence": ObserverPolicy(
        0.8, 0.4, 0.7, 0.15, mild_deference=0.1, visible_first=0.4, dilution=0.3, confidence=0.75, prior_by="question"
    ),
    "timid": ObserverPolicy(reading=1.0, order_prior=1.0, confidence=0.6),
}


@pytest.fixture(scope="module")
def paper_release(tmp_path_factory, catalogue) -> Release:
    """8 probes with everything that the paper's tasks need; 3 offsets."""
    out = tmp_path_factory.mktemp("paper") / "release"
    return build_release(catalogue, out, (8, 16, 24, 32, 48, 64), 8, 5, 64, "mit", workers=1, reversal_offsets=3)


@pytest.fixture(scope="module")
def simulated(paper_release):
    """(policy, task, cell, expected, values, denominators) of every policy and cell."""
    found = []
    for name, policy in POLICIES.items():
        expected = {task: expected_cells(policy, paper_release, task) for task in TASKS}
        for task, cell, values, counts in Simulation(policy, random_draws(SEEDS)).cells(paper_release):
            found.append((name, task, cell, expected[task].pop(cell), np.broadcast_to(values, SEEDS), counts))
        left = {task: set(cells) for task, cells in expected.items() if cells and not task.endswith("_adaptive")}
        assert not left, f"{name}: closed forms that nothing was simulated for"
    return found


def test_every_cell_by_brute_force(simulated):
    """The mean over seeds lies within what a normal mean may deviate by, at a family-wise error of 1 %.

    A ratio r of sums is compared by the mean of numerator - r denominator, which is 0.
    """
    bound = norm.isf(FAMILY_ERROR / len(simulated) / 2)
    assert len(simulated) > 900
    wrong = []
    for name, task, cell, expected, values, counts in simulated:
        if counts is not None and not np.any(counts):
            assert np.isnan(expected.value), (name, cell)
            continue
        deviations = values - expected.value * (1 if counts is None else counts)
        error = deviations.std(ddof=1) / np.sqrt(SEEDS)
        if abs(deviations.mean()) > bound * error + 1e-9:
            wrong.append((name, task, cell, expected, float(deviations.mean()), float(error)))
    assert not wrong


def test_what_is_called_certain_never_varies(simulated):
    """And most of what does not vary over that many seeds is known to be certain."""
    constant = certain = 0
    for name, _, cell, expected, values, counts in simulated:
        answered = np.full(SEEDS, True) if counts is None else np.broadcast_to(counts, SEEDS) > 0
        ratios = values[answered] / (1 if counts is None else counts[answered])
        if expected.certain:
            assert np.allclose(ratios, expected.value, atol=1e-9, rtol=0), (name, cell)
        constant += len(ratios) > 0 and np.ptp(ratios) < 1e-9
        certain += expected.certain and len(ratios) > 0
    assert certain > 0.9 * constant > 300


def test_the_observer_decides_as_the_simulation_does(paper_release):
    """On the same draws the policy and its independent description give the same answers, view by view."""
    seeds = range(4)
    for policy in (POLICIES["states confidence"], POLICIES["position"], POLICIES["dilutes"], POLICIES["half defers"]):
        for part in (8, 16, 32, "reversal"):
            for stored in paper_release.probes(part)[:3]:
                probe = stored.probe
                for view in stored.views:
                    for claim in ("none", "mild", "strong"):
                        for direction in ("forward", "reversed"):
                            sight = sight_of(probe, view, claim, "text", direction)

                            def draws(name, *what, question=sight.question, view=sight.view):
                                names = (question,) if len(what) == 1 else (view, question)
                                return np.array([draw_fraction(seed, name, *names) for seed in seeds])

                            step = -1 if direction == "reversed" else 1
                            answer, insists = Simulation(policy, draws).e1_first(
                                stored, view.frames[::step], view.kinds[::step], claim, True
                            )
                            for seed in seeds:
                                seeded = replace(policy, seed=seed)
                                e1_named = probe.named_order == "e1_first"
                                assert ((seeded.order(sight) == "first") == e1_named) == bool(answer[seed])
                                assert seeded.insists_on_a(sight) == bool(insists[seed])


@pytest.mark.parametrize(("threshold", "budgets"), [(0.0, (8, 16, 32)), (0.1, (8, 32)), (0.5, (16,)), (1.0, (8, 16))])
def test_the_reversal_test_at_other_thresholds_and_schedules(paper_release, threshold, budgets):
    probes = paper_release.probes("reversal")
    names = {"accuracy": "accuracy", "coverage": "coverage", "mean_k_answered": "budget_answered"}
    names["mean_k_all"] = "budget_all"
    for name in ("half defers", "position", "prior by question", "states confidence"):
        expected = expected_reversal(POLICIES[name], probes, threshold, budgets)
        simulation = Simulation(POLICIES[name], random_draws(SEEDS))
        for _, cell, values, counts in simulation.reversal(probes, threshold, budgets):
            if cell in names and (counts is None or np.any(counts)):
                wanted = getattr(expected, names[cell]).value
                deviations = values - wanted * (1 if counts is None else counts)
                error = np.std(deviations, ddof=1) / np.sqrt(SEEDS)
                assert abs(np.mean(deviations)) <= 4.5 * error + 1e-9, (name, cell)


def test_identical_looks_share_their_draw(paper_release):
    """A video that looks at one view three times: R is 0, 1 or -1 only, and never a third."""
    stored = paper_release.probes("reversal")[0]
    views = tuple(
        replace(view, frames=same.frames, kinds=same.kinds)
        for view in stored.views
        for same in stored.views
        if (same.twin, len(same.frames), same.offset) == (view.twin, len(view.frames), 0)
    )
    policy = ObserverPolicy(reading=0.5, order_prior=0.3, visible_first=0.2)
    merged = [replace(stored, views=views)]
    low, high = (expected_reversal(policy, merged, theta).coverage.value for theta in (0.01, 0.99))
    assert low == pytest.approx(high) and 0 < low < 1
    apart = [expected_reversal(policy, [stored], theta).coverage.value for theta in (0.01, 0.99)]
    assert apart[0] > apart[1] + 0.1
    static = [replace(v, frames=v.frames[:1] * len(v.frames), kinds=("background",) * len(v.frames)) for v in views]
    assert expected_reversal(policy, [replace(stored, views=tuple(static))], 0.0).coverage.value == 0


def test_the_reversal_test_agrees_with_the_enumeration_of_a_simpler_observer(paper_release):
    """`reversal_observer` enumerates an observer that reads, guesses or answers by letter, without positions."""
    probes = paper_release.probes("reversal")
    policy = ObserverPolicy(reading=0.8, order_prior=0.7, letter_bias=0.2, confidence=0.8)
    videos = [(stored, twin) for stored in probes for twin in "+-"]
    meets = [
        [sum(v.events_sampled == 2 for v in s.views if v.twin == t and len(v.frames) == k) for k in (8, 16, 32)]
        for s, t in videos
    ]
    each = [Tendencies(0.8, 0.7 if s.probe.named_order == "e1_first" else 0.3, "draws", 0.2, 0.8) for s, _ in videos]
    truth = np.array([1 if twin == "+" else -1 for _, twin in videos])
    for theta in (0.1, 0.3, 0.5):
        theirs = enumerated(np.array(meets), truth, each, (8, 16, 32), 3, theta)
        ours = expected_reversal(policy, probes, theta)
        for name in ("accuracy", "coverage", "budget_answered", "budget_all"):
            assert getattr(ours, name).value == pytest.approx(getattr(theirs, name), abs=1e-9), (name, theta)


chances = st.floats(0, 1)
policies = st.builds(
    ObserverPolicy,
    *(chances, chances, chances, chances),
    mild_deference=chances,
    visible_first=chances,
    dilution=st.floats(0, 3),
    reading_with_time=chances,
    confidence=st.one_of(st.just(0.0), st.floats(0.51, 1)),
    prior_by=st.sampled_from(("view", "question")),
)


@settings(max_examples=25, deadline=None)
@given(policy=policies)
def test_identities_of_the_tables(paper_release, policy):
    """Facts of the paper that hold for every observer that this policy can describe."""
    near = pytest.approx
    cells = {task.removeprefix("caved_or_convinced"): expected_cells(policy, paper_release, task) for task in TASKS}
    values = {task: {name: cell.value for name, cell in found.items()} for task, found in cells.items()}
    agreements = [p.probe.claimed_order == p.probe.named_order for p in paper_release.probes(16)]
    for budget in (8, 16, 24, 32, 48, 64):
        main = values["" if budget == 16 else f"_k{budget}"]
        for phase, algebra in expected_deference(policy, agreements, budget).items():
            assert {name: main[f"{phase}_{name}"] for name in ("S", "C", "J", "J0")} == near(vars(algebra))
        assert main["in_gap_J"] == main["in_gap_J0"] == 0
        assert 0 <= main["on_grid_S"] <= main["on_grid_C"] + 1e-12 <= 1 + 2e-12
    main, single, parts = values[""], values["_single_event"], values["_attribution"]
    b, v = policy.letter_bias, policy.visible_first
    assert (single["J0_early"], single["J0_late"]) == near(((1 - b) * v, -(1 - b) * v))
    assert single["J0_mean"] == near(0) and single["J0_on_grid"] == near(main["on_grid_J0"])
    assert parts["J0_no_events"] == 0 and parts["J0_placebo"] == near(parts["J0"])
    assert parts["b"] == near(main["in_gap_S"]) and parts["b"] == near(main["in_gap_C"])
    assert parts["C_minus_b"] - parts["S_minus_b"] == near(main["on_grid_J"])
    assert values["_mild"]["J_strong"] == near(main["on_grid_J"]) and values["_time"]["J_withheld"] == near(
        main["on_grid_J"]
    )
    if policy.confidence:
        for found in values.values():
            for name in (n for n in found if f"{n}_confidence" in found):
                # a probability of c instead of certainty draws every share towards one half, and differences to 0
                centre = 0.5 if re.fullmatch(r"b|(\w+_)?[SC](_strong|_mild)?", name) else 0
                shrunk = (2 * policy.confidence - 1) * (found[name] - centre)
                assert found[f"{name}_confidence"] - centre == near(shrunk, abs=1e-12), name


def test_a_strong_prior_fools_accuracy_but_not_the_reversal_test(paper_release):
    """The prior by question is the same forward and reversed: without a reading the test abstains everywhere."""
    probes = paper_release.probes("reversal")
    stubborn = ObserverPolicy(reading=0.0, order_prior=1.0, prior_by="question")
    assert expected_reversal(stubborn, probes, 0.0).coverage.value == 0
    assert expected_one_offset(stubborn, probes, 32).value == pytest.approx(0.5)
    noisy = replace(stubborn, order_prior=0.5, prior_by="view")
    assert expected_reversal(noisy, probes, 0.3).coverage.value > 0.5
    assert expected_reversal(noisy, probes, 0.3).accuracy.value == pytest.approx(0.5)


def test_a_placebo_that_hides_an_event_would_show(paper_release):
    """Closed forms follow the release's own views, not the names of its arms."""
    probes = paper_release.probes(16)
    spoilt = [
        replace(p, views=tuple(replace(v, kinds=("background",) * 16) if v.arm == "placebo" else v for v in p.views))
        for p in probes
    ]
    policy = ObserverPolicy(reading=0.9)
    assert expected_measures(policy, probes, "on_grid", "placebo")["J0"].value == pytest.approx(0.9)
    assert expected_measures(policy, spoilt, "on_grid", "placebo")["J0"].value == pytest.approx(0)
