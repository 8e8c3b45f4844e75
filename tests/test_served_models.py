"""Served models through lmms-eval's own wrappers: what is read, what was sent, and what happens when it fails.

`openai` and `async_openai` talk to a real HTTP server with a tiny real checkpoint. vLLM and SGLang have stand-ins
with the fields of vLLM 0.33 (`RequestOutput`, `CompletionOutput`, `Logprob`, `SamplingParams`) and SGLang 0.5.23
(the dictionaries of `TokenizerManager`), which run the same checkpoint.
"""

import importlib
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import partial
from math import log
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from openai_server import load_checkpoint, model_inputs, openai_server, write_soft_qwen
from transformers import AutoProcessor

from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.sent_media import flat_images, frame_ids, sent_images
from lmms_eval_tasks.served_models import kind_of, reading_top_log_probabilities, serves
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from lmms_eval_tasks.visuals import doc_to_messages, frames_of
from stimuli_builder.build import build_release

pytestmark = pytest.mark.slow
LETTERS = ("A", "B")
CLIENTS = ["openai", "async_openai"]


@pytest.fixture(scope="module")
def small_release(catalogue, tmp_path_factory):
    """Procedural probes on a canvas that the checkpoint's processor does not resize."""
    return build_release(catalogue, tmp_path_factory.mktemp("served") / "release", (8,), 1, 7, 112, "mit", workers=1)


@pytest.fixture(scope="module")
def docs(small_release):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAVED_RELEASE", str(small_release.folder))
        yield probe_documents(small_release.probes(8)[0], MAIN_CLAIMS, small_release.info.digest, 1)


@pytest.fixture(scope="module")
def checkpoint(docs, tmp_path_factory):
    asked = [(prompt_text(doc), frames_of(doc)) for doc in docs]
    return write_soft_qwen(tmp_path_factory.mktemp("soft") / "qwen", asked)


@pytest.fixture
def server(checkpoint):
    with openai_server(checkpoint) as (url, behaviour):
        yield url, behaviour


@pytest.fixture
def talker():
    """A server without a model, which says B."""
    with openai_server() as (url, behaviour):
        behaviour.text = "B"
        yield url, behaviour


def instances(docs, frames_as="images", **metadata):
    from lmms_eval.api.instance import Instance

    messages = partial(doc_to_messages, lmms_eval_specific_kwargs={"frames_as": frames_as})
    generation = {"max_new_tokens": 64, "temperature": 0, "do_sample": False, "until": []}
    return [
        Instance(
            "generate_until", (prompt_text(doc), messages, dict(generation), i, "task", "split"), 0,
            metadata={"task": "task", "doc_id": i, "repeats": 1, **metadata},
        )
        for i, doc in enumerate(docs)
    ]  # fmt: skip


def connect(model_id, url, docs, model="tiny", retries=2):
    """The wrapper as the harness makes it. The client's own retries, which sleep, are off."""
    from lmms_eval.models import get_model

    arguments = f"model={model},base_url={url},api_key=none,max_retries={retries},retry_backoff_s=0"
    arguments += ",num_concurrent=4" if model_id == "openai" else ",num_cpus=4"
    wrapper = get_model(model_id).create_from_arg_string(arguments, {"batch_size": 1})
    wrapper.task_dict = {"task": {"split": docs}}
    wrapper.client = wrapper.client.with_options(max_retries=0)
    return wrapper


def read(wrapper, requests):
    """What a wrapper answers while it is read: texts, and what the stand-in saw."""
    with reading_top_log_probabilities(wrapper, LETTERS) as served:
        answers = wrapper.generate_until(requests)
    return [str(getattr(a, "text", a)) for a in answers], served


@pytest.fixture(scope="module")
def direct(checkpoint, docs):
    """Option probabilities and mass of each document from the checkpoint itself, in memory, images one by one."""
    from lmms_eval.models import get_model

    arguments = f"pretrained={checkpoint},device=cpu,device_map=cpu,min_pixels=3136"
    wrapper = get_model("qwen2_5_vl").create_from_arg_string(arguments, {"batch_size": 1})
    wrapper._model.float()
    wrapper.task_dict = {"task": {"split": docs}}
    answers = wrapper.generate_until(instances(docs, benchmark="caved_or_convinced"))
    return [json.loads(answer) for answer in answers]


