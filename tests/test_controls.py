"""No report lets a control pass for a model under test: every place that shows a run's name shows what made it."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib.text
import pandas as pd
import pytest
from image_logs import write_image_run
from image_trials import image_study
from paper_trials import SETTINGS, paper_trials, write_run
from trial_tables import confident

from metrics.controls import CONTROL_IDS, KINDS, control_kind, counted_models, marked_name, split_mark
from metrics.image.logged_image_run import read_image_run
from metrics.image.report_study import collect_image_study
from metrics.logged_run import read_logged_run
from metrics.report.assemble import build_report
from metrics.report.figure_style import drawn_names
from metrics.report.published import published
from metrics.report.report import read_report, report_files
from metrics.report.study import collect_study
from metrics.report.verdicts import CAN_READ, reading_groups
from metrics.sample_log import LogError, read_run
from metrics.table import describe_run
from metrics.trial import Answer
from metrics.trial_table import rows_to_table
from stimuli_builder import cli

CALLED = "Zebra-7B"
QWEN = "pretrained=/models/Qwen/Qwen2.5-VL-7B-Instruct"
SEEN = {"frames": 16, "order": "as shown", "size_px": [448, 448], "digest": "x", "time": {"channel": "withheld"}}


def reads(t):
    if t.events_sampled < 2:
        return confident(t, 0.5)
    shown = t.shown_order if t.direction == "forward" else {"e1_first": "e2_first"}.get(t.shown_order, "e1_first")
    return confident(t, 0.9 if shown == "e1_first" else 0.1)


def careful(question, mode, level, slot, framing, correct, asserted, rng):
    return "abstain" if mode == "corruptive" or (framing == "conviction" and level == 0) else "right"


def marked(trials, kind):
    """As a model answers them whose configuration says what it is."""
    return [
        replace(t, receipt={**SEEN, "frames": getattr(t, "budget", 1), **({"control": kind} if kind else {})})
        for t in trials
    ]


def videos(task="", kind="control", probes=24):
    return marked(paper_trials(task, reads, probes=probes), kind)


def images(kind="control", items=2):
    return marked(image_study(careful, items=items, levels=1, categories=("code",)), kind)


def command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["caved", "report", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code


def unmarked(text, kind="control"):
    """Where a text calls the model by its name without what it is."""
    return [
        text[max(0, m.start() - 60) : m.end()]
        for m in re.finditer(CALLED, text)
        if not text[: m.start()].endswith(f"{kind}: ")
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_a_report_says_it_wherever_the_name_stands(kind, tmp_path, monkeypatch, capsys):
    """All tasks of both benchmarks, with the paper's numbers, under a name that the user gave."""
    for task in SETTINGS:
        write_run(tmp_path / "logs", videos(task, kind), QWEN)
    write_image_run(tmp_path / "images", images(kind), QWEN)
    other = paper_trials("", reads, probes=24)
    write_run(tmp_path / "other", other, "pretrained=x/y")
    drawn = []
    set_text = matplotlib.text.Text.set_text

    def watched(self, text):
        drawn.append(str(text))
        set_text(self, text)

    monkeypatch.setattr(matplotlib.text.Text, "set_text", watched)
    out = tmp_path / "out"
    names = [x for place in ("logs", "images") for x in ("--name", f"{tmp_path / place}={CALLED}")]
    places = [tmp_path / name for name in ("logs", "images", "other")]
    arguments = (*places, *names, "--published", "--resamples", 100, "--sheets", 0, "--out", out)
    assert command(monkeypatch, *arguments) == 0
    texts = {p.name: p.read_text() for p in out.rglob("*") if p.suffix in (".html", ".csv", ".tex", ".json")}
    assert len(texts) > 30
    shown = {name for name, text in texts.items() if CALLED in text}
    assert {"index.html", "report.json", "main.csv", "main.tex", "reversal_sweep.csv", "violation.csv"} <= shown
    assert {name: found for name, text in texts.items() if (found := unmarked(text, kind))} == {}
    named = [text for text in drawn if CALLED in text]
    assert named and not any(map(lambda text: unmarked(text, kind), named))
    printed = capsys.readouterr()
    assert CALLED in printed.out and CALLED in printed.err and not unmarked(printed.out + printed.err, kind)

    report = read_report(out)
    assert [v.kind.startswith(f"{kind}: ") for v in report.verdicts] == [CALLED in v.model for v in report.verdicts]
    said = f"{kind}: {CALLED}: {KINDS[kind]}; numbers of such models test the benchmark and are no results"
    assert said in report.warnings[0]
    assert not [
        (table.name, row.label)
        for table in report.tables
        for row in table.rows
        if any(cell.published is not None for cell in row.cells.values())
    ]
    page = re.sub("<[^>]+>", "", texts["index.html"])
    assert KINDS[kind] in page
    assert not any("can read the order (2" in row.label for table in report.tables for row in table.rows)


