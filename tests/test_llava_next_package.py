"""The wrappers on the LLaVA-NeXT package, unchanged, around a stand-in of that package: frames, times, probabilities."""

import os
from types import SimpleNamespace

import pytest
import torch
from harness import lmms_eval
from tiny_llava_next import STAND_IN, write_tiny_llava_next
from transformers import GenerationMixin

from lmms_eval_tasks.llava_next_package import (
    call_under_way,
    frames_given,
    handing_frames,
    loads_by_path,
)
from lmms_eval_tasks.next_token import reading_next_token
from lmms_eval_tasks.paper_trials import TIME, paper_documents
from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.readout import receipt_of, unavailable_of
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from lmms_eval_tasks.visuals import doc_to_visual, frames_of
from stimuli_builder.build import build_release

WRAPPERS = ("llava_vid", "llava_onevision")
ARGUMENTS = "conv_template=qwen_1_5,device=cpu,device_map=auto"
GENERATION = {"max_new_tokens": 64, "temperature": 0, "do_sample": False, "until": []}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_tiny_llava_next(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def long_release(tmp_path_factory, catalogue):
    return build_release(catalogue, tmp_path_factory.mktemp("long") / "release", (32,), 1, 7, 64, "mit", workers=1)


def load(model_id, checkpoint, docs, more=""):
    """The wrapper on a CPU; these wrappers follow `device` only with `device_map=auto`."""
    from lmms_eval.models import get_model

    arguments = f"pretrained={checkpoint},{ARGUMENTS}{more}"
    wrapper = get_model(model_id).create_from_arg_string(arguments, {"batch_size": 1})
    wrapper.task_dict = {"task": {"split": docs}}
    return wrapper


def requests(docs):
    """As the harness makes them of another task's documents, so that the wrapper itself answers."""
    from lmms_eval.api.instance import Instance

    metadata = {"task": "task", "repeats": 1}
    return [
        Instance(
            "generate_until",
            (prompt_text(doc), dict(GENERATION), doc_to_visual, i, "task", "split"),
            0,
            metadata={**metadata, "doc_id": i},
        )
        for i, doc in enumerate(docs)
    ]


def documents(release, budget, time="withheld", **wanted):
    docs = probe_documents(release.probes(budget)[0], MAIN_CLAIMS, release.info.digest, 1, time)
    return [doc for doc in docs if all(doc[name] == value for name, value in wanted.items())]


def pixels(normalised):
    """What the image processor made of frames, as whole numbers again."""
    return ((normalised.float() * 0.5 + 0.5) * 255).round().to(torch.uint8)


@pytest.fixture
def calls(checkpoint, monkeypatch):
    """What reaches the package's `generate`, and what transformers' own gets in the end."""
    from llava.model import LlavaQwenForCausalLM

    seen = []
    package, library = LlavaQwenForCausalLM.generate, GenerationMixin.generate

    def at_the_package(self, *args, **kwargs):
        inputs = kwargs.get("inputs", args[0] if args else None)
        seen.append({"frames": frames_given(kwargs), "ids": inputs[0].tolist()})
        return package(self, *args, **kwargs)

    def at_the_library(self, *args, **kwargs):
        seen[-1].update(embeds=kwargs["inputs_embeds"].shape[1], under_way=call_under_way())
        return library(self, *args, **kwargs)

    monkeypatch.setattr(LlavaQwenForCausalLM, "generate", at_the_package)
    monkeypatch.setattr(GenerationMixin, "generate", at_the_library)
    return seen


def text_of(wrapper, call):
    return "".join("<image>" if i < 0 else wrapper.tokenizer.decode([i]) for i in call["ids"])


def read(wrapper, docs):
    """First tokens in the order of the documents."""
    wanted = requests(docs)
    with handing_frames(wrapper, wanted) as handed, reading_next_token(wrapper.tokenizer, ("A", "B")) as rows:
        answers = wrapper.generate_until(handed)
    assert [r.args[1] for r in wanted] == [GENERATION] * len(docs)  # not added to by the wrapper
    return [rows.take(answer) for answer in answers]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [8, 16, 32])
