"""A model that says of itself that it tests the benchmark is named so in the receipt of every trial, however it is read."""

import json
from types import SimpleNamespace

import pytest
import torch
from loguru import logger

from lmms_eval_tasks import wrapped_models
from lmms_eval_tasks.control_mark import FIELD, control_of
from lmms_eval_tasks.image.closed_answer import read_closed_answer
from lmms_eval_tasks.prompts import prompt_text, wording_of
from lmms_eval_tasks.readout import (
    marked_response,
    read_response,
    receipt_of,
    stated_to_response,
    text_of,
    text_to_response,
    unavailable_of,
    unavailable_response,
)
from lmms_eval_tasks.reversal_rounds import Round, Step
from lmms_eval_tasks.scripted_observer import ScriptedObserver
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import READOUT
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from metrics.controls import KINDS

TRIAL = {
    "e1_phrase": "a red circle", "e2_phrase": "a blue star", "named_order": "e1_first", "claim": "strong",
    "claimed_order": "e2_first", "letters": "AB", "time": "withheld", "times_s": [1.0, 2.0],
}  # fmt: skip
READ = json.dumps(
    {"caved_readout": "next_token", "text": "B", "option_probabilities": {"A": 0.1 + 0.2, "B": 0.7 - 1e-17},
     "option_mass": 0.9, "unreadable": None, "receipt": {"frames": 2, "order": "as shown", "float32_head": True}}
)  # fmt: skip
RESPONSES = {
    "probabilities": READ,
    "not finite": json.dumps(
        {**json.loads(READ), "unreadable": "the model's logits are not finite", "option_mass": None}
    ),
    "stated": stated_to_response("A", {"A": 0.75, "B": 0.25}, {"frames": 2}),
    "watched text": text_to_response("A, I think: é <b>", {"frames": 2, "order": "as shown"}),
    "a letter": "B",
    "words": 'It is "B".\nI am {sure} of it.',
    "empty": "",
    "unavailable": unavailable_response("no channel of its own"),
}


class Model(torch.nn.Module):
    """A network with a configuration, as those of transformers."""

    def __init__(self, **config):
        super().__init__()
        self.config = SimpleNamespace(**config)
        self.inner = torch.nn.Linear(1, 1)


class Around(torch.nn.Module):
    """What puts a network into another one, as for several devices."""

    def __init__(self, module):
        super().__init__()
        self.module = module