def test_the_same_log_without_the_mark_has_the_numbers_of_the_paper_beside_it(tmp_path):
    """What the test above rules out is there for the model itself."""
    for kind, expected in (("", True), ("control", False)):
        run = replace(
            read_logged_run(write_run(tmp_path / f"x{kind}", videos("", kind, 4), QWEN)), model="Qwen2.5-VL-7B"
        )
        study = collect_study([replace(run, named=True)])
        report = build_report(study, with_published=True, resamples=0)
        cells = [cell for table in report.tables for row in table.rows for cell in row.cells.values()]
        assert any(cell.published is not None for cell in cells) == expected
        assert bool(study.checkpoint(study.models[0])) == expected
        assert (published("main", study.checkpoint(study.models[0]), "k16_on_grid_J0") is not None) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_text_of_a_single_log_says_it_whatever_the_folder_is_called(kind, tmp_path, monkeypatch, capsys):
    for name, path in {
        "video": write_run(tmp_path / "a" / "Qwen__Zebra-7B", videos("", kind, 4)),
        "image": write_image_run(tmp_path / "b" / "Qwen__Zebra-7B", images(kind)),
    }.items():
        for results in path.parent.glob("*_results.json"):
            results.unlink()
        assert command(monkeypatch, path.parent) == 0
        text = capsys.readouterr().out
        assert f": {kind}: Qwen__Zebra-7B" in text, name
        assert f"WARNING {kind}: Qwen__Zebra-7B: {KINDS[kind]}; numbers of such models test the benchmark" in text


@pytest.mark.parametrize("model_id", CONTROL_IDS)
def test_models_of_this_package_are_known_without_a_mark(model_id, tmp_path):
    """As in logs that were written before receipts said it."""
    kind = CONTROL_IDS[model_id]
    path = write_run(tmp_path / "v", videos("", None, 4), "a=1")
    results = next(path.parent.glob("*_results.json"))
    results.write_text(results.read_text().replace("some_wrapper", model_id))
    run = read_logged_run(path)
    assert collect_study([run]).controls == {f"{kind}: {model_id} (a=1)": kind}
    assert collect_study([replace(run, model="GPT", named=True)]).models == (f"{kind}: GPT",)
    assert describe_run(read_run(path)).startswith(f"caved_or_convinced: {kind}: {model_id} (a=1)\n")
    image = read_image_run(write_image_run(tmp_path / "i", images(None), "", model_id))
    assert collect_image_study([image]).controls == {f"{kind}: {model_id}": kind}


def mixes(of_video):
    """Trials of two models in one log: one of them marked and one not, or both otherwise."""
    make = (lambda kind: videos("", kind, 4)) if of_video else images
    for first, second in (("control", None), ("simulated", None), ("control", "simulated")):
        one, other = make(first), make(second)
        yield [*one[:-1], other[-1]], f"{first}|{second}"
        yield [other[0], *one[1:]], f"{first}|{second}"
    silent = [replace(t, receipt=None) for t in make("control")]  # without a receipt, but answered
    yield [silent[0], *make("control")[1:]], "control"


def test_a_log_that_was_put_together_from_several_models_is_refused(tmp_path, monkeypatch):
    for number, (trials, said) in enumerate(mixes(of_video=True)):
        path = write_run(tmp_path / f"v{number}", trials)
        with pytest.raises(LogError, match=rf"(?s)samples.*({said}).*report the log of one run at a time"):
            collect_study([read_logged_run(path)])
        with pytest.raises(ValueError, match="report the log of one run at a time"):
            describe_run(read_run(path))
        assert "report the log of one run at a time" in command(monkeypatch, path)
        assert "report the log of one run at a time" in command(monkeypatch, path, "--out", tmp_path / "out")
        assert not (tmp_path / "out").exists()
    for number, (trials, said) in enumerate(mixes(of_video=False)):
        path = write_image_run(tmp_path / f"i{number}", trials)
        with pytest.raises(LogError, match=rf"(?s)samples.*({said}).*report the log of one run at a time"):
            collect_image_study([read_image_run(path)])
        assert "report the log of one run at a time" in command(monkeypatch, path)
        assert "report the log of one run at a time" in command(monkeypatch, path, "--recoverability", path.parent)


def test_a_response_that_was_lost_says_nothing_of_its_model():
    trials = videos("", "simulated", 4)
    lost = replace(trials[5], receipt=None, answer=Answer("unparseable"))
    assert control_kind("x", rows_to_table([*trials[:5], lost, *trials[6:]])) == "simulated"


