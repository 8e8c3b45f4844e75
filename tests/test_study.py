"""From folders of logs to a report: what is refused, what is said, and that the fast reader reads what the slow one does."""

import json
import math
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_trials import SETTINGS, paper_trials, write_run
from trial_tables import confident, says

from metrics.logged_run import model_label, read_logged_run, read_logged_runs
from metrics.report.assemble import build_report
from metrics.report.gathered_warnings import RunWarning, gather_warnings
from metrics.report.study import collect_study
from metrics.sample_log import LogError, read_run
from metrics.trial import LARGEST, Answer, Trial
from metrics.trial_table import NUMBER_COLUMNS, rows_to_table

OTHER = {"e1_first": "e2_first", "e2_first": "e1_first"}


def reader(t):
    """Reads forward and reversed frames, and yields to half of the claims."""
    shown = t.shown_order if t.direction == "forward" else OTHER[t.shown_order]
    if t.events_sampled < 2:
        shown = "e1_first"
    yields = t.claimed_order is not None and int(t.probe[1:]) % 4 < 2
    return confident(t, 0.9 if (t.claimed_order if yields else shown) == "e1_first" else 0.1)


def any_trial(seed):
    rng = random.Random(seed)

    def answer(t):
        u = rng.random()
        if u < 0.2:
            return Answer("unparseable", option_mass=rng.choice([None, 0.2]))
        if u < 0.4:
            return Answer("abstained", rule="cannot tell")
        if u < 0.6:
            return says(t, t.shown_order)
        base = confident(t, rng.random())
        return Answer(base.outcome, base.option, base.option_probabilities, rng.random(), "", rng.choice([None, 0.01]))

    def receipt():
        return rng.choice(
            [None, {"frames": None, "order": None, "size_px": None, "digest": None, "time": {}},
             {"frames": 16, "order": "as shown", "size_px": [448, 448], "digest": "x", "time": {"channel": "withheld"}},
             {"frames": 16, "order": "as shown", "size_px": [448, 448], "control": rng.choice([None, "control", "simulated"])}]
        )  # fmt: skip

    task = rng.choice([*SETTINGS])
    changes = [
        {"receipt": receipt(), "padding": rng.random() < 0.1, "unavailable": rng.choice(["", "", "no channel"])}
        for _ in range(10**4)
    ]
    return [
        Trial(**{**vars(t), **change}) for t, change in zip(paper_trials(task, answer, probes=2), changes, strict=False)
    ]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_the_fast_reader_reads_what_the_slow_one_does(tmp_path_factory, seed):
    path = write_run(tmp_path_factory.mktemp("log"), any_trial(seed))
    pd.testing.assert_frame_equal(read_logged_run(path).table, rows_to_table(read_run(path).trials))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda f: f.update(log_version=1), "log version 1"),
        (lambda f: f.pop("probe"), "probe"),
        (lambda f: f.update(twin="x"), "Invalid enum value"),
        (lambda f: f.update(claimed_order="e1_first" if f["claim"] == "none" else None), "a claim without an order"),
        (lambda f: f.update(offset=3), "an offset without its phase"),
        (lambda f: f["answer"].update(option=None), "option"),
        (lambda f: f["answer"].update(option_probabilities={"A": 0.9, "B": 0.9}), "sum to 1"),
        (lambda f: f["answer"].update(option_probabilities={"A": 1.0}), "A and B"),
        (lambda f: f["answer"].update(option_probabilities={"A": math.nan, "B": math.nan}), None),
        (lambda f: f["answer"].update(option_probabilities={"A": math.inf, "B": 0.0}), None),
        (lambda f: f["answer"].update(option_mass=math.nan), None),
        (lambda f: f["answer"].update(option_probability_bound=-math.inf), None),
        (lambda f: f["answer"].update(option_mass=10**400), None),
        (lambda f: f.update(budget=70000), "<= 32767"),
        (lambda f: f.update(budget=-1), ">= 0"),
        (lambda f: f.update(budget="16"), "int"),
        (lambda f: f.update(video_budget=2**15), "<= 32767"),
        (lambda f: f.update(release_probes=2**31), "<= 2147483647"),
        (lambda f: f.update(release_probes=10**30), None),
        (lambda f: f.update(phase="offset", offset=2**15), "<= 32767"),
        (lambda f: f.update(phase="offset", offset=-1), ">= 0"),
    ],
)
def test_damaged_lines_are_counted_by_both_readers(tmp_path, spoil, reason):
    path = write_run(tmp_path, paper_trials("", reader))
    lines = path.read_text().splitlines()
    entry = json.loads(lines[5])
    spoil(entry["trial"])
    lines[5] = json.dumps(entry)
    path.write_text("\n".join([*lines, '{"doc_id": 7, "tri']))
    fast, slow = read_logged_run(path), read_run(path)
    assert len(fast.table) == len(slow.trials) == 127
    assert slow.damaged == 2 and "2 lines" in fast.problems[0]
    path.write_text("\n".join(lines[5:6]))
    with pytest.raises(LogError, match=reason):
        read_logged_run(path)


