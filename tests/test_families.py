"""Each native family of the paper through the wrapper that lmms-eval has for it: probabilities, frames, order."""

import json
from math import log
from types import SimpleNamespace

import pytest

from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.requests import parts
from lmms_eval_tasks.shared_prefix import SharedPrefix
from lmms_eval_tasks.stop import RunStopped
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


# Shares of tokens that need not be computed, with these short views and long words.
SPARED = {
    "qwen2_5_vl": 0.405, "qwen3_vl": 0.472, "internvl": 0.551, "llava_onevision": 0.437, "llava_next_video": 0.436,
    "molmo2": 0.458,
}  # fmt: skip


def pairs_of_frames(docs):
    """Pairs of neighbouring frames, as the Qwen family encodes them, that differ anywhere in a probe."""
    return {(d["probe"], pair) for d in docs for pair in zip(d["frames"][::2], d["frames"][1::2], strict=True)}


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


def log_masses(response):
    """Log-probabilities of the two letters."""
    return [log(response["option_probabilities"][letter] * response["option_mass"] + 1e-300) for letter in "AB"]


def load(family, folder, docs, batch_size=1):
    """The wrapper of a family with a tiny checkpoint and some documents."""
    from lmms_eval.models import get_model
    from tiny_families import write_tiny
    from tiny_qwen import write_tiny_qwen

    model_id, arguments = ROUTES[family]
    checkpoint = write_tiny_qwen(folder / family) if family == "qwen2_5_vl" else write_tiny(family, folder / family)
    wrapper = get_model(model_id).create_from_arg_string(
        f"pretrained={checkpoint},{arguments}", {"batch_size": batch_size}
    )
    wrapper.task_dict = {"task": {"split": docs}}
    return wrapper


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl"])
def test_batches_give_the_numbers_of_single_requests(family, release, tmp_path, monkeypatch):
    """In float32: four requests at a time, padded to one length, against one at a time with all that is shared."""
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    docs = probe_documents(release.probes(8)[0], MAIN_CLAIMS, release.info.digest, 1)
    mine = {"benchmark": "caved_or_convinced"}
    results = {}
    for size in (1, 4):
        wrapper = load(family, tmp_path, docs, size)
        wrapper._model.float()
        results[size] = [json.loads(r) for r in wrapper.generate_until(instances(docs, mine))]
    for one, four in zip(results[1], results[4], strict=True):
        assert one["receipt"] == four["receipt"] and one["receipt"]["frames"] == 8
        assert log_masses(one) == pytest.approx(log_masses(four), abs=1e-4)


@pytest.mark.parametrize(
    "fault", [lambda answers: answers[::-1], lambda answers: [answers[0], *answers[2:], answers[1]]]
)
def test_answers_to_other_prompts_of_a_view_stop_the_run(fault, release, tmp_path, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    docs = probe_documents(release.probes(8)[0], MAIN_CLAIMS, release.info.digest, 1)
    wrapper = load("llava_onevision", tmp_path, docs)
    shipped = type(wrapper).__mro__[1]
    original = shipped.generate_until
    monkeypatch.setattr(shipped, "generate_until", lambda self, requests: fault(original(self, requests)))
    with pytest.raises(RunStopped, match="the prompt that reached the model is not that of the trial"):
        wrapper.generate_until(instances(docs, {"benchmark": "caved_or_convinced"}))


def test_requests_of_several_tasks_are_never_handed_on_together(release):
    """Some wrappers take a whole batch for the first request's task, and would show other frames."""
    docs = {k: probe_documents(release.probes(k)[0], MAIN_CLAIMS, release.info.digest, 1) for k in (8, 16)}
    wrapper = SimpleNamespace(task_dict={f"k{k}": {"split": docs[k]} for k in docs})
    requests = [
        SimpleNamespace(args=(prompt_text(doc), None, {}, i, f"k{k}", "split"))
        for k in docs
        for i, doc in enumerate(docs[k])
    ]
    for by_view in (False, True):
        handed = parts(wrapper, requests[::2] + requests[1::2], by_view)
        assert all(len({request.args[-2] for request in part}) == 1 for part in handed)
        assert sorted(id(request) for part in handed for request in part) == sorted(map(id, requests))


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava_onevision"])
def test_other_tasks_get_what_the_shipped_wrapper_gives(family, release, tmp_path, monkeypatch):
    """Images and text of another task, before and after ours was served, against the shipped class."""
    from PIL import Image

    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    docs = probe_documents(release.probes(8)[0], MAIN_CLAIMS, release.info.digest, 1)
    wrapper = load(family, tmp_path, docs)
    shipped = type(wrapper).__mro__[1]

    def others():
        pictures = [{"type": "image", "url": Image.new("RGB", (112, 112), (40 * i, 90, 10))} for i in range(2)]
        requests = instances(docs[:4], {})
        for i, request in enumerate(requests):
            text = [{"type": "text", "text": f"What is shown, number {i}?"}]
            show = [{"role": "user", "content": [*pictures, *text]}]
            request.arguments = (text[0]["text"], lambda _, show=show: show, {"max_new_tokens": 7}, *request.args[3:])
        return requests

    texts = [
        [r.text for r in shipped.generate_until(wrapper, others())],
        [r.text for r in wrapper.generate_until(others())],
    ]
    assert wrapper.generate_until(instances(docs, {"benchmark": "caved_or_convinced"}))[0].startswith("{")
    texts.append([r.text for r in wrapper.generate_until(others())])
    mixed = wrapper.generate_until([*instances(docs[:2], {"benchmark": "caved_or_convinced"}), *others()])
    texts.append([r.text for r in mixed[2:]])
    assert texts[0] == texts[1] == texts[2] == texts[3] and any(texts[0])


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
    assert sharing.prefix.spared_tokens / tokens == pytest.approx(SPARED[family], abs=0.02)
    slots = {(d["probe"], f) for d in docs for f in d["frames"]} if "qwen" not in family else pairs_of_frames(docs)
    assert sharing.frames.encoded == len(slots)
    assert sharing.prefix._held is None and not sharing.frames._inputs  # nothing is kept after a run
    for plain, shared in zip(results["off"], results["on"], strict=True):
        for a, b in zip(log_masses(plain), log_masses(shared), strict=True):
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
