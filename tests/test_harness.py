"""The main job through the real command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import lmms_eval

from lmms_eval_tasks.expected_deference import expected_deference
from lmms_eval_tasks.observer_policy import ObserverPolicy
from metrics import measure_deference
from metrics.table import describe_run
from stimuli_builder.build import build_release
from stimuli_builder.release import Release

pytestmark = pytest.mark.slow

TASK = ("--tasks", "caved_or_convinced")
POLICY = ObserverPolicy(reading=0.8, deference=0.4, order_prior=0.7, letter_bias=0.1, seed=3)
OBSERVER = (
    *TASK,
    "--model",
    "scripted_observer",
    "--model_args",
    ",".join(f"{k}={v}" for k, v in vars(POLICY).items()),
)
MEASURES = ("S", "C", "J", "J0")


@pytest.fixture(scope="module")
def larger(tmp_path_factory, catalogue) -> Release:
    """121 procedural probes at k = 16: intervals of about +-0.1, and no even share for two ranks."""
    out = tmp_path_factory.mktemp("larger") / "release"
    return build_release(catalogue, out, (16,), 121, 1, 64, "mit", workers=1)


@pytest.fixture(scope="module")
def observed(tmp_path_factory, larger):
    return lmms_eval(tmp_path_factory.mktemp("observed"), *OBSERVER, release=larger.folder)


def test_the_observer_measures_as_its_closed_form_says(observed, larger):
    assert observed.status == 0
    run = observed.run()
    agreements = [p.probe.claimed_order == p.probe.named_order for p in larger.probes(16)]
    expected = expected_deference(POLICY, agreements)
    for phase in ("on_grid", "in_gap"):
        result = measure_deference(run.trials, phase)
        for measure in MEASURES:
            estimate = getattr(result, measure)
            assert estimate.low <= getattr(expected[phase], measure) <= estimate.high, (phase, measure, estimate)
        assert (result.unparseable, result.missing, result.unstable) == (0, 0, 0)
    gap = measure_deference(run.trials, "in_gap")
    assert (gap.J.value, gap.J0.value, gap.J.method) == (0.0, 0.0, "by construction")


def test_results_file_and_log_agree(observed):
    results = observed.results()["results"]["caved_or_convinced"]
    trials = observed.run().trials
    for phase in ("on_grid", "in_gap"):
        result = measure_deference(trials, phase, resamples=0)
        for measure in MEASURES:
            assert results[f"{phase}_{measure},none"] == pytest.approx(getattr(result, measure).value)
    assert results["unparseable,none"] == 0 and results["trial,none"] == len(trials)
    assert not any("confidence" in name for name in results)


def test_the_release_is_named_in_results_and_log(observed, larger):
    config = observed.results()["configs"]["caved_or_convinced"]
    assert config["metadata"]["release"] == larger.info.digest
    assert {t.release for t in observed.run().trials} == {larger.info.digest}


def test_the_log_holds_everything_and_stays_small(observed, larger):
    run = observed.run()
    assert len(run.trials) == 16 * larger.info.probes and run.damaged == 0
    assert all(len(t.frames) == 16 for t in run.trials)
    assert run.path.stat().st_size < 2500 * len(run.trials)
    text = describe_run(run)
    (warning,) = [line for line in text.splitlines() if "WARNING" in line]
    assert warning.startswith("WARNING simulated: scripted_observer: ") and warning.endswith("are no results")
    assert {t.receipt["control"] for t in run.trials} == {"simulated"}


def test_two_ranks_give_the_same_trials_as_one(observed, larger, tmp_path):
    """Two processes on the CPU; 121 probes do not divide, so the last one is padded."""
    launcher = (
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc_per_node",
        "2",
        "--master_port",
        "29511",
        "-m",
        "lmms_eval",
    )
    done = lmms_eval(
        tmp_path, *OBSERVER, release=larger.folder, launcher=launcher, environment={"ACCELERATE_USE_CPU": "true"}
    )
    one, two = observed.run().trials, done.run().trials
    assert len(one) == 16 * 121 and len(two) == 16 * 122 and sum(t.padding for t in two) == 16
    assert {t.key: t.answer for t in one} == {t.key: t.answer for t in two if not t.padding}
    assert observed.results()["results"] == done.results()["results"]


def test_use_cache_is_refused(tmp_path, release):
    done = lmms_eval(tmp_path, *OBSERVER, "--use_cache", str(tmp_path / "cache"), release=release.folder)
    assert done.status == 1
    assert "--use_cache cannot serve caved_or_convinced" in done.output and "run without --use_cache" in done.output
    assert not list(done.folder.rglob("*_results.json"))


@pytest.mark.parametrize(("option", "value"), [("--cache_requests", "true"), ("--repeats", "2")])
def test_what_would_give_wrong_numbers_is_refused(tmp_path, release, option, value):
    done = lmms_eval(tmp_path, *OBSERVER, option, value, release=release.folder)
    assert done.status == 1
    assert option in done.output.strip().splitlines()[-1] and "run without it" in done.output
    assert not list(done.folder.rglob("*_results.json"))


def test_a_limited_run_says_what_is_missing(tmp_path, release):
    """5 trials are all on-grid: the in-gap half is absent, and the report must not stay silent about it."""
    done = lmms_eval(tmp_path, *OBSERVER, "--limit", "5", release=release.folder)
    text = describe_run(done.run())
    assert "on-grid: 123 trials are missing" in text and "in-gap: 128 trials are missing" in text


def test_a_release_without_the_budget_stops_the_run(tmp_path, catalogue):
    build_release(catalogue, tmp_path / "k8", (8,), 2, 0, 64, "mit", workers=1)
    done = lmms_eval(tmp_path, *OBSERVER, release=tmp_path / "k8")
    assert done.status == 1
    last = done.output.strip().splitlines()[-1]
    assert last.startswith("caved_or_convinced: the release") and "no probes with k = 16 frames (it has 8)" in last
    assert "Traceback" not in done.output


def test_a_missing_or_old_release_stops_the_run(tmp_path, release):
    done = lmms_eval(tmp_path / "a", *OBSERVER, release=tmp_path / "nowhere")
    assert done.status == 1 and "CAVED_RELEASE: no release at" in done.output and "Traceback" not in done.output
    old = tmp_path / "old"
    shutil.copytree(release.folder, old)
    info = (old / "release.json").read_text().replace('"format_version": 2', '"format_version": 0')
    (old / "release.json").write_text(info)
    done = lmms_eval(tmp_path / "b", *OBSERVER, release=old)
    assert done.status == 1 and "release format 0, this version of the package reads 2" in done.output


def test_wrong_model_arguments_stop_the_run(tmp_path, release):
    done = lmms_eval(
        tmp_path, *TASK, "--model", "scripted_observer", "--model_args", "defernce=0.5", release=release.folder
    )
    assert done.status == 1 and "--model_args takes reading, deference, order_prior, letter_bias, seed" in done.output


@pytest.mark.parametrize("what", ["list", "list_subtasks"])
def test_tasks_are_listed_without_building_anything(tmp_path, what):
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": str(tmp_path), "CAVED_RELEASE": "/nowhere/at/all"}
    command = [Path(sys.executable).with_name("lmms-eval"), "--tasks", what]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert "caved_or_convinced" in done.stdout + done.stderr
    assert not (tmp_path / "caved-or-convinced").exists()