def test_several_trials_in_one_line_are_all_read(tmp_path):
    trials = paper_trials("_reversal", reader, probes=2)
    path = write_run(tmp_path, trials)
    lines = [json.dumps({"doc_id": i, "trials": [t.to_json() for t in trials[i : i + 24]]}) for i in range(0, 144, 24)]
    path.write_text("\n".join(lines) + "\n")
    assert list(read_run(path).trials) == trials
    assert len(read_logged_run(path).table) == 144


def test_the_largest_numbers_fit_their_columns(tmp_path):
    largest = [Trial(**{**vars(t), **LARGEST}) for t in paper_trials("_reversal", reader, probes=1)]
    table = read_logged_run(write_run(tmp_path, largest)).table
    assert {name: int(table[name].iloc[0]) for name in LARGEST} == LARGEST
    assert {name: np.iinfo(NUMBER_COLUMNS[name]).max for name in LARGEST} == LARGEST


def test_sizes_may_be_written_as_floats(tmp_path):
    sizes = ([448, 448], [448.0, 448.0], [448, 336.0], [448.5, 12345678])
    trials = [Trial(**{**vars(t), "receipt": {"frames": 16, "order": None, "size_px": sizes[i % 4]}})
              for i, t in enumerate(paper_trials("", reader))]  # fmt: skip
    path = write_run(tmp_path, trials)
    for table in (read_logged_run(path).table, rows_to_table(read_run(path).trials)):
        assert list(table["received_size"][:4]) == [
            "448 x 448 px", "448 x 448 px", "448 x 336 px", "448.5 x 12345678 px"
        ]  # fmt: skip


@pytest.mark.parametrize("read", [read_run, read_logged_run])
def test_a_log_of_several_tasks_is_refused(tmp_path, read):
    path = write_run(tmp_path, paper_trials("_time", reader, probes=1) + paper_trials("", reader, probes=1))
    told = (
        r"samples.*\.jsonl holds trials of several tasks \(caved_or_convinced, caved_or_convinced_time\): split it.*run"
    )
    with pytest.raises(LogError, match=told):
        read(path)


@pytest.mark.parametrize(
    ("model_id", "arguments", "label"),
    [
        ("qwen2_5_vl", "pretrained=Qwen/Qwen2.5-VL-7B-Instruct,device=cpu", "Qwen/Qwen2.5-VL-7B-Instruct"),
        ("qwen2_5_vl", "device=cpu,pretrained=/data/models/Qwen/tiny/", "Qwen/tiny"),
        ("openai", "model=some-model,base_url=http://localhost:8000/v1?a=b", "some-model"),
        ("scripted_observer", "reading=0.9,deference=0.3", "scripted_observer (reading=0.9,deference=0.3)"),
        ("scripted_observer", "", "scripted_observer"),
    ],
)
def test_what_a_model_is_called(model_id, arguments, label):
    assert model_label(model_id, arguments) == label


def study_of(*places):
    return collect_study(read_logged_runs(places))


def test_releases_and_readouts_are_never_mixed(tmp_path):
    write_run(tmp_path / "a", paper_trials("", reader), "pretrained=a")
    write_run(tmp_path / "b", paper_trials("", reader, release="e" * 64), "pretrained=b")
    with pytest.raises(LogError, match=r"several releases cannot share a report(?s:.*)an --out of its own"):
        study_of(tmp_path)
    write_run(tmp_path / "b", paper_trials("", lambda t: says(t, t.shown_order)), "pretrained=b")
    with pytest.raises(LogError, match=r"several readouts(?s:.*)option probabilities: 1 run(?s:.*)text: 1 run"):
        study_of(tmp_path)
    mixed = paper_trials("", lambda t: reader(t) if t.twin == "+" else says(t, t.shown_order))
    write_run(tmp_path / "c", mixed, "pretrained=c")
    with pytest.raises(LogError, match=r"holds both option probabilities \(64 trials\) and texts \(64\)"):
        study_of(tmp_path / "c")
    two = paper_trials("", reader) + paper_trials("", reader, release="f" * 64)
    write_run(tmp_path / "d", two, "pretrained=d")
    with pytest.raises(LogError, match="trials of 2 releases"):
        study_of(tmp_path / "d")


