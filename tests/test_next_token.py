"""Option probabilities against a plain forward pass, and what happens when a wrapper loses something."""

import json
import math
import sys
from types import SimpleNamespace

import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from lmms_eval_tasks import wrapped_models
from lmms_eval_tasks.letter_tokens import letter_token_ids
from lmms_eval_tasks.next_token import FirstToken, Rows, reading_next_token
from lmms_eval_tasks.prompts import wording_of
from lmms_eval_tasks.readout import read_response, receipt_of, to_response
from lmms_eval_tasks.received_frames import describe
from lmms_eval_tasks.sharing import Sharing
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.time_channel import SeenTime

WORDS = ["<pad>", "<eos>", "A", "B", "Ġ", "ĠA", "AĊ", "x", "y", "z", "AB", "ĠB", "Answer", *map(str, range(10))]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Entries that spell A in three ways and B in two."""
    from tokenizers import decoders

    core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>")


def make_model(dtype=torch.float32, **changes) -> Qwen2ForCausalLM:
    torch.manual_seed(3)
    config = Qwen2Config(
        vocab_size=len(WORDS), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=False, initializer_range=0.4, **changes,
    )  # fmt: skip
    return Qwen2ForCausalLM(config).to(dtype).eval()


SPELLINGS = {"A": ("A", "ĠA", "AĊ"), "B": ("B", "ĠB")}


def expected(model, ids: torch.Tensor) -> tuple[dict[str, float], float]:
    """Option probabilities and mass of one prompt by a plain forward pass in float32."""
    with torch.no_grad():
        p = model.float()(input_ids=ids).logits[0, -1].double().softmax(-1)
    mass = {letter: sum(float(p[WORDS.index(w)]) for w in words) for letter, words in SPELLINGS.items()}
    total = sum(mass.values())
    return {letter: m / total for letter, m in mass.items()}, total


PROMPTS = [[7, 8, 9, 7], [9, 9, 8, 7], [7, 12, 8, 9], [8, 8, 8, 9]]


def test_all_spellings_of_a_letter_are_found(tokenizer):
    ids = letter_token_ids(tokenizer, ("A", "B"))
    assert ids == {k: tuple(sorted(WORDS.index(w) for w in v)) for k, v in SPELLINGS.items()}
    with pytest.raises(RunStopped, match="no entry of this model's vocabulary spells C"):
        letter_token_ids(tokenizer, ("A", "C"))


def test_probabilities_agree_with_a_plain_forward_pass(tokenizer):
    model = make_model()
    for prompt in PROMPTS:
        ids = torch.tensor([prompt])
        with reading_next_token(tokenizer, ("A", "B")) as rows:
            model.generate(input_ids=ids, max_new_tokens=64, do_sample=True, temperature=0.1, repetition_penalty=5.0)
        (first,) = rows.read
        probabilities, mass = expected(make_model(), ids)
        assert first.option_probabilities() == pytest.approx(probabilities, abs=1e-6)
        assert first.option_mass == pytest.approx(mass, abs=1e-6)
        assert first.float32_head


def test_batches_give_the_same_as_single_prompts(tokenizer):
    model = make_model()
    with reading_next_token(tokenizer, ("A", "B")) as rows:
        model.generate(input_ids=torch.tensor(PROMPTS), max_new_tokens=4)
        padded = torch.tensor([[0, 0, *PROMPTS[0]]])
        model.generate(input_ids=padded, attention_mask=(padded > 0).long(), max_new_tokens=4)
    for first, prompt in zip(rows.read, [*PROMPTS, PROMPTS[0]], strict=True):
        assert first.option_probabilities() == pytest.approx(
            expected(make_model(), torch.tensor([prompt]))[0], abs=1e-5
        )


def test_a_bfloat16_model_is_read_finer_than_its_logits(tokenizer):
    """The head is applied again in float32: closer to the truth about the same hidden state than rounded logits."""
    model = make_model(torch.bfloat16)
    for prompt in PROMPTS:
        ids = torch.tensor([prompt])
        with reading_next_token(tokenizer, ("A", "B")) as rows:
            model.generate(input_ids=ids, max_new_tokens=4)
        with torch.no_grad():
            hidden = model.model(input_ids=ids).last_hidden_state[0, -1].float()
            logits = (hidden @ model.lm_head.weight.float().T).double()
        mass = {k: sum(float(logits[WORDS.index(w)].exp()) for w in v) for k, v in SPELLINGS.items()}
        truth = mass["A"] / sum(mass.values())
        assert rows.read[0].float32_head
        assert rows.read[0].option_probabilities()["A"] == pytest.approx(truth, abs=1e-5)


def test_a_head_that_does_more_than_multiply_is_taken_as_it_is(tokenizer):
    model = make_model(torch.bfloat16)
    scaled = model.forward

    def forward(*args, **kwargs):
        out = scaled(*args, **kwargs)
        out.logits = 7 * out.logits
        return out

    model.forward = forward
    with reading_next_token(tokenizer, ("A", "B")) as rows:
        model.generate(input_ids=torch.tensor([PROMPTS[0]]), max_new_tokens=4)
    assert not rows.read[0].float32_head


def test_rows_come_back_through_the_answer(tokenizer):
    model = make_model()
    with reading_next_token(tokenizer, ("A", "B")) as rows:
        out = model.generate(input_ids=torch.tensor(PROMPTS), max_new_tokens=64)
    answers = ["".join(WORDS[i] for i in line[4:]) for line in out.tolist()]
    assert answers == ["0000000", "0000001", "0000002", "0000003"]
    assert [rows.take(a) for a in reversed(answers)] == rows.read[::-1]
    for lost in ("", "B", "0000000", "0000009", "12"):
        assert rows.take(lost) is None


def test_generate_is_itself_again_afterwards(tokenizer):
    model = make_model()
    before = model.generate(input_ids=torch.tensor([PROMPTS[0]]), max_new_tokens=3, do_sample=False)
    with pytest.raises(RuntimeError), reading_next_token(tokenizer, ("A", "B")):
        raise RuntimeError
    after = model.generate(input_ids=torch.tensor([PROMPTS[0]]), max_new_tokens=3, do_sample=False)
    assert torch.equal(before, after)


def test_responses_carry_probabilities_and_receipt():
    first = FirstToken({"A": -1.0, "B": -2.0}, "A", True, None, SeenTime())
    note = {"frames": 16}
    options = wording_of({"e1_phrase": "a red circle", "e2_phrase": "a blue star", "named_order": "e1_first"}).options(
        "BA"
    )
    answer = read_response(to_response(first, note), options, "")
    assert answer.option == "A" and answer.option_probabilities["A"] == pytest.approx(1 / (1 + 2.718281828**-1))
    assert answer.option_mass == pytest.approx(2.718281828**-1 + 2.718281828**-2)
    assert receipt_of(to_response(first, note)) == {"frames": 16, "float32_head": True}
    assert read_response("B", options, "").option_probabilities is None and receipt_of("B") is None


@pytest.fixture(autouse=True)
def _prompts_without_words(monkeypatch):
    """The stand-ins below have token numbers for prompts."""
    monkeypatch.setattr("lmms_eval_tasks.checked_answers.check_prompt", lambda *_: None)


class Wrapper:
    """A stand-in of a wrapper: one text model, documents with a view each, batches of two in reversed order."""

    batch_size = 2

    def __init__(self, tokenizer, spoil=lambda answers: answers):
        self.tokenizer, self.model, self.spoil = tokenizer, make_model(), spoil
        trial = {
            "frames": [f"f{i}" for i in range(16)],
            "release": "r",
            "budget": 16,
            "time": "withheld",
            "times_s": [0.0, 7.5],
            "probe": "p",
        }
        self.task_dict = {"t": {"s": [{**trial, "view": f"v{i % 3}"} for i in range(6)]}}
        self.calls = 0

    def generate_until(self, requests):
        answers = {}
        for start in range(0, len(requests), 2):
            part = requests[start : start + 2][::-1]
            self.calls += len(part)
            ids = torch.tensor([PROMPTS[r.args[3] % 3] for r in part])
            out = self.model.generate(input_ids=ids, max_new_tokens=2, do_sample=False)
            for r, line in zip(part, out.tolist(), strict=True):
                answers[id(r)] = "".join(WORDS[i] for i in line[4:])
        return self.spoil([answers[id(r)] for r in requests])


def requests(n=6, ours=lambda i: True):
    mark = {"benchmark": "caved_or_convinced"}
    return [
        SimpleNamespace(args=("prompt", None, {}, i, "t", "s"), metadata=mark if ours(i) else {"other": 1})
        for i in range(n)
    ]


def test_equal_requests_are_computed_once_and_order_is_kept(tokenizer):
    wrapper = Wrapper(tokenizer)
    responses = wrapped_models._generate_until(Wrapper, wrapper, requests())
    assert wrapper.calls == 3
    assert responses[:3] == responses[3:] and len(set(responses)) == 3
    for i, response in enumerate(responses):
        truth = expected(make_model(), torch.tensor([PROMPTS[i % 3]]))[0]
        assert json.loads(response)["option_probabilities"] == pytest.approx(truth, abs=1e-5)


def test_other_tasks_get_the_shipped_answers(tokenizer):
    shipped = Wrapper(tokenizer).generate_until(requests(ours=lambda i: False))
    assert wrapped_models._generate_until(Wrapper, Wrapper(tokenizer), requests(ours=lambda i: False)) == shipped
    mixed = wrapped_models._generate_until(Wrapper, Wrapper(tokenizer), requests(ours=lambda i: i % 2 == 0))
    assert mixed[1::2] == shipped[1::2]
    assert all("option_probabilities" in r for r in mixed[::2])


def test_the_switch(tokenizer, monkeypatch):
    monkeypatch.setenv("CAVED_READOUT", "text")
    shipped = Wrapper(tokenizer).generate_until(requests())
    assert wrapped_models._generate_until(Wrapper, Wrapper(tokenizer), requests()) == shipped
    monkeypatch.setenv("CAVED_READOUT", "loud")
    with pytest.raises(RunStopped, match="write probabilities or text"):
        wrapped_models._generate_until(Wrapper, Wrapper(tokenizer), requests())


@pytest.mark.parametrize(
    "spoil", [lambda a: ["", *a[1:]], lambda a: [a[1], *a[1:]], lambda a: ["B", *a[1:]], lambda a: [a[0] + "9", *a[1:]]]
)
def test_a_lost_row_stops_the_run(tokenizer, spoil):
    with pytest.raises(RunStopped, match="swallowed an error"):
        wrapped_models._generate_until(Wrapper, Wrapper(tokenizer, spoil), requests())


def test_dropped_frames_stop_the_run(tokenizer, monkeypatch):
    received = describe(torch.rand(8, 3, 32, 32))
    monkeypatch.setattr("lmms_eval_tasks.next_token.FrameReader.read", lambda _, __, ___, rows: [received] * rows)
    monkeypatch.setattr("lmms_eval_tasks.checked_answers.frames_of", lambda _: [Image.new("RGB", (32, 32))] * 16)
    with pytest.raises(RunStopped, match=r"8 frames of 16 reached the model.*num_frames"):
        wrapped_models._generate_until(Wrapper, Wrapper(tokenizer), requests())


def test_a_wrapper_without_generate_falls_back_to_its_text(tokenizer):
    class Served(Wrapper):
        def generate_until(self, requests):
            return ["B" for _ in requests]

    assert wrapped_models._generate_until(Served, Served(tokenizer), requests()) == ["B"] * 6


def test_rows_name_themselves_once():
    rows = Rows([FirstToken({"A": 0.0, "B": -9.0}, "A", True, None, SeenTime())])
    assert rows.take(" 0000000\n") is rows.read[0]
    assert rows.take("0000000") is None


def test_every_built_in_model_keeps_its_id_aliases_and_kind():
    from lmms_eval.models import (
        AVAILABLE_CHAT_TEMPLATE_MODELS,
        AVAILABLE_SIMPLE_MODELS,
        MODEL_ALIASES,
        get_model_manifest,
    )

    for model_id in {*AVAILABLE_CHAT_TEMPLATE_MODELS, *AVAILABLE_SIMPLE_MODELS}:
        manifest = get_model_manifest(model_id)
        assert (manifest.chat_class_path is None) == (model_id not in AVAILABLE_CHAT_TEMPLATE_MODELS)
        assert (manifest.simple_class_path is None) == (model_id not in AVAILABLE_SIMPLE_MODELS)
        for alias in MODEL_ALIASES.get(model_id, ()):
            assert get_model_manifest(alias).model_id == model_id


def test_wrapped_classes_look_like_the_shipped_ones():
    from lmms_eval.models import get_model
    from lmms_eval.models.chat.qwen2_5_vl import Qwen2_5_VL

    ours = get_model("qwen2_5_vl")
    assert ours is not Qwen2_5_VL and issubclass(ours, Qwen2_5_VL)
    assert (ours.__module__, ours.__name__, ours.is_simple) == (Qwen2_5_VL.__module__, Qwen2_5_VL.__name__, False)
    assert {n for n in vars(ours) if not n.startswith(("__", "_abc"))} == {"generate_until", "create_from_arg_string"}


def test_a_model_that_others_add_answers_ours_too(monkeypatch):
    """A wrapper that lmms-eval does not know, added by another package's entry point."""
    import lmms_eval.models as models
    from lmms_eval.models.chat.qwen2_5_vl import Qwen2_5_VL
    from lmms_eval.models.registry_v2 import ModelManifest

    module = SimpleNamespace(Theirs=type("Theirs", (Qwen2_5_VL,), {"__module__": "their_package"}))
    monkeypatch.setitem(sys.modules, "their_package", module)
    models.MODEL_REGISTRY_V2.register_manifest(ModelManifest("theirs", chat_class_path="their_package.Theirs"))
    found = models.get_model("theirs")
    assert found.__mro__[1] is module.Theirs and found.generate_until is not Qwen2_5_VL.generate_until
    assert models.get_model("theirs") is found
    assert models.get_model("scripted_observer").__module__.startswith("lmms_eval_tasks")