@pytest.mark.parametrize("model_id", WRAPPERS)
def test_exactly_the_frames_of_a_trial_arrive_in_order(
    model_id, budget, release, long_release, checkpoint, calls, monkeypatch
):
    shown = long_release if budget == 32 else release
    monkeypatch.setenv("CAVED_RELEASE", str(shown.folder))
    docs = documents(shown, budget)
    wrapper = load(model_id, checkpoint, docs)
    first = read(wrapper, docs)

    asked = {prompt_text(doc): i for i, doc in enumerate(docs)}
    assert len(calls) == len(docs) == 16 and len(asked) == 4
    arrived = set()
    for call in calls:
        text = text_of(wrapper, call)
        prompt = text.split("<|im_start|>user\n<image>\n")[1].split("<|im_end|>")[0]
        assert prompt in asked  # the prompt of a trial after one mark, and not a word of time
        assert call["frames"].shape[:2] == (budget, 3) and call["under_way"].frames is call["frames"]
        # Each frame is 2 x 2 features in the prompt, with an end mark after each line, or one after all.
        visual = budget * 2 * 3 if model_id == "llava_vid" else budget * 2 * 2 + 1
        assert call["embeds"] == len(call["ids"]) - 1 + visual
        arrived.add((prompt, pixels(call["frames"]).numpy().tobytes()))
    processor = wrapper._image_processor
    for doc in docs:
        frames = [processor.preprocess(frame, return_tensors="pt")["pixel_values"] for frame in frames_of(doc)]
        assert (prompt_text(doc), pixels(torch.cat(frames)).numpy().tobytes()) in arrived
    assert len(arrived) == 12  # in-gap twins are one request

    by_key = {(d["phase"], d["twin"], d["claim"], d["letters"]): f for d, f in zip(docs, first, strict=True)}
    for (phase, _, *rest), token in by_key.items():
        p = token.option_probabilities()
        assert sum(p.values()) == pytest.approx(1) and 0 < token.option_mass < 1
        if phase == "in_gap":
            assert p == by_key[("in_gap", "+", *rest)].option_probabilities()
    twins = [(by_key[("on_grid", "+", *k)], by_key[("on_grid", "-", *k)]) for k in (("none", "AB"), ("strong", "BA"))]
    assert all(a.option_probabilities() != b.option_probabilities() for a, b in twins)


