"""The group of all tasks, and the adaptive reversal test, through the real command and real model classes."""

import json
import sys
from pathlib import Path

import pytest
from datasets import Dataset
from harness import lmms_eval
from lmms_eval.evaluator import _run_generate_until_agentic
from openai_server import openai_server, write_soft_qwen
from test_families import instances, load
from test_reversal_tasks import ADAPTIVE, SPLIT, agentic_requests
from test_served_models import connect
from test_served_models import instances as served
from tiny_qwen import write_tiny_qwen

from lmms_eval_tasks.counted import numbers_of
from lmms_eval_tasks.paper_trials import TIME, paper_documents
from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.reversal_scoring import process_video
from lmms_eval_tasks.reversal_trials import reversal_trials, reversal_videos, step_documents
from lmms_eval_tasks.scoring import trial_of
from lmms_eval_tasks.visuals import frames_of
from metrics.paper_measures import paper_measures
from metrics.reversal_log import reversal_readings
from metrics.reversal_readings import decide_all
from metrics.sample_log import read_runs
from stimuli_builder.build import build_release
from stimuli_builder.release import Release

pytestmark = pytest.mark.slow
TASK, GROUP = "caved_or_convinced", "caved_or_convinced_paper"
SPY = Path(__file__).parent / "spy"
MAIN = [TASK, *(f"{TASK}_k{k}" for k in (8, 24, 32, 48, 64))]
# Trials of each task on two probes: 16 a probe and main task, and so on; 2 offsets.
LOGGED = {
    **dict.fromkeys(MAIN, 32), f"{TASK}_attribution": 48, f"{TASK}_mild": 48, f"{TASK}_time": 96,
    f"{TASK}_single_event": 24, f"{TASK}_reversal": 96,
}  # fmt: skip


@pytest.fixture(scope="module")
def paper_release(tmp_path_factory, catalogue) -> Release:
    """Two procedural probes at all budgets, with two offsets, on a canvas that the checkpoint does not resize."""
    out = tmp_path_factory.mktemp("paper") / "release"
    return build_release(catalogue, out, (8, 16, 24, 32, 48, 64), 2, 7, 56, "mit", workers=1, reversal_offsets=2)


def test_the_group_logs_every_table(tmp_path, paper_release):
    """One command, every task in the results file, and numbers that its own log gives again."""
    done = lmms_eval(
        tmp_path, "--tasks", GROUP, "--model", "scripted_observer", "--model_args", "reading=0.9,deference=0.3",
        release=paper_release.folder,
    )  # fmt: skip
    assert done.status == 0, done.output[-3000:]
    results = done.results()["results"]
    runs = {run.task: run for run in read_runs([done.folder])}
    assert {name: len(run.trials) for name, run in runs.items()} == LOGGED
    for name, run in runs.items():
        asked = [t for t in run.trials if not t.unavailable]
        assert len(asked) == results[name]["trial,none"] == LOGGED[name] - (32 if name.endswith("_time") else 0)
        whole = paper_measures(name, run.trials)
        for number in numbers_of(name):
            estimate, printed = whole[number], results[name].get(f"{number},none", "N/A")
            assert printed == (pytest.approx(estimate.value) if estimate.method != "none" else "N/A"), (name, number)
    assert {t.time for t in runs[f"{TASK}_time"].trials if t.unavailable} == {"native"}
    configs = done.results()["configs"]
    assert {configs[name]["metadata"]["release"] for name in LOGGED} == {paper_release.info.digest}


