"""What models are told of the times of their frames: nothing, the truth by their own channel, or the truth as text."""

import json
from types import SimpleNamespace

import pytest
from test_families import instances, load

from lmms_eval_tasks.paper_trials import TIME, paper_documents
from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.readout import unavailable_of
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.time_channel import SeenTime, check_time, seen_time, stamps_withheld, video_metadata
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents

TIMES = (3.25, 10.75, 18.25, 25.75)


class Processor:
    """One that writes stamps as two families do."""

    def __init__(self, text):
        self.text = text

    def replace_video_token(self, *_args, **_kwargs):
        return self.text


@pytest.mark.parametrize(
    ("written", "left"),
    [
        (
            "<0.3 seconds><|vision_start|><|video_pad|><|vision_end|><12.5 seconds><|vision_start|><|video_pad|><|vision_end|>",
            "<|vision_start|><|video_pad|><|vision_end|><|vision_start|><|video_pad|><|vision_end|>",
        ),
        (
            "0.0 <frame_start><im_patch><frame_end> 107.5 <frame_start><im_patch><frame_end>",
            "<frame_start><im_patch><frame_end><frame_start><im_patch><frame_end>",
        ),
        (
            "Frame1: <img><IMG_CONTEXT></img>\nFrame2: <img></img>",
            "Frame1: <img><IMG_CONTEXT></img>\nFrame2: <img></img>",
        ),
        ("<video><video>", "<video><video>"),
    ],
)
def test_stamps_are_taken_out_and_nothing_else(written, left):
    processor = Processor(written)
    with stamps_withheld(processor):
        assert processor.replace_video_token({}, 0) == left
    assert processor.replace_video_token({}, 0) == written and "replace_video_token" not in vars(processor)


def test_metadata_tells_times_to_the_millisecond():
    metadata = video_metadata(TIMES)
    assert [i / metadata["fps"] for i in metadata["frames_indices"]] == list(TIMES)
    # Qwen2.5-VL takes its spacing from the share of frames that were sampled.
    assert metadata["total_num_frames"] / metadata["fps"] / len(TIMES) == 7.5 and metadata["duration"] == 30.0
    assert video_metadata([2.0])["frames_indices"] == [2000]


@pytest.mark.parametrize(
    ("seen", "channel", "outcome"),
    [
        (SeenTime(), "withheld", None),
        (SeenTime(("Frame1:", "Frame2:")), "withheld", None),
        (SeenTime(("<0.3 seconds>", "<1.2 seconds>")), "withheld", "holds time stamps"),
        (SeenTime(("0:03", "0:11")), "text", "holds time stamps"),
        (SeenTime(("<3 seconds>", "<11 seconds>")), "withheld", "holds time stamps"),
        (SeenTime(("1s", "2s", "3s", "4s", "5s")), "native", RunStopped),
        (SeenTime((), 1.0), "withheld", None),
        (SeenTime((), 15.0), "native", None),
        (SeenTime(("<7.0 seconds>", "<22.0 seconds>"), 2.0), "native", None),
        (SeenTime(("3.2", "10.8", "18.2", "25.8")), "native", None),
        (SeenTime(("0:03.2", "0:10.8", "0:18.2", "0:25.8")), "native", None),
        (SeenTime(("0.0", "0.5", "1.0", "1.5")), "native", RunStopped),
        (SeenTime(("3.2", "10.8", "18.2")), "native", RunStopped),
        (SeenTime(("Frame1:", "Frame2:")), "native", RunStopped),
        (SeenTime((), 1.0), "native", RunStopped),
        (SeenTime(), "native", RunStopped),
    ],
)
def test_what_was_seen_is_compared_with_what_was_asked_for(seen, channel, outcome):
    if outcome is RunStopped:
        with pytest.raises(RunStopped, match="time: native"):
            check_time(seen, channel, TIMES)
    elif outcome is None:
        assert check_time(seen, channel, TIMES) is None
    else:
        assert outcome in check_time(seen, channel, TIMES)


@pytest.mark.parametrize("step", [1, 2, 4])
def test_a_step_of_the_grid_lasts_as_long_as_its_frames(step):
    """Frames 7.5 s apart, one, two or four of them a step: other spacings are made up."""
    for frames, right in ((step, True), (step - 1, False), (step + 1, False), (2 * step, False)):
        seen = SeenTime((), 7.5 * frames, step)
        if right:
            assert check_time(seen, "native", TIMES) is None
        else:
            with pytest.raises(RunStopped, match="no true time reached"):
                check_time(seen, "native", TIMES)
        assert check_time(seen, "withheld", TIMES) is None
    note = SeenTime((), 7.5, step).to_json("native")
    assert (note["seconds_per_step"], note["frames_per_step"]) == (7.5, step)
    assert SeenTime(("1.0",), None, step).to_json("native")["frames_per_step"] is None


class Tokenizer:
    def decode(self, *_args, **_kwargs):
        return ""


@pytest.mark.parametrize(
    ("vision", "step"),
    [({"temporal_patch_size": 1}, 1), ({"temporal_patch_size": 2}, 2), ({}, 2), ({"temporal_patch_size": None}, 2)],
)
def test_how_many_frames_a_step_holds_is_the_models_own(vision, step):
    model = SimpleNamespace(config=SimpleNamespace(vision_config=SimpleNamespace(**vision)))
    seen = seen_time(model, Tokenizer(), [1, 2], {"second_per_grid_ts": [3.0, 7.5 * step]}, 1)
    assert (seen.seconds_per_step, seen.frames_per_step) == (7.5 * step, step)
    assert check_time(seen, "native", TIMES) is None
    bare = SimpleNamespace(config=SimpleNamespace())
    assert seen_time(bare, Tokenizer(), [1], {}, 0) == SeenTime()


