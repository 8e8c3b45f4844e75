"""Each native family of the paper through the wrapper that lmms-eval has for it: probabilities, frames, order."""

import json

import pytest
import torch
from transformers import GenerationMixin

from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from lmms_eval_tasks.visuals import doc_to_messages

pytestmark = pytest.mark.slow

ROUTES = {
    "qwen3_vl": ("qwen3_vl", "device=cpu,device_map=cpu"),
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


@pytest.mark.parametrize("budget", [8, 16])
@pytest.mark.parametrize("family", ROUTES)
def test_a_native_family(family, budget, release, tmp_path, monkeypatch):
    from lmms_eval.models import get_model
    from tiny_families import write_tiny

    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    probe = release.probes(budget)[0]
    docs = probe_documents(probe, MAIN_CLAIMS, release.info.digest, 1)
    model_id, arguments = ROUTES[family]
    checkpoint = write_tiny(family, tmp_path / family)
    wrapper = get_model(model_id).create_from_arg_string(f"pretrained={checkpoint},{arguments}", {"batch_size": 1})
    wrapper.task_dict = {"task": {"split": docs}}

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
    assert {r["frames"] for r in responses} <= {budget, None}
    # All frames are there: the visual input is k times that of one frame, or one slice for each.
    media = inputs[0].get("pixel_values_videos", inputs[0].get("pixel_values"))
    slices = media.shape[1] if media.dim() == 5 else media.shape[0]
    assert slices % budget == 0