def test_logs_without_the_key_are_read_as_before(tmp_path):
    trials = [
        replace(t, receipt={**SEEN, "control": None} if i % 2 else None) for i, t in enumerate(videos("", None, 4))
    ]
    run = read_logged_run(write_run(tmp_path, trials, "pretrained=x/y"))
    assert set(run.table["control"]) == {""} and collect_study([run]).controls == {}
    pd.testing.assert_frame_equal(run.table, rows_to_table(read_run(run.path).trials))
    assert "no results" not in describe_run(read_run(run.path))


def test_one_name_never_stands_for_a_control_and_a_model(tmp_path):
    """The same name keeps them apart, unless a model is called what a control is."""
    control = read_logged_run(write_run(tmp_path / "a", videos("", "control", 4)))
    model = read_logged_run(write_run(tmp_path / "b", videos("", None, 4)))
    study = collect_study([replace(run, model="X", named=True) for run in (control, model)])
    assert study.models == ("control: X", "X") and study.controls == {"control: X": "control"}
    posing = replace(model, model="control: X", named=True)
    with pytest.raises(LogError, match=r"is called control: X.*give them other names with --name"):
        collect_study([replace(control, model="X", named=True), posing])


def test_controls_are_never_pooled_with_models_under_test(tmp_path):
    runs = []
    for number, kind in enumerate((None, None, "control", "control", "simulated")):
        for task in ("", "_reversal"):
            path = write_run(tmp_path / f"{number}", videos(task, kind, 32), f"pretrained=x/m{number}")
            runs.append(read_logged_run(path))
    report = build_report(collect_study(runs), resamples=0)
    sweep = next(table for table in report.tables if table.name == "reversal_sweep")
    pooled = {row.label.split(", θ")[0] for row in sweep.rows if "models)" in row.label}
    assert pooled == {f"{CAN_READ} (2 models)", f"control: {CAN_READ} (2 models)"}
    assert report.title == "Caved or convinced: 2 models, 1 simulated model, 2 controls"
    assert reading_groups({})[CAN_READ] == []


def test_figures_never_cut_the_mark_off():
    publisher = ["control: some/dodger", "simulated: other/dodger", "some/reader"]
    assert drawn_names(publisher) == {
        "control: some/dodger": "control: dodger", "simulated: other/dodger": "simulated: dodger", "some/reader": "reader"
    }  # fmt: skip
    assert drawn_names(["control: a/m", "control: b/m"]) == {
        "control: a/m": "control: a/m",
        "control: b/m": "control: b/m",
    }
    long = [f"control: a/{'x' * 80}{end}{'y' * 80}" for end in "12"] + ["control: " + "z" * 99]
    for names in (long, long[:1]):
        drawn = drawn_names(names, 34)
        assert all(name.startswith("control: ") and len(name) <= 34 for name in drawn.values())
        assert len(set(drawn.values())) == len(names)


def test_marks_are_taken_off_as_they_were_put_on():
    for kind in KINDS:
        assert split_mark(marked_name("a: b", kind)) == (f"{kind}: ", "a: b")
        assert marked_name(marked_name("x", kind), kind) == f"{kind}: x"
    assert marked_name("x", "") == "x" and split_mark("contr: x") == ("", "contr: x")
    assert counted_models(["a"], {}) == "1 model" and counted_models([], {}) == "0 models"
    assert counted_models(["a", "b"], {"a": "control", "b": "control"}) == "2 controls"


def test_a_report_of_controls_comes_back_from_its_data(tmp_path):
    study = collect_study([read_logged_run(write_run(tmp_path / "a", videos("", "control", 4), QWEN))])
    files = report_files(build_report(study, resamples=0))
    assert b"control: Qwen/Qwen2.5-VL-7B-Instruct" in files["report.json"]
    assert Path("index.html").name in files and b"<h1>Caved or convinced: 1 control</h1>" in files["index.html"]


def test_contact_sheets_say_it_too(release, tmp_path, monkeypatch):
    def yields(t):
        return confident(t, 0.9 if (t.claimed_order or t.shown_order) == "e1_first" else 0.1)

    write_run(tmp_path / "logs", marked(paper_trials("", yields, release=release.info.digest), "control"))
    out = tmp_path / "out"
    arguments = ("--release", release.folder, "--sheets", 1, "--resamples", 100, "--out", out)
    assert command(monkeypatch, tmp_path / "logs", "--name", f"{tmp_path / 'logs'}={CALLED}", *arguments) == 0
    assert [sheet.model for sheet in read_report(out).sheets] == [f"control: {CALLED}"]
    assert not unmarked((out / "index.html").read_text()) and not unmarked((out / "report.json").read_text())
