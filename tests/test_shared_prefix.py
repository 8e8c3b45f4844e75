"""Continuing a prompt gives what computing it whole gives, for any order of prompts, and computes what is new only."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from lmms_eval_tasks.language_inputs import LanguageInputs, _cuts, language_inputs
from lmms_eval_tasks.shared_prefix import SharedPrefix
from lmms_eval_tasks.sharing import Sharing, rotation_limit
from lmms_eval_tasks.stop import RunStopped

SIZES = {
    "vocab_size": 11, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "initializer_range": 0.4,
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    return Qwen2ForCausalLM(Qwen2Config(**SIZES)).eval()


def plain(model, prompt):
    with torch.no_grad():
        return model(input_ids=torch.tensor([prompt])).logits[:, -1]


def inputs(prompt):
    ids = torch.tensor([prompt])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(PROMPTS)
def test_any_sequence_of_prompts(model, prompts):
    prefix = SharedPrefix()
    for prompt in prompts:
        before = prefix.computed_tokens
        logits = prefix.next_token_logits(model, language_inputs(model, inputs(prompt)))
        assert torch.allclose(logits, plain(model, prompt), atol=1e-5)
        assert 1 <= prefix.computed_tokens - before <= len(prompt)
    assert prefix.computed_tokens + prefix.spared_tokens == sum(map(len, prompts))


@settings(max_examples=40, deadline=None)
@given(PROMPTS)
def test_sorted_prompts_compute_every_branch_of_their_tree_once(model, prompts):
    """The tokens computed are the nodes of the tree of prompts, and one more where a prompt ends inside another."""
    prefix, ordered = SharedPrefix(), sorted(prompts)
    for prompt in ordered:
        prefix.next_token_logits(model, language_inputs(model, inputs(prompt)))
    nodes = {tuple(prompt[:n]) for prompt in ordered for n in range(1, len(prompt) + 1)}
    repeated = sum(a == b for a, b in zip(ordered, ordered[1:], strict=False))  # its last token is computed again
    assert prefix.computed_tokens == len(nodes) + repeated


def test_one_value_of_an_embedding_ends_what_is_common(model):
    first = language_inputs(model, inputs([1, 2, 3, 4, 5]))
    changed = first.embeddings[None].clone()
    changed[0, 3, 7] += 1e-6
    other = LanguageInputs({**first.arguments, "inputs_embeds": changed}, 5, first.cuts)
    assert first.common_prefix(first) == 5 and first.common_prefix(other) == other.common_prefix(first) == 3
    moved = {**first.arguments, "position_ids": torch.tensor([[0, 1, 5, 6, 7]])}
    assert first.common_prefix(LanguageInputs(moved, 5, first.cuts)) == 2


def test_features_for_deeper_layers_are_compared_and_cut():
    visual = torch.tensor([[False, True, True, False, True, False]])
    deep = [torch.arange(6.0).reshape(3, 2), torch.arange(6.0, 12.0).reshape(3, 2)]
    arguments = {
        "inputs_embeds": torch.zeros(1, 6, 2), "position_ids": torch.arange(6)[None], "attention_mask": None,
        "visual_pos_masks": visual, "deepstack_visual_embeds": deep,
    }  # fmt: skip
    first = LanguageInputs(arguments, 6, torch.ones(7, dtype=torch.bool))
    assert first.common_prefix(first) == 6
    for layer, row, common in ((0, 0, 1), (1, 1, 2), (1, 2, 4)):
        changed = [x.clone() for x in deep]
        changed[layer][row, 1] += 1
        other = LanguageInputs({**arguments, "deepstack_visual_embeds": changed}, 6, first.cuts)
        assert first.common_prefix(other) == common
    rest = first.starting_at(2)
    assert torch.equal(rest["deepstack_visual_embeds"][1], deep[1][1:]) and rest["visual_pos_masks"].tolist() == [
        [True, False, True, False]
    ]


def test_a_prompt_is_not_cut_inside_a_block_that_sees_itself():
    causal = torch.ones(6, 6, dtype=torch.bool).tril()[None, None]
    block = causal.clone()
    block[..., 1:4, 1:4] = True  # tokens 1 to 3 see each other
    assert _cuts(causal, 6).tolist() == [True] * 7 == _cuts(None, 6).tolist()
    assert _cuts(block, 6).tolist() == [True, True, False, False, True, True, True]
    additive = torch.where(block, 0.0, torch.finfo(torch.bfloat16).min).bfloat16()
    assert (
        _cuts(additive, 6).tolist() == _cuts({"full": causal, "other": block}, 6).tolist() == _cuts(block, 6).tolist()
    )


@pytest.mark.parametrize("window", [4, 64])
def test_a_sliding_window_is_right_or_given_up(window):
    """Keys beyond the window are gone from the cache; then prompts are computed alone, and numbers stay the same."""
    torch.manual_seed(0)
    model = MistralForCausalLM(MistralConfig(**SIZES, sliding_window=window)).eval()
    sharing = Sharing()
    for prompt in ([1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 8], [1, 2, 9], [1, 2, 3, 4, 5, 6, 7, 8, 9]):
        logits = sharing.logits(model, inputs(prompt))
        if logits is not None:
            assert torch.allclose(logits, plain(model, prompt), atol=1e-5)
    assert sharing.active or window == 4


def test_a_model_that_caps_its_logits_keeps_its_own_head():
    torch.manual_seed(0)
    model = Gemma2ForCausalLM(Gemma2Config(**SIZES, head_dim=8, final_logit_softcapping=0.5)).eval()
    sharing = Sharing()
    for prompt in ([1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 6]):
        logits = sharing.logits(model, inputs(prompt))
        assert logits is not None and torch.allclose(logits, plain(model, prompt), atol=1e-5)
        assert logits.abs().max() <= 0.5


def test_requests_that_cannot_be_continued_are_left_alone(model):
    sharing, ids = Sharing(), torch.tensor([[1, 2], [3, 4]])
    assert sharing.logits(model, {"input_ids": ids}) is None
    padded = {"input_ids": ids[:1], "attention_mask": torch.tensor([[0, 1]])}
    assert sharing.logits(model, padded) is None and sharing.active
    assert sharing.logits(torch.nn.Linear(2, 2), {"input_ids": ids[:1]}) is None and not sharing.active


def test_a_difference_ends_sharing(model):
    sharing = Sharing()
    logits = sharing.logits(model, inputs([1, 2, 3]))
    assert sharing.wants_check
    sharing.check(logits, logits + 3.0)  # another constant is no difference
    assert sharing.active and sharing.largest_difference <= 1e-6
    sharing.check(logits, torch.where(torch.arange(11) == 1, logits + 0.01, logits))
    assert not sharing.active and sharing.logits(model, inputs([1, 2, 3])) is None
    unclear = Sharing()
    unclear.logits(model, inputs([1, 2, 3]))
    unclear.check(logits * float("nan"), logits)
    assert not unclear.active


@pytest.mark.parametrize(
    ("rope", "limit"),
    [
        ({"rope_type": "default", "rope_theta": 1e4}, float("inf")),
        ({"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}, 8),
        (
            {
                "rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [4.0] * 4,
                "factor": 2.0, "original_max_position_embeddings": 6,
            },
            6,
        ),
    ],
    ids=["default", "dynamic", "longrope"],
)  # fmt: skip
def test_positions_that_depend_on_the_length_of_a_prompt_are_not_shared(rope, limit):
    """Numbers are right below the limit, and sharing ends before a prompt passes it."""
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**SIZES, rope_parameters=rope, max_position_embeddings=8)).eval()
    assert rotation_limit(model) == limit
    sharing, prompt = Sharing(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    for length in (3, 5, 6, 9, 10):
        logits = sharing.logits(model, inputs(prompt[:length]))
        assert (logits is not None) == (length <= limit)
        if logits is not None:
            assert torch.allclose(logits, plain(model, prompt[:length]), atol=1e-5)
    assert sharing.active == (limit > 10)


def test_a_fault_that_starts_late_stops_the_run(model):
    """One request in two hundred is computed both ways; answers that were read before cannot be trusted then."""
    sharing, checked = Sharing(), 0
    with pytest.raises(RunStopped, match="run again with CAVED_SHARE=off"):
        for number in range(500):
            logits = sharing.logits(model, inputs([1, 2, number % 3]))
            if sharing.wants_check:
                checked += 1
                sharing.check(logits, logits + (torch.arange(11) == 1) * (0.0 if number < 60 else 0.5))
    assert (checked, sharing.unchecked) == (4, 196)


@pytest.mark.parametrize(("largest", "allowed"), [(1.0, 0.26), (30.0, 0.71)])
def test_half_precision_is_allowed_its_rounding(model, largest, allowed):
    """`generate` hands on float32 whatever the model is in; what counts is the precision of the model's own logits."""
    plain_logits = torch.linspace(largest - 1, largest, 11)[None]
    for off, holds in ((0.9 * allowed, True), (1.3 * allowed, False)):
        sharing = Sharing()
        sharing.logits(model, inputs([1, 2, 3]))
        shared = (plain_logits + torch.tensor([off] * 5 + [0.0] * 6)).bfloat16()
        a, b = (torch.log_softmax(x.float(), -1) for x in (shared, plain_logits))
        share = off / float((a - b).abs().max())  # the constant of the softmax takes some of it
        shared = (plain_logits + torch.tensor([off * share] * 5 + [0.0] * 6)).bfloat16()
        sharing.check(shared, plain_logits)
        assert sharing.active == holds
