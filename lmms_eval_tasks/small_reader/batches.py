"""Lessons as the language model gets them: tokens of words and frames, positions, and what is wanted where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from lmms_eval_tasks.small_reader.frame_bank import FrameTokens
from lmms_eval_tasks.small_reader.lessons import Lesson

ANSWER_WEIGHT = 1.5  # of an answer in words, over its tokens
PLACE_WEIGHT = 0.5
PLACED_AFTER = 2  # layers of the language model
_OPENING = "<|im_start|>user\n<|vision_start|>"


@dataclass(frozen=True)
class Batch:
    """Lessons of equally many frames, padded on the right."""

    tokens: torch.Tensor  # (lessons, length)
    mask: torch.Tensor  # (lessons, length), 0 where padded
    frames: torch.Tensor  # (lessons, frames, width)
    places: torch.Tensor  # (lessons, frames): 0 the earlier event, 1 the later one, -1 a background
    opening: int  # tokens before the first frame
    spacing_s: torch.Tensor  # (lessons,) behind the positions of frames
    prompt_ends: torch.Tensor  # (lessons,) place of the last token of the prompt
    letter_a: torch.Tensor  # (lessons,) wanted probability of A; NaN where words are wanted

    def on(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        return replace(
            self,
            tokens=self.tokens.to(device),
            mask=self.mask.to(device),
            frames=self.frames.to(device),
            places=self.places.to(device),
            spacing_s=self.spacing_s.to(device),
            prompt_ends=self.prompt_ends.to(device),
            letter_a=self.letter_a.to(device),
        )


def written(lesson: Lesson, tokens_per_frame: int = 1) -> tuple[str, str]:
    """(prompt, whole text with the answer) of a lesson, as the chat template and the processor write them."""
    frames = "<|video_pad|>" * (len(lesson.frames) * tokens_per_frame)
    prompt = f"{_OPENING}{frames}<|vision_end|>{lesson.prompt}<|im_end|>\n<|im_start|>assistant\n"
    return prompt, f"{prompt}{lesson.answer}<|im_end|>"


def batch_of(
    lessons: Sequence[Lesson],
    bank: FrameTokens,
    tokenizer: PreTrainedTokenizerFast,
    spacing_s: torch.Tensor,
    generator: torch.Generator,
) -> Batch:
    """Lessons with frames drawn from a bank, each over one background."""
    prompts, texts = zip(*map(written, lessons), strict=True)
    encoded = tokenizer(list(texts), padding=True, padding_side="right", return_tensors="pt", add_special_tokens=False)
    lengths = [len(ids) for ids in tokenizer(list(prompts), add_special_tokens=False)["input_ids"]]
    events = torch.tensor([[-1 if event is None else event for event in lesson.frames] for lesson in lessons])
    earlier = torch.tensor([[next((e for e in lesson.frames if e is not None), -1)] for lesson in lessons])
    background = torch.randint(len(bank.backgrounds), (len(lessons), 1), generator=generator)
    moment = torch.randint(bank.backgrounds.shape[1], events.shape, generator=generator)
    bright = [[int(event not in lesson.dark) for event in lesson.frames] for lesson in lessons]
    clip = 2 * torch.randint(bank.events.shape[1] // 2, events.shape, generator=generator) + torch.tensor(bright)
    shown = torch.where(
        (events >= 0)[:, :, None], bank.events[events.clamp(min=0), clip], bank.backgrounds[background, moment]
    )
    return Batch(
        tokens=encoded["input_ids"],
        mask=encoded["attention_mask"],
        frames=shown,
        places=torch.where(events >= 0, (events != earlier).long(), -1),
        opening=len(tokenizer(_OPENING, add_special_tokens=False)["input_ids"]),
        spacing_s=spacing_s,
        prompt_ends=torch.tensor(lengths) - 1,
        letter_a=torch.tensor([float("nan") if lesson.letter_a is None else lesson.letter_a for lesson in lessons]),
    )


def hidden_states(
    model: Qwen2_5_VLForConditionalGeneration, batch: Batch, patches_a_side: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The language model on lessons, at the positions that transformers gives frames.

    Returns:
        The last hidden states, (lessons, length, width), and those of frames after `PLACED_AFTER` layers, (lessons, frames, width).
    """
    count, frames = batch.frames.shape[:2]
    kinds = torch.where(batch.tokens == model.config.video_token_id, 2, 0).to(torch.int)
    grid = torch.tensor([[frames, patches_a_side, patches_a_side]], device=batch.tokens.device).repeat(count, 1)
    positions, _ = model.model.get_rope_index(
        input_ids=batch.tokens,
        mm_token_type_ids=kinds,
        video_grid_thw=grid,
        second_per_grid_ts=batch.spacing_s,
        attention_mask=batch.mask,
    )
    words = model.get_input_embeddings()(batch.tokens)
    start = batch.opening
    whole = torch.cat([words[:, :start], batch.frames, words[:, start + frames :]], dim=1)
    told = model.model.language_model(
        inputs_embeds=whole, position_ids=positions, attention_mask=None, use_cache=False, output_hidden_states=True
    )
    return told.last_hidden_state, told.hidden_states[PLACED_AFTER][:, start : start + frames]


