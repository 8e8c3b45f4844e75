"""The scripts that validate the image benchmark, through the real command."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from lmms_eval_tasks.image.responder_check import RESPONDERS, expected_of
from metrics.image.trial import TASKS
from stimuli_builder.image.release import open_image_release

pytestmark = pytest.mark.slow
SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


def script(name, *arguments):
    command = [sys.executable, SCRIPTS / name, *arguments]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=900)


@pytest.fixture
def quiet(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def test_every_number_of_a_responder(quiet, tmp_path):
    """A second call takes the logs as they are; a log that was changed is noticed, and the rest of the page stays."""
    page, name = tmp_path / "page.md", "everything, stated"
    page.write_text("# Kept\n")
    arguments = ("--items", 3, "--out", tmp_path, "--page", page, "--responders", name)
    done = script("validate_image.py", *arguments)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    questions = open_image_release(tmp_path / "release_3_0").questions()
    table = pd.read_csv(tmp_path / "numbers.csv", keep_default_na=False)
    assert len(table) == sum(len(expected_of(RESPONDERS[name], questions, e)) for e in TASKS)
    assert (table["fault"] == "").all() and set(table["task"]) == set(TASKS.values())
    text = page.read_text()
    assert text.startswith("# Kept\n") and f"**{len(table)} numbers, 0 wrong.**" in text
    logs = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*_samples_*")}
    assert len(logs) == 2
    again = script("validate_image.py", *arguments)
    assert again.returncode == 0 and page.read_text() == text
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*_samples_*")} == logs
    spoilt = next(path for path in logs if not path.stem.endswith("closed"))
    spoilt.write_text(spoilt.read_text().replace('"framing": "plain"', '"framing": "conviction"', 1))
    wrong = script("validate_image.py", *arguments)
    assert wrong.returncode == 1 and "incomplete" in wrong.stdout and "in the results file" in page.read_text()


def test_curves_of_the_reader(quiet, tmp_path):
    page = tmp_path / "page.md"
    done = script("image_curves.py", "--items", 2, "--out", tmp_path, "--page", page)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    text = page.read_text()
    assert "No framing moves it." in text and "It abstains on every question of the other categories" in text
    for task in TASKS.values():
        assert f"| {task} | 0.000 | 0.000 | 0.000 [0.000, " in text
    assert text.count("| L0 | 0 | 1.00 [") == 2  # intact codes are read
    assert (tmp_path / "ocr_reader.svg").read_text().startswith("<?xml")
