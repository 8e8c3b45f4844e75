"""A tiny random Qwen2.5-VL checkpoint that answers with a letter: real classes, real processor, no meaning.

The language head is set so that the first token is always A or B, by the sign of what attention mixes into
the last position, and the second token ends the answer. Which letter comes out depends on frames and text,
as it does in a real model, but not on what they show.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

SPECIAL = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>"),
    *("<|vision_end|>", "<|image_pad|>", "<|video_pad|>"),
]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif c['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _tokenizer(corpus: Sequence[str] = (), answers: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=2000 if corpus else 300, initial_alphabet=alphabet, show_progress=False)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.add_tokens(SPECIAL, special_tokens=True)
    tokenizer.add_tokens([*answers])
    return tokenizer


def write_tiny_qwen(
    folder: Path,
    seed: int = 0,
    text: dict[str, Any] | None = None,
    vision: dict[str, Any] | None = None,
    corpus: Sequence[str] = (),
    answers: tuple[str, str] = ("A", "B"),
) -> Path:
    """Write the checkpoint to `folder`.

    `text` and `vision` change its sizes. With a `corpus` its vocabulary is trained, and its head is left random. Its two
    `answers` may be whole sentences, each of which is then one entry of its vocabulary.
    """
    tokenizer = _tokenizer(corpus, [answer for answer in answers if len(answer) > 1])
    token = tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 32768,
            "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e6},
            "initializer_range": 0.3,
            "tie_word_embeddings": False,
            **(text or {}),
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": 64,
            "fullatt_block_indexes": [1],
            "initializer_range": 0.3,
            **(vision or {}),
        },
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
        tie_word_embeddings=False,
    )
    torch.manual_seed(seed)
    model = Qwen2_5_VLForConditionalGeneration(config).eval()
    if not corpus:
        _answer_with_one_of(answers, model, tokenizer)
    model.to(torch.bfloat16).save_pretrained(folder)
    steps = {name: value for name, value in (vision or {}).items() if name == "temporal_patch_size"}
    Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**steps),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**steps),
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
    return folder


@torch.no_grad()
def _answer_with_one_of(
    answers: tuple[str, str], model: Qwen2_5_VLForConditionalGeneration, tokenizer: PreTrainedTokenizerFast
) -> None:
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    a, b = (tokenizer.convert_tokens_to_ids(letter) for letter in answers)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    last = tokenizer("assistant\n", add_special_tokens=False)["input_ids"][-1]
    stop = torch.nn.functional.normalize(torch.randn(embedding.shape[1]), dim=0)
    for i in range(len(embedding)):  # only the letters point along `stop`
        embedding[i] -= (embedding[i] @ stop) * stop
    for layer in model.model.language_model.layers:  # and no layer writes along it
        for weight in (layer.self_attn.o_proj.weight, layer.mlp.down_proj.weight):
            weight -= torch.outer(stop, stop @ weight)
    for letter in (a, b):
        embedding[letter] += 400 * stop
    side = torch.randn(embedding.shape[1])
    for direction in (stop, torch.nn.functional.normalize(embedding[last], dim=0)):
        side -= (side @ direction) * direction
    head.zero_()
    head[a], head[b] = 4 * side, -4 * side
    head[end] = 20 * stop
    if max(map(len, answers)) > 1:  # letters, which it would not say, are told apart all the same
        for letter in "ABCDE":
            head[tokenizer.convert_tokens_to_ids(letter)] = 0.1 * torch.randn(embedding.shape[1])