def test_settings_of_frame_times_are_never_mixed(tmp_path):
    write_run(tmp_path / "a", paper_trials("", reader), "pretrained=a")
    told = [Trial(**{**vars(t), "time": "text"}) for t in paper_trials("", reader)]
    write_run(tmp_path / "b", told, "pretrained=b")
    write_run(tmp_path / "a", paper_trials("_time", reader), "pretrained=a")
    with pytest.raises(
        LogError, match=r"2 runs of several settings of frame times(?s:.*)text: 1 run(?s:.*)withheld: 1"
    ):
        study_of(tmp_path)
    assert len(study_of(tmp_path / "a").runs) == 2


def test_runs_of_several_versions_are_said(tmp_path):
    for name, version in (("a", "0.2.0"), ("b", "0.3.0")):
        path = write_run(tmp_path / name, paper_trials("", reader), f"pretrained={name}")
        results = path.with_name("20260101_000000_results.json")
        entry = json.loads(results.read_text())
        entry["configs"] = {"caved_or_convinced": {"metadata": {"versions": {"caved-or-convinced": version}}}}
        results.write_text(json.dumps(entry))
    assert any("versions 0.2.0, 0.3.0" in problem for problem in study_of(tmp_path).problems)
    assert study_of(tmp_path / "a").problems == ()


def test_of_several_runs_the_newest_counts_and_it_is_said(tmp_path):
    write_run(tmp_path, paper_trials("", reader), stamp="20260102_000000")
    write_run(tmp_path, paper_trials("", lambda t: confident(t, 0.5)), stamp="20260101_000000")
    study = study_of(tmp_path)
    assert study.models == ("someone/model-7B",)
    assert study.run("someone/model-7B", "caved_or_convinced").date == "20260102_000000"
    assert any("2 runs of caved_or_convinced; the newest" in p for p in study.problems)