@pytest.mark.parametrize("where", ["A", "x", "B"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_logits_that_are_not_finite_are_no_answer(tokenizer, where, value, dtype):
    """What overflow in half precision leaves, at a letter or elsewhere: logged as JSON, counted as unparseable."""
    wrapper = Wrapper(tokenizer)
    wrapper.model = make_model(dtype)
    whole = wrapper.model.forward

    def forward(*args, **kwargs):
        out = whole(*args, **kwargs)
        out.logits[..., WORDS.index(where)] = value
        return out

    wrapper.model.forward = forward
    options = wording_of({"e1_phrase": "a", "e2_phrase": "b", "named_order": "e1_first"}).options("AB")
    for response in wrapped_models._generate_until(Wrapper, wrapper, requests()):
        fields = json.loads(response, parse_constant=pytest.fail)
        assert fields["option_probabilities"] is None and fields["option_mass"] is None
        answer = read_response(response, options, "")
        assert (answer.outcome, answer.rule) == ("unparseable", "the model's logits are not finite")
        assert answer.option_probabilities is None and answer.option_mass is None


def test_an_entry_that_a_model_rules_out_has_no_probability(tokenizer):
    """Minus infinity at one letter is a probability of zero; at both it leaves nothing to choose from."""
    minus = -math.inf
    assert FirstToken({"A": minus, "B": -1.0}, "B", True, None, SeenTime()).option_probabilities() == {"A": 0, "B": 1}
    assert FirstToken({"A": minus, "B": minus}, "x", True, None, SeenTime()).option_probabilities() is None


def test_logits_that_are_not_finite_prove_nothing_of_sharing():
    sharing, good, bad = Sharing(), torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, math.nan]])
    sharing.check(bad, bad)
    assert sharing.active and not sum(sharing.checked.values())
    sharing.check(good, good)
    assert sharing.active and sum(sharing.checked.values()) == 1
    sharing.check(bad, good)
    assert not sharing.active
