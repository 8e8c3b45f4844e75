"""The validation calls right runs right and broken ones wrong, in this process and through the real command."""

import math
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observer_runs import observed, tasks_of
from scipy.stats import binom

from lmms_eval_tasks.cell_check import bounds_of, chance_at_most, check_cells
from lmms_eval_tasks.expected_cells import expected_cells
from lmms_eval_tasks.expected_deference import Expected
from lmms_eval_tasks.observer_policy import ObserverPolicy
from lmms_eval_tasks.validation import (
    OBSERVERS,
    THRESHOLD_TASK,
    check_run,
    count_cells,
    expected_of,
    expected_thresholds,
    log_faults,
    results_that_differ,
)
from metrics.intervals import NOTHING, Estimate
from metrics.trial import Answer
from metrics.trial_table import rows_to_table
from stimuli_builder.build import build_release
from stimuli_builder.release import Release, open_release
from stimuli_builder.timing import BUDGETS

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "validate.py"
TASK = "caved_or_convinced"
# One observer that shows every tendency; its cells are far from one another.
EVERYTHING = ObserverPolicy(
    reading=0.95, deference=0.8, order_prior=0.6, seed=12, mild_deference=0.1, visible_first=0.7, reading_with_time=0.3
)


@pytest.fixture(scope="module")
def small(tmp_path_factory, catalogue) -> Release:
    """40 probes at k = 16 with 3 offsets."""
    out = tmp_path_factory.mktemp("small") / "release"
    return build_release(catalogue, out, (16,), 40, 3, 64, "mit", workers=1, reversal_offsets=3)


@cache
def run_of(folder, policy):
    return observed(policy, open_release(folder), tasks_of(open_release(folder)))


@pytest.fixture(scope="module")
def closed(small):
    """Closed forms of the tasks that this release has."""
    cells = {task: expected_cells(EVERYTHING, small, task) for task in tasks_of(small)}
    return {**cells, THRESHOLD_TASK: expected_thresholds(EVERYTHING, small)}


def faults(closed, trials, resamples=500):
    tables = {task: rows_to_table(listed) for task, listed in trials.items()}
    checked = check_run(closed, tables, count_cells(closed), resamples)
    assert len(checked) >= count_cells(closed)
    return [cell.name for cell in checked if cell.fault]


def test_a_right_run_passes(small, closed):
    assert not faults(closed, run_of(small.folder, EVERYTHING))


def _other_twin(trial):
    return replace(trial, twin="-" if trial.twin == "+" else "+")


def _other_letters(trial):
    return replace(trial, letters=trial.letters[::-1])


def _other_claim(trial):
    other = {"e1_first": "e2_first", "e2_first": "e1_first", None: None}
    return replace(trial, claimed_order=other[trial.claimed_order])


def _other_direction(trial):
    other = {"forward": "reversed", "reversed": "forward"}
    return replace(trial, direction=other[trial.direction]) if trial.phase == "offset" else trial


def _renamed(field, names):
    def change(trial):
        value = getattr(trial, field)
        return replace(trial, **{field: names.get(value, value)})

    return change


def _swapped(field, a, b):
    return _renamed(field, {a: b, b: a})


def _answers_of(trial, letter):
    return replace(trial, answer=replace(trial.answer, option=letter))