def test_other_arguments_in_another_task_are_said(tmp_path):
    write_run(tmp_path / "x", paper_trials("", reader), "pretrained=a/b,max_num_frames=16")
    write_run(tmp_path / "y", paper_trials("_k32", reader), "pretrained=a/b,max_num_frames=32")
    study = study_of(tmp_path)
    assert study.models == ("a/b",) and len(study.runs) == 2
    assert any("different arguments" in p for p in study.problems)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two models, all tasks; one of them lacks the native channel."""
    folder = tmp_path_factory.mktemp("whole")
    for ending in SETTINGS:
        trials = paper_trials(ending, reader, probes=40)
        write_run(folder / "a", trials, "pretrained=Qwen/Qwen2.5-VL-7B-Instruct")
        lost = [
            Trial(**{**vars(t), "unavailable": "no native channel", "answer": Answer("unparseable")})
            if t.time == "native"
            else t
            for t in paper_trials(
                ending, lambda t: confident(t, 0.8 if t.claimed_order != "e2_first" else 0.2), probes=40
            )
        ]
        write_run(folder / "b", lost, "pretrained=someone/caves")
    return build_report(study_of(folder), with_published=True, resamples=200)


def table(report, name):
    return next(t for t in report.tables if t.name == name)


def cell(report, name, model, key):
    (row,) = [r for r in table(report, name).rows if r.label == model]
    return row.cells[key]


def test_the_whole_paper_is_one_report(whole):
    names = {t.name for t in whole.tables}
    assert names == {
        "main", "main_confidence", "attribution", "claim_strength", "time", "dilution_informedness",
        "dilution_deference", "availability", "single_event", "tests", "reversal", "reversal_sweep", "reversal_tuned",
    }  # fmt: skip
    assert {f.name for f in whole.figures} == {"acceptance", "availability", "dilution", "reversal", "single_event"}
    qwen, caves = "Qwen/Qwen2.5-VL-7B-Instruct", "someone/caves"
    assert cell(whole, "main", qwen, "k16_on_grid_J0").estimate.value == 1.0
    assert cell(whole, "main", qwen, "k16_on_grid_J0").published == 0.04
    assert cell(whole, "main", qwen, "k16_on_grid_J").estimate.value == 0.5
    assert cell(whole, "main", qwen, "k16_in_gap_J").note == "by construction"
    assert cell(whole, "main", caves, "k16_on_grid_J").published is None
    assert cell(whole, "main_confidence", qwen, "k16_on_grid_J0").estimate.value == pytest.approx(0.8)
    assert cell(whole, "time", caves, "J0_native").text == "no channel"
    assert cell(whole, "time", caves, "J0_native").note == "no native channel"
    assert cell(whole, "time", qwen, "J0_native").published == 0.05
    assert cell(whole, "attribution", qwen, "J0_no_events").estimate.value == 0.0
    assert cell(whole, "reversal", qwen, "accuracy").estimate.value == 1.0
    assert cell(whole, "reversal", caves, "coverage").estimate.value == 0.0
    kinds = {v.model: v.kind for v in whole.verdicts}
    assert kinds[caves] == "availability failure"


def test_what_is_tested_is_said_with_its_p_value(whole):
    qwen = "Qwen/Qwen2.5-VL-7B-Instruct"
    # In-gap it says e1: false claims of e1 (20 probes) and those it yields to are accepted; on-grid those it yields to.
    false = cell(whole, "tests", qwen, "false_claims")
    assert false.text == "0 : 10" and false.p_value == pytest.approx(2 * 2**-9, rel=1e-6)
    assert cell(whole, "tests", qwen, "in_gap_J").text == "identical by construction"
    assert cell(whole, "tests", qwen, "event_frames").text == "40 : 0"
    assert cell(whole, "tests", qwen, "needed").text.endswith("(|J| = 0.50)")
    assert cell(whole, "tests", qwen, "detectable").text.endswith("(50 % differ)")


def test_a_partial_log_says_what_is_missing(tmp_path):
    write_run(tmp_path, paper_trials("", reader, probes=10)[:100])
    report = build_report(study_of(tmp_path), resamples=200)
    assert any("no log of caved_or_convinced_k32" in line and "lmms-eval --tasks" in line for line in report.missing)
    assert any("caved_or_convinced_reversal" in line for line in report.missing)
    assert any("60 trials are missing" in w or "trials are missing from the log" in w for w in report.warnings)
    assert {t.name for t in report.tables} == {
        "main", "main_confidence", "dilution_informedness", "dilution_deference", "availability", "tests"
    }  # fmt: skip


def test_text_readouts_have_no_confidence_table(tmp_path):
    write_run(tmp_path, paper_trials("", lambda t: says(t, t.shown_order), probes=30))
    report = build_report(study_of(tmp_path), resamples=200)
    assert "main_confidence" not in {t.name for t in report.tables}


def test_many_warnings_of_a_kind_are_one_line():
    def warn(model, task, text):
        return RunWarning(model, f"caved_or_convinced{task}", text)

    ties = [warn("a", f"_k{k}", f"on-grid: in {k}.5% of readings the two cancel") for k in (8, 16, 32)]
    other = [warn("b", "", "on-grid: in 9.5% of readings the two cancel"), warn("a", "", "3 videos are missing")]
    assert gather_warnings([*ties, *other]) == [
        "a, 3 times (k8, k16, k32); the worst is caved_or_convinced_k32, on-grid: in 32.5% of readings the two cancel",
        "b, caved_or_convinced: on-grid: in 9.5% of readings the two cancel",
        "a, caved_or_convinced: 3 videos are missing",
    ]


def test_a_task_without_a_single_answer_goes_with_any_readout(tmp_path):
    write_run(tmp_path, paper_trials("", reader))
    write_run(tmp_path, paper_trials("_mild", lambda t: Answer("unparseable")))
    study = study_of(tmp_path)
    assert study.readout == "option probabilities" and len(study.runs) == 2


def test_published_numbers_belong_to_a_checkpoint_not_to_a_name(tmp_path):
    """A chosen name, four bits or an adapter make no model of the paper; a copy in the Hub's cache does."""
    ways = {
        "a": "pretrained=Qwen/Qwen2.5-VL-7B-Instruct",
        "b": "pretrained=Qwen/Qwen2.5-VL-7B-Instruct,load_in_4bit=True",
        "c": "pretrained=x/models--Qwen--Qwen2.5-VL-7B-Instruct/snapshots/0123",
        "d": "pretrained=someone/else",
    }
    for name, way in ways.items():
        write_run(tmp_path / name, paper_trials("", reader), way)
    runs = [replace(run, model=run.path.parent.name, named=True) for run in read_logged_runs([tmp_path])]
    runs = [replace(run, model="Qwen2.5-VL-7B") if run.model == "d" else run for run in runs]
    report = build_report(collect_study(runs), with_published=True, resamples=200)
    said = {row.label: row.cells["k16_on_grid_J0"].published for row in table(report, "main").rows}
    assert said == {"a": 0.04, "b": None, "c": 0.04, "Qwen2.5-VL-7B": None}


