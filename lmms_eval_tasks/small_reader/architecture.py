"""What the small readers are made of: the classes of Qwen2.5-VL, three orders of magnitude smaller, not trained yet."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
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

SPECIAL_TOKENS = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>"),
    *("<|vision_end|>", "<|image_pad|>", "<|video_pad|>"),
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_EMBEDDING_SPREAD = 0.5
_VOCABULARY_LIMIT = 1000


@dataclass(frozen=True)
class ReaderShape:
    """Sizes of a small reader. The side of what it sees is a multiple of `patch_px * merge`."""

    side_px: int
    patch_px: int
    merge: int  # patches along the side of what becomes one token
    window_px: int
    vision_width: int
    vision_depth: int
    vision_heads: int
    vision_inner: int
    full_attention: tuple[int, ...]  # blocks of the encoder that look beyond a window
    width: int
    depth: int
    heads: int
    inner: int

    @property
    def tokens_per_frame(self) -> int:
        """How many tokens stand for a frame."""
        return (self.side_px // (self.patch_px * self.merge)) ** 2

    @property
    def unit_px(self) -> int:
        """Side of what becomes one token."""
        return self.patch_px * self.merge

    @property
    def pixels(self) -> int:
        """Pixels of a frame as the encoder gets it: `min_pixels` and `max_pixels` of the wrapper."""
        return self.side_px**2


# One token stands for a frame of 56 x 56 px.
VIDEO_READER = ReaderShape(
    side_px=56, patch_px=14, merge=4, window_px=56, vision_width=32, vision_depth=2, vision_heads=2, vision_inner=96,
    full_attention=(0, 1), width=128, depth=6, heads=4, inner=256,
)  # fmt: skip
# 144 tokens stand for an image of 168 x 168 px, one for 14 x 14 px each. The wrapper knows multiples of 28 px alone: with another side it
# would resize twice.
IMAGE_READER = ReaderShape(
    side_px=168, patch_px=7, merge=2, window_px=84, vision_width=64, vision_depth=4, vision_heads=4, vision_inner=176,
    full_attention=(1, 3), width=128, depth=4, heads=4, inner=176,
)  # fmt: skip


def reader_tokenizer(corpus: Iterable[str]) -> PreTrainedTokenizerFast:
    """A byte-level vocabulary in which every word of the corpus is one token, so any text can be written in it."""
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=_VOCABULARY_LIMIT, initial_alphabet=alphabet, show_progress=False)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.add_tokens([*SPECIAL_TOKENS], special_tokens=True)
    return tokenizer


def token_of(tokenizer: PreTrainedTokenizerFast, text: str) -> int:
    """The number of the token that is written like this."""
    token = tokenizer.convert_tokens_to_ids(text)
    assert isinstance(token, int)
    return token


def reader_processor(shape: ReaderShape, tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLProcessor:
    """The processor of Qwen2.5-VL for frames of this size, one by one instead of in pairs."""
    settings: dict[str, Any] = {
        "patch_size": shape.patch_px,
        "merge_size": shape.merge,
        "temporal_patch_size": 1,
        "size": {"shortest_edge": shape.pixels, "longest_edge": shape.pixels},
    }
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**settings),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**settings),
        chat_template=CHAT_TEMPLATE,
    )


def reader_config(shape: ReaderShape, tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLConfig:
    """The configuration; `caved_control` tells receipts that this is no model to be compared with."""
    image, video, start, end, stop, padding = (
        token_of(tokenizer, f"<|{name}|>")
        for name in ("image_pad", "video_pad", "vision_start", "vision_end", "im_end", "endoftext")
    )
    turning = shape.width // shape.heads // 2  # pairs of dimensions that turn with the position
    extra: dict[str, Any] = {"caved_control": "control"}
    return Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": shape.width,
            "intermediate_size": shape.inner,
            "num_hidden_layers": shape.depth,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.heads,
            "max_position_embeddings": 8192,
            "rope_parameters": {
                "rope_type": "default",
                "mrope_section": [turning - 4, 2, 2],
                "rope_theta": 10_000.0,
            },
            "bos_token_id": None,
            "eos_token_id": stop,
            "pad_token_id": padding,
            "tie_word_embeddings": False,
        },
        vision_config={
            "patch_size": shape.patch_px,
            "spatial_merge_size": shape.merge,
            "temporal_patch_size": 1,
            "tokens_per_second": 2,
            "window_size": shape.window_px,
            "out_hidden_size": shape.width,
            "depth": shape.vision_depth,
            "hidden_size": shape.vision_width,
            "intermediate_size": shape.vision_inner,
            "num_heads": shape.vision_heads,
            "fullatt_block_indexes": list(shape.full_attention),
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
        tie_word_embeddings=False,
        **extra,
    )


def new_reader(shape: ReaderShape, tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen2_5_VLForConditionalGeneration:
    """A model with fresh weights, in float32.

    Weights have the spread 1 / sqrt(inputs) (LeCun): the 0.02 of the large models assumes widths of thousands. In three
    layers half of the heads start with equal queries and keys, so they look for what is alike: an option for its event.
    """
    torch.manual_seed(seed)
    model = Qwen2_5_VLForConditionalGeneration(reader_config(shape, tokenizer)).float()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_tokens" in name:
                weight.normal_(0, _EMBEDDING_SPREAD)
            elif weight.dim() >= 2:
                spread = weight[0].numel() ** -0.5
                if name.endswith(("o_proj.weight", "down_proj.weight", "attn.proj.weight")):
                    spread /= math.sqrt(2 * shape.depth)
                weight.normal_(0, spread)
        model.lm_head.weight.normal_(0, 0.5 * shape.width**-0.5)
        for layer in model.model.language_model.layers[1:4]:
            rows = slice(shape.width // 2)
            layer.self_attn.k_proj.weight[rows] = layer.self_attn.q_proj.weight[rows]
    return model
