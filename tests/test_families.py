"""Each native family of the paper through the wrapper that lmms-eval has for it: probabilities, frames, order."""

import json
from math import log

import pytest
import torch
from transformers import GenerationMixin

from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.shared_prefix import SharedPrefix
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from lmms_eval_tasks.visuals import doc_to_messages

pytestmark = pytest.mark.slow

ROUTES = {
    "qwen2_5_vl": ("qwen2_5_vl", "device=cpu,device_map=cpu,min_pixels=3136"),
    "qwen3_vl": ("qwen3_vl", "device=cpu,device_map=cpu,min_pixels=3136"),
    "internvl": ("internvl_hf", "device=cpu,device_map=cpu"),
    "llava_onevision": ("llava_hf", "device=cpu,device_map=cpu"),
    "llava_next_video": ("llava_hf", "device=cpu,device_map=cpu"),
    "molmo2": ("llava_hf", "device=cpu,device_map=cpu"),
}


def instances(docs, metadata):
    from lmms_eval.api.instance import Instance

    return [
        Instance(
            "generate_until",
            (
                prompt_text(doc),
                doc_to_messages,
                {"max_new_tokens": 64, "temperature": 0, "until": []},
                i,
                "task",
                "split",
            ),
            0,
            metadata={"task": "task", "doc_id": i, "repeats": 1, **metadata},
        )
        for i, doc in enumerate(docs)
    ]


def load(family, folder, docs):
    """The wrapper of a family with a tiny checkpoint and some documents."""
    from lmms_eval.models import get_model
    from tiny_families import write_tiny
    from tiny_qwen import write_tiny_qwen

    model_id, arguments = ROUTES[family]
    checkpoint = write_tiny_qwen(folder / family) if family == "qwen2_5_vl" else write_tiny(family, folder / family)
    wrapper = get_model(model_id).create_from_arg_string(f"pretrained={checkpoint},{arguments}", {"batch_size": 1})
    wrapper.task_dict = {"task": {"split": docs}}
    return wrapper


@pytest.mark.parametrize("budget", [8, 16])
@pytest.mark.parametrize("family", [name for name in ROUTES if name != "qwen2_5_vl"])
def test_a_native_family(family, budget, release, tmp_path, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    monkeypatch.setenv("CAVED_SHARE", "off")
    docs = probe_documents(release.probes(budget)[0], MAIN_CLAIMS, release.info.digest, 1)
    wrapper = load(family, tmp_path, docs)

    inputs = []
    original = GenerationMixin.generate

    def witness(self, *args, **kwargs):
        inputs.append({k: v for k, v in kwargs.items() if torch.is_tensor(v)})
        return original(self, *args, **kwargs)

    monkeypatch.setattr(GenerationMixin, "generate", witness)
    responses = [json.loads(r) for r in wrapper.generate_until(instances(docs, {"benchmark": "caved_or_convinced"}))]

    by_key = {(d["phase"], d["twin"], d["claim"], d["letters"]): r for d, r in zip(docs, responses, strict=True)}
    assert len(inputs) == 12  # in-gap twins are one request
    for key, response in by_key.items():
        p = response["option_probabilities"]
        assert sum(p.values()) == pytest.approx(1) and 0 < response["option_mass"] < 1
        if key[0] == "in_gap":
            assert p == by_key[("in_gap", "+", *key[2:])]["option_probabilities"]
    # Order reaches the model: the same frames in another order give another distribution.
    assert any(
        by_key[("on_grid", "+", *k)]["option_probabilities"] != by_key[("on_grid", "-", *k)]["option_probabilities"]
        for k in (("none", "AB"), ("none", "BA"), ("strong", "AB"), ("strong", "BA"))
    )
    for response in responses:
        assert response["receipt"]["frames"] == budget and response["receipt"]["order"] == "as shown"
    # All frames are there: the visual input is k times that of one frame, or one slice for each.
    media = inputs[0].get("pixel_values_videos", inputs[0].get("pixel_values"))
    slices = media.shape[1] if media.dim() == 5 else media.shape[0]
    assert slices % budget == 0


@pytest.mark.parametrize("family", ROUTES)
def test_sharing_frames_changes_no_number(family, release, tmp_path, monkeypatch):
    """In float32, with 16 frames: two probes, each prompt alone and with the prefix of its view shared."""
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    probes = release.probes(16)[:2]
    docs = [d for p in probes for d in probe_documents(p, MAIN_CLAIMS, release.info.digest, 2)]
    wrapper = load(family, tmp_path, docs)
    wrapper._model.float()
    mine = {"benchmark": "caved_or_convinced"}
    results = {}
    for switch in ("off", "on"):
        monkeypatch.setenv("CAVED_SHARE", switch)
        results[switch] = [json.loads(r) for r in wrapper.generate_until(instances(docs, mine))]
    sharing = vars(wrapper)["_caved_sharing"]
    assert sharing.active and sharing.checked["words differ"] == sharing.checked["computed whole"] == 2
    assert sharing.checked["frames differ"] == 2 and sharing.largest_difference <= 1e-5
    tokens = sharing.prefix.computed_tokens + sharing.prefix.spared_tokens
    # Molmo2 lets all frames see each other, so its twins have nothing in common but the words before them.
    print(family, tokens, sharing.prefix, sharing.frames.encoded, sharing.frames.spared)
    for plain, shared in zip(results["off"], results["on"], strict=True):
        for letter in "AB":
            a, b = (log(r["option_probabilities"][letter] * r["option_mass"] + 1e-300) for r in (plain, shared))
            assert abs(a - b) <= 1e-5 * max(1.0, abs(a)), (a, b)
        assert plain["receipt"] == shared["receipt"]


def test_sharing_that_changes_numbers_is_given_up(release, tmp_path, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    docs = probe_documents(release.probes(8)[0], MAIN_CLAIMS, release.info.digest, 1)
    wrapper = load("llava_onevision", tmp_path, docs)
    wrapper._model.float()
    mine = {"benchmark": "caved_or_convinced"}
    original = SharedPrefix.next_token_logits
    calls = []

    def wrong(self, *args, **kwargs):
        calls.append(1)
        return original(self, *args, **kwargs).roll(1, dims=-1)

    monkeypatch.setattr(SharedPrefix, "next_token_logits", wrong)
    shared = wrapper.generate_until(instances(docs, mine))
    assert len(calls) == 1
    monkeypatch.setenv("CAVED_SHARE", "off")
    assert wrapper.generate_until(instances(docs, mine)) == shared
