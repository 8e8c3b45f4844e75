"""The image benchmark in the `caved` command: what it builds, draws and verifies, and a message for everything wrong."""

import errno
import json
import shutil
from dataclasses import replace

import pytest
from image_trials import image_study
from PIL import Image
from test_cli import caved, one_line
from test_image_annotated import COLUMNS, picture, row, write_csv

from metrics.image.recoverability import Recoverability
from stimuli_builder.atomic import publish_folder
from stimuli_builder.image import cli_image
from stimuli_builder.image.anchors import anchors_of
from stimuli_builder.image.release import open_image_release

SMALL = ("--items", "1", "--canvas", "224", "--workers", "1", "--occlusion", "0.5,1", "--blur", "0.1,0.3")


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.delenv("CAVED_RELEASE", raising=False)
    return lambda *arguments: caved(monkeypatch, capsys, *arguments)


def test_build_verify_preview(run, tmp_path):
    out = tmp_path / "r"
    arguments = ("build", "image", "--out", out, *SMALL)
    status, said, err = run(*arguments)
    assert status == 0, err
    assert "1 items, 4 questions (code, colour, count, shape), L0 and 2 levels in each of two modes" in said
    assert "not calibrated by people" in said and "lmms-eval --tasks cant_tell_or_wont_say --model" in said
    assert f"digest {open_image_release(out).info.digest}" in said
    assert "already built" in run(*arguments)[1]
    status, said, err = run("verify", out)
    assert status == 0, err
    assert "what one level hides the next hides too" in said and "13 images" in said
    anchors = Recoverability("a pilot", False, {("code", "intact", 0): 1.0, ("code", "subtractive", 1): 0.5})
    (tmp_path / "anchors.json").write_text(anchors.to_json())
    pictures = []
    for more in ((), ("--item", "i00000", "--question", "code", "--anchors", tmp_path / "anchors.json")):
        status, _, err = run("preview", out, "--out", tmp_path / "sub" / "strip.png", *more)
        assert status == 0, err
        pictures.append(Image.open(tmp_path / "sub" / "strip.png").tobytes())
    assert pictures[0] != pictures[1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["anchors.json", "r", "sub"]


def test_what_a_killed_build_left_behind_its_release_is_removed(run, tmp_path, monkeypatch):
    out = tmp_path / "r"
    arguments = ("build", "image", "--out", out, *SMALL)
    with monkeypatch.context() as killed:
        killed.setattr("stimuli_builder.image.build.publish_folder", publish_and_die)
        assert run(*arguments)[0] == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == [".r.lock", ".r.partial", "r"]
    status, said, _ = run(*arguments)
    assert status == 0 and f"its tables give the digest {open_image_release(out).info.digest}; nothing to do" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r"]
    status, _, err = run(*arguments, "--licence", "cc0")
    assert status == 1 and "of the licence 'mit', not 'cc0'" in one_line(err)
    (out / "images" / "part-00000.parquet").unlink()
    status, _, err = run(*arguments)
    assert status == 1 and "but damaged" in one_line(err)


def publish_and_die(finished, target):
    publish_folder(finished, target)
    raise KeyboardInterrupt


def test_a_strip_that_cannot_be_written_leaves_the_one_before(run, image_release, tmp_path, monkeypatch):
    arguments = ("preview", image_release.folder, "--out", tmp_path / "strip.png")
    assert run(*arguments)[0] == 0
    before = (tmp_path / "strip.png").read_bytes()

    def full(self, target):
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr("pathlib.Path.replace", full)
    status, _, err = run(*arguments, "--question", "shape")
    assert status == 1 and "disk is full" in one_line(err)
    assert (tmp_path / "strip.png").read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["strip.png"]


@pytest.mark.parametrize(
    "other", [("--seed", "1"), ("--items", "2"), ("--canvas", "230"), ("--blur", "0.1,0.4"), ("--margin", "0.5")]
)
def test_other_arguments_are_another_release(run, image_release, tmp_path, other):
    shutil.copytree(image_release.folder, tmp_path / "r")
    same = ("--items", "8", "--canvas", "224", "--seed", "7", "--occlusion", "0.4,1", "--blur", "0.15,0.4")
    arguments = ("build", "image", "--out", tmp_path / "r", *same)
    assert "nothing to do" in run(*arguments)[1]
    status, _, err = run(*arguments, *other)
    assert status == 1 and "not empty" in one_line(err)


def test_annotated_images(run, tmp_path):
    (tmp_path / "photos").mkdir()
    picture(0, (400, 300)).save(tmp_path / "photos" / "a.png")
    plain = Image.new("RGBA", (200, 150), (9, 99, 200, 254))
    plain.save(tmp_path / "photos" / "b.png")
    rows = [row(), row(category="side", box="0,0,60,60"), row("b.png")]
    labels = write_csv(tmp_path / "labels.csv", rows)
    levels = (
        "--occlusion",
        "0.5,0.9",
        "--blur",
        "0.1,0.3",
        "--longest-side",
        "200",
        "--licence",
        "cc0",
        "--workers",
        "1",
    )
    arguments = ("build", "image", "--annotations", labels, "--images", tmp_path / "photos", *levels)
    status, said, err = run(*arguments, "--out", tmp_path / "r")
    assert status == 0, err
    assert "2 items, 3 questions (colour, side)" in said
    assert "note: transparent pixels put on white: 1 file(s), b.png" in err
    assert "note: 1 question(s) have levels of blur that change no pixel" in err and "i00001_colour" in err
    release = open_image_release(tmp_path / "r")
    assert release.info.licence == "cc0" and release.info.sources.endswith("longest side 200 px")
    assert release.images().image(release.questions()[0].views[0].image).size == (200, 150)
    assert "nothing to do" in run(*arguments, "--out", tmp_path / "r")[1]
    status, _, err = run("verify", tmp_path / "r")
    assert status == 0 and "change no pixel" in err
    rows[2]["answer"] = "purple"
    write_csv(labels, [*rows, row("c.png")], COLUMNS)
    status, _, err = run(*arguments, "--out", tmp_path / "r2")
    assert status == 1 and "2 thing(s) wrong with" in one_line(err)
    assert "labels.csv row 4: the answer 'purple'" in err and "labels.csv row 5: c.png does not exist" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["labels.csv", "photos", "r"]


def test_options_that_do_not_go_together_or_mean_nothing(run, tmp_path):
    labels = write_csv(tmp_path / "labels.csv", [row()])
    for arguments, message in (
        (("--items", "0"), "at least one item"),
        (("--canvas", "100"), "images need 224 to"),
        (("--workers", "0"), "at least one process"),
        (("--occlusion", "0.2,x"), "write numbers separated by commas"),
        (("--occlusion", "0.2,0.4"), "--occlusion: 2 subtractive and 5 corruptive strengths: both modes need"),
        (("--occlusion", "0.4,0.2", "--blur", "1,2"), "stronger than the one before"),
        (("--blur", ","), "--blur: no strengths for the corruptive mode"),
        (("--images", tmp_path), "--images means something with --annotations only"),
        (("--longest-side", "99"), "--longest-side means something with --annotations only"),
        (("--annotations", labels, "--items", "3"), "--items means something without --annotations only"),
        (("--annotations", labels, "--photos", tmp_path), "--photos means something without"),
        (("--annotations", labels, "--longest-side", "-1"), "or 0 to shrink no image"),
        (("--annotations", tmp_path / "no.csv"), "does not exist"),
        (("--annotations", labels, "--images", tmp_path / "no"), "is no folder"),
        (("--photos", tmp_path / "no"), "does not exist"),
        (("--photos", tmp_path), "holds no photo"),
    ):
        status, _, err = run("build", "image", "--out", tmp_path / "r", *arguments)
        assert status == 1 and message in one_line(err), (arguments, err)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["labels.csv"]


def test_interruptions_and_full_disks_say_how_to_go_on(run, tmp_path, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("stimuli_builder.image.build.finished_questions", interrupt)
    status, _, err = run("build", "image", "--out", tmp_path / "r", *SMALL)
    assert status == 1 and one_line(err) == "caved: interrupted; the same command goes on from here"
    monkeypatch.undo()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device", "part-00000.parquet")

    monkeypatch.setattr("stimuli_builder.image.build.write_image_release", full)
    status, _, err = run("build", "image", "--out", tmp_path / "r", *SMALL)
    assert status == 1 and "the disk is full" in one_line(err) and not (tmp_path / "r").exists()


def test_verify_and_preview_tell_the_benchmark_from_the_release(run, image_release, release, tmp_path, monkeypatch):
    png = ("--out", tmp_path / "x.png")
    for arguments, message in (
        (
            ("preview", image_release.folder, "--probe", "p00000", *png),
            "whose options are --item, --question, --anchors",
        ),
        (("preview", image_release.folder, "--show", "arms", *png), "--show: "),
        (("preview", release.folder, "--item", "i00000", *png), "whose options are --probe, --budget, --show"),
        (("preview", image_release.folder, "--item", "i99999", *png), "no item i99999"),
        (("preview", image_release.folder, "--question", "smell", *png), "smell"),
        (("preview", image_release.folder, "--out", tmp_path / "x.jpg"), "ends in .png"),
        (("preview", image_release.folder, "--anchors", tmp_path / "no", *png), "does not exist"),
    ):
        status, _, err = run(*arguments)
        assert status == 1 and message in one_line(err), (arguments, err)
    for change, message in (
        ({"benchmark": "another"}, "is a release of another: this version knows"),
        ({"benchmark": None}, "this version knows"),
    ):
        copy = tmp_path / "copy"
        shutil.copytree(image_release.folder, copy)
        fields = {**json.loads((copy / "release.json").read_text()), **change}
        (copy / "release.json").write_text(json.dumps(fields))
        status, _, err = run("verify", copy)
        assert status == 1 and message in one_line(err)
        (copy / "release.json").write_text("[]")
        assert "is damaged" in run("verify", copy)[2]
        shutil.rmtree(copy)
    monkeypatch.setenv("CAVED_RELEASE", str(image_release.folder))
    status, _, err = run("preview", *png)
    assert status == 0 and (tmp_path / "x.png").is_file(), err


@pytest.mark.parametrize("whole", [True, False])
def test_a_strip_says_calibrated_by_people_only_where_they_answered_all(image_release, tmp_path, monkeypatch, whole):
    cells = {(q.question.category, v.mode, v.level): 0.5 for q in image_release.questions() for v in q.views}
    answered = cells if whole else dict(list(cells.items())[:1])
    (tmp_path / "a.json").write_text(Recoverability("a pilot", True, answered).to_json())
    said = []
    real = cli_image.preview_strip
    monkeypatch.setattr(cli_image, "preview_strip", lambda *given: said.append(given[-1]) or real(*given))
    cli_image.draw_preview(image_release, tmp_path / "x.png", None, None, tmp_path / "a.json")
    assert said[0].startswith("calibrated by people") == whole
    assert whole or said[0].startswith(f"1 of {len(cells)} cells")


def test_a_reader_s_logs_are_anchors_of_its_own_release_alone(run, image_release, tmp_path):
    """It reads the intact code of every item and nothing at L1; another model's log beside it is not mixed in."""

    def log(name: str, digest: str, model: str) -> None:
        trials = image_study(lambda q, mode, level, *_: "right" if level == 0 else "abstain", items=8, levels=2)
        lines = [json.dumps({"image_trial": replace(trial, release=digest).to_json()}) for trial in trials]
        folder = tmp_path / "logs" / name
        folder.mkdir(parents=True)
        (folder / "20260101_samples_cant_tell_or_wont_say.jsonl").write_text("\n".join(lines) + "\n")
        (folder / "20260101_results.json").write_text(json.dumps({"config": {"model": model, "model_args": ""}}))

    log("a", image_release.info.digest, "ocr_reader")
    log("b", "f" * 64, "ocr_reader")
    known = anchors_of(tmp_path / "logs", image_release.info.digest)
    assert known.accuracy["code", "intact", 0] == 1.0 and known.accuracy["code", "corruptive", 1] == 0.25
    assert "not people" in known.source and not known.by_people
    arguments = ("preview", image_release.folder, "--out", tmp_path / "x.png", "--anchors")
    status, _, err = run(*arguments, tmp_path / "logs")
    assert status == 0, err
    status, _, err = run(*arguments, tmp_path / "logs" / "b")
    assert status == 1 and "none of its runs is on the release" in one_line(err)
    log("c", image_release.info.digest, "another_model")
    status, _, err = run(*arguments, tmp_path / "logs")
    assert status == 1 and "holds runs of several models" in one_line(err)


def test_verify_names_what_is_wrong_and_exits_with_1(run, image_release, tmp_path):
    shutil.copytree(image_release.folder, tmp_path / "r")
    info = (tmp_path / "r" / "release.json").read_text().replace('"items": 8', '"items": 9')
    (tmp_path / "r" / "release.json").write_text(info)
    status, _, err = run("verify", tmp_path / "r")
    assert status == 1 and "8 items, the release says 9" in err and "build the release again" in err


def test_help_is_a_manual(run):
    status, said, _ = run("build", "image", "--help")
    assert status == 0
    for word in ("path, box, category", "upright image", "bbox", "segmentation", "attributes", "mask", "item"):
        assert word in " ".join(said.replace("│", " ").split()), word
