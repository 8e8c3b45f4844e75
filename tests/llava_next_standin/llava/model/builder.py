"""Loading a checkpoint."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoTokenizer

from llava.model import LlavaQwenConfig, LlavaQwenForCausalLM


def load_pretrained_model(
    model_path: str,
    model_base: str | None,
    model_name: str,
    load_8bit: bool = False,
    load_4bit: bool = False,
    device_map: str = "auto",
    torch_dtype: str = "float16",
    attn_implementation: str | None = "flash_attention_2",
    customized_config: Any = None,
    overwrite_config: dict[str, Any] | None = None,
    multimodal: bool = False,
) -> tuple[Any, LlavaQwenForCausalLM, Any, int]:
    """Tokenizer, model, image processor and length of context; the name says what kind of model it is."""
    if "qwen" not in model_name.lower() or not (multimodal or "llava" in model_name.lower()):
        raise ValueError(f"Model {model_name} not supported")
    config = LlavaQwenConfig.from_pretrained(model_path)
    for name, value in (overwrite_config or {}).items():
        setattr(config, name, value)
    model = LlavaQwenForCausalLM.from_pretrained(
        model_path,
        config=config,
        device_map=device_map,
        attn_implementation=attn_implementation,
        dtype=getattr(torch, torch_dtype),
    )
    tokenizer = AutoTokenizer.from_pretrained(model_path)
    return tokenizer, model, model.get_vision_tower().image_processor, config.max_position_embeddings
