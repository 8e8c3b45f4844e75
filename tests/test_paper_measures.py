"""Every cell of the paper's tables against a plain loop over the definitions, and against closed forms."""

import math
import random
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_trials import SETTINGS, paper_trials
from trial_tables import confident, says

from metrics.flips import flipped_probes
from metrics.paper_measures import is_main_task, paper_measures
from metrics.reversal_log import reversal_readings
from metrics.trial import Answer, Trial

OTHER = {"e1_first": "e2_first", "e2_first": "e1_first"}


def task_of(ending):
    return f"caved_or_convinced{ending}"


def measured(ending, trials):
    return {name: value.value for name, value in paper_measures(task_of(ending), trials).items()}


def scores(trials, confidence):
    """{(probe, twin, arm, phase, claim, time): (share of e1, share of e2)} of the views whose two answers are known."""
    pairs = {}
    for t in trials:
        pairs.setdefault((t.probe, t.twin, t.arm, t.phase, t.claim, t.time), []).append(t)
    found = {}
    for key, pair in pairs.items():
        if any(t.answer.outcome == "unparseable" for t in pair):
            continue
        mass = {"e1_first": 0.0, "e2_first": 0.0, "abstained": 0.0}
        for t in pair:
            if t.answer.outcome == "abstained":
                mass["abstained"] += 0.5
            elif t.answer.option_probabilities is not None:
                for order in ("e1_first", "e2_first"):
                    mass[order] += t.answer.option_probabilities[t.letter_of(order)] / 2
            else:
                mass["e1_first" if t.letter_of("e1_first") == t.answer.option else "e2_first"] += 0.5
        if not confidence:
            top = [o for o, m in mass.items() if m == max(mass.values())]
            mass = {o: (1 / len(top) if o in top else 0.0) for o in mass}
        elif any(t.answer.option_probabilities is None for t in pair):
            continue
        found[key] = (mass["e1_first"], mass["e2_first"])
    return found


def claimed_of(probe):
    return ("e1_first", "e2_first")[int(probe[1:]) % 2]


def average(values):
    values = [*values]
    return mean(values) if values else math.nan


def j0_of_probes(table, arm="intact", phase="on_grid", time="withheld"):
    """{probe: right minus wrong}, of probes both of whose twins are known."""
    found = {}
    for (probe, twin, a, p, claim, t), (e1, e2) in table.items():
        if (a, p, claim, t) == (arm, phase, "none", time):
            found.setdefault(probe, []).append((e1 - e2) * (1 if twin == "+" else -1))
    return {probe: mean(values) for probe, values in found.items() if len(values) == 2}


def accepts_of_probes(table, truth, arm="intact", phase="on_grid", claim="strong", time="withheld"):
    """{probe: what it gives to the claim}, where it is true or false; over both twins if `truth` is None."""
    found = {}
    for (probe, twin, a, p, c, t), (e1, e2) in table.items():
        if (a, p, c, t) == (arm, phase, claim, time):
            order = claimed_of(probe)
            true = order == ("e1_first" if twin == "+" else "e2_first")
            if truth is None or truth == true:
                found.setdefault(probe, []).append(e1 if order == "e1_first" else e2)
    return {probe: mean(values) for probe, values in found.items() if len(values) == (2 if truth is None else 1)}


def difference(first, second):
    return average(first[probe] - second[probe] for probe in first if probe in second)


def naive_j0(*arguments, **named):
    return average(j0_of_probes(*arguments, **named).values())


def naive_accept(*arguments, **named):
    return average(accepts_of_probes(*arguments, **named).values())


def naive_j(table, **named):
    return difference(accepts_of_probes(table, True, **named), accepts_of_probes(table, False, **named))