BROKEN = {
    "the twins' frames are exchanged": (_other_twin, "_reversal"),
    "the letters are exchanged": (_other_letters, ""),
    "claims are on the wrong order": (_other_claim, ""),
    "reversed frames are called forward": (_other_direction, "_reversal"),
    "phases are exchanged": (_swapped("phase", "on_grid", "in_gap"), ""),
    "strong and mild claims are exchanged": (_swapped("claim", "strong", "mild"), "_mild"),
    "told times are called withheld": (_swapped("time", "text", "withheld"), "_time"),
    "native times are called told": (_swapped("time", "text", "native"), "_time"),
    "intact frames are called no_events": (_swapped("arm", "intact", "no_events"), "_attribution"),
    "no_events is called placebo": (_swapped("arm", "placebo", "no_events"), "_attribution"),
    "early and late are exchanged": (_swapped("arm", "early_only", "late_only"), "_single_event"),
    "early is called intact": (_swapped("arm", "early_only", "intact"), "_single_event"),
    "budgets are exchanged": (_swapped("budget", 8, 32), "_reversal"),
    "every answer is A": (lambda trial: _answers_of(trial, "A") if trial.answer.option else trial, ""),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_pipeline_is_called_wrong(small, closed, what):
    """Each fault, made in the logged trials of a right run, moves at least one cell where it belongs."""
    change, suffix = BROKEN[what]
    task = f"{TASK}{suffix}"
    trials = {task: [change(trial) for trial in run_of(small.folder, EVERYTHING)[task]]}
    cells = {name: c for name, c in closed.items() if name.startswith(task) and (suffix or name == TASK)}
    assert faults(cells, trials), what


def test_a_test_that_never_reverses_is_called_wrong(small, closed):
    """Reversed requests that get the frames in order: R is 0 then, wherever answers follow the frames."""
    trials = run_of(small.folder, EVERYTHING)["caved_or_convinced_reversal"]
    forward = {(t.probe, t.twin, t.budget, t.offset, t.letters): t.answer for t in trials if t.direction == "forward"}
    stuck = [replace(t, answer=forward[t.probe, t.twin, t.budget, t.offset, t.letters]) for t in trials]
    cells = {name: c for name, c in closed.items() if name.startswith("caved_or_convinced_reversal")}
    assert "coverage" in faults(cells, {"caved_or_convinced_reversal": stuck})


def test_missing_and_unknown_cells_are_faults():
    one = Estimate(0.5, 0.4, 0.6, 100, "bootstrap")
    checked = check_cells("task", {"S": one, "Q": one}, {"S": Expected(0.5), "C": Expected(0.5)}, 3, 100)
    assert {cell.name: cell.fault for cell in checked} == {"S": "", "C": "not measured", "Q": "no closed form"}
    # nothing to measure and nothing expected: a native channel that an observer lacks, an accuracy without answers
    assert not check_cells("task", {"J_native": NOTHING, "accuracy": NOTHING}, {"accuracy": Expected(math.nan)}, 3, 9)
    (cell,) = check_cells("task", {"accuracy": one, "coverage": one}, {"accuracy": Expected(math.nan)}, 3, 9)[:1]
    assert cell.fault == "no closed form"


def test_what_cannot_vary_must_be_met_exactly():
    wide = Estimate(0.0, -0.5, 0.5, 4, "exact")
    off = replace(wide, value=0.01)
    certain, varying = Expected(0.0, certain=True), Expected(0.0)
    for observed_value, expected, fault in ((wide, certain, ""), (off, certain, "not exact"), (off, varying, "")):
        (cell,) = check_cells("task", {"J": observed_value}, {"J": expected}, 10, 4)
        assert cell.fault == fault


def test_lost_logs_are_noticed(small):
    trials = run_of(small.folder, EVERYTHING)
    for task, listed in trials.items():
        assert not log_faults(task, rows_to_table(listed))
        assert any("different numbers" in f for f in log_faults(task, rows_to_table(listed[:-1])))
        assert any("39 of 40" in f for f in log_faults(task, rows_to_table([t for t in listed if t.probe != "p00003"])))
        unread = [replace(listed[0], answer=Answer("unparseable")), *listed[1:]]
        assert "1 responses could not be read" in log_faults(task, rows_to_table(unread))[0]
        missing = [replace(listed[0], unavailable="no"), *listed[1:]]
        assert any("native" in f for f in log_faults(task, rows_to_table(missing)))


def test_bounds_of_every_number(small, closed):
    bounds = {name: bounds_of(name) for cells in closed.values() for name in cells}
    assert {n for n, b in bounds.items() if b == (8, 32)} == {n for n in bounds if "mean_k" in n}
    two_sided = {n for n, b in bounds.items() if b == (-1, 1)}
    assert two_sided == {n for n in bounds if "J" in n or "minus" in n}
    assert {"b", "accuracy", "coverage", "on_grid_S", "S_mild"} <= set(bounds) - two_sided


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("probes", [12, 64, 256])
def test_false_alarms_are_as_rare_as_they_are_said_to_be(probes, rate):
    """Exactly, for rates: over all counts, the chance of a chance at most t is at most t, and not needlessly small."""
    counts = np.arange(probes + 1)
    bounds = np.array([chance_at_most(c / probes, rate, probes, (0, 1)) for c in counts])
    for level in (0.05, 1e-3, 1e-5):
        assert binom.pmf(counts, probes, rate)[bounds <= level].sum() <= level
    far = np.abs(counts / probes - rate) > 3 * np.sqrt(np.log(4e5) / probes)
    assert (bounds[far] < 1e-5).all()


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.2, 1), st.integers(0, 2**32 - 1))
def test_false_alarms_of_means_over_answered_videos(accuracy, coverage, seed):
    """Two videos a probe that are answered together and right together: the worst that a probe can do."""
    generator, probes = np.random.default_rng(seed), 40
    answered = generator.random((4000, probes)) < coverage
    right = answered & (generator.random((4000, probes)) < accuracy)
    shares = answered.mean(axis=1)
    values = right.sum(axis=1) / np.maximum(answered.sum(axis=1), 1)
    alarms = [
        chance_at_most(v, accuracy, probes, (0, 1), s) <= 0.01 for v, s in zip(values, shares, strict=True) if s > 0
    ]
    assert np.mean(alarms) <= 0.01 + 4 * np.sqrt(0.01 * 0.99 / 4000)


