"""The image tasks through the real `lmms-eval` command: a simulated responder, a tiny Qwen2.5-VL, and a real reader."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from harness import Done, lmms_eval

from lmms_eval_tasks.image.documents import image_documents
from lmms_eval_tasks.image.prompts import image_prompt
from lmms_eval_tasks.image.scoring import numbers_of
from metrics.image.image_measures import image_measures
from metrics.image.trial import TASKS, ImageTrial
from stimuli_builder.image.build import build_image_release
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.image.sources import procedural_source

pytestmark = pytest.mark.slow
SPY = Path(__file__).parent / "spy"
ANSWERS = ("I cannot tell from this image.", "It looks like it is green, I think.")


def trials_of(done: Done, task: str) -> list[ImageTrial]:
    (path,) = done.folder.rglob(f"*_samples_{task}.jsonl")
    return [ImageTrial.from_json(json.loads(line)["image_trial"]) for line in path.read_text().splitlines()]


def same(a: object, b: float) -> bool:
    return a == "N/A" if math.isnan(b) else a == pytest.approx(b, abs=1e-12)


def check_numbers(done: Done, release: ImageRelease, elicitation: str) -> dict:
    """Every number of the results file is there and is what the log gives; returns them."""
    task = TASKS[elicitation]
    trials = trials_of(done, task)
    assert len(trials) == release.info.questions * (1 + 2 * release.info.levels) * 8
    results = done.results()["results"][task]
    measured = image_measures(task, trials)
    names = numbers_of(elicitation, release.info.levels)
    assert {name for name in names if f"{name},none" not in results} == set()
    assert all(same(results[f"{name},none"], measured[name].value) for name in names if name in measured)
    assert results["image_trial,none"] == len(trials)
    metadata = done.results()["configs"][task]["metadata"]
    assert metadata["release"] == release.info.digest and metadata["calibrated_by"] == "not calibrated by people"
    return results


def test_a_dodger_dodges_and_the_log_holds_everything(image_release, tmp_path):
    done = lmms_eval(
        tmp_path,
        *("--tasks", "cant_tell_or_wont_say", "--model", "framed_responder", "--model_args", "policy=dodger,seed=3"),
        release=image_release.folder,
    )
    assert done.status == 0, done.output[-3000:]
    results = check_numbers(done, image_release, "open")
    assert results["EIV_excess,none"] > 0.05 and results["EIV_p,none"] < 0.05
    assert results["PIA_L0,none"] > 0.1
    assert results["unparseable,none"] == 0


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> ImageRelease:
    """2 items at one level."""
    strengths = {"subtractive": (1.0,), "corruptive": (0.4,)}
    out = tmp_path_factory.mktemp("few") / "images"
    return build_image_release(procedural_source(2, 9, 224), out, 9, strengths, MARGIN, "mit", workers=1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, few) -> tuple[Done, list[dict]]:
    """Both tasks on a tiny checkpoint in one command, with a witness at the model's door."""
    from tiny_qwen import write_tiny_qwen

    folder = tmp_path_factory.mktemp("tiny")
    checkpoint = write_tiny_qwen(folder / "checkpoint", answers=ANSWERS)
    done = lmms_eval(
        folder,
        *("--tasks", ",".join(TASKS.values()), "--model", "qwen2_5_vl"),
        *("--model_args", f"pretrained={checkpoint},device=cpu,device_map=cpu,min_pixels=3136"),
        release=few.folder,
        environment={"PYTHONPATH": str(SPY), "SPY_LOG": str(folder / "witness.jsonl"), "CAVED_SHARE": "off"},
    )
    assert done.status == 0, done.output[-3000:]
    return done, [json.loads(line) for line in (folder / "witness.jsonl").read_text().splitlines()]


def test_the_image_and_prompt_of_each_trial_reached_the_model_untouched(tiny, few):
    from tiny_qwen import _tokenizer

    _, calls = tiny
    tokenizer = _tokenizer(answers=ANSWERS)
    arrived = Counter()
    for call in calls:
        text = tokenizer.decode(call["ids"])
        assert not call["frames"] and text.count("<|vision_start|>") == 1
        arrived[tuple(call["images"]), text.split("<|vision_end|>")[1].split("<|im_end|>")[0]] += 1
    questions, digest = few.questions(), few.info.digest
    asked = {(tuple(doc["frames"]), image_prompt(doc)) for e in TASKS for doc in image_documents(questions, e, digest)}
    assert arrived == Counter(asked)  # equal requests are computed once


def test_a_tiny_model_answers_freely_and_by_probabilities(tiny, few):
    done, _ = tiny
    check_numbers(done, few, "open")
    results = check_numbers(done, few, "closed")
    free = trials_of(done, TASKS["open"])
    assert {t.answer.outcome for t in free} >= {"abstained"}
    hedged = [t for t in free if t.hedged]
    assert all(t.options["ABCDE".index(t.answer.option)] == "green" for t in hedged)
    closed = trials_of(done, TASKS["closed"])
    assert all(set(t.answer.option_probabilities) == set("ABCDE") for t in closed)
    assert all(t.receipt["frames"] == 1 and t.receipt["size_px"] == [224, 224] for t in (*free, *closed))
    assert not math.isnan(results["EIV_confidence,none"]) and not math.isnan(results["PIA_L0_confidence,none"])
    by_image = {(t.image, t.receipt["digest"]) for t in (*free, *closed)}
    assert len(by_image) == len({t.image for t in closed})


def test_prompts_that_share_an_image_give_the_same_probabilities(tiny, few, tmp_path):
    """Sharing the image's work, in a run of its own, changes nothing beyond rounding."""
    checkpoint = tiny[0].folder.parent / "checkpoint"
    done = lmms_eval(
        tmp_path,
        *("--tasks", TASKS["closed"], "--model", "qwen2_5_vl"),
        *("--model_args", f"pretrained={checkpoint},device=cpu,device_map=cpu,min_pixels=3136"),
        release=few.folder,
    )
    assert done.status == 0, done.output[-3000:]
    alone = {t.key: t.answer.option_probabilities for t in trials_of(tiny[0], TASKS["closed"])}
    shared = {t.key: t.answer.option_probabilities for t in trials_of(done, TASKS["closed"])}
    assert alone.keys() == shared.keys()
    assert max(abs(alone[k][x] - shared[k][x]) for k in alone for x in "ABCDE") < 0.05
    assert "are computed alone" not in done.output and "each prompt is computed alone" not in done.output


def test_the_reader_reads_codes_and_knows_nothing_of_framings(tmp_path):
    strengths = {"subtractive": (1.0,), "corruptive": (0.5,)}
    release = build_image_release(procedural_source(4, 5, 448), tmp_path / "r", 5, strengths, MARGIN, "mit", workers=1)
    done = lmms_eval(
        tmp_path / "run",
        *("--tasks", "cant_tell_or_wont_say", "--model", "ocr_reader"),
        release=release.folder,
    )
    assert done.status == 0, done.output[-3000:]
    results = check_numbers(done, release, "open")
    assert results["EIV,none"] == results["EIV_excess,none"] == results["PIA_L0,none"] == results["PIA_L1,none"] == 0
    intact = [t for t in trials_of(done, TASKS["open"]) if t.category == "code" and t.mode == "intact"]
    assert sum(t.answer.option == t.correct for t in intact) >= 0.75 * len(intact)
    hidden = [t for t in trials_of(done, TASKS["open"]) if t.category == "code" and t.mode == "subtractive"]
    assert all(t.state == "abstain" for t in hidden)