def test_the_group_computes_each_distinct_request_once(tmp_path, paper_release):
    """The witness stands at the model's door; by hand, for each probe:

    - a main task: 2 on-grid views and 1 in-gap view (the twins are one), 2 claims, 2 letters: 12; six budgets: 72
    - attribution beyond that: no_events, 1 view, and placebo, 2 views, with 2 claims and 2 letters: 12
    - mild: the mild claim on 3 views: 6
    - time: as the main task for native, and again for text: 24
    - single event, no claim: 2 views early, 2 views late: 8
    - reversal: 3 budgets, 2 offsets, 2 directions, 2 letters: 24, and as many again as cells meet an event, since
      twins differ there. In this release that is one of the 12 cells of two probes, worth 4 requests.

    So 2 (72 + 12 + 6 + 24 + 8 + 24) + 4 = 296 of 504 trials.
    """
    checkpoint = write_tiny_qwen(tmp_path / "tiny")
    witness = tmp_path / "witness.jsonl"
    done = lmms_eval(
        tmp_path, "--tasks", GROUP, "--model", "qwen2_5_vl",
        "--model_args", f"pretrained={checkpoint},device=cpu,device_map=cpu,min_pixels=3136",
        release=paper_release.folder,
        environment={"PYTHONPATH": str(SPY), "SPY_LOG": str(witness), "CAVED_SHARE": "off"},
    )  # fmt: skip
    assert done.status == 0, done.output[-3000:]
    met = sum(v.events_sampled > 0 for p in paper_release.probes("reversal") for v in p.views if v.twin == "+")
    assert met == 1
    calls = [json.loads(line) for line in witness.read_text().splitlines()]
    assert len(calls) == 296
    runs = {run.task: run for run in read_runs([done.folder])}
    assert {name: len(run.trials) for name, run in runs.items()} == LOGGED and sum(LOGGED.values()) == 504
    # Equal requests of two tasks have one answer, and native times did reach this model.
    answers = {}
    for run in runs.values():
        for t in run.trials:
            key = (t.view, t.claim, t.letters, t.time, t.probe)
            assert answers.setdefault(key, t.answer) == t.answer and not t.unavailable
            assert t.receipt["frames"] == t.budget and t.receipt["time"]["channel"] == t.time
    spacings = {t.receipt["time"]["seconds_per_step"] for t in runs[f"{TASK}_time"].trials if t.time == "native"}
    true = [2 * p.probe.timing.interval_s for p in paper_release.probes(16)]
    assert sorted(spacings) == pytest.approx(sorted(true), abs=0.01)


def test_adaptive_runs_of_a_real_model_decide_as_the_log_does(reversal_release, tmp_path, monkeypatch):
    """On a tiny checkpoint, whose R is small, at a θ that some videos reach early, some late and some never."""
    theta = 0.02
    monkeypatch.setenv("CAVED_RELEASE", str(reversal_release.folder))
    monkeypatch.setenv("CAVED_THRESHOLD", str(theta))
    rows = Dataset.from_list([p.to_row() for p in reversal_release.probes("reversal")])
    documents, videos = list(reversal_trials(rows)), reversal_videos(rows)
    wrapper = load("llava_onevision", tmp_path, documents)
    wrapper._model.float()
    shipped = type(wrapper).__mro__[1]
    original, computed = shipped.generate_until, []

    def generate_until(self, requests):
        computed.extend(requests)
        return original(self, requests)

    monkeypatch.setattr(shipped, "generate_until", generate_until)
    mine = {"benchmark": TASK}
    trials = [
        trial_of(d, r) for d, r in zip(documents, wrapper.generate_until(instances(documents, mine)), strict=True)
    ]
    logged, computed[:] = len(computed), []
    assert logged == len({(d["view"], prompt_text(d)) for d in documents})

    wrapper.task_dict = {ADAPTIVE: {SPLIT: videos}}
    responses = _run_generate_until_agentic(wrapper, agentic_requests(videos, settings=None))
    entries = [process_video(video, [response]) for video, response in zip(videos, responses, strict=True)]
    whole = reversal_readings(trials)
    decisions = decide_all(whole, theta)
    places = {(str(p), "+" if t > 0 else "-"): i for i, (p, t) in enumerate(zip(whole.probe, whole.truth, strict=True))}
    orders = {1: "e1_first", -1: "e2_first", 0: None}
    by_key = {t.key: t for t in trials}
    for entry in entries:
        decision, i = entry["decision"], places[entry["decision"]["probe"], entry["decision"]["twin"]]
        assert decision["evidence"] == pytest.approx(whole.evidence[i, : len(decision["evidence"])].tolist(), abs=1e-5)
        assert (decision["order"], decision["budget"]) == (orders[int(decisions.order[i])], int(decisions.budget[i]))
        for fields in entry["trials"]:
            same = by_key[(fields["probe"], str(fields["budget"]), "intact", fields["twin"], f"offset{fields['offset']}",
                           fields["direction"], "none", fields["letters"], "withheld")]  # fmt: skip
            assert fields["receipt"] == same.receipt and fields["view"] == same.view
    budgets = {e["decision"]["budget"] for e in entries if e["decision"]["order"]}
    assert len(budgets) > 1 and None in {e["decision"]["order"] for e in entries}
    assert len(computed) <= sum(len(e["trials"]) for e in entries) < len(documents)
    assert len(computed) < logged

    # After the logged version, in the same run or a later one, the adaptive one finds all of its answers.
    monkeypatch.setenv("CAVED_ANSWERS", str(tmp_path / "answers"))
    wrapper.task_dict = {"task": {"split": documents}}
    wrapper.generate_until(instances(documents, mine))
    wrapper.task_dict, computed[:] = {ADAPTIVE: {SPLIT: videos}}, []
    again = _run_generate_until_agentic(wrapper, agentic_requests(videos, settings=None))
    assert computed == [] and len(again) == len(videos)