def test_equivalence_is_said_of_the_adjusted_p_value(tmp_path):
    """Six models, each shown alone at 5 % and none of them after Holm's adjustment."""

    def gap(t):
        if t.phase == "on_grid" or t.claim == "none":
            return confident(t, 0.9 if t.shown_order == "e1_first" else 0.1)
        order = t.claimed_order
        if int(t.probe[1:]) < 11 and not t.claim_is_true:  # of 300 probes: J = 0.037, and not the same view
            order = OTHER[order]
        return confident(t, 0.9 if order == "e1_first" else 0.1)

    trials = [replace(t, view=f"{t.view}{t.twin}") for t in paper_trials("", gap, probes=100)]
    for i in range(2):
        write_run(tmp_path / str(i), trials, f"pretrained=a/m{i}")
    report = build_report(study_of(tmp_path), resamples=200)
    for row in table(report, "tests").rows:
        shown = row.cells["in_gap_J"]
        assert (shown.text == "equivalent") == (shown.p_value < 0.05)
    assert "in-gap 2" in " ".join(table(report, "tests").notes)


def test_an_adaptive_run_is_reported_at_its_own_threshold(tmp_path):
    def half(t):
        shown = t.shown_order if t.direction == "forward" else OTHER[t.shown_order]
        return confident(t, 0.7 if shown == "e1_first" else 0.3)  # R = 0.4

    for name, theta, order in (("a", 0.3, 8), ("b", 0.5, None)):
        trials = [
            replace(t, task="caved_or_convinced_reversal_adaptive", threshold=theta, release_offsets=3)
            for t in paper_trials("_reversal", half)
            if order is None or t.budget == order
        ]
        write_run(tmp_path / name, trials, f"pretrained=a/{name}")
    report = build_report(study_of(tmp_path), resamples=200)
    rows = {row.label: row.cells for row in table(report, "reversal_adaptive").rows}
    assert [rows[m]["theta"].text for m in ("a/a", "a/b")] == ["0.3", "0.5"]
    assert [rows[m]["coverage"].estimate.value for m in ("a/a", "a/b")] == [1.0, 0.0]
    assert rows["a/b"]["mean_k_all"].estimate.value == 32.0


@pytest.mark.parametrize("lost", [{"budget": 8}, {"budget": 32}, {"offset": 2}])
def test_a_reversal_log_without_a_budget_or_an_offset_is_no_shorter_test(tmp_path, lost):
    def reads(t):
        shown = t.shown_order if t.direction == "forward" else OTHER[t.shown_order]
        return confident(t, 0.6 if shown == "e1_first" else 0.4)  # R = 0.2: goes to the end

    (name, value) = next(iter(lost.items()))
    trials = [replace(t, release_offsets=3) for t in paper_trials("_reversal", reads) if getattr(t, name) != value]
    write_run(tmp_path, trials)
    report = build_report(study_of(tmp_path), resamples=200)
    cells = {row.label: row.cells for row in table(report, "reversal").rows}["someone/model-7B"]
    assert cells["coverage"].estimate.method == "none" and cells["mean_k_all"].estimate.method == "none"
    assert (cells["accuracy_one_offset"].estimate.method == "none") == (lost == {"budget": 8})
    assert any("trials in all" in w for w in report.warnings)


def test_a_receipt_of_other_frames_is_a_warning(tmp_path):
    receipt = {"frames": 8, "order": "as shown", "size_px": [448, 448], "digest": "x", "time": {}}
    write_run(tmp_path, [replace(t, receipt=receipt) for t in paper_trials("", reader)])
    assert any("do not use these numbers" in w for w in build_report(study_of(tmp_path), resamples=200).warnings)


def test_mixed_readouts_have_no_text_table_either(tmp_path):
    from metrics.table import describe_run

    mixed = paper_trials("", lambda t: reader(t) if t.twin == "+" else says(t, t.shown_order))
    with pytest.raises(ValueError, match="both option probabilities"):
        describe_run(read_run(write_run(tmp_path, mixed)))
