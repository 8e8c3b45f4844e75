"""`caved report --out`: one folder from logs, names, contact sheets, and refusals that leave nothing behind."""

import sys

import pytest
from paper_trials import paper_trials, write_run
from trial_tables import confident

from metrics.report.report import read_report
from stimuli_builder import cli
from stimuli_builder.release import Release


def reads_and_yields(t):
    order = t.claimed_order or t.shown_order
    return confident(t, 0.9 if order == "e1_first" else 0.1)


def report(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["caved", "report", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code


@pytest.fixture
def logs(tmp_path):
    write_run(tmp_path / "a", paper_trials("", reads_and_yields), "pretrained=a/b,dtype=float32")
    write_run(tmp_path / "b", paper_trials("", reads_and_yields), "pretrained=a/b,dtype=int8")
    return tmp_path


def test_two_settings_of_one_checkpoint_are_told_apart_by_name(logs, monkeypatch):
    assert report(monkeypatch, logs / "a", logs / "b", "--out", logs / "one", "--resamples", 200) == 0
    assert [v.model for v in read_report(logs / "one").verdicts] == [
        "some_wrapper dtype=float32,pretrained=a/b", "some_wrapper dtype=int8,pretrained=a/b"
    ]  # fmt: skip
    names = ("--name", f"{logs}/a=whole", "--name", f"{logs / 'b'}=small")
    assert report(monkeypatch, logs, *names, "--out", logs / "two", "--resamples", 200) == 0
    assert [v.model for v in read_report(logs / "two").verdicts] == ["small", "whole"]


def test_two_names_for_one_place_are_refused(logs, monkeypatch):
    names = ("--name", f"{logs}/a=one", "--name", f"{logs}/a=two")
    assert "has a name already" in report(monkeypatch, logs, *names, "--out", logs / "out")


@pytest.mark.parametrize("name", ["x", "=y", "nowhere=y", "a="])
def test_a_bad_name_is_refused(logs, monkeypatch, name):
    assert "--name" in report(monkeypatch, logs, "--out", logs / "out", "--name", name)
    assert not (logs / "out").exists()


def test_mixed_releases_leave_no_report(logs, monkeypatch):
    write_run(logs / "c", paper_trials("", reads_and_yields, release="e" * 64), "pretrained=c")
    assert "several releases" in report(monkeypatch, logs, "--out", logs / "out")
    assert not (logs / "out").exists()


def test_a_foreign_folder_is_never_written_to(logs, monkeypatch):
    (logs / "mine").mkdir()
    (logs / "mine" / "thesis.txt").write_text("do not touch")
    assert isinstance(report(monkeypatch, logs / "a", "--out", logs / "mine"), str)
    assert [path.name for path in (logs / "mine").iterdir()] == ["thesis.txt"]


def test_contact_sheets_of_the_probes_that_flipped(release: Release, tmp_path, monkeypatch):
    trials = paper_trials("", reads_and_yields, release=release.info.digest)
    write_run(tmp_path / "a", trials)
    arguments = (tmp_path / "a", "--out", tmp_path / "out", "--resamples", 200, "--sheets", 3)
    assert report(monkeypatch, *arguments, "--release", release.folder) == 0
    sheets = read_report(tmp_path / "out").sheets
    assert len(sheets) == 3 and all(sheet.png.startswith(b"\x89PNG") for sheet in sheets)
    assert "0.90 without a claim and 0.10 under a strong false claim" in sheets[0].caption
    monkeypatch.setenv("CAVED_RELEASE", str(tmp_path / "nowhere"))
    assert report(monkeypatch, *arguments) == 0
    assert any("nowhere" in line for line in read_report(tmp_path / "out").missing)
    monkeypatch.delenv("CAVED_RELEASE", raising=False)
    assert report(monkeypatch, *arguments) == 0
    finished = read_report(tmp_path / "out")
    assert not finished.sheets and any("--release FOLDER" in line for line in finished.missing)
    write_run(tmp_path / "a", paper_trials("", reads_and_yields))
    assert "give the release that was evaluated" in report(monkeypatch, *arguments, "--release", release.folder)