def agree(answers, served, docs, direct):
    """Served answers say what the checkpoint says, within their bound, of exactly the frames of their documents."""
    readable = 0
    for answer, doc, truth in zip(answers, docs, direct, strict=True):
        fields, media = json.loads(answer), served.take(answer)
        assert media.frames == tuple(doc["frames"]) and fields["frames"] == doc["budget"]
        assert fields["option_mass"] <= truth["option_mass"] + 1e-5
        if fields["unreadable"]:
            assert fields["option_probabilities"] is None and fields["option_probability_bound"] is None
            continue
        readable += 1
        for letter, value in truth["option_probabilities"].items():
            assert abs(fields["option_probabilities"][letter] - value) <= fields["option_probability_bound"] + 1e-5
    assert readable >= len(docs) // 2
    return readable


@pytest.mark.parametrize("model_id", CLIENTS)
def test_probabilities_are_those_of_the_checkpoint(model_id, server, docs, direct):
    url, behaviour = server
    answers, served = read(connect(model_id, url, docs), instances(docs))
    agree(answers, served, docs, direct)
    assert not served.failures and served.no_log_probabilities is None
    for body in behaviour.requests:
        assert (body["logprobs"], body["top_logprobs"], body["max_tokens"], body["temperature"]) == (True, 20, 1, 1)
    arrived = sorted(frame_ids(images) for images in behaviour.images)
    assert arrived == sorted(tuple(d["frames"]) for d in docs)  # losslessly and in order
    assert len(set(answers)) == len(docs) and served.take(answers[0]) is None  # each is given out once


@pytest.mark.parametrize("model_id", CLIENTS)
def test_several_calls_in_one_block_and_the_client_afterwards(model_id, server, docs):
    wrapper = connect(model_id, server[0], docs)
    client = wrapper.client
    with reading_top_log_probabilities(wrapper, LETTERS) as served:
        for start in (0, 4):
            for answer in wrapper.generate_until(instances(docs)[start : start + 4]):
                assert served.take(answer.text) is not None
    assert wrapper.client is client and not served.failures
    with pytest.raises(RuntimeError), reading_top_log_probabilities(wrapper, LETTERS):
        raise RuntimeError
    assert wrapper.client is client


@pytest.mark.parametrize("model_id", CLIENTS)
@pytest.mark.parametrize("how", ["ignores", "refuses"])
def test_a_server_without_log_probabilities_is_noticed_at_once(model_id, how, talker, docs):
    url, behaviour = talker
    if how == "ignores":
        behaviour.ignores = True
    else:
        behaviour.refuses = "You are not allowed to request logprobs from this model"
    wrapper = connect(model_id, url, docs, retries=5)
    answers, served = read(wrapper, instances(docs))
    assert served.no_log_probabilities and not served.failures
    assert all(json.loads(a)["unreadable"].startswith("no log-probabilities: ") for a in answers)
    assert len(behaviour.requests) <= 2 * 4  # those that were under way together, not one per document and retry
    behaviour.requests.clear()
    assert [a.text for a in wrapper.generate_until(instances(docs))] == ["B"] * len(docs)
    assert all("logprobs" not in body and body["max_tokens"] == 64 for body in behaviour.requests)


def test_fewer_tokens_are_asked_for_where_twenty_are_refused(server, docs):
    url, behaviour = server
    behaviour.most = 5
    answers, served = read(connect("openai", url, docs), instances(docs))
    assert served.asked_for == 5 and served.no_log_probabilities is None
    assert {body["top_logprobs"] for body in behaviour.requests} == {20, 5}
    assert all(served.take(answer) for answer in answers)


def test_reasoning_models_are_asked_for_one_completion_token(talker, docs):
    url, behaviour = talker
    read(connect("openai", url, docs, model="o3-mini"), instances(docs[:1]))
    assert behaviour.requests[0]["max_completion_tokens"] == 1
    assert "max_tokens" not in behaviour.requests[0] and "temperature" not in behaviour.requests[0]


