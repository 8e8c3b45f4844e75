"""The title's command on a tiny checkpoint and real footage, with a witness at the model's door."""

import json
from collections import Counter
from pathlib import Path

import pytest
from harness import Done, lmms_eval

from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from metrics import measure_deference
from stimuli_builder.build import build_release
from stimuli_builder.release import Release
from stimuli_builder.sources import video_catalogue

pytestmark = pytest.mark.slow
PROBES = 4
SPY = Path(__file__).parent / "spy"


@pytest.fixture(scope="module")
def real_release(clips, tmp_path_factory) -> Release:
    """Real footage at the default canvas."""
    catalogue, licence = video_catalogue(clips / "ucf101", clips / "nextqa", None, None)
    out = tmp_path_factory.mktemp("real") / "release"
    return build_release(catalogue, out, (16,), PROBES, 0, 448, licence)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    from tiny_qwen import write_tiny_qwen

    return write_tiny_qwen(tmp_path_factory.mktemp("qwen") / "tiny")


def evaluate(folder: Path, checkpoint: Path, release: Release, **environment: str) -> tuple[Done, list[dict]]:
    """A run of the title's command, and what its witness saw."""
    witness = folder / "witness.jsonl"
    done = lmms_eval(
        folder,
        *("--tasks", "caved_or_convinced", "--model", "qwen2_5_vl"),
        *("--model_args", f"pretrained={checkpoint},device=cpu,device_map=cpu"),
        release=release.folder,
        environment={"PYTHONPATH": str(SPY), "SPY_LOG": str(witness), **environment},
    )
    assert done.status == 0, done.output[-3000:]
    return done, [json.loads(line) for line in witness.read_text().splitlines()]


@pytest.fixture(scope="module")
def from_text(checkpoint, real_release, tmp_path_factory) -> tuple[Done, list[dict]]:
    return evaluate(tmp_path_factory.mktemp("text"), checkpoint, real_release, CAVED_READOUT="text")


@pytest.fixture(scope="module")
def from_probabilities(checkpoint, real_release, tmp_path_factory) -> tuple[Done, list[dict]]:
    """Each prompt computed alone: the witness stands at `generate`, which shared prefixes do not pass."""
    return evaluate(tmp_path_factory.mktemp("probabilities"), checkpoint, real_release, CAVED_SHARE="off")


@pytest.fixture(params=["from_text", "from_probabilities"])
def evaluated(request) -> tuple[Done, list[dict]]:
    return request.getfixturevalue(request.param)


def test_result_files_exist(evaluated):
    done, _ = evaluated
    assert "caved_or_convinced" in done.results()["results"]
    assert len(done.run().trials) == 16 * PROBES


def test_sixteen_frames_in_the_right_order_reached_the_model_untouched(evaluated, real_release):
    """The frames at `generate`, pixel for pixel, with their prompts, are those of the trials; none more, none less."""
    from tiny_qwen import _tokenizer

    done, calls = evaluated
    probes = real_release.probes(16)
    docs = [d for p in probes for d in probe_documents(p, MAIN_CLAIMS, real_release.info.digest, PROBES)]
    tokenizer = _tokenizer()
    arrived = Counter()
    for call in calls:
        text = tokenizer.decode(call["ids"])
        prompt = text.split("<|vision_end|>")[1].split("<|im_end|>")[0]
        assert text.count("<|vision_start|>") == 1 and not call["images"]
        arrived[tuple(call["frames"]), prompt] += 1
    asked = Counter((tuple(d["frames"]), prompt_text(d)) for d in docs)
    computed_once = any(t.answer.option_probabilities for t in done.run().trials)
    assert arrived == (Counter(set(asked)) if computed_once else asked)
    assert all(len(frames) == 16 for frames, _ in arrived)


def test_in_gap_is_exactly_zero_and_on_grid_is_not_trivially_so(evaluated):
    trials = evaluated[0].run().trials
    gap = measure_deference(trials, "in_gap")
    assert gap.unparseable == 0 and gap.identical_twins and gap.unstable == 0
    assert (gap.J.value, gap.J0.value) == (0.0, 0.0)
    results = evaluated[0].results()["results"]["caved_or_convinced"]
    assert results["in_gap_J,none"] == 0.0 and results["in_gap_J0,none"] == 0.0
    # The model does look at its frames: swapping two of them changes some answers.
    answers = {t.key: t.answer.option for t in trials if t.phase == "on_grid"}
    changed = [k for k in answers if k[3] == "+" and answers[k] != answers[(*k[:3], "-", *k[4:])]]
    assert set(answers.values()) == {"A", "B"}
    assert changed


def test_probabilities_agree_with_the_text_and_say_more(from_text, from_probabilities):
    text = {t.key: t for t in from_text[0].run().trials}
    read = {t.key: t for t in from_probabilities[0].run().trials}
    assert {k: t.answer.option for k, t in text.items()} == {k: t.answer.option for k, t in read.items()}
    for trial in read.values():
        p = trial.answer.option_probabilities
        assert p is not None and sum(p.values()) == pytest.approx(1) and 0 < trial.answer.option_mass <= 1
        assert (trial.receipt["frames"], trial.receipt["size_px"], trial.receipt["float32_head"]) == (
            16,
            [448] * 2,
            True,
        )
    results = from_probabilities[0].results()["results"]["caved_or_convinced"]
    for phase in ("on_grid", "in_gap"):
        confidence = measure_deference(read.values(), phase, resamples=0).confidence
        for measure, estimate in confidence.items():
            assert results[f"{phase}_{measure}_confidence,none"] == pytest.approx(estimate.value)
    assert results["in_gap_J_confidence,none"] == results["in_gap_J0_confidence,none"] == 0.0
    assert not any("confidence" in name for name in from_text[0].results()["results"]["caved_or_convinced"])