def naive(ending, trials, confidence):
    table = scores(trials, confidence)
    if ending == "_attribution":
        b = accepts_of_probes(table, None, arm="no_events")
        return {
            "J0": naive_j0(table),
            "J0_no_events": naive_j0(table, "no_events"),
            "J0_placebo": naive_j0(table, "placebo"),
            "b": average(b.values()),
            "C_minus_b": difference(accepts_of_probes(table, True), b),
            "S_minus_b": difference(accepts_of_probes(table, False), b),
        }
    if ending == "_mild":
        cells = {}
        for phase, prefix in (("on_grid", ""), ("in_gap", "in_gap_")):
            for claim in ("strong", "mild"):
                s, c = (naive_accept(table, truth, phase=phase, claim=claim) for truth in (False, True))
                cells |= {f"{prefix}S_{claim}": s, f"{prefix}C_{claim}": c}
                cells[f"{prefix}J_{claim}"] = naive_j(table, phase=phase, claim=claim)
        return cells
    if ending == "_time":
        cells = {}
        for phase, prefix in (("on_grid", ""), ("in_gap", "in_gap_")):
            for time in ("withheld", "native", "text"):
                cells[f"{prefix}J0_{time}"] = naive_j0(table, phase=phase, time=time)
                cells[f"{prefix}J_{time}"] = naive_j(table, phase=phase, time=time)
        return cells
    if ending == "_single_event":
        early, late = (j0_of_probes(table, arm) for arm in ("early_only", "late_only"))
        return {
            "J0_on_grid": naive_j0(table),
            "J0_early": average(early.values()),
            "J0_late": average(late.values()),
            "J0_mean": average((early[probe] + late[probe]) / 2 for probe in early if probe in late),
        }
    cells = {}
    for phase in ("on_grid", "in_gap"):
        s, c = (naive_accept(table, truth, phase=phase) for truth in (False, True))
        cells |= {f"{phase}_S": s, f"{phase}_C": c, f"{phase}_J": naive_j(table, phase=phase)}
        cells[f"{phase}_J0"] = naive_j0(table, phase=phase)
    return cells


def random_answers(seed, kind):
    rng = random.Random(seed)

    def answer(t):
        u = rng.random()
        if u < 0.1:
            return Answer("unparseable")
        if kind == "text":
            return Answer("abstained") if u < 0.25 else Answer("answered", rng.choice("AB"))
        return confident(t, rng.choice([0.0, 0.25, 0.5, 0.5, 0.75, 1.0]))

    return answer


@pytest.mark.parametrize("ending", [e for e in SETTINGS if e not in ("_reversal", "_k32")])
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["text", "probabilities"]))
def test_every_cell_agrees_with_a_plain_loop(ending, seed, kind):
    trials = paper_trials(ending, random_answers(seed, kind), probes=7)
    shuffled = random.Random(seed).sample(trials, len(trials))
    values = measured(ending, shuffled)
    expected = naive(ending, trials, confidence=False)
    if kind == "probabilities":
        expected |= {f"{k}_confidence": v for k, v in naive(ending, trials, confidence=True).items()}
    assert {k: v for k, v in values.items() if k in expected} == pytest.approx(expected, nan_ok=True)
    assert all(math.isnan(v) for k, v in values.items() if k not in expected)


def test_a_position_reader_has_the_signature_of_the_single_event_table():
    """It names the visible event first: right with the early one alone, wrong with the late one alone."""

    def answer(t):
        if t.arm == "intact":
            return says(t, t.shown_order)
        visible_is_first = t.arm == "early_only"
        return says(t, t.shown_order if visible_is_first else OTHER[t.shown_order])

    assert {k: v for k, v in measured("_single_event", paper_trials("_single_event", answer)).items() if v == v} == {
        "J0_on_grid": 1.0, "J0_early": 1.0, "J0_late": -1.0, "J0_mean": 0.0
    }  # fmt: skip


def test_without_events_the_order_is_zero_by_construction_and_the_prior_is_over_both_twins():
    trials = paper_trials("_attribution", lambda t: says(t, t.claimed_order or "e1_first"))
    values = paper_measures(task_of("_attribution"), trials)
    assert values["J0_no_events"].method == "by construction" and values["J0_no_events"].value == 0
    assert (values["b"].value, values["C_minus_b"].value, values["S_minus_b"].value) == (1.0, 0.0, 0.0)


def unavailable(trials, time):
    lost = Answer("unparseable", rule="no native channel")
    return [
        Trial(**{**vars(t), "answer": lost, "unavailable": "no native channel"}) if t.time == time else t
        for t in trials
    ]