@pytest.fixture
def transformers_serve(checkpoint):
    """The base URL of `transformers serve`, a server that accepts the fields and ignores them."""
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(checkpoint), "--device", "cpu"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "info"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    with subprocess.Popen(command, env=environment, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True) as run:
        said = []
        for line in run.stdout:
            said.append(line)
            if "Uvicorn running" in line:
                break
        else:
            pytest.fail("".join(said))
        reader = threading.Thread(target=run.stdout.read, daemon=True)  # a full pipe would stop the server
        reader.start()
        yield f"http://127.0.0.1:{port}/v1"
        run.terminate()
        reader.join()


@pytest.mark.parametrize("model_id", CLIENTS)
def test_transformers_serve_ignores_log_probabilities_and_is_read_from_text(
    model_id, transformers_serve, checkpoint, docs
):
    wrapper = connect(model_id, transformers_serve, docs, model=checkpoint)
    answers, served = read(wrapper, instances(docs[:4]))
    assert served.no_log_probabilities == "its response has no log-probabilities" and not served.failures
    assert not any(served.take(answer) for answer in answers)
    texts = [a.text for a in wrapper.generate_until(instances(docs[:4]))]
    assert all(text and not text.startswith(("{", "[LMMS_EVAL")) for text in texts)


@pytest.mark.parametrize("model_id", CLIENTS)
def test_a_request_that_fails_is_no_answer_and_its_cause_is_known(model_id, talker, docs):
    url, behaviour = talker
    behaviour.status = 500
    (answer,), served = read(connect(model_id, url, docs), instances(docs[:1]))
    assert answer.startswith("[LMMS_EVAL_REQUEST_FAILED after 2 retries]")
    assert served.take(answer) is None and "the server is not well" in served.cause(answer)
    assert len(served.failures) == 2 and served.no_log_probabilities is None


@pytest.mark.parametrize("model_id", CLIENTS)
def test_a_budget_that_is_used_up_is_no_answer(model_id, talker, docs, monkeypatch):
    monkeypatch.setattr(f"lmms_eval.models.chat.{model_id}.is_budget_exceeded", lambda: True)
    (answer,), served = read(connect(model_id, talker[0], docs), instances(docs[:1]))
    assert answer == "[LMMS_EVAL_BUDGET_EXCEEDED]" and served.take(answer) is None
    assert "budget" in served.cause(answer)


def completion(text, entries, drawn=("A", -9.0)):
    """A chat completion with these log-probabilities at its first position, where `drawn` was drawn."""
    listed = [SimpleNamespace(token=t, logprob=p, bytes=list(t.encode())) for t, p in entries]
    first = SimpleNamespace(token=drawn[0], logprob=drawn[1], top_logprobs=listed) if listed else None
    choice = SimpleNamespace(
        message=SimpleNamespace(content=text, tool_calls=None),
        logprobs=SimpleNamespace(content=[first] if first else []),
        finish_reason="length",
    )
    return SimpleNamespace(choices=[choice], usage=None)


def answered(response, messages=()):
    """The answer that the stand-in of a client gives for a response."""
    create = lambda **_: response  # noqa: E731
    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    wrapper = SimpleNamespace(client=client)
    with reading_top_log_probabilities(wrapper, LETTERS) as served:
        given = wrapper.client.chat.completions.create(messages=list(messages), max_tokens=64)
    return json.loads(given.choices[0].message.content), served


def test_letters_outside_the_top_and_empty_answers():
    one, _ = answered(completion("A", [("A", log(0.7)), ("The", log(0.2))]))
    assert one["option_probabilities"]["B"] == pytest.approx(0.05 / 0.8)
    assert one["option_probability_bound"] == pytest.approx(0.05 / 0.8)
    both, _ = answered(completion("The", [("The", log(0.7)), ("I", log(0.2))], drawn=("I", log(0.2))))
    assert both["unreadable"].startswith("no option letter") and both["option_probabilities"] is None
    assert both["text"] == "The" and both["option_mass"] == 0.0
    empty, served = answered(completion("", []))
    assert empty["unreadable"] == "the answer ended before its first token" and served.no_log_probabilities is None
    _, served = answered(completion("B", []))
    assert served.no_log_probabilities == "its response has no log-probabilities"
    _, served = answered(completion("A", [("A", 12.0), ("B", 9.0)]))
    assert "no log-probabilities" in served.no_log_probabilities  # logits


