"""`caved report` on logs of the image benchmark: as text, as a page, beside logs of the video benchmark, and what it refuses."""

import json
import re
import sys
from dataclasses import replace

import pytest
from image_logs import write_image_run
from image_trials import image_study
from paper_trials import paper_trials, write_run
from trial_tables import confident

from metrics.image.recoverability import Recoverability, read_recoverability
from metrics.image.trial import DEGRADED
from metrics.report.report import read_report
from metrics.sample_log import LogError, log_files, logs_by_kind
from stimuli_builder import cli


def careful(question, mode, level, slot, framing, correct, asserted, rng):
    """Abstains at L1 of blur and under conviction at L0; else right."""
    return "abstain" if mode == "corruptive" or (framing == "conviction" and level == 0) else "right"


def video(t):
    return confident(t, 0.9 if (t.claimed_order or t.shown_order) == "e1_first" else 0.1)


def trials(policy=careful, items=11, **changes):
    return [replace(t, **changes) for t in image_study(policy, items=items, levels=1, categories=("code",))]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["caved", "report", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code


@pytest.fixture
def logs(tmp_path):
    write_image_run(tmp_path / "image", trials(), "pretrained=a/careful")
    return tmp_path


def table(report, name):
    return next(t for t in report.tables if t.name == name)


def test_both_benchmarks_in_one_folder_are_one_page(logs, monkeypatch, capsys):
    write_run(logs / "video", paper_trials("", video), "pretrained=a/caves")
    (logs / "1_samples_mme.jsonl").write_text('{"doc_id": 0, "target": "A"}\n')
    assert run(monkeypatch, logs, "--out", logs / "out", "--resamples", 100, "--sheets", 0) == 0
    finished = read_report(logs / "out")
    assert finished.benchmarks == ("caved_or_convinced", "cant_tell_or_wont_say")
    assert [(v.model, v.benchmark) for v in finished.verdicts] == [
        ("a/caves", "caved_or_convinced"), ("a/careful, open", "cant_tell_or_wont_say")
    ]  # fmt: skip
    assert {"main", "violation"} <= {t.name for t in finished.tables} and len(finished.provenance.releases) == 2
    printed = capsys.readouterr()
    assert "a/careful, open: " in printed.out and "−" not in printed.out
    assert "WARNING levels are not calibrated by people" in printed.err


def test_a_folder_of_one_benchmark_is_enough(logs, monkeypatch, capsys):
    assert run(monkeypatch, logs, "--out", logs / "out", "--resamples", 100) == 0
    assert read_report(logs / "out").benchmarks == ("cant_tell_or_wont_say",)
    capsys.readouterr()
    assert run(monkeypatch, logs / "image") == 0
    text = capsys.readouterr().out
    assert text.startswith("cant_tell_or_wont_say: a/careful\n") and "Evidence-invariance violation (H1)" in text
    with pytest.raises(LogError, match=r"are of cant_tell_or_wont_say, such as .*: give logs of caved_or_convinced"):
        log_files([logs])


def test_text_of_both(logs, monkeypatch, capsys):
    write_run(logs / "video", paper_trials("", video), "pretrained=a/caves")
    assert run(monkeypatch, logs) == 0
    text = capsys.readouterr().out
    assert text.index("caved_or_convinced: some_wrapper") < text.index("cant_tell_or_wont_say: a/careful")


def test_each_benchmark_finds_its_own_logs(tmp_path):
    image = write_image_run(tmp_path / "a", trials(items=1))
    films = write_run(tmp_path / "a", paper_trials("", video, probes=1))
    torn = image.with_name("2_samples_cant_tell_or_wont_say.jsonl")
    torn.write_text('{"doc_id": 0, "image_tr\n' + image.read_text())
    lost = image.with_name("3_samples_x.jsonl")
    lost.write_text('{"doc_id"\n')
    foreign = image.with_name("4_samples_mme.jsonl")
    foreign.write_text('{"doc_id": 0}\n')
    assert logs_by_kind([tmp_path]) == {"video": [films, lost], "image": [image, torn]}
    assert log_files([tmp_path], "image") == [image, torn]
    assert logs_by_kind([foreign]) == {"video": [foreign], "image": []}
    with pytest.raises(LogError, match="give logs of cant_tell_or_wont_say"):
        log_files([films], "image")


def reads(question, mode, level, slot, framing, correct, asserted, rng):
    return "right" if mode != "corruptive" or slot == 0 else "abstain"


def test_recoverability_from_a_file_or_from_the_logs_of_a_reader(logs, monkeypatch, capsys):
    def printed(*arguments):
        assert run(monkeypatch, *arguments) == 0
        return capsys.readouterr().out

    def errors(text):
        """Absolute errors of both modes, of the table of H3."""
        heading, _, row = text.split("(H3)\n")[1].splitlines()[1:4]
        return tuple(float(row[i:].split()[0]) for i in (m.start() for m in re.finditer("absolute", heading)))

    people = Recoverability(
        "40 people", True, {("code", m, 1): a for m, a in zip(DEGRADED, (1.0, 0.25), strict=True)} | {("code", "intact", 0): 1.0}
    )  # fmt: skip
    anchors = logs / "anchors.json"
    anchors.write_text(people.to_json())
    assert read_recoverability(anchors) == people
    text = printed(logs / "image", "--recoverability", anchors)
    assert "1 of 1 categories, 1 of 1 levels: 1 of 1 pairs" in text
    assert "calibrated by people (40 people)" in text and "not calibrated" not in text
    assert errors(text) == (0.0, 0.0)
    write_image_run(logs / "reader", trials(reads), "", "ocr_reader")
    text = printed(logs / "image", "--recoverability", logs / "reader")
    # Half of the blurred questions are right, half a guess: 0.625, of which half is recoverable. All are abstained from.
    assert errors(text) == (0.0, 0.5) and "the reader control: ocr_reader, not people" in text
    assert "circular" in printed(logs / "reader", "--recoverability", logs / "reader")


def two_readers(folder):
    for model in "ab":
        write_image_run(folder / model, trials(reads), f"pretrained={model}")
    return folder


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: folder / "nowhere", "nowhere does not exist: give a JSON file of anchors"),
        (lambda folder: write_image_run(folder / "r", trials(reads, release="1" * 64)).parent, "is on the release 0000"),
        (lambda folder: write_run(folder / "v", paper_trials("", video)).parent, "give logs of cant_tell_or_wont_say"),
        (lambda folder: write_image_run(folder / "b", trials(lambda *_: "wrong")).parent, "reads no category of intact"),
        (two_readers, "holds runs of several models"),
    ],
)  # fmt: skip
def test_a_bad_recoverability_leaves_no_report(logs, monkeypatch, make, said):
    place = make(logs / "given")
    assert said in run(monkeypatch, logs / "image", "--out", logs / "out", "--recoverability", place)
    assert not (logs / "out").exists()