def test_a_channel_that_a_model_does_not_have_is_no_number_and_no_fault():
    trials = unavailable(paper_trials("_time", lambda t: says(t, t.shown_order)), "native")
    values = paper_measures(task_of("_time"), trials)
    assert values["J0_native"].method == "none" and values["in_gap_J0_native"].method == "none"
    assert (values["J0_withheld"].value, values["J0_text"].value) == (1.0, 1.0)


def test_reversal_readings_lie_where_they_belong():
    """u encodes twin, budget, offset and direction; letters are averaged out."""

    def u(twin, budget, offset, direction):
        return 0.01 * budget + 0.1 * offset + (0.05 if twin == "+" else 0) + (0.02 if direction == "reversed" else 0)

    trials = paper_trials("_reversal", lambda t: confident(t, u(t.twin, t.budget, t.offset, t.direction)), probes=3)
    readings = reversal_readings(random.Random(0).sample(trials, len(trials)))
    assert readings.budgets == (8, 16, 32) and readings.offsets == 3 and len(readings) == 6
    assert readings.probe.tolist() == ["p00000", "p00000", "p00001", "p00001", "p00002", "p00002"]
    for video in range(6):
        twin = "+" if readings.truth[video] == 1 else "-"
        for b, budget in enumerate((8, 16, 32)):
            for offset in range(3):
                assert readings.forward[video, b, offset] == pytest.approx(u(twin, budget, offset, "forward"))
                assert readings.reversed[video, b, offset] == pytest.approx(u(twin, budget, offset, "reversed"))


def test_a_perfect_reader_is_right_everywhere_and_a_prior_abstains():
    def reads(t):
        return says(t, t.shown_order if t.direction == "forward" else OTHER[t.shown_order])

    perfect = measured("_reversal", paper_trials("_reversal", reads))
    assert (perfect["accuracy"], perfect["coverage"], perfect["mean_k_answered"]) == (1.0, 1.0, 8.0)
    prior = measured("_reversal", paper_trials("_reversal", lambda t: says(t, "e1_first")))
    assert (prior["coverage"], prior["mean_k_all"], prior["accuracy_one_offset"]) == (0.0, 32.0, 0.5)
    assert math.isnan(prior["accuracy"]) and math.isnan(prior["mean_k_answered"])


def test_an_adaptive_run_tells_nothing_of_the_largest_budget():
    def reads(t):
        return says(t, t.shown_order if t.direction == "forward" else OTHER[t.shown_order])

    trials = [t for t in paper_trials("_reversal", reads) if t.budget == 8]
    values = paper_measures(task_of("_reversal_adaptive"), trials)
    assert values["accuracy"].value == 1.0 and values["accuracy_k32"].method == "none"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_flips_are_those_of_a_plain_loop(seed):
    trials = paper_trials("", random_answers(seed, "probabilities"), probes=9)
    hard, soft = scores(trials, confidence=False), scores(trials, confidence=True)
    expected = set()
    for probe, twin, arm, phase, claim, time in hard:
        if claim != "none" or phase != "on_grid":
            continue
        false = claimed_of(probe) != ("e1_first" if twin == "+" else "e2_first")
        after = (probe, twin, arm, phase, "strong", time)
        which = 0 if twin == "+" else 1
        before = (probe, twin, arm, phase, "none", time)
        if false and after in hard and hard[before][which] == 1 and hard[after][which] == 0:
            expected.add((probe, twin, round(soft[before][which], 9), round(soft[after][which], 9)))
    found = flipped_probes(trials)
    assert {(f.probe, f.twin, round(f.before, 9), round(f.after, 9)) for f in found} == expected
    changes = [f.after - f.before for f in found]
    assert changes == sorted(changes)


def test_which_tasks_are_the_main_one():
    assert [is_main_task(task_of(e)) for e in ("", "_k8", "_k64", "_mild", "_reversal_adaptive")] == [
        True, True, True, False, False
    ]  # fmt: skip
    assert np.isnan(paper_measures(task_of(""), []).get("on_grid_J").value)
