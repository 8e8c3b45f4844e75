"""The `caved` command: what it builds, and one line with the remedy for everything that is wrong."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from videos import h264_long_gop, write_stamped, xvid_like

from stimuli_builder import cli
from stimuli_builder.errors import CavedError
from stimuli_builder.release import open_release


def caved(monkeypatch, capsys, *arguments: str) -> tuple[int, str, str]:
    """(status, standard output, standard error without progress bars) of one command, run in this process."""
    monkeypatch.setattr(sys, "argv", ["caved", *map(str, arguments)])
    try:
        cli.main()
        status: object = 0
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    if isinstance(status, str):
        err, status = err + status, 1
    lines = [line for line in err.replace("\r", "\n").splitlines() if "%|" not in line]
    return int(status or 0), out, "\n".join(lines)


@pytest.fixture
def run(monkeypatch, capsys):
    return lambda *arguments: caved(monkeypatch, capsys, *arguments)


@pytest.fixture(scope="module")
def footage(tmp_path_factory) -> Path:
    """Two classes of stamped events, one background, all long enough."""
    root = tmp_path_factory.mktemp("footage")
    for label in ("Archery", "Bowling"):
        (root / "UCF-101" / label).mkdir(parents=True)
        xvid_like(root / "UCF-101" / label / f"v_{label}_g01_c01.avi", 150, 0.9 if label == "Archery" else 0.8)
    (root / "NExTVideo" / "0101").mkdir(parents=True)
    h264_long_gop(root / "NExTVideo" / "0101" / "1234.mp4", 260)
    return root


def build_args(footage: Path, out: Path, *more: str) -> list[str]:
    sources = ["--ucf101", footage, "--nextqa", footage]
    return ["build", "video", *sources, "--probes", "2", "--canvas", "56", "--workers", "1", "--out", out, *more]


def test_build_verify_preview(run, footage, tmp_path):
    status, out, err = run(*build_args(footage, tmp_path / "r"))
    assert status == 0, err
    assert "digest" in out and "lmms-eval --tasks caved_or_convinced" in out
    assert "2 of 2 classes have a single clip" in err
    status, out, _ = run("verify", tmp_path / "r")
    assert status == 0 and "in-gap twins identical" in out
    status, out, err = run("preview", tmp_path / "r", "--out", tmp_path / "sheet.png")
    assert status == 0, err
    assert (tmp_path / "sheet.png").stat().st_size > 1000
    assert open_release(tmp_path / "r").info.sources == "UCF-101 over NExT-QA"


def test_all_that_the_paper_needs(run, tmp_path):
    """From procedural scenes: six budgets and the reversal test, which the same command finds finished."""
    arguments = (
        "build",
        "video",
        "--paper",
        "--probes",
        "1",
        "--canvas",
        "56",
        "--workers",
        "1",
        "--out",
        tmp_path / "r",
    )
    status, out, err = run(*arguments)
    assert status == 0, err
    assert "1 probes at k = 8, 16, 24, 32, 48, 64, 4 offsets of the reversal test" in out
    assert "--tasks caved_or_convinced_paper" in out
    assert open_release(tmp_path / "r").info.parts == (8, 16, 24, 32, 48, 64, "reversal")
    assert "nothing to do" in run(*arguments)[1]
    same = ("--budgets", "64,8,16,24,32,48", "--reversal-offsets", "4")
    assert "nothing to do" in run(*(a for a in arguments if a != "--paper"), *same)[1]
    assert "nothing to do" in run(*arguments, *same)[1]
    status, out, _ = run("verify", tmp_path / "r")
    assert status == 0 and "each arm replaces what it says" in out and "the offsets' times are those of the seed" in out
    for show in ("arms", "reversal"):
        status, _, err = run("preview", tmp_path / "r", "--show", show, "--out", tmp_path / f"{show}.png")
        assert status == 0 and (tmp_path / f"{show}.png").stat().st_size > 1000, err


def test_backgrounds_that_stand_still_are_named(run, tmp_path, monkeypatch):
    """Their placebo is the intact view: the build goes through and says so, and so does whoever verifies it."""
    monkeypatch.setattr("stimuli_builder.procedural.BACKGROUND_STEP_S", 1000.0)
    small = ("--probes", "2", "--canvas", "56", "--workers", "1")
    status, _, err = run("build", "video", *small, "--budgets", "8,16", "--out", tmp_path / "r")
    assert status == 0 and "in 4 of 4 rows the placebo changes no pixel" in err and "background/" in err
    status, _, err = run("verify", tmp_path / "r")
    assert status == 0 and "in 4 of 4 rows the placebo changes no pixel" in err


def test_clips_that_are_copies_of_one_another_are_refused(run, footage, tmp_path):
    copies = tmp_path / "copies"
    for label in ("Archery", "Bowling"):
        (copies / label).mkdir(parents=True)
        shutil.copy(footage / "UCF-101" / "Archery" / "v_Archery_g01_c01.avi", copies / label / "clip.avi")
    status, _, err = run(
        *("build", "video", "--events", copies, "--backgrounds", footage / "NExTVideo", "--probes", "1"),
        *("--canvas", "56", "--workers", "1", "--out", tmp_path / "r"),
    )
    assert status == 1
    assert "both events show the same frame" in err and "remove one of them" in err
    assert not (tmp_path / "r").exists()


def test_the_same_command_again_has_nothing_to_do(run, footage, tmp_path):
    run(*build_args(footage, tmp_path / "r"))
    status, out, _ = run(*build_args(footage, tmp_path / "r"))
    assert status == 0 and "already built" in out
    others = (("--seed", "1"), ("--probes", "3"), ("--canvas", "64"), ("--budgets", "8"), ("--reversal-offsets", "1"))
    for other in others:
        status, _, err = run(*build_args(footage, tmp_path / "r", *other))
        assert status == 1 and "not empty" in err


def test_any_folder_of_labels_and_its_own_phrases(run, footage, tmp_path):
    events = tmp_path / "events"
    shutil.copytree(footage / "UCF-101", events)
    (events / "phrases.json").write_text('{"Archery": "an archer at work"}')
    status, _, err = run(
        *("build", "video", "--events", events, "--backgrounds", footage / "NExTVideo", "--probes", "1"),
        *("--canvas", "56", "--workers", "1", "--out", tmp_path / "r"),
    )
    assert status == 0, err
    (probe,) = open_release(tmp_path / "r").probes(16)
    assert {probe.probe.e1.phrase, probe.probe.e2.phrase} == {"an archer at work", "bowling"}


def one_line(err: str) -> str:
    """The message, which is one line (plus one for each of several bad files)."""
    messages = [line for line in err.splitlines() if line and not line.startswith("note:")]
    assert messages[0].startswith("caved: ")
    assert not any("Traceback" in line for line in messages)
    return messages[0]


def test_missing_empty_and_wrong_folders(run, footage, tmp_path):
    empty = tmp_path / "empty"
    (empty / "Label").mkdir(parents=True)
    single = tmp_path / "single"
    shutil.copytree(footage / "UCF-101" / "Archery", single / "Archery")
    out = tmp_path / "r"
    cases = [
        (("--ucf101", tmp_path / "nowhere", "--nextqa", footage), "does not exist"),
        (("--ucf101", footage, "--nextqa", tmp_path / "nowhere"), "does not exist"),
        (("--ucf101", empty, "--nextqa", footage), "no sub-folder with videos"),
        (("--ucf101", footage, "--nextqa", empty), "holds no video"),
        (("--ucf101", single, "--nextqa", footage), "needs two classes"),
        (("--ucf101", footage), "no backgrounds"),
        (("--nextqa", footage), "no events"),
        (("--ucf101", footage, "--events", footage, "--nextqa", footage), "give one of them"),
        (("--budgets", "15"), "choose from 8"),
        (("--budgets", "16,7"), "choose from 8"),
        (("--budgets", "many"), "numbers separated by commas"),
        (("--reversal-offsets", "99"), "from 1 to 16, or 0"),
        (("--reversal-offsets", "4", "--budgets", "8"), "add 16 to --budgets"),
        (("--paper", "--budgets", "8,16"), "--budgets 8,16 fewer: leave one of the two out"),
        (("--paper", "--reversal-offsets", "2"), "--reversal-offsets asks for 2: leave one of the two out"),
        (("--probes", "0"), "at least one probe"),
        (("--canvas", "3"), "28 to 4096 pixels"),
        (("--canvas", "20000"), "28 to 4096 pixels"),
        (("--workers", "0"), "at least one process"),
    ]
    for arguments, message in cases:
        status, _, err = run("build", "video", *arguments, "--out", out)
        assert status == 1
        assert message in one_line(err), (arguments, err)
        assert not out.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "single"]


def test_several_bad_files_are_all_reported_at_once(run, footage, tmp_path):
    """A cut AVI, a cut MP4, a text file and a stream that breaks half way, of several sources."""
    bad = tmp_path / "bad"
    shutil.copytree(footage, bad)
    archery = bad / "UCF-101" / "Archery"
    good = (archery / "v_Archery_g01_c01.avi").read_bytes()
    (archery / "v_Archery_g01_c01.avi").unlink()
    (archery / "v_Archery_g02_c01.avi").write_bytes(good[: len(good) // 2])
    (archery / "v_Archery_g03_c01.avi").write_text("no video")
    background = next((bad / "NExTVideo").rglob("*.mp4"))
    data = bytearray(write_stamped(tmp_path / "x.mp4", 260, "libx264", options={"g": "20"}).read_bytes())
    start = data.find(b"mdat") + len(data) // 3
    data[start : start + len(data) // 3] = bytes(len(data) // 3)
    background.write_bytes(data)
    status, _, err = run(*build_args(bad, tmp_path / "r"))
    assert status == 1
    assert "3 source file(s) cannot be used" in one_line(err)
    for name in ("v_Archery_g02_c01.avi: truncated", "v_Archery_g03_c01.avi", "1234.mp4"):
        assert name in err
    assert "run the same command again" in err
    assert not (tmp_path / "r").exists()

    # Mended, the same command goes through.
    shutil.copy(next((footage / "NExTVideo").rglob("*.mp4")), background)
    for name in ("g02", "g03"):
        (archery / f"v_Archery_{name}_c01.avi").write_bytes(good)
    status, _, err = run(*build_args(bad, tmp_path / "r"))
    assert status == 0, err


def test_targets_that_would_fail_after_the_work_is_done(run, footage, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for target, message in ((".", "the folder that you are in"), (tmp_path / "link", "symbolic link")):
        status, _, err = run(*build_args(footage, target))
        assert status == 1 and message in one_line(err)
    status, _, err = run(*build_args(footage, tmp_path / "here" / "x" / ".." / "r"))
    assert status == 0, err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here", "link"]
    assert [p.name for p in (tmp_path / "here").iterdir()] == ["r"]


def test_an_unreadable_background_is_one_line_and_hides_nothing(run, footage, tmp_path):
    """No time line can be made over it; the bad event beside it is named in the same message."""
    for name in ("street/x.mp4", "street/y.mp4"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("hi")
    shutil.copytree(footage / "UCF-101", tmp_path / "events")
    (tmp_path / "events" / "Archery" / "broken.avi").write_bytes(b"RIFF\xff\xff\xff\x00AVI ")
    status, _, err = run(
        *("build", "video", "--events", tmp_path / "events", "--backgrounds", tmp_path / "street", "--probes", "40"),
        *("--canvas", "56", "--workers", "2", "--out", tmp_path / "r"),
    )
    assert status == 1 and "3 source file(s) cannot be used" in one_line(err)
    assert all(name in err for name in ("x.mp4", "y.mp4", "broken.avi: truncated"))


def test_an_interrupted_build_says_how_to_go_on(run, footage, tmp_path, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("stimuli_builder.build.cut_frames", interrupt)
    status, _, err = run(*build_args(footage, tmp_path / "r"))
    assert status == 1 and one_line(err) == "caved: interrupted; the same command goes on from here"


def test_wrong_options_are_explained(run):
    status, _, err = run("build", "video", "--nonsense", "--out", "r")
    assert status == 2 and "--nonsense" in err and "Traceback" not in err


def test_unwritable_target(run, footage, tmp_path, monkeypatch):
    """The system is asked, so the answer is set here: root, who may run the tests, may write anywhere."""
    (tmp_path / "locked").mkdir()
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked" and allowed(path, mode))
    status, _, err = run(*build_args(footage, tmp_path / "locked" / "r"))
    assert status == 1 and "is not writable for this user" in one_line(err)
    assert not any((tmp_path / "locked").iterdir())


def test_full_disk_is_one_line_and_leaves_nothing(run, footage, tmp_path, monkeypatch):
    import errno

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device", "part-00000.parquet")

    monkeypatch.setattr("stimuli_builder.build.write_release", full)
    status, _, err = run(*build_args(footage, tmp_path / "r"))
    assert status == 1 and "the disk is full" in one_line(err) and "finished work is kept" in err
    assert not (tmp_path / "r").exists()
    monkeypatch.undo()
    assert (tmp_path / ".r.partial").is_dir()


def test_verify_and_preview_of_what_is_not_there(run, release, tmp_path):
    for arguments, message in (
        (("verify", tmp_path / "no"), "does not exist"),
        (("verify", tmp_path), "is no release"),
        (("preview", release.folder, "--probe", "p99999", "--out", tmp_path / "a.png"), "no probe p99999"),
        (("preview", release.folder, "--budget", "64", "--out", tmp_path / "a.png"), "no probes with k = 64"),
        (("preview", release.folder, "--out", tmp_path / "a.txt"), "ends in .png"),
        (
            ("preview", release.folder, "--show", "all", "--out", tmp_path / "a.png"),
            "choose from intact, on_grid, arms, reversal",
        ),
        (("preview", release.folder, "--show", "reversal", "--out", tmp_path / "a.png"), "--reversal-offsets 4"),
        (("report", tmp_path / "no"), "does not exist"),
        (("report", tmp_path), "no sample log"),
    ):
        status, _, err = run(*arguments)
        assert status == 1
        assert message in one_line(err)


def test_verify_names_what_is_wrong_and_exits_with_1(run, release, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(release.folder, copy)
    info = (copy / "release.json").read_text().replace('"probes": 16', '"probes": 17')
    (copy / "release.json").write_text(info)
    status, _, err = run("verify", copy)
    assert status == 1
    assert "k=8: 16 probes, the release says 17" in err and "build the release again" in err


def test_help_is_a_manual(run):
    for command in ((), ("build",), ("build", "video"), ("verify",), ("preview",), ("report",)):
        status, out, _ = run(*command, "--help")
        assert status == 0 and len(out) > 200


def test_the_installed_command(tmp_path):
    done = subprocess.run(
        [Path(sys.executable).with_name("caved"), "verify", tmp_path / "no"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("caved: no release at") and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_real_clips_give_what_the_edit_list_says(run, clips, tmp_path):
    """Every stored frame is decoded again from its source by an independent reader and compared."""
    import cv2
    import numpy as np

    from stimuli_builder.frames import onto_canvas

    status, _, err = run(
        *("build", "video", "--ucf101", clips / "ucf101", "--nextqa", clips / "nextqa", "--budgets", "16"),
        *("--probes", "6", "--seed", "0", "--reversal-offsets", "1", "--canvas", "112", "--out", tmp_path / "r"),
    )
    assert status == 0, err
    release = open_release(tmp_path / "r")
    stores = {part: release.frames(part) for part in release.info.parts}
    videos: dict[str, list] = {}
    compared: set[tuple[str, str, float]] = set()
    for part, stored in [(p, row) for p in stores for row in release.probes(p)]:
        names = {
            "e1": stored.probe.e1.clip.name,
            "e2": stored.probe.e2.clip.name,
            "background": stored.probe.background.name,
        }
        for view in stored.views:
            for frame, kind, time_s in zip(view.frames, view.kinds, view.source_times_s, strict=True):
                name = names[kind]
                if (frame, name, time_s) in compared:
                    continue
                compared.add((frame, name, time_s))
                if name not in videos:
                    root = clips / ("nextqa" if kind == "background" else "ucf101/UCF-101")
                    capture, frames = cv2.VideoCapture(str(root / name)), []
                    while (got := capture.read())[0]:
                        frames.append(cv2.cvtColor(got[1], cv2.COLOR_BGR2RGB))
                    videos[name] = [capture.get(cv2.CAP_PROP_FPS), frames]
                rate, frames = videos[name]
                theirs = onto_canvas(frames[min(int(time_s * rate + 1e-6), len(frames) - 1)], 112)
                distance = np.abs(np.asarray(stores[part].image(frame), dtype=int) - np.asarray(theirs)).mean()
                assert distance < 8, (name, time_s, distance)
    # Of each probe 2 x 16 frames, 2 that lie under the events, and the 32 of one offset; probes share event frames.
    assert 6 * 60 < len(compared) <= 6 * 66


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_what_a_terminal_cannot_show_is_printed_as_a_question_mark(monkeypatch, encoding):
    """On both streams, from all ways to print, in a closing message too; a stream of another kind is left alone."""

    def talks():
        print("θ 1")
        typer.echo("Δ \udcff 2")
        typer.echo("≥ \ud800 3", err=True)
        raise CavedError("no model θ\udcff 4")

    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in "oe"]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    monkeypatch.setattr(cli, "_add_commands", lambda: None)
    monkeypatch.setattr(cli, "app", talks)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    print(stop.value.code, file=sys.stderr)  # as Python does at the end
    for stream, ends in zip(streams, ("12", "34"), strict=True):
        stream.flush()
        # typer writes UTF-8 to an ASCII stream, past its buffer
        lines = stream.buffer.getvalue().decode(encoding, "replace").splitlines()
        assert sorted(line[-1] for line in lines) == list(ends)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", None)
    cli._print_anything()