def test_several_releases_leave_no_report(logs, monkeypatch):
    write_image_run(logs / "other", trials(release="1" * 64), "pretrained=b")
    assert "several releases" in run(monkeypatch, logs, "--out", logs / "out")
    assert not (logs / "out").exists()


def test_a_video_release_is_of_no_use_without_videos(logs, monkeypatch, release):
    told = run(monkeypatch, logs, "--out", logs / "out", "--release", release.folder)
    assert "no log is of videos: leave it out" in told and not (logs / "out").exists()


def test_names_are_for_both_benchmarks(logs, monkeypatch):
    arguments = (logs, "--name", f"{logs / 'image'}=mine", "--out", logs / "out", "--resamples", 100)
    assert run(monkeypatch, *arguments) == 0
    assert [v.model for v in read_report(logs / "out").verdicts] == ["mine, open"]


def test_a_log_without_readings_says_why(logs, monkeypatch):
    """--predict_only replaces what a task makes of a response."""
    for task in ("cant_tell_or_wont_say", "cant_tell_or_wont_say_closed", "caved_or_convinced"):
        path = logs / "predicted" / f"1_samples_{task}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"doc_id": 0, "target": "A", "filtered_resps": ["B"], "bypass": None}) + "\n")
        for arguments in ((path,), (path.parent,), (path, "--out", logs / "out")):
            told = run(monkeypatch, *arguments)
            assert f"{path.parent}" in told and "was written with --predict_only" in told and "'trial'" not in told
        path.unlink()
    assert not (logs / "out").exists()


def test_a_message_has_one_remedy(logs, monkeypatch):
    both = [*trials(items=1), *trials(items=1, release="1" * 64)]
    other = Recoverability("p", True, {("code", "corruptive", 1): 0.5}, strengths={("code", "corruptive", 1): 0.1})
    (logs / "other.json").write_text(other.to_json())
    twice = write_image_run(logs / "twice", [*trials(items=1), *trials(lambda *_: "wrong", items=1)])
    film = paper_trials("", video, probes=1)
    films = write_run(logs / "video", [*film, *(replace(t, release="1" * 64) for t in film)])
    for arguments, remedy in (
        ((twice,), "read one run at a time"),
        ((write_image_run(logs / "mixed", both),), "run again"),
        ((logs / "image", "--recoverability", logs / "other.json"), "calibrate these levels"),
        ((films,), "report one run, and one release, at a time"),
    ):
        for more in ((), ("--out", logs / "out")) if remedy != "report one run, and one release, at a time" else ((),):
            told = run(monkeypatch, *arguments, *more).strip()
            assert told.endswith(remedy) and len(re.findall("at a time|run again|calibrate these", told)) == 1


def test_a_run_that_contradicts_itself_ends_in_one_message(logs, monkeypatch):
    path = write_image_run(logs / "twice", trials())
    other = write_image_run(logs / "once", trials(lambda *_: "wrong"))
    path.write_text(path.read_text() + other.read_text())
    for arguments in ((logs / "twice",), (logs / "twice", "--out", logs / "out")):
        assert "occurs twice with different answers" in run(monkeypatch, *arguments)
    assert not (logs / "out").exists()
