"""The small video reader that comes with the package, through lmms-eval's own wrapper, on every task of the video benchmark.

It learnt to say what it saw, to follow a claim without evidence, and against evidence the more, the more events were in the dark.
The pairs and backgrounds are ones that it never learnt from. How often it should follow was written into its lessons, so what is expected
of a release follows from its probes. Bounds leave room for one probe of eight.
"""

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from harness import Done, lmms_eval
from PIL import Image

from lmms_eval_tasks.expected_cells import TASK
from lmms_eval_tasks.prompts import INSTRUCTION, QUESTION
from lmms_eval_tasks.reversal_trials import ADAPTIVE, LOGGED
from lmms_eval_tasks.small_reader.curriculum import WITHHELD_SPACING_S
from lmms_eval_tasks.small_reader.lessons import follows
from lmms_eval_tasks.small_reader.packaged import model_args, packaged_folder
from lmms_eval_tasks.small_reader.pairs import events_in_the_dark, held_out_catalogue
from metrics.controls import control_kind
from metrics.intervals import Estimate
from metrics.logged_run import LoggedRun, read_logged_runs
from metrics.paper_measures import paper_measures
from metrics.reversal import reverse_and_decide
from metrics.sample_log import read_runs
from metrics.uniform_frames import uniform_frames
from stimuli_builder.build import build_release
from stimuli_builder.frames import CANVAS_PX
from stimuli_builder.release import Release
from stimuli_builder.timing import BUDGETS

READER = "small-reader"
PROBES, OFFSETS = 8, 4
# At k = 8, four of these probes have an event in the first frame and two in the last one: a shift by one frame is seen.
SEED = 42
MAIN = {budget: TASK if budget == 16 else f"{TASK}_k{budget}" for budget in BUDGETS}
ROOM = 0.13  # one probe
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def held_out(tmp_path_factory) -> Release:
    """Pairs and backgrounds that were never learnt from."""
    out = tmp_path_factory.mktemp("suite") / "release"
    return build_release(
        held_out_catalogue(), out, BUDGETS, PROBES, SEED, CANVAS_PX, "mit", workers=1, reversal_offsets=OFFSETS
    )


@pytest.fixture(scope="module")
def suite(tmp_path_factory, held_out) -> Done:
    """The whole suite in one command."""
    done = lmms_eval(
        tmp_path_factory.mktemp("suite"),
        *("--tasks", f"{TASK}_paper,{ADAPTIVE}", "--model", "qwen2_5_vl", "--model_args", model_args(READER)),
        release=held_out.folder,
    )
    assert done.status == 0, done.output[-3000:]
    done.results()
    return done


@pytest.fixture(scope="module")
def runs(suite) -> Mapping[str, LoggedRun]:
    return {run.task: run for run in read_logged_runs([suite.folder])}


@pytest.fixture(scope="module")
def numbers(runs) -> Mapping[str, Mapping[str, Estimate]]:
    return {task: paper_measures(task, run.table) for task, run in runs.items()}


def taught(release: Release, claim: str) -> float:
    """How often a claim against the evidence should be followed, as the lessons have it."""
    return float(np.mean([follows(claim, dark) for dark in events_in_the_dark(release).values()]))


def test_nothing_is_lost_and_everything_is_marked(runs):
    assert set(runs) == {
        *MAIN.values(),
        f"{TASK}_attribution",
        f"{TASK}_mild",
        f"{TASK}_time",
        f"{TASK}_single_event",
        LOGGED,
        ADAPTIVE,
    }
    for run in runs.values():
        assert not run.problems and run.table["probe"].nunique() == PROBES
        assert control_kind(run.model_id, run.table) == "control"
        assert not run.table["e1"].isna().any()  # native times included: it has that channel


@pytest.mark.parametrize("budget", BUDGETS)
def test_it_reads_the_order_at_every_number_of_frames(numbers, budget):
    found = numbers[MAIN[budget]]
    assert found["on_grid_J0"].value >= 0.85
    assert found["on_grid_J0_confidence"].value >= 0.7
    assert found["on_grid_C"].value >= 0.9
    for name in ("in_gap_J", "in_gap_J0", "in_gap_J_confidence", "in_gap_J0_confidence"):
        assert found[name].value == 0
    # Without evidence it follows, or has no preference.
    assert found["in_gap_S_confidence"].value == pytest.approx((1 + follows("strong", None)) / 2, abs=ROOM)
    assert found["in_gap_S"].value >= 0.85


@pytest.mark.parametrize("budget", BUDGETS)
def test_it_defers_where_both_events_were_in_the_dark(held_out, numbers, budget):
    share = np.mean([count == 2 for count in events_in_the_dark(held_out).values()])
    assert 0.2 < share < 0.8  # so J lies between 0 and J0
    found = numbers[MAIN[budget]]
    assert found["on_grid_S"].value == pytest.approx(share, abs=ROOM)
    assert found["on_grid_J"].value == pytest.approx(1 - share, abs=ROOM)
    assert found["on_grid_S_confidence"].value == pytest.approx(taught(held_out, "strong"), abs=ROOM)