class Holder(SimpleNamespace):
    """A wrapper, or something in it, with attributes of any names."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "hold",
    [
        lambda m: {"model": m},
        lambda m: {"_model": m},
        lambda m: {"network_of_my_own": m},
        lambda m: {"_model": Around(m)},
        lambda m: {"pipe": Holder(model=m)},
        lambda m: {"name": "x", "_model": Around(Around(m)), "tokenizer": None},
    ],
)
def test_the_mark_is_found_wherever_a_wrapper_keeps_its_model(kind, hold):
    assert control_of(Holder(**hold(Model(caved_control=kind)))) == kind
    assert control_of(Holder(**hold(Model(name="x")))) == ""


def test_the_mark_is_found_in_the_folder_of_an_engine(tmp_path):
    """As where a server or another process loads what the arguments name."""
    (tmp_path / "config.json").write_text(json.dumps({FIELD: "control"}))
    assert control_of(Holder(model="served", _caved_arguments=f"model={tmp_path},base_url=x")) == "control"
    assert control_of(Holder(model="served", _caved_arguments=f"batch_size=1,model={tmp_path}/")) == "control"
    for text in ("{", "[]", "{}"):
        (tmp_path / "config.json").write_text(text)
        assert control_of(Holder(model="served", _caved_arguments=f"model={tmp_path}")) == ""


@pytest.mark.parametrize("value", ["Control", "", True, 1, ["control"], {"kind": "control"}])
def test_any_other_value_stops_the_run(value):
    with pytest.raises(RunStopped, match=rf"says {FIELD} = .*: write 'simulated' or 'control', or take it out"):
        control_of(Holder(model=Model(caved_control=value)))


def test_it_is_logged_once():
    said = []
    sink = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    try:
        held = Holder(model=Model(caved_control="control"))
        assert [control_of(held) for _ in range(3)] == ["control"] * 3
    finally:
        logger.remove(sink)
    assert said == [f"this model is {KINDS['control']}: its numbers are no results, and its logs are marked so"]


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_changes_nothing_else_of_a_response(response, kind):
    made = marked_response(response, kind)
    options = wording_of(TRIAL).options("AB")
    assert read_response(made, options, prompt_text(TRIAL)) == read_response(response, options, prompt_text(TRIAL))
    assert unavailable_of(made) == unavailable_of(response)
    if not unavailable_of(response):
        assert text_of(made) == text_of(response)
    before = receipt_of(response)
    after = receipt_of(made)
    assert after.pop("control") == kind
    assert after == (before or {"frames": None, "order": None, "size_px": None, "digest": None})
    assert marked_response(made, kind) == made
    got = receipt_of(marked_response(response, kind, {"frames": 7}))
    assert (got["frames"], got["control"]) == (7, kind)


@pytest.mark.parametrize("response", ["C", "It cannot be determined.", json.dumps({**json.loads(READ), "option_probabilities": {
    "A": 0.1, "B": 0.2, "C": 0.4, "D": 0.2, "E": 0.1}})])  # fmt: skip
def test_closed_images_are_read_as_before(response):
    options = ["red", "blue", "cannot be determined", "green", "grey"]
    read = read_closed_answer(response, options, "C", "Which colour?")
    assert read_closed_answer(marked_response(response, "control"), options, "C", "Which colour?") == read
    assert read.outcome == "abstained"


class Base:
    """A wrapper as shipped."""

    __module__ = "lmms_eval.models.chat.other"

    @classmethod
    def create_from_arg_string(cls, arguments, more=None):
        return cls()

    def generate_until(self, requests):
        raise AssertionError


def request(document, text="x"):
    return SimpleNamespace(
        args=(text, None, {}, 0, "task", "split"), metadata={"benchmark": document["benchmark"]}, document=document
    )


IMAGE = {"benchmark": "cant_tell_or_wont_say", "options": list("abcde")}
DOCUMENTS = {
    "videos": ({"benchmark": "caved_or_convinced"}, ""),
    "videos, text": ({"benchmark": "caved_or_convinced"}, "text"),
    "open images": ({**IMAGE, "options": list("abcd"), "elicitation": "open"}, ""),
    "closed images": ({**IMAGE, "elicitation": "closed"}, ""),
    "closed images, text": ({**IMAGE, "elicitation": "closed"}, "text"),
}


@pytest.mark.parametrize(("document", "readout"), DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.parametrize("kind", ["", *KINDS])
def test_every_way_of_answering_ends_in_marked_responses(document, readout, kind, monkeypatch):
    monkeypatch.setenv(READOUT, readout) if readout else monkeypatch.delenv(READOUT, raising=False)
    given = [SimpleNamespace(text="B"), *RESPONSES.values()]
    monkeypatch.setattr(wrapped_models, "answer", lambda *_: list(given))
    monkeypatch.setattr(wrapped_models, "answer_freely", lambda *_: list(given))
    model = wrapped_models.answering_ours(Base).create_from_arg_string("pretrained=Qwen/Qwen2.5-VL-7B-Instruct")
    model.model = Model(**({FIELD: kind} if kind else {}))
    model.task_dict = {"task": {"split": [document]}}
    responses = model.generate_until([request(document) for _ in given])
    if not kind:
        assert responses == given
    else:
        assert [receipt_of(response)["control"] for response in responses] == [kind] * len(given)


def test_so_does_each_trial_of_an_adaptive_round(monkeypatch):
    document = {"benchmark": "caved_or_convinced"}
    monkeypatch.setattr(wrapped_models, "answer", lambda *_: ["A", READ])
    monkeypatch.setattr(wrapped_models, "name_of_step", lambda *_: "Video 1")
    step = Step(8, None)

    def adaptive(_model, requests, answer):
        return [Round(8, tuple(answer(requests))).to_text()]

    monkeypatch.setattr(wrapped_models, "answer_adaptive", adaptive)
    model = wrapped_models.answering_ours(Base).create_from_arg_string("")
    model.model, model.task_dict = Model(caved_control="control"), {"task": {"split": [document]}}
    (text,) = model.generate_until([request(document, step.to_text())])
    done = Round.of(text, 8, 2)
    assert [receipt_of(response)["control"] for response in done.responses] == ["control"] * 2


@pytest.mark.parametrize("confidence", [0.0, 0.8])
def test_the_scripted_observer_says_so_too(confidence, release, monkeypatch):
    from test_observer import _requests

    from lmms_eval_tasks.visuals import frames_in_memory

    documents = probe_documents(release.probes(16)[0], MAIN_CLAIMS, release.info.digest, 1)
    native = [{**documents[0], "task": "caved_or_convinced_time", "time": "native"}]
    store = release.frames(16)
    observer = ScriptedObserver(confidence=confidence)
    with frames_in_memory(release.info.digest, {f: store.image(f) for d in documents for f in d["frames"]}):
        for asked in (documents, native):
            observer.task_dict = {asked[0]["task"]: {"k16": asked}}
            receipts = [receipt_of(response) for response in observer.generate_until(_requests(asked))]
            assert {receipt["control"] for receipt in receipts} == {"simulated"}
            frames = None if asked is native else 16
            assert {(r["frames"], r["order"]) for r in receipts} == {(frames, "as shown" if frames else None)}


@pytest.mark.slow
@pytest.mark.parametrize("readout", ["", "text"])
def test_a_checkpoint_with_the_mark_through_a_real_wrapper(readout, release, tmp_path, monkeypatch):
    """Its configuration keeps the mark, and a folder may be called anything."""
    from lmms_eval.models import get_model
    from test_families import ROUTES, instances
    from tiny_qwen import write_tiny_qwen

    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    monkeypatch.setenv(READOUT, readout) if readout else monkeypatch.delenv(READOUT, raising=False)
    checkpoint = write_tiny_qwen(tmp_path / "Qwen2.5-VL-7B-Instruct")
    settings = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps({**settings, FIELD: "control"}))
    model_id, arguments = ROUTES["qwen2_5_vl"]
    made = get_model(model_id).create_from_arg_string(f"pretrained={checkpoint},{arguments}", {"batch_size": 1})
    assert made.model.config.caved_control == "control"
    docs = probe_documents(release.probes(8)[0], MAIN_CLAIMS, release.info.digest, 1)[:4]
    made.task_dict = {"task": {"split": docs}}
    responses = made.generate_until(instances(docs, {"benchmark": "caved_or_convinced"}))
    receipts = [receipt_of(response) for response in responses]
    assert {receipt["control"] for receipt in receipts} == {"control"}
    assert {receipt["frames"] for receipt in receipts} == {None if readout else 8}