def test_the_drawn_token_counts_once():
    entries = [("A", log(0.6)), ("B", log(0.3))]
    fields, _ = answered(completion("B", entries, drawn=entries[1]))
    assert fields["text"] == "A" and fields["option_mass"] == pytest.approx(0.9)
    fields, _ = answered(completion(" A", entries, drawn=(" A", log(0.04))))
    assert fields["option_mass"] == pytest.approx(0.94)


def test_media_that_cannot_be_looked_into_are_not_counted():
    response = completion("A", [("A", log(0.9))])
    message = {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "file:///x.mp4"}}]}
    fields, served = answered(response, [message])
    assert fields["frames"] is None and served.sent[0].frames is None
    with pytest.raises(ValueError, match="no image in base64"):
        sent_images([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/y.png"}}]}])
    with pytest.raises(ValueError, match="media of the type str"):
        flat_images([["clip.mp4"]])


def test_many_threads_share_a_stand_in(docs):
    def create(messages, **_):
        return completion("A", [("A", log(0.9)), ("B", log(0.05))])

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    wrapper, texts = SimpleNamespace(client=client), []
    with reading_top_log_probabilities(wrapper, LETTERS) as served:

        def work():
            for _ in range(50):
                response = wrapper.client.chat.completions.create(messages=[], max_tokens=64)
                texts.append(response.choices[0].message.content)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [media.number for media in served.sent] == list(range(400))
    assert all(served.take(text) for text in texts)


def test_which_wrappers_are_served():
    assert kind_of(None) is None and kind_of(object()) is None
    assert not serves(SimpleNamespace()) and not serves(SimpleNamespace(client=SimpleNamespace(chat=None)))
    with pytest.raises(ValueError, match="no client"), reading_top_log_probabilities(SimpleNamespace(), LETTERS):
        pass


# --- vLLM -----------------------------------------------------------------------------------------------------


@dataclass
class SamplingParams:
    """The fields of vLLM's that lmms-eval sets, with vLLM's defaults."""

    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int | None = 16
    logprobs: int | None = None


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: list[int]
    cumulative_logprob: float | None
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str | None = None


@dataclass
class RequestOutput:
    request_id: str
    prompt: str | None
    outputs: list[CompletionOutput]
    finished: bool = True


class Engine:
    """What stand-ins of engines share: the checkpoint, and what they were called with."""

    def __init__(self, checkpoint):
        self.model, self.processor = load_checkpoint(checkpoint), AutoProcessor.from_pretrained(checkpoint)
        self.calls, self.max_logprobs = [], 20

    @torch.no_grad()
    def ranked(self, count, **inputs):
        """Ids and log-probabilities of the likeliest first tokens."""
        logs = self.model(**inputs).logits[0, -1].double().log_softmax(-1)
        values, ids = logs.topk(count)
        return list(zip(ids.tolist(), values.tolist(), strict=True))

    def text(self, token):
        return self.processor.tokenizer.decode([token])


class LLM(Engine):
    """vLLM's `LLM`: the drawn token first, then the likeliest; more than `max_logprobs` is an error."""

    def request_output(self, params, inputs):
        if params.logprobs is None:
            return RequestOutput("0", None, [CompletionOutput(0, "B, it seems", [66], None, None, "stop")])
        if params.logprobs > self.max_logprobs:
            raise ValueError(
                f"Requested sample logprobs of {params.logprobs}, which is greater than max allowed: {self.max_logprobs}"
            )
        ranked = self.ranked(params.logprobs, **inputs)
        told = {i: Logprob(p, rank + 1, self.text(i)) for rank, (i, p) in enumerate(ranked)}
        first, value = ranked[0]
        return RequestOutput("0", None, [CompletionOutput(0, self.text(first), [first], value, [told], "length")])

    def chat(self, messages, sampling_params=None, use_tqdm=True, lora_request=None, chat_template=None):
        self.calls.append(sampling_params)
        return [
            self.request_output(p, model_inputs(self.processor, m, sent_images(m)))
            for m, p in zip(messages, sampling_params, strict=True)
        ]

    def generate(self, prompts, sampling_params=None, *, use_tqdm=True):
        self.calls.append(sampling_params)
        outputs = []
        for prompt, params in zip(prompts, sampling_params, strict=True):
            images = prompt["multi_modal_data"]["image"]
            inputs = self.processor(text=[prompt["prompt"]], images=images, return_tensors="pt")
            outputs.append(self.request_output(params, inputs))
        return outputs

    def get_tokenizer(self):
        return self.processor.tokenizer


LLM.__module__ = "vllm.entrypoints.llm"


def vllm_wrapper(name, checkpoint, docs, monkeypatch):
    """lmms-eval's wrapper around the stand-in, as its heavy `__init__` would leave it."""
    module = importlib.import_module(f"lmms_eval.models.chat.{name}")
    monkeypatch.setattr(module, "SamplingParams", SamplingParams)
    cls = module.VLLM if name == "vllm" else module.VLLMGenerate
    wrapper = cls.__new__(cls)
    wrapper.client, wrapper.processor = LLM(checkpoint), AutoProcessor.from_pretrained(checkpoint)
    settings = {
        "_rank": 0, "batch_size_per_gpu": 3, "max_new_tokens": 4096, "max_pixels": 1605632, "min_image_pixels": 28,
        "max_frame_num": 768, "fps": None, "nframes": 32, "is_qwen3_vl": False, "chat_template": None,
        "disable_log_stats": True, "_tp_world_size": 1, "_tp_group_cpu": None,
    }  # fmt: skip
    for field, value in settings.items():
        setattr(wrapper, field, value)
    wrapper.task_dict = {"task": {"split": docs}}
    return wrapper


@pytest.mark.parametrize("name", ["vllm", "vllm_generate"])
def test_vllm(name, checkpoint, docs, direct, monkeypatch):
    wrapper = vllm_wrapper(name, checkpoint, docs, monkeypatch)
    assert serves(wrapper)
    answers, served = read(wrapper, instances(docs))
    agree(answers, served, docs, direct)
    assert {(p.max_tokens, p.logprobs, p.temperature) for call in wrapper.client.calls for p in call} == {(1, 20, 0)}
    wrapper.client.calls.clear()
    assert {a.text for a in wrapper.generate_until(instances(docs[:2]))} == {"B, it seems"}
    assert {(p.max_tokens, p.logprobs) for call in wrapper.client.calls for p in call} == {(4096, None)}


def test_vllm_generate_hands_on_a_video_item_untouched(checkpoint, docs, monkeypatch):
    """Unlike the chat wrappers, which resample it, and repeat frames through a cache keyed on recycled ids."""
    wrapper = vllm_wrapper("vllm_generate", checkpoint, docs, monkeypatch)
    told = {1: Logprob(-0.1, 1, "A")}
    prompts = []

    def generate(asked, sampling_params):
        prompts.extend(asked)
        return [RequestOutput("0", None, [CompletionOutput(0, "A", [1], -0.1, [told], "length")]) for _ in asked]

    wrapper.client.generate = generate
    answers, served = read(wrapper, instances(docs, frames_as="video"))
    assert [served.take(a).frames for a in answers] == [tuple(d["frames"]) for d in docs]
    assert all(len(p["multi_modal_data"]["video"]) == 1 and "image" not in p["multi_modal_data"] for p in prompts)


def test_vllm_that_allows_few_or_no_log_probabilities(checkpoint, docs, monkeypatch):
    wrapper = vllm_wrapper("vllm", checkpoint, docs, monkeypatch)
    wrapper.client.max_logprobs = 5
    _, served = read(wrapper, instances(docs[:2]))
    assert served.asked_for == 5 and served.no_log_probabilities is None
    wrapper.client.max_logprobs = 0
    answers, served = read(wrapper, instances(docs[:7]))
    assert "greater than max allowed: 0" in served.no_log_probabilities
    assert len(answers) == 7 and not any(served.take(a) for a in answers)


def test_vllm_errors_pass_and_are_known(checkpoint, docs, monkeypatch):
    wrapper = vllm_wrapper("vllm", checkpoint, docs, monkeypatch)
    client = wrapper.client
    monkeypatch.setattr(LLM, "chat", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("engine is dead")))
    with reading_top_log_probabilities(wrapper, LETTERS) as served, pytest.raises(RuntimeError, match="engine is dead"):
        wrapper.generate_until(instances(docs[:1]))
    assert served.failures == ["RuntimeError: engine is dead"] and wrapper.client is client


# --- SGLang ---------------------------------------------------------------------------------------------------


class SGLangEngine(Engine):
    """SGLang's `Engine`: one dictionary per prompt; entries of log-probabilities carry no text."""

    def generate(
        self, prompt=None, sampling_params=None, input_ids=None, image_data=None, audio_data=None, video_data=None,
        return_logprob=False, logprob_start_len=None, top_logprobs_num=None, token_ids_logprob=None,
    ):  # fmt: skip
        self.calls.append((sampling_params, return_logprob, top_logprobs_num))
        return [self.output(t, i, return_logprob, top_logprobs_num) for t, i in zip(prompt, image_data, strict=True)]

    def output(self, prompt, images, return_logprob, count):
        meta = {"id": "0", "finish_reason": {"type": "length", "length": 1}, "prompt_tokens": 9, "completion_tokens": 1}
        if not return_logprob:
            return {"text": "B, it seems", "output_ids": [66], "meta_info": meta}
        ranked = self.ranked(count, **self.processor(text=[prompt], images=images, return_tensors="pt"))
        entries = [(value, token, None) for token, value in ranked]
        meta.update(output_token_logprobs=entries[:1], output_top_logprobs=[entries])
        return {"text": self.text(ranked[0][0]), "output_ids": [ranked[0][0]], "meta_info": meta}


SGLangEngine.__module__ = "sglang.srt.entrypoints.engine"


def sglang_wrapper(checkpoint, docs, monkeypatch):
    names = {
        "sglang": {"Engine": SGLangEngine},
        "sglang.srt": {},
        "sglang.srt.function_call": {},
        "sglang.srt.function_call.function_call_parser": {"FunctionCallParser": object},
        "sglang.srt.entrypoints": {},
        "sglang.srt.entrypoints.openai": {},
        "sglang.srt.entrypoints.openai.protocol": {"Tool": object},
    }
    for name, contents in names.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "lmms_eval.models.chat.sglang", raising=False)
    cls = importlib.import_module("lmms_eval.models.chat.sglang").Sglang
    monkeypatch.delitem(sys.modules, "lmms_eval.models.chat.sglang")
    wrapper = cls.__new__(cls)
    wrapper.client, wrapper.processor = SGLangEngine(checkpoint), AutoProcessor.from_pretrained(checkpoint)
    settings = {
        "_rank": 0, "batch_size_per_gpu": 3, "max_pixels": 1605632, "min_pixels": 784, "max_frame_num": 768,
        "fps": None, "nframes": 32, "threads": 2, "tools": [], "mcp_client": None,
    }  # fmt: skip
    for field, value in settings.items():
        setattr(wrapper, field, value)
    wrapper.task_dict = {"task": {"split": docs}}
    return wrapper


def test_sglang(checkpoint, docs, direct, monkeypatch):
    wrapper = sglang_wrapper(checkpoint, docs, monkeypatch)
    assert serves(wrapper)
    answers, served = read(wrapper, instances(docs))
    agree(answers, served, docs, direct)
    assert all(call[1:] == (True, 20) for call in wrapper.client.calls)
    assert {p["max_new_tokens"] for call in wrapper.client.calls for p in call[0]} == {1}
    wrapper.client.calls.clear()
    assert {a.text for a in wrapper.generate_until(instances(docs[:2]))} == {"B, it seems"}
    assert [call[1:] for call in wrapper.client.calls] == [(False, None)]
