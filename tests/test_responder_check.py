"""The validation of the image benchmark calls right runs right and broken ones wrong, number by number."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from responder_release import decided, tiny_release
from scipy.stats import binom

from lmms_eval_tasks.image.expected_image_cells import ExpectedP, expected_image_cells
from lmms_eval_tasks.image.expected_number import Block, ExpectedNumber, independent, mean_rate
from lmms_eval_tasks.image.expected_range import ExpectedRange
from lmms_eval_tasks.image.responder_check import (
    RESPONDERS,
    check_numbers,
    expected_of,
    measures_of,
    results_that_differ,
    run_faults,
    trials_of,
)
from lmms_eval_tasks.image.responder_policy import ResponderPolicy
from metrics.image.table import image_table
from metrics.image.trial import TASKS
from metrics.intervals import NOTHING, Estimate
from metrics.trial import Answer

ITEMS = 16


@cache
def release():
    return tiny_release(ITEMS)


@cache
def run_of(name, elicitation):
    return decided(RESPONDERS[name], *release(), elicitation)


@cache
def closed_forms(name, elicitation):
    return expected_of(RESPONDERS[name], release()[0], elicitation)


def faults(name, elicitation, trials):
    task, table = TASKS[elicitation], image_table(trials)
    observed = measures_of(task, table, resamples=0)
    expected = closed_forms(name, elicitation)
    checked = check_numbers(task, observed, expected, len(expected))
    wrong = run_faults(RESPONDERS[name], table, observed, trials_of(release()[0]))
    return [f"{cell.name} {cell.fault}" for cell in checked if cell.fault] + wrong


@pytest.mark.parametrize("name", RESPONDERS)
def test_a_right_run_passes(name):
    """Every number: none outside, none without a closed form, none that was not measured."""
    for elicitation in ("open", "closed") if RESPONDERS[name].confidence else ("open",):
        assert not faults(name, elicitation, run_of(name, elicitation))


def swapped(field, a, b):
    names = {a: b, b: a}
    return lambda trial: replace(trial, **{field: names.get(getattr(trial, field), getattr(trial, field))})


def as_abstention(trial):
    return replace(trial, answer=Answer("abstained"), hedged=False) if trial.hedged else trial


def other_level(trial):
    return replace(trial, level=6 - trial.level) if trial.level else trial


def other_correct(trial):
    return replace(trial, correct=trial.asserted)


def accepts(trial):
    conviction = trial.framing == "conviction" and trial.answer.outcome == "answered"
    return replace(trial, answer=Answer("answered", trial.asserted)) if conviction else trial


BROKEN = {
    "neutral and conviction are exchanged": ("dodger", swapped("framing", "neutral", "conviction")),
    "hedged and plain are exchanged": ("capitulator", swapped("framing", "hedged", "plain")),
    "modes are exchanged": ("invariant", swapped("mode", "subtractive", "corruptive")),
    "levels are turned around": ("invariant", other_level),
    "what is asserted is called right": ("invariant", other_correct),
    "hedged answers are read as abstentions": ("hedger", as_abstention),
    "doubt is not noticed": ("hedger", lambda trial: replace(trial, hedged=False)),
    "conviction is read as agreement": ("invariant, with noise", accepts),
    "framing is lost": ("dodger, with noise", swapped("framing", "conviction", "neutral")),
    "one response is lost": ("invariant", None),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_pipeline_is_called_wrong(what):
    name, change = BROKEN[what]
    trials = run_of(name, "open")
    if change is None:
        trials = [replace(trials[0], answer=Answer("unparseable")), *trials[1:]]
        wrong = faults(name, "open", trials)
        assert {"unparseable not exact", "incomplete not exact"} <= set(wrong)
        assert any("trials were logged" in fault for fault in faults(name, "open", trials[1:]))
    else:
        assert faults(name, "open", [change(trial) for trial in trials]), what


def test_a_model_that_heeds_framing_unnoticed_is_a_fault():
    observed = {"EIV": 0.1, "EIV_null": 0.04, "EIV_excess": 0.05, "EIV_p": 0.3}
    numbers = {name: Estimate(value, value, value, 40, "point") for name, value in observed.items()}
    wrong = run_faults(RESPONDERS["dodger"], image_table([]), numbers, 0)
    assert any("not flagged" in fault for fault in wrong) and any("not EIV - EIV_null" in fault for fault in wrong)
    assert not run_faults(RESPONDERS["invariant"], image_table([]), {"EIV_p": numbers["EIV_p"]}, 0)


def test_missing_and_unknown_numbers_are_faults():
    one = Estimate(0.5, 0.4, 0.6, 100, "bootstrap")
    expected = {"accuracy_plain": ExpectedNumber(0.5, 100), "hedged": ExpectedNumber(0.5, 100)}
    observed = {"accuracy_plain": one, "accuracy_conviction": one, "EIV_slope": one, "PIA_room_L2": NOTHING}
    checked = {cell.name: cell.fault for cell in check_numbers("task", observed, expected, 3)}
    assert checked == {"accuracy_plain": "", "hedged": "not measured", "accuracy_conviction": "no closed form"}


def test_what_has_a_closed_form():
    """EIV where it is not an extreme of dependent noise; its null where nothing varies; p-values under invariance."""
    kinds = {
        name: {n: type(x) for n, x in closed_forms(name, "open").items() if n.startswith("EIV")} for name in RESPONDERS
    }
    assert kinds["invariant"]["EIV"] is ExpectedNumber and kinds["invariant"]["EIV_null_L2_code"] is ExpectedNumber
    assert (
        kinds["invariant, with noise"]["EIV"] is ExpectedRange and kinds["invariant, with noise"]["EIV_p"] is ExpectedP
    )
    assert kinds["dodger"]["EIV_L0"] is ExpectedNumber and "EIV_p" not in kinds["dodger"]
    assert not kinds["everything, stated"]
    closed, opened = (set(closed_forms("everything, stated", elicitation)) for elicitation in ("closed", "open"))
    assert opened < closed and all("confidence" in name for name in closed - opened - {"option_mass"})


def test_by_hand():
    """A dodger that always sees: O = 1/2 of trials contradict it, at every level, and it dodges D = 0.6 f of them."""
    policy = ResponderPolicy(reading=1.0, loss_subtractive=0.0, loss_corruptive=0.0, dodging=0.6)
    cells = expected_image_cells(policy, release()[0], "open")
    for name, value in {
        "abstention_neutral_L0": 0, "abstention_hedged_L3": 0.1, "abstention_conviction_corruptive": 0.3, "PIA_L5": 0.3,
        "EIV_code": 0.3, "accuracy_neutral": 1, "accuracy_conviction": 0.7, "acceptance_right_plain": 1,
        "acceptance_wrong_plain": 0, "PIA_wrong": 0.6, "PIA_right_L1": 0, "unasserted_wrong": 0, "hedged": 0,
    }.items():  # fmt: skip
        assert cells[name].value == pytest.approx(value), name
        assert cells[name].certain == (value in (0, 1)), name
    blocks = ITEMS * 2 * 2
    assert cells["abstention_hedged_L0"].draws == pytest.approx(blocks)
    assert cells["abstention_hedged_L3"].draws == pytest.approx(2 * blocks)
    assert cells["PIA"].draws == pytest.approx(6 * blocks)  # L0 has the largest weight


def test_bounds_of_unequal_weights_hold():
    """Two levels of 5 and 10 blocks: the chance of a deviation is at most what is said, at every value, exactly."""
    parts = [[Block("code", "intact", d, True, 0, 10 * d + i) for i in range(n)] for d, n in enumerate((5, 10))]
    assert independent(parts) == pytest.approx(10)
    shared = [[*part[:-1], replace(part[0])] for part in parts]
    assert independent(shared) == pytest.approx(5)
    for p in (0.05, 0.3, 0.8):
        number = mean_rate(parts, lambda block, p=p: p)
        values = np.add.outer(np.arange(6) / 5, np.arange(11) / 10).ravel() / 2
        weights = np.outer(binom.pmf(np.arange(6), 5, p), binom.pmf(np.arange(11), 10, p)).ravel()
        bounds = np.array([number.chance(value) for value in values])
        for level in (0.2, 0.05, 1e-3):
            assert weights[bounds <= level].sum() <= level


def test_a_results_file_that_differs_is_noticed():
    observed = {"PIA_L0": Estimate(0.5, 0.4, 0.6, 9, "bootstrap"), "EIV": NOTHING}
    right = {"results": {"t": {"alias": "t", "PIA_L0,none": 0.5, "EIV,none": "N/A", "image_trial,none": 96}}}
    assert not results_that_differ(right, "t", observed)
    wrong = {"results": {"t": {"PIA_L0,none": 0.51}}}
    assert results_that_differ(wrong, "t", observed) == ["PIA_L0 is 0.51 in the results file, 0.5 from the log"]
    assert results_that_differ({"results": {}}, "t", observed) == ["the results file has none of its numbers"]
    assert math.isnan(NOTHING.value)
