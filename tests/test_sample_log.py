"""Logs read back: damaged lines are counted, foreign ones refused, tables say what is missing."""

import json

import pytest
from trial_tables import make_trials, says

from metrics.sample_log import LogError, read_run, read_runs
from metrics.table import describe_run


def write_log(folder, trials, results=True):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "20260101_000000_samples_caved_or_convinced.jsonl"
    path.write_text("".join(json.dumps({"doc_id": i, "trial": t.to_json()}) + "\n" for i, t in enumerate(trials)))
    if results:
        config = {"config": {"model": "some_model", "model_args": "x=1"}}
        (folder / "20260101_000000_results.json").write_text(json.dumps(config))
    return path


def test_a_run_reads_back(tmp_path):
    trials = make_trials(lambda t: says(t, t.shown_order))
    write_log(tmp_path / "a" / "model", trials)
    (run,) = read_runs([tmp_path])
    assert list(run.trials) == trials
    assert (run.model, run.model_args, run.damaged) == ("some_model", "x=1", 0)


def test_a_torn_last_line_is_counted_and_said(tmp_path):
    path = write_log(tmp_path, make_trials(lambda t: says(t, t.shown_order)))
    path.write_text(path.read_text()[:-40])
    run = read_run(path)
    assert run.damaged == 1
    text = describe_run(run)
    assert "WARNING 1 lines" in text and "1 trials are missing" in text


def test_without_a_results_file_the_folder_names_the_model(tmp_path):
    write_log(tmp_path / "Qwen__x", make_trials(lambda t: says(t, t.shown_order)), results=False)
    assert read_runs([tmp_path])[0].model == "Qwen__x"


def test_foreign_and_empty_logs_are_refused(tmp_path):
    path = tmp_path / "1_samples_mme.jsonl"
    path.write_text('{"doc_id": 0, "target": "A"}\n')
    with pytest.raises(LogError, match="no trial of this benchmark"):
        read_run(path)
    path.write_text("")
    with pytest.raises(LogError, match="it is empty"):
        read_run(path)
    with pytest.raises(LogError, match="exits with status 0 even when"):
        read_runs([tmp_path / "1_samples_mme.jsonl", *[d for d in [tmp_path / "sub"] if not d.mkdir()]])


def test_logs_of_other_tasks_are_passed_over(tmp_path):
    write_log(tmp_path / "model", make_trials(lambda t: says(t, "e1_first")))
    (tmp_path / "model" / "1_samples_mme.jsonl").write_text('{"doc_id": 0, "target": "A"}\n')
    (run,) = read_runs([tmp_path])
    assert run.task == "caved_or_convinced"


def test_two_runs_in_one_file_are_refused(tmp_path, monkeypatch, capsys):
    """The harness appends to a log of the same second; two runs that disagree must not be averaged."""
    import sys

    from stimuli_builder import cli

    path = write_log(tmp_path, make_trials(lambda t: says(t, "e1_first")))
    first = path.read_text()
    write_log(tmp_path, make_trials(lambda t: says(t, "e2_first")))
    path.write_text(first + path.read_text())
    monkeypatch.setattr(sys, "argv", ["caved", "report", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert "twice with different answers: read one run at a time" in str(stop.value)


def test_the_table_says_what_its_intervals_are(tmp_path):
    write_log(
        tmp_path, make_trials(lambda t: says(t, t.shown_order if t.phase == "on_grid" else "e1_first"), probes=40)
    )
    text = describe_run(read_runs([tmp_path])[0])
    assert "some_model (x=1)" in text and "40 probes, k = 16" in text
    assert "bootstrap over probes (10000 resamples, seed 0)" in text
    assert "c: zero by construction" in text and "e: all probes agree" in text
    assert "no confidence rates" in text
    assert "WARNING" not in text