def place_loss(
    model: Qwen2_5_VLForConditionalGeneration, halfway: torch.Tensor, places: torch.Tensor, names: tuple[int, int]
) -> torch.Tensor:
    """Cross-entropy of what each event's frames say of its place, read as the last layer would be read.

    Which event a frame shows is told by its encoder; which of the two came first is not, and where no frame knows it, the order is
    found after hundreds of steps or never, by chance.

    Args:
        model: whose norm and words read the states.
        halfway: states of frames, (lessons, frames, width).
        places: as in `Batch`.
        names: tokens of the words for the earlier and the later event.
    """
    shown = places >= 0
    if not shown.any():
        return halfway.new_zeros(())
    told = model.lm_head(model.model.language_model.norm(halfway[shown]))[:, list(names)]
    return functional.cross_entropy(told, places[shown])


def lesson_loss(
    model: Qwen2_5_VLForConditionalGeneration,
    batch: Batch,
    patches_a_side: int,
    letters: tuple[int, int],
    question_weight: float,
    names: tuple[int, int] | None = None,
) -> torch.Tensor:
    """Cross-entropy of what is wanted, and `question_weight` times that of the question's own words.

    The latter makes the model copy early: the second option is the first one turned around. With `names`, `PLACE_WEIGHT` times
    `place_loss` is added.
    """
    states, halfway = hidden_states(model, batch, patches_a_side)
    rows = torch.arange(len(batch.tokens), device=batch.tokens.device)
    lettered = ~batch.letter_a.isnan()
    loss = states.new_zeros(())
    if lettered.any():
        last = states[rows[lettered], batch.prompt_ends[lettered]]
        told = model.lm_head(last).log_softmax(-1)
        a = batch.letter_a[lettered]
        loss = loss - (a * told[:, letters[0]] + (1 - a) * told[:, letters[1]]).sum()
    place = torch.arange(batch.tokens.shape[1] - 1, device=batch.tokens.device)[None]
    real = batch.mask[:, 1:].bool()
    answers = real & (place >= batch.prompt_ends[:, None]) & ~lettered[:, None]
    if answers.any():
        lengths = answers.sum(1, keepdim=True).clamp(max=3).expand_as(answers)[answers]
        told = functional.cross_entropy(
            model.lm_head(states[:, :-1][answers]), batch.tokens[:, 1:][answers], reduction="none"
        )
        loss = loss + (told * ANSWER_WEIGHT / lengths).sum()
    loss = loss / len(batch.tokens)
    if question_weight > 0:
        start = batch.opening + batch.frames.shape[1]
        question = real & (place >= start) & (place < batch.prompt_ends[:, None])
        told = functional.cross_entropy(model.lm_head(states[:, :-1][question]), batch.tokens[:, 1:][question])
        loss = loss + question_weight * told
    return loss if names is None else loss + PLACE_WEIGHT * place_loss(model, halfway, batch.places, names)


@torch.no_grad()
def told_letter_a(
    model: Qwen2_5_VLForConditionalGeneration, batch: Batch, patches_a_side: int, letters: tuple[int, int]
) -> torch.Tensor:
    """The probability of the letter A among the two, (lessons,)."""
    states, _ = hidden_states(model, batch, patches_a_side)
    last = model.lm_head(states[torch.arange(len(batch.tokens)), batch.prompt_ends])
    return torch.sigmoid(last[:, letters[0]] - last[:, letters[1]])
