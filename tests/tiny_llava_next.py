"""A tiny random checkpoint in the format of the LLaVA-NeXT package; it needs that package, or the stand-in for it."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tiny_families import TEXT, VISION, tokenizer

STAND_IN = Path(__file__).parent / "llava_next_standin"


def write_tiny_llava_next(folder: Path, seed: int = 0, **config: object) -> Path:
    """Write a checkpoint below `folder`, under a name by which it is known as LLaVA on Qwen; `config` adds to it."""
    if str(STAND_IN) not in sys.path:
        sys.path.insert(0, str(STAND_IN))
    from llava.model import LlavaQwenConfig, LlavaQwenForCausalLM

    words = tokenizer(["<|im_start|>"])
    torch.manual_seed(seed)
    model = LlavaQwenForCausalLM(
        LlavaQwenConfig(
            **TEXT,
            vocab_size=len(words),
            tie_word_embeddings=False,
            mm_use_im_start_end=False,
            image_aspect_ratio="anyres_max_9",
            mm_vision_sizes={**VISION, "image_size": 48, "patch_size": 12, "num_hidden_layers": 2},
            **config,
        )
    )
    with torch.no_grad():  # far from zero, so that small differences of the input survive half precision
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(std=0.3)
    path = folder / "tiny-llava-qwen"
    model.eval().half().save_pretrained(path)
    words.save_pretrained(path)
    return path
