"""Lessons of the small image reader as its language model gets them, and the loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from lmms_eval_tasks.small_reader.architecture import IMAGE_READER, token_of
from lmms_eval_tasks.small_reader.image_lessons import ImageLesson
from lmms_eval_tasks.small_reader.image_sight import SeenViews

_OPENING = "<|im_start|>user\n<|vision_start|>"
_UNITS_A_SIDE = IMAGE_READER.side_px // IMAGE_READER.unit_px


@dataclass(frozen=True)
class ImageBatch:
    """Lessons, padded on the right."""

    tokens: torch.Tensor  # (lessons, length)
    mask: torch.Tensor  # (lessons, length), 0 where padded
    image: torch.Tensor  # (lessons, units shown, width)
    units: torch.Tensor  # (lessons, units shown), ascending: which of the image's units they are
    opening: int  # tokens before the image
    prompt_ends: torch.Tensor  # (lessons,) place of the last token of the prompt
    first: torch.Tensor  # (lessons, vocabulary): wanted probabilities of the answer's first token

    def on(self, device: torch.device) -> ImageBatch:
        """The same on a device."""
        tokens, mask, image, units, ends, first = (
            part.to(device) for part in (self.tokens, self.mask, self.image, self.units, self.prompt_ends, self.first)
        )
        return ImageBatch(tokens, mask, image, units, self.opening, ends, first)


def image_batch(
    lessons: Sequence[ImageLesson],
    seen: SeenViews,
    tokenizer: PreTrainedTokenizerFast,
    units: int,
    generator: torch.Generator,
) -> ImageBatch:
    """Lessons with the tokens of their views: `units` of each, those near regions first, then drawn others."""
    views = torch.tensor([lesson.view for lesson in lessons])
    rank = seen.near_regions[views] + 0.9 * torch.rand(len(views), seen.tokens.shape[1], generator=generator)
    shown = rank.argsort(1, descending=True)[:, :units].sort(1).values
    image = seen.tokens[views[:, None], shown]
    opening = f"{_OPENING}{'<|image_pad|>' * units}<|vision_end|>"
    prompts = [f"{opening}{lesson.prompt}<|im_end|>\n<|im_start|>assistant\n" for lesson in lessons]
    texts = [f"{prompt}{lesson.answer}<|im_end|>" for prompt, lesson in zip(prompts, lessons, strict=True)]
    encoded = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt", add_special_tokens=False)
    lengths = [len(ids) for ids in tokenizer(prompts, add_special_tokens=False)["input_ids"]]
    first = torch.zeros(len(lessons), len(tokenizer))
    for row, lesson in enumerate(lessons):
        for text, probability in lesson.first:
            first[row, token_of(tokenizer, text)] += probability
    return ImageBatch(
        encoded["input_ids"],
        encoded["attention_mask"],
        image,
        shown,
        len(tokenizer(_OPENING, add_special_tokens=False)["input_ids"]),
        torch.tensor(lengths) - 1,
        first,
    )


def image_states(model: Qwen2_5_VLForConditionalGeneration, batch: ImageBatch) -> torch.Tensor:
    """The last hidden states of the language model, (lessons, length, width).

    Positions are those that transformers gives the whole image; a unit that is not shown leaves a gap.
    """
    count, length = batch.tokens.shape
    start, end = batch.opening, batch.opening + batch.units.shape[1]
    positions = torch.empty(3, count, length, dtype=torch.long, device=batch.tokens.device)
    positions[:, :, :start] = torch.arange(start, device=batch.tokens.device)
    positions[0, :, start:end] = start
    positions[1, :, start:end] = start + batch.units // _UNITS_A_SIDE
    positions[2, :, start:end] = start + batch.units % _UNITS_A_SIDE
    positions[:, :, end:] = start + _UNITS_A_SIDE + torch.arange(length - end, device=batch.tokens.device)
    words = model.get_input_embeddings()(batch.tokens)
    whole = torch.cat([words[:, :start], batch.image, words[:, end:]], dim=1)
    states: torch.Tensor = model.model.language_model(
        inputs_embeds=whole, position_ids=positions, attention_mask=None, use_cache=False
    ).last_hidden_state
    return states


def image_lesson_loss(
    model: Qwen2_5_VLForConditionalGeneration, batch: ImageBatch, question_weight: float
) -> torch.Tensor:
    """Cross-entropy of answers, their first tokens by probabilities, and `question_weight` times that of the question's words."""
    states = image_states(model, batch)
    rows = torch.arange(len(batch.tokens), device=batch.tokens.device)
    told = model.lm_head(states[rows, batch.prompt_ends]).log_softmax(-1)
    loss = -(batch.first * told).sum(-1).mean()
    place = torch.arange(batch.tokens.shape[1] - 1, device=batch.tokens.device)[None]
    real = batch.mask[:, 1:].bool()
    later = real & (place > batch.prompt_ends[:, None])
    told = model.lm_head(states[:, :-1][later])
    loss = loss + functional.cross_entropy(told, batch.tokens[:, 1:][later], reduction="sum") / len(batch.tokens)
    if question_weight > 0:
        question = real & (place >= batch.opening + batch.units.shape[1]) & (place < batch.prompt_ends[:, None])
        told = model.lm_head(states[:, :-1][question])
        loss = loss + question_weight * functional.cross_entropy(told, batch.tokens[:, 1:][question])
    return loss


@torch.no_grad()
def first_tokens(model: Qwen2_5_VLForConditionalGeneration, batch: ImageBatch) -> torch.Tensor:
    """The likeliest first token of each answer, (lessons,)."""
    rows = torch.arange(len(batch.tokens), device=batch.tokens.device)
    likeliest: torch.Tensor = model.lm_head(image_states(model, batch)[rows, batch.prompt_ends]).argmax(-1)
    return likeliest
