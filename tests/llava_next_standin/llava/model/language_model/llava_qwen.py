"""A Qwen2 model that puts features of pictures between the embeddings of its prompt, in a `generate` of its own."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen2Model

from llava.constants import IMAGE_TOKEN_INDEX
from llava.model.vision_tower import SigLipVisionTower


class LlavaQwenConfig(Qwen2Config):
    model_type = "llava_qwen"


class LlavaQwenModel(Qwen2Model):
    config_class = LlavaQwenConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.vision_tower = SigLipVisionTower(config.mm_vision_sizes)
        self.mm_projector = torch.nn.Linear(config.mm_vision_sizes["hidden_size"], config.hidden_size)
        self.image_newline = torch.nn.Parameter(torch.randn(config.hidden_size))


class LlavaQwenForCausalLM(Qwen2ForCausalLM):
    config_class = LlavaQwenConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.model = LlavaQwenModel(config)
        self.post_init()

    def get_model(self) -> LlavaQwenModel:
        return self.model

    def get_vision_tower(self) -> SigLipVisionTower:
        return self.model.vision_tower

    def encode_images(self, images: torch.Tensor) -> torch.Tensor:
        """Features of shape (pictures, patches, width)."""
        return self.model.mm_projector(self.get_vision_tower()(images))

    def _video_features(self, frames: torch.Tensor) -> torch.Tensor:
        """All frames of a video, halved in height and width, with an end mark as its configuration wants it."""
        features = self.encode_images(frames)
        side, width = self.get_vision_tower().num_patches_per_side, features.shape[-1]
        grid = features.reshape(len(frames), side, side, width).permute(0, 3, 1, 2)
        mode = getattr(self.config, "mm_spatial_pool_mode", "bilinear")
        pooled = (
            torch.nn.functional.avg_pool2d(grid, 2)
            if mode == "average"
            else torch.nn.functional.interpolate(grid, scale_factor=0.5, mode="bilinear")
        ).permute(0, 2, 3, 1)
        mark = self.model.image_newline.to(pooled.dtype)
        if getattr(self.config, "mm_newline_position", "one_token") == "grid":  # one after each line of each frame
            ends = mark.expand(*pooled.shape[:2], 1, width)
            return torch.cat([pooled, ends], dim=2).reshape(-1, width)
        return torch.cat([pooled.reshape(-1, width), mark[None]])

    def prepare_inputs_labels_for_multimodal(
        self, input_ids, position_ids, attention_mask, past_key_values, labels, images, modalities=("image",),
        image_sizes=None,
    ):  # fmt: skip
        """Embeddings in place of ids, for one prompt.

        A list holds pictures or videos, one for each mark. A tensor of four dimensions holds pictures: its first
        belongs to the first mark, and those without a mark are lost.
        """
        kinds = [modalities] if isinstance(modalities, str) else list(modalities)
        if isinstance(images, list) or images.dim() == 5:
            stacks = [x if x.dim() == 4 else x[None] for x in images]
            is_video = [i < len(kinds) and kinds[i] == "video" for i in range(len(stacks))]
            features = [
                self._video_features(x) if video else self.encode_images(x).flatten(0, 1)
                for x, video in zip(stacks, is_video, strict=True)
            ]
        else:
            features = list(self.encode_images(images))
        (ids,) = input_ids
        marks = (ids == IMAGE_TOKEN_INDEX).nonzero()[:, 0].tolist()
        pieces, start = [], 0
        for place, mark in enumerate(marks):
            pieces += [self.model.embed_tokens(ids[start:mark]), features[place]]
            start = mark + 1
        pieces.append(self.model.embed_tokens(ids[start:]))
        embeds = torch.cat(pieces)[: getattr(self.config, "tokenizer_model_max_length", None)][None]
        mask = None if attention_mask is None else torch.ones(embeds.shape[:2], dtype=attention_mask.dtype)
        return None, position_ids, mask, past_key_values, embeds, labels

    @torch.no_grad()
    def generate(self, inputs=None, images=None, image_sizes=None, modalities=("image",), **kwargs):
        position_ids, mask = kwargs.pop("position_ids", None), kwargs.pop("attention_mask", None)
        if images is None:
            embeds = self.model.embed_tokens(inputs)
        else:
            _, position_ids, mask, _, embeds, _ = self.prepare_inputs_labels_for_multimodal(
                inputs, position_ids, mask, None, None, images, modalities, image_sizes=image_sizes
            )
        return super().generate(position_ids=position_ids, attention_mask=mask, inputs_embeds=embeds, **kwargs)


AutoConfig.register("llava_qwen", LlavaQwenConfig)
AutoModelForCausalLM.register(LlavaQwenConfig, LlavaQwenForCausalLM)