# What stands beside the frames with times withheld, and with true ones.
LABELS = {"internvl": [f"Frame{i}:" for i in range(1, 9)]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", ["qwen2_5_vl", "qwen3_vl", "internvl", "llava_onevision", "llava_next_video", "molmo2"]
)
def test_each_family_is_told_what_was_asked_for(family, release, tmp_path, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    probe = release.probes(8)[0]
    docs = [d for time in ("withheld", "text", "native") for d in probe_documents(probe, MAIN_CLAIMS, "", 1, time)]
    for doc in docs:
        doc["release"] = release.info.digest
    wrapper = load(family, tmp_path, docs)
    mine = {"benchmark": "caved_or_convinced"}
    half = [i for i in instances(docs, mine) if docs[i.args[3]]["time"] != "native"]
    responses = [json.loads(r) for r in wrapper.generate_until(half)]
    times = {doc["time"]: r["receipt"]["time"] for doc, r in zip(docs, responses, strict=False)}
    for channel in ("withheld", "text"):
        assert times[channel]["channel"] == channel and times[channel]["beside_frames"] == LABELS.get(family)
    said = prompt_text(next(d for d in docs if d["time"] == "text"))
    assert f"taken at {probe.views[0].times_s[0]:.2f} s, " in said and "taken at" not in prompt_text(docs[0])
    changed = [
        a["option_probabilities"] != b["option_probabilities"]
        for a, b in zip(responses[:16], responses[16:], strict=True)
    ]
    assert all(changed)

    native = [i for i in instances(docs, mine) if docs[i.args[3]]["time"] == "native"]
    if family in ("internvl", "llava_onevision", "llava_next_video"):
        with pytest.raises(RunStopped, match="no channel of its own"):
            wrapper.generate_until(native)
        for doc in docs:  # as trials of the task that compares channels, which goes on without it
            doc["task"] = TIME.name
        with_others = instances(docs, mine)
        for doc, response in zip(docs, wrapper.generate_until(with_others), strict=True):
            assert ("no channel of its own" in unavailable_of(response)) == (doc["time"] == "native")
        return
    told = [json.loads(r) for r in wrapper.generate_until(native)]
    for instance, response in zip(native, told, strict=True):
        true = docs[instance.args[3]]["times_s"]
        note = response["receipt"]["time"]
        if family == "molmo2":
            assert note["beside_frames"] == [f"{t:.1f}" for t in true]
        elif family == "qwen3_vl":
            pairs = [(a + b) / 2 for a, b in zip(true[::2], true[1::2], strict=True)]
            assert note["beside_frames"] == [f"<{t:.1f} seconds>" for t in pairs]
        else:
            assert note["seconds_per_step"] == pytest.approx(2 * (true[1] - true[0]), abs=0.01)
    assert any(a["option_probabilities"] != b["option_probabilities"] for a, b in zip(responses, told, strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl"])
def test_batches_never_mix_requests_that_are_told_with_others(family, release, tmp_path, monkeypatch):
    """A processor gets the times of a whole batch or of none; numbers are those of single requests."""
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    docs = paper_documents(release.probes(8)[0], TIME, release.info.digest, 1, TIME.times)
    told = {}
    for size in (1, 3):
        wrapper = load(family, tmp_path, docs, size)
        wrapper._model.float()
        told[size] = [
            json.loads(r) for r in wrapper.generate_until(instances(docs, {"benchmark": "caved_or_convinced"}))
        ]
    for doc, one, three in zip(docs, told[1], told[3], strict=True):
        assert one["receipt"] == three["receipt"] and one["receipt"]["time"]["channel"] == doc["time"]
        assert one["option_probabilities"] == pytest.approx(three["option_probabilities"], abs=1e-3)


@pytest.mark.slow
def test_a_checkpoint_that_takes_frames_one_by_one_is_told_their_own_times(release, tmp_path, monkeypatch):
    """As the Qwen family with `temporal_patch_size` 1: half the spacing that a pair of frames has."""
    from lmms_eval.models import get_model
    from test_families import ROUTES
    from tiny_qwen import write_tiny_qwen

    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    checkpoint = write_tiny_qwen(tmp_path / "tiny", vision={"temporal_patch_size": 1})
    model_id, arguments = ROUTES["qwen2_5_vl"]
    wrapper = get_model(model_id).create_from_arg_string(f"pretrained={checkpoint},{arguments}", {"batch_size": 1})
    docs = probe_documents(release.probes(8)[0], MAIN_CLAIMS, release.info.digest, 1, "native")
    wrapper.task_dict = {"task": {"split": docs}}
    responses = [json.loads(r) for r in wrapper.generate_until(instances(docs, {"benchmark": "caved_or_convinced"}))]
    for doc, response in zip(docs, responses, strict=True):
        note, spacing = response["receipt"]["time"], doc["times_s"][1] - doc["times_s"][0]
        assert (response["receipt"]["frames"], note["frames_per_step"]) == (8, 1)
        assert note["seconds_per_step"] == pytest.approx(spacing, abs=0.01)
