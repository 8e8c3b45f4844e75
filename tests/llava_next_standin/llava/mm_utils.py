"""Prompts to ids, pictures to tensors, names of models."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import torch
from transformers import StoppingCriteria

from llava.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX


def get_model_name_from_path(model_path: str) -> str:
    return PurePosixPath(model_path).name


def tokenizer_image_token(
    prompt: str, tokenizer: Any, image_token_index: int = IMAGE_TOKEN_INDEX, return_tensors: str | None = None
) -> Any:
    """Ids of a prompt, one id outside of the vocabulary for each mark of a picture or video."""
    ids: list[int] = []
    for place, text in enumerate(prompt.split(DEFAULT_IMAGE_TOKEN)):
        ids += [image_token_index] * (place > 0) + tokenizer(text).input_ids
    return torch.tensor(ids) if return_tensors == "pt" else ids


def process_images(images: list[Any], image_processor: Any, model_cfg: Any) -> torch.Tensor:
    """Pictures as one tensor, shape (pictures, 3, height, width); here every aspect ratio is stretched."""
    return image_processor.preprocess(images, return_tensors="pt")["pixel_values"]


class KeywordsStoppingCriteria(StoppingCriteria):
    def __init__(self, keywords: list[str], tokenizer: Any, input_ids: torch.Tensor) -> None:
        self.keywords, self.tokenizer = keywords, tokenizer

    def __call__(self, output_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> bool:
        text = self.tokenizer.decode(output_ids[0])
        return any(keyword in text for keyword in self.keywords)