@pytest.mark.slow
def test_no_time_is_written_unless_it_is_asked_for_and_then_the_true_one(release, checkpoint, calls, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    probe = release.probes(8)[0].probe
    one = {"phase": "on_grid", "twin": "+", "claim": "none", "letters": "AB"}
    docs = [documents(release, 8, time, **one)[0] for time in ("withheld", "native")]
    wrapper = load("llava_vid", checkpoint, docs, ",add_time_instruction=True,max_frames_num=4,force_sample=True")
    first = read(wrapper, docs)
    assert wrapper.add_time_instruction is True
    withheld, native = sorted((text_of(wrapper, call) for call in calls), key=len)
    listed = ",".join(f"{t:.2f}s" for t in docs[1]["times_s"])
    assert "seconds" not in withheld
    assert (
        f"<image>\nThe video lasts for {8 * probe.timing.interval_s:.2f} seconds, and 8 frames are uniformly sampled from "
        f"it. These frames are located at {listed}." in native
    )
    assert native.endswith(withheld.split("<image>\n")[1])
    stated = {call["under_way"].stated_times(wrapper.tokenizer) for call in calls}
    assert stated == {(), tuple(listed.split(","))}
    assert first[0].option_probabilities() != first[1].option_probabilities()
    with pytest.raises(RunStopped, match="no channel of its own"):
        read(load("llava_onevision", checkpoint, docs[1:]), docs[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("model_id", "has_channel"), [("llava_vid", True), ("llava_onevision", False)])
def test_the_task_that_compares_channels_goes_on_without_one(model_id, has_channel, release, checkpoint, monkeypatch):
    """`llava_onevision` refuses before its model is called, in the middle of handing frames over; the rest is answered."""
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    probe = release.probes(8)[0]
    docs = [d for d in paper_documents(probe, TIME, release.info.digest, 1, TIME.times) if d["claim"] == "none"]
    wrapper = load(model_id, checkpoint, docs)
    asked = requests(docs)
    for request in asked:
        request.metadata["benchmark"] = "caved_or_convinced"
    responses = wrapper.generate_until(asked)
    for doc, response in zip(docs, responses, strict=True):
        missing = doc["time"] == "native" and not has_channel
        assert ("no channel of its own" in unavailable_of(response)) == missing
        assert (receipt_of(response) is None) == missing


@pytest.mark.slow
@pytest.mark.parametrize("model_id", WRAPPERS)
def test_the_prompts_of_a_view_share_its_encoded_frames_and_get_the_same_numbers(
    model_id, release, checkpoint, monkeypatch
):
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    docs = documents(release, 8, phase="on_grid", twin="+")
    wrapper = load(model_id, checkpoint, docs)
    encoded = []
    tower = type(wrapper.model.get_vision_tower())
    shipped = tower.forward
    monkeypatch.setattr(tower, "forward", lambda self, images: encoded.append(len(images)) or shipped(self, images))
    shared = read(wrapper, docs)
    assert encoded == [8]
    monkeypatch.setenv("CAVED_SHARE", "off")
    alone = read(wrapper, docs)
    assert encoded == [8] * 5
    assert [t.option_log_mass for t in alone] == [t.option_log_mass for t in shared]


@pytest.mark.slow
@pytest.mark.parametrize("model_id", WRAPPERS)
def test_frames_that_do_not_arrive_stop_the_run(model_id, release, checkpoint, monkeypatch):
    """Both wrappers swallow errors of their image processor: one answers, the other asks without the video."""
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    docs = documents(release, 8, phase="on_grid", twin="+", claim="none", letters="AB")
    wrapper = load(model_id, checkpoint, docs)
    processor = wrapper._image_processor
    shipped = processor.preprocess

    def failing(images, return_tensors):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(processor, "preprocess", failing)
    with pytest.raises(RunStopped, match="reached the model: its wrapper failed to prepare"):
        read(wrapper, docs)
    monkeypatch.setattr(processor, "preprocess", lambda images, return_tensors: shipped(images[::2], return_tensors))
    with pytest.raises(RunStopped, match="4 frames instead of 8"):
        read(wrapper, docs)
    monkeypatch.setattr(processor, "preprocess", shipped)
    monkeypatch.setattr(wrapper.model.config, "tokenizer_model_max_length", 100, raising=False)
    with pytest.raises(RunStopped, match="fill the model's 100 tokens"):
        read(wrapper, docs)
    monkeypatch.undo()
    for owner in (wrapper, wrapper.model):  # themselves again, also after a stop
        assert not {"load_video", "generate", "prepare_inputs_labels_for_multimodal", "encode_images"} & {*vars(owner)}


@pytest.mark.slow
@pytest.mark.parametrize("model_id", WRAPPERS)
def test_text_is_generated_as_well(model_id, release, checkpoint, calls, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    docs = documents(release, 16, phase="on_grid", twin="+", claim="strong")
    wrapper = load(model_id, checkpoint, docs)
    with handing_frames(wrapper, requests(docs)) as handed:
        answers = wrapper.generate_until(handed)
    assert len(answers) == 2 and all(isinstance(answer, str) for answer in answers)
    assert [len(call["frames"]) for call in calls] == [16, 16]


@pytest.mark.slow
@pytest.mark.parametrize("model_id", WRAPPERS)
def test_the_whole_command(model_id, release, checkpoint, tmp_path):
    """Needs no GPU and no patch: with `device=cpu,device_map=auto` both wrappers stay on the CPU."""
    done = lmms_eval(
        tmp_path,
        *("--tasks", "caved_or_convinced", "--model", model_id, "--limit", "32"),
        *("--model_args", f"pretrained={checkpoint},{ARGUMENTS}"),
        release=release.folder,
        environment={"PYTHONPATH": os.pathsep.join(filter(None, (str(STAND_IN), os.environ.get("PYTHONPATH"))))},
    )
    assert done.status == 0, done.output[-3000:]
    trials = done.run().trials
    assert len(trials) == 32
    for trial in trials:
        p = trial.answer.option_probabilities
        assert p is not None and sum(p.values()) == pytest.approx(1)
        assert trial.receipt["frames"] == 16 and trial.receipt["order"] == "as shown"
        assert trial.receipt["size_px"] == [48, 48]
    by_key = {trial.key: trial.answer.option_probabilities for trial in trials}
    twins = [(key, p, by_key[(*key[:3], "-", *key[4:])]) for key, p in by_key.items() if key[3] == "+"]
    assert {a != b for key, a, b in twins if "on_grid" in key} == {True}
    assert {a != b for key, a, b in twins if "in_gap" in key} == {False}


@pytest.mark.parametrize(
    ("arguments", "frames"),
    [
        ({"images": [torch.zeros(8, 3, 4, 4)], "modalities": ["video"]}, 8),
        ({"images": [torch.zeros(8, 3, 4, 4)], "modalities": "video"}, 8),
        ({"images": torch.zeros(1, 8, 3, 4, 4), "modalities": ["video"]}, 8),
        ({"images": torch.zeros(8, 3, 4, 4), "modalities": ["video"]}, None),  # eight pictures
        ({"images": [torch.zeros(3, 4, 4)] * 8, "modalities": ["video"]}, None),
        ({"images": [torch.zeros(8, 3, 4, 4)] * 2, "modalities": ["video", "video"]}, None),
        ({"images": [torch.zeros(8, 3, 4, 4)], "modalities": ["image"]}, None),
        ({"images": [torch.zeros(8, 3, 4, 4)]}, None),
        ({"images": None, "modalities": ["video"]}, None),
    ],
)
def test_a_video_is_told_from_pictures(arguments, frames):
    given = frames_given(arguments)
    assert (None if given is None else len(given)) == frames


def test_other_wrappers_get_their_requests_as_they_are():
    other, asked = SimpleNamespace(load_video=None), [object(), object()]
    assert not loads_by_path(other)
    with handing_frames(other, asked) as handed:
        assert handed == asked
    assert vars(other) == {"load_video": None} and call_under_way() is None
