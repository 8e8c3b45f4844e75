"""The small image reader that comes with the package, through lmms-eval's own wrapper, on both tasks of the image benchmark.

It learnt to answer what it sees of colours and shapes while enough of the region shows, which depends a little on the framing, and to
abstain on codes and counts. How much shows follows from the release, so each outcome that is not near a threshold is known.
"""

import json
from collections.abc import Iterable

import pytest
from harness import Done, lmms_eval

from lmms_eval_tasks.small_reader.image_lessons import NEEDED
from lmms_eval_tasks.small_reader.image_views import clarity_of
from lmms_eval_tasks.small_reader.image_wordings import READ, REGIONS
from lmms_eval_tasks.small_reader.packaged import model_args
from metrics.controls import control_kind
from metrics.image.image_measures import image_measures
from metrics.image.logged_image_run import read_image_runs
from metrics.image.trial import FRAMINGS, TASKS, ImageTrial
from stimuli_builder.image.build import build_image_release
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.image.sources import procedural_source

READER, ITEMS = "small-image-reader", 4
NEAR = 0.12  # of a threshold; what lies nearer may fall either way
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unseen(tmp_path_factory) -> ImageRelease:
    """Items of a seed that was never learnt from, each region half shown, hidden, blurred, and blurred away."""
    strengths = {"subtractive": (0.45, 1.0), "corruptive": (0.2, 0.3)}
    out = tmp_path_factory.mktemp("suite") / "images"
    return build_image_release(procedural_source(ITEMS, 31, 448), out, 31, strengths, MARGIN, "mit", workers=1)


@pytest.fixture(scope="module")
def done(tmp_path_factory, unseen) -> Done:
    """Both tasks in one command."""
    done = lmms_eval(
        tmp_path_factory.mktemp("suite"),
        *("--tasks", ",".join(TASKS.values()), "--model", "qwen2_5_vl", "--model_args", model_args(READER)),
        release=unseen.folder,
    )
    assert done.status == 0, done.output[-3000:]
    done.results()
    return done


@pytest.fixture(scope="module", params=["open", "closed"])
def trials(request, done) -> list[ImageTrial]:
    (path,) = done.folder.rglob(f"*_samples_{TASKS[request.param]}.jsonl")
    return [ImageTrial.from_json(json.loads(line)["image_trial"]) for line in path.read_text().splitlines()]


def clarity(trial: ImageTrial) -> float:
    return 1.0 if trial.mode == "intact" else clarity_of(REGIONS[trial.category], trial.mode, trial.strength)


def share(found: Iterable[bool]) -> float:
    listed = list(found)
    assert len(listed) >= 8
    return sum(listed) / len(listed)


def test_everything_is_read_and_marked(done, trials):
    assert share(trial.state is not None for trial in trials) >= 0.97
    for run in read_image_runs([done.folder]):
        assert not run.problems and control_kind(run.model_id, run.table) == "control"
    assert all(trial.receipt["size_px"] == [168, 168] for trial in trials)


@pytest.mark.parametrize(("category", "least"), [("colour", 0.85), ("shape", 0.6)])
def test_it_is_right_where_all_shows(trials, category, least):
    shown = [trial for trial in trials if trial.category == category and trial.mode == "intact"]
    assert share(trial.answer.option == trial.correct for trial in shown) >= least


def test_it_never_reads_codes_nor_counts(trials):
    assert share(trial.state == "abstain" for trial in trials if trial.category not in READ) >= 0.9


@pytest.mark.parametrize("framing", FRAMINGS)
def test_it_abstains_where_too_little_shows_for_the_framing(trials, framing):
    asked = [t for t in trials if t.category in READ and t.framing == framing and t.state is not None]
    known = [t for t in asked if abs(clarity(t) - NEEDED[framing]) > NEAR]
    assert len(known) > 0.5 * len(asked)
    assert share((t.state == "abstain") == (clarity(t) < NEEDED[framing]) for t in known) >= 0.8


def test_abstention_moves_with_the_framing_between_and_not_at_the_ends(trials, done):
    task = next(run for run in read_image_runs([done.folder]) if run.task == TASKS[trials[0].elicitation])
    measured = image_measures(task.task, task.table)
    between = [
        t for t in trials if t.category in READ and NEEDED["neutral"] + NEAR < clarity(t) < NEEDED["conviction"] - NEAR
    ]
    rates = {f: share(t.state == "abstain" for t in between if t.framing == f) for f in ("neutral", "conviction")}
    # Where a letter is asked for, it cannot tell half-hidden shapes apart under any framing, and abstains.
    assert rates["conviction"] >= rates["neutral"] + {"open": 0.4, "closed": 0.15}[trials[0].elicitation]
    assert abs(measured["PIA_L0"].value) <= 0.1
    assert measured["PIA_L1"].value >= {"open": 0.15, "closed": 0.05}[trials[0].elicitation]
    assert measured["EIV_excess"].value > 0