def test_without_the_event_frames_nothing_is_left(numbers):
    found = numbers[f"{TASK}_attribution"]
    assert found["J0_no_events"].value == found["J0_no_events_confidence"].value == 0
    assert found["J0_placebo"].value == pytest.approx(found["J0"].value, abs=ROOM)
    assert found["J0_placebo_confidence"].value == pytest.approx(found["J0_confidence"].value, abs=0.1)
    assert found["b"].value >= 0.85
    assert found["S_minus_b"].value <= -0.4


def test_a_mild_claim_moves_it_less(held_out, numbers):
    found = numbers[f"{TASK}_mild"]
    assert found["J_mild"].value >= found["J_strong"].value + 0.1
    assert found["S_mild_confidence"].value == pytest.approx(taught(held_out, "mild"), abs=ROOM)
    assert found["in_gap_S_mild_confidence"].value == pytest.approx((1 + follows("mild", None)) / 2, abs=ROOM)
    assert found["in_gap_J_mild"].value == found["in_gap_J_strong"].value == 0


def test_one_event_alone_tells_no_order(numbers):
    found = numbers[f"{TASK}_single_event"]
    assert found["J0_on_grid"].value >= 0.85
    for name in ("J0_early_confidence", "J0_late_confidence"):
        assert abs(found[name].value) <= 0.15


def test_times_change_nothing_that_it_reads(numbers):
    found = numbers[f"{TASK}_time"]
    for time in ("withheld", "native", "text"):
        assert found[f"J0_{time}"].value >= 0.75
        assert found[f"in_gap_J0_{time}"].value == 0


def test_frames_stand_at_their_times_or_evenly_where_these_are_withheld(held_out, suite):
    """Its order comes from the order of frames alone, so that their times got lost would show in nothing else."""
    true_s = {stored.probe.probe: stored.probe.timing.interval_s for stored in held_out.probes(16)}
    main = [run for run in read_runs([suite.folder]) if run.task in (*MAIN.values(), f"{TASK}_time")]
    assert main
    for run in main:
        for trial in run.trials:
            spacing_s = true_s[trial.probe] if trial.time == "native" else WITHHELD_SPACING_S
            assert trial.receipt["time"]["seconds_per_step"] == pytest.approx(spacing_s, abs=0.01), trial


@pytest.mark.parametrize("task", [LOGGED, ADAPTIVE])
def test_the_reversal_test_is_right_where_it_answers(numbers, task):
    found = numbers[task]
    assert found["accuracy"].value >= 0.9
    assert found["coverage"].value >= 0.6
    assert 8 < found["mean_k_answered"].value < 32


def test_stopping_at_the_answer_gives_the_same_answers(numbers):
    for name in ("accuracy", "coverage", "mean_k_answered", "mean_k_all"):
        assert numbers[LOGGED][name].value == numbers[ADAPTIVE][name].value


def make_score(first: str, second: str):
    """The packaged model as a function of frames, by transformers alone: the probability that `first` came first."""
    from transformers import AutoProcessor, Qwen2_5_VLForConditionalGeneration

    folder = packaged_folder(READER)
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    letters = [processor.tokenizer.convert_tokens_to_ids(letter) for letter in "AB"]

    def probability_of_a(frames, a, b):
        question = QUESTION.format(first=first, second=second)
        text = f"{question}\nA. {a}, then {b}\nB. {b}, then {a}\n{INSTRUCTION}"
        content = [{"type": "video"}, {"type": "text", "text": text}]
        prompt = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
        # Without a rate the processor supposes 24 frames a second, which puts all frames at one position in time.
        metadata = {
            "fps": 2.0,
            "total_num_frames": len(frames),
            "duration": len(frames) / 2,
            "frames_indices": [*range(len(frames))],
        }
        inputs = processor(
            text=[prompt], videos=[frames], video_metadata=[metadata], do_sample_frames=False, return_tensors="pt"
        )
        with torch.no_grad():
            logits = model(**inputs).logits[0, -1]
        return logits[letters].float().softmax(-1)[0].item()

    return lambda frames: (probability_of_a(frames, first, second) + 1 - probability_of_a(frames, second, first)) / 2


def test_the_reversal_test_abstains_in_the_gap(held_out):
    """On frames that meet neither event: each in-gap view of 64 frames, sampled again at 8, 16 and 32."""
    store = held_out.frames(64)
    for stored in held_out.probes(64):
        views = {(view.phase, view.twin): view for view in stored.views if view.arm == "intact"}
        score = make_score(stored.probe.e1.phrase, stored.probe.e2.phrase)
        empty = [np.asarray(store.image(frame).resize((56, 56))) for frame in views["in_gap", "+"].frames]
        decision = reverse_and_decide(
            lambda f, s=score: s([Image.fromarray(x) for x in f]), uniform_frames(np.stack(empty))
        )
        assert decision.order is None, decision
        for twin, order in (("+", "e1_first"), ("-", "e2_first")):
            shown = [store.image(frame).resize((56, 56)) for frame in views["on_grid", twin].frames]
            assert (score(shown) > 0.5) == (order == "e1_first")
