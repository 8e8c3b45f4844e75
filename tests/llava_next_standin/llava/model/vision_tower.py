"""A small SigLIP tower and its image processor, which has `preprocess` and is not called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import SiglipVisionConfig, SiglipVisionModel


class SigLipImageProcessor:
    """Pictures to one size, then to [-1, 1]."""

    def __init__(self, side: int) -> None:
        self.size = (side, side)
        self.image_mean = self.image_std = (0.5, 0.5, 0.5)

    def preprocess(self, images: Any, return_tensors: str) -> dict[str, torch.Tensor]:
        """`pixel_values` of shape (pictures, 3, side, side) from one picture or many, arrays or images."""
        listed: Iterable[Any] = [images] if isinstance(images, Image.Image) else images
        arrays = []
        for picture in listed:
            image = picture if isinstance(picture, Image.Image) else Image.fromarray(np.asarray(picture))
            arrays.append(np.asarray(image.convert("RGB").resize(self.size, Image.Resampling.BICUBIC)))
        pixels = torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2).float() / 255
        return {"pixel_values": (pixels - 0.5) / 0.5}


class SigLipVisionTower(torch.nn.Module):
    is_loaded = True

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.vision_tower = SiglipVisionModel(SiglipVisionConfig(**sizes, vision_use_head=False))
        self.image_processor = SigLipImageProcessor(sizes["image_size"])
        self.num_patches_per_side = sizes["image_size"] // sizes["patch_size"]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        dtype = next(self.vision_tower.parameters()).dtype
        return self.vision_tower(images.to(dtype)).last_hidden_state.to(images.dtype)