def test_served_models_run_them_too(tmp_path, catalogue, monkeypatch):
    """Frames as images, as the task's settings for served models say; no native channel; the same checks."""
    release = build_release(catalogue, tmp_path / "release", (16,), 1, 7, 112, "mit", workers=1, reversal_offsets=1)
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    videos = reversal_videos(Dataset.from_list([p.to_row() for p in release.probes("reversal")]))
    documents = paper_documents(release.probes(16)[0], TIME, release.info.digest, 1, TIME.times)
    shown = [d for video in videos for budget in video["schedule"] for d in step_documents(video, budget)]
    asked = [(prompt_text(d), frames_of(d)) for d in shown]
    with openai_server(write_soft_qwen(tmp_path / "soft", asked)) as (url, behaviour):
        wrapper = connect("openai", url, documents)
        told = [
            trial_of(d, r)
            for d, r in zip(documents, wrapper.generate_until(served(documents, benchmark=TASK)), strict=True)
        ]
        assert {t.time for t in told if t.unavailable} == {"native"} and sum(bool(t.unavailable) for t in told) == 16
        assert {t.receipt["frames"] for t in told if not t.unavailable} == {16}
        wrapper.task_dict = {ADAPTIVE: {SPLIT: videos}}
        before = len(behaviour.requests)
        responses = _run_generate_until_agentic(wrapper, agentic_requests(videos, settings={"frames_as": "images"}))
        entries = [process_video(video, [response]) for video, response in zip(videos, responses, strict=True)]
    trials = [fields for entry in entries for fields in entry["trials"]]
    assert len(behaviour.requests) - before <= len(trials)
    for fields in trials:
        assert fields["receipt"]["frames"] == fields["budget"] and fields["receipt"]["where"] == "request"
    for entry in entries:
        unreadable = any(t["answer"]["outcome"] == "unparseable" for t in entry["trials"])
        assert bool(entry["decision"]["unknown"]) == unreadable
    assert any(not entry["decision"]["unknown"] for entry in entries)


def test_the_adaptive_task_through_the_command(tmp_path, paper_release):
    """Both versions in one run: the same decisions, from fewer trials."""
    names = (f"{TASK}_reversal", f"{TASK}_reversal_adaptive")
    done = lmms_eval(
        tmp_path, "--tasks", ",".join(names), "--model", "scripted_observer", "--model_args", "reading=1.0",
        release=paper_release.folder, environment={"CAVED_THRESHOLD": "0.3"},
    )  # fmt: skip
    assert done.status == 0, done.output[-3000:]
    results = done.results()["results"]
    for number in ("accuracy", "coverage", "mean_k_answered", "mean_k_all", "accuracy_one_offset"):
        assert results[names[0]][f"{number},none"] == results[names[1]][f"{number},none"]
    runs = {run.task: run for run in read_runs([done.folder])}
    assert results[names[1]]["trials,none"] == len(runs[names[1]].trials) <= len(runs[names[0]].trials) == 96
    (log,) = done.folder.rglob(f"*_samples_{names[1]}.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 4 and all(line["decision"]["unknown"] == "" for line in lines)
    assert "Video 1 of 4, 8 frames" in done.output


def test_two_processes_give_the_numbers_of_one(tmp_path, catalogue):
    """Three probes on two processes: the last one is padded, and no number of the log or the results changes."""
    release = build_release(catalogue, tmp_path / "release", (16,), 3, 7, 56, "mit", workers=1, reversal_offsets=1)
    names = (f"{TASK}_single_event", f"{TASK}_time", f"{TASK}_reversal_adaptive")
    command = ("--tasks", ",".join(names), "--model", "scripted_observer", "--model_args", "reading=0.8")
    launcher = (sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", "29523")
    one = lmms_eval(tmp_path / "one", *command, release=release.folder)
    two = lmms_eval(
        tmp_path / "two", *command, release=release.folder, launcher=(*launcher, "-m", "lmms_eval"),
        environment={"ACCELERATE_USE_CPU": "true"},
    )  # fmt: skip
    assert one.status == two.status == 0, two.output[-3000:]
    assert one.results()["results"] == two.results()["results"]
    for alone, together in zip(read_runs([one.folder]), read_runs([two.folder]), strict=True):
        counted = {t.key: t for t in together.trials if not t.padding}
        assert len(counted) < len(together.trials) and {t.key: t for t in alone.trials} == counted