def test_a_results_file_that_differs_is_noticed():
    one = Estimate(0.5, 0.4, 0.6, 100, "bootstrap")
    checked = [cell for task in "ab" for cell in check_cells(task, {"S": one}, {"S": Expected(0.5)}, 1, 100)]
    right = {"a": {"S,none": 0.5}, "b": {"S,none": 0.5}}
    assert not results_that_differ({"results": right}, checked)
    (wrong,) = results_that_differ({"results": {**right, "b": {"S,none": 0.51}}}, checked)
    assert "b: S is 0.51 in the results file, 0.5 from the log" in wrong
    (absent,) = results_that_differ({"results": {**right, "b": {"S,none": "N/A"}}}, checked)
    assert "b: the results file has none of its numbers" in absent


@pytest.fixture(scope="module")
def whole(tmp_path_factory, catalogue) -> Release:
    out = tmp_path_factory.mktemp("whole") / "release"
    return build_release(catalogue, out, BUDGETS, 8, 2, 64, "mit", workers=1, reversal_offsets=2)


def validate(release, out, *observers):
    command = [sys.executable, SCRIPT, "--release", release.folder, "--out", out, "--page", out / "page.md"]
    return subprocess.run(
        [*map(str, command), "--observers", *observers], capture_output=True, text=True, check=False, timeout=900
    )


@pytest.mark.slow
def test_every_cell_of_every_task_through_the_real_command(whole, tmp_path, monkeypatch):
    """Two observers with most tendencies between them; a second call takes their logs as they are."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    names = ("reads positions", "states its confidence")
    done = validate(whole, tmp_path, *names)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    table = pd.read_csv(tmp_path / "cells.csv", keep_default_na=False)
    assert Counter(table["observer"]) == {name: count_cells(expected_of(OBSERVERS[name], whole)) for name in names}
    assert (table["fault"] == "").all() and table["task"].nunique() == 13
    page = (tmp_path / "page.md").read_text()
    assert f"**{len(table)} cells, 0 wrong.**" in page and whole.info.digest in page
    for title in ("Table 1,", "Table 2:", "Table 3:", "Table 4:", "Table 5:", "Table 7:", "Table 8:", "Figure 2:"):
        assert f"## {title}" in page
    logs = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*_samples_*")}
    assert len(logs) == 12 * 2
    again = validate(whole, tmp_path, *names)
    assert again.returncode == 0 and (tmp_path / "page.md").read_text() == page
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*_samples_*")} == logs
    # a log whose claims are turned around is no longer what the harness computed its numbers from
    spoilt = next(p for p in logs if p.name.endswith("_mild.jsonl") and "positions" in str(p.parent))
    turned = {f'"claimed_order": "e{a}_first"': f'"claimed_order": "e{3 - a}_first"' for a in (1, 2)}
    pattern = re.compile("|".join(turned))
    spoilt.write_text(pattern.sub(lambda match: turned[match[0]], spoilt.read_text()))
    wrong = validate(whole, tmp_path, *names)
    assert wrong.returncode == 1
    assert "reads positions: caved_or_convinced_mild: S_strong is" in (tmp_path / "page.md").read_text()
