"""First stages of the small image reader: its encoder alone, from close-ups to whole images.

The tokens of a region become the sum of the language model's words for the region itself, for what it shows, and for how clearly: so the
language model only has to look a word up, and to weigh it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from lmms_eval_tasks.small_reader.architecture import IMAGE_READER
from lmms_eval_tasks.small_reader.image_sights import Sights, sights_of, whole_image
from lmms_eval_tasks.small_reader.image_views import ImageView
from lmms_eval_tasks.small_reader.image_wordings import CLEAR, MARKERS, READ
from lmms_eval_tasks.small_reader.sight import word_rows

OF_REGION = 0.35  # share of a unit that a region must cover for its token to be of it
_SHARPNESS = 0.25  # a word's logit is this times the product of token and embedding
_MARKER_BIAS = 4.0
_CLARITY_WEIGHT = 4.0
_SCALE_COST = 2e-3


@dataclass(frozen=True)
class Rows:
    """The embeddings by which tokens of images are read, as the language model starts with them."""

    words: dict[str, torch.Tensor]  # by category, (words, width)
    markers: dict[str, torch.Tensor]  # by category, (width,)
    clear: torch.Tensor  # (width,)

    def told(self, tokens: torch.Tensor, category: str) -> torch.Tensor:
        """Logits of the category's words, (..., words)."""
        return _SHARPNESS * tokens @ self.words[category].T

    def marked(self, tokens: torch.Tensor, category: str) -> torch.Tensor:
        """Logit of being a token of the category's region, (...)."""
        return _SHARPNESS * tokens @ self.markers[category] - _MARKER_BIAS

    def clarity(self, tokens: torch.Tensor) -> torch.Tensor:
        """How clearly the region shows, 1 for whole, (...)."""
        return tokens @ self.clear / self.clear.square().sum()

    def on(self, device: torch.device) -> Rows:
        """The same on a device."""
        words, markers = ({n: part.to(device) for n, part in parts.items()} for parts in (self.words, self.markers))
        return Rows(words, markers, self.clear.to(device))


def rows_of(model: Qwen2_5_VLForConditionalGeneration, tokenizer: PreTrainedTokenizerFast) -> Rows:
    """The rows of a model that has not learnt yet.

    Raises:
        ValueError: if a word is more than one token.
    """
    return Rows(
        {category: word_rows(model, tokenizer, list(words))[:-1] for category, words in READ.items()},
        {category: word_rows(model, tokenizer, [word])[0] for category, word in MARKERS.items()},
        word_rows(model, tokenizer, [CLEAR])[0],
    )


def image_tokens(visual: nn.Module, patches: torch.Tensor, sides: tuple[int, int]) -> torch.Tensor:
    """What the encoder makes of images of one size, (images, units, width).

    Args:
        visual: the encoder.
        patches: (images, patches, values).
        sides: height and width in patches.
    """
    grid = torch.tensor([[1, *sides]], device=patches.device).repeat(len(patches), 1)
    tokens: torch.Tensor = visual(patches.flatten(0, 1), grid_thw=grid).pooler_output
    return tokens.reshape(len(patches), patches.shape[1] // IMAGE_READER.merge**2, -1)


def image_sight_loss(tokens: torch.Tensor, seen: Sights, rows: Rows) -> torch.Tensor:
    """Cross-entropy of words and of markers, and the squared distance from how clear each region is."""
    loss = _SCALE_COST * tokens.square().mean()
    for category in READ:
        covered = seen.covered[category]
        inside = covered >= OF_REGION
        edge = (covered > 0.1) & ~inside
        weight = torch.where(inside, 3.0, 1.0) * ~edge
        marked = functional.binary_cross_entropy_with_logits(
            rows.marked(tokens, category), inside.float(), reduction="none"
        )
        loss = loss + (marked * weight).mean()
        if inside.any():
            of_region = tokens[inside]
            loss = loss + functional.cross_entropy(rows.told(of_region, category), seen.words[category][inside])
            far = (rows.clarity(of_region) - seen.clarity[category][inside]).square().mean()
            loss = loss + _CLARITY_WEIGHT * far
    return loss


@torch.no_grad()
def region_readings(tokens: torch.Tensor, seen: Sights, rows: Rows) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """By category: whether the region's tokens together name the right word, and how clear they are, both (images,)."""
    found = {}
    for category in READ:
        share = (seen.covered[category] >= OF_REGION).float()
        share = share / share.sum(1, keepdim=True).clamp(min=1)
        told = (rows.told(tokens, category) * share[..., None]).sum(1).argmax(1)
        right = (seen.words[category] * (share > 0)).amax(1)
        found[category] = (told == right, (rows.clarity(tokens) * share).sum(1))
    return found


@dataclass(frozen=True)
class SeenViews:
    """Views as the language model gets them."""

    tokens: torch.Tensor  # (views, units, width)
    near_regions: torch.Tensor  # (views, units): whether a region touches the unit
    views: tuple[ImageView, ...]


@torch.no_grad()
def seen_views(visual: nn.Module, views: Sequence[ImageView], seed: int, device: torch.device) -> SeenViews:
    """Views through an encoder that has learnt, each a little shifted."""
    import numpy as np

    side = IMAGE_READER.side_px // IMAGE_READER.patch_px
    tokens, near = [], []
    for start in range(0, len(views), 32):
        rng = np.random.default_rng([seed, start])
        seen = sights_of([whole_image(view, rng) for view in views[start : start + 32]], rng)
        tokens.append(image_tokens(visual, seen.patches.to(device), (side, side)).cpu())
        near.append(torch.stack(list(seen.covered.values())).amax(0) > 0.1)
    return SeenViews(torch.cat(tokens), torch.cat(near), tuple(views))
