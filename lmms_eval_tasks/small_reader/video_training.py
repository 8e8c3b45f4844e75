"""The training of the small video reader from nothing: sight on single frames, then exercises, order, and all lengths."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import torch
from accelerate import Accelerator
from tqdm import tqdm
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor

from lmms_eval_tasks.small_reader.architecture import (
    VIDEO_READER,
    new_reader,
    reader_processor,
    reader_tokenizer,
    token_of,
)
from lmms_eval_tasks.small_reader.batches import batch_of, lesson_loss, told_letter_a
from lmms_eval_tasks.small_reader.checkpoint import note_check, save_reader
from lmms_eval_tasks.small_reader.curriculum import STAGES, WITHHELD_SPACING_S, Stage, lesson_of, step_lessons
from lmms_eval_tasks.small_reader.frame_bank import LEARNT_PATTERNS, FrameBank, FrameTokens, frame_bank
from lmms_eval_tasks.small_reader.pairs import split_pairs
from lmms_eval_tasks.small_reader.sight import (
    NamingHeads,
    Rows,
    frame_tokens,
    glimpses,
    sight_accuracy,
    sight_loss,
    sight_words,
    tokens_of_bank,
)
from lmms_eval_tasks.small_reader.stages import Learning, learn
from lmms_eval_tasks.small_reader.wordings import EVENTS, corpus

SIGHT_STEPS, SIGHT_FRAMES, SIGHT_RATE = 500, 192, 2e-3
EVENT_FRAMES, BACKGROUNDS, BACKGROUND_FRAMES = 60, 20, 24  # of each event, of each pattern, of each background
TEXTURES = 80  # backgrounds of textures
CHECKED = 256  # frames or lessons
CHECKED_KINDS = ("order none 2", "order strong 2", "order strong 0")
_OTHER_CLIPS = 500_000  # added to a seed
PATCHES_A_SIDE = VIDEO_READER.side_px // VIDEO_READER.patch_px


def _bank(processor: Qwen2_5_VLProcessor, seed: int) -> FrameBank:
    backgrounds = len(LEARNT_PATTERNS) * BACKGROUNDS + TEXTURES
    total = len(EVENTS) * EVENT_FRAMES + backgrounds * BACKGROUND_FRAMES
    with tqdm(total=total, desc="drawing frames", unit=" frame") as bar:
        return frame_bank(
            processor,
            VIDEO_READER.side_px,
            seed,
            EVENT_FRAMES,
            BACKGROUNDS,
            BACKGROUND_FRAMES,
            bar.update,
            textures=TEXTURES,
        )


def _learn_sight(
    accelerator: Accelerator,
    model: Qwen2_5_VLForConditionalGeneration,
    rows: Rows,
    bank: FrameBank,
    folder: Path,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    heads = NamingHeads(VIDEO_READER.width)

    def loss_at(step: int) -> torch.Tensor:
        seen = glimpses(bank, SIGHT_FRAMES, torch.Generator().manual_seed(seed * 1_000_003 + step))
        seen = seen.on(accelerator.device)
        tokens = frame_tokens(model.model.visual, seen.patches, VIDEO_READER.merge)
        return sight_loss(tokens, heads, rows, seen)

    def rate_at(step: int) -> float:
        return SIGHT_RATE * min(1.0, (step + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * step / SIGHT_STEPS)) + 1e-5

    parts = {"visual": model.model.visual, "heads": heads}
    learn(accelerator, parts, Learning("sight", SIGHT_STEPS, rate_at, loss_at), folder / "sight", seed)


def letter_tokens(tokenizer: PreTrainedTokenizerFast) -> tuple[int, int]:
    """The tokens of the letters A and B."""
    return token_of(tokenizer, "A"), token_of(tokenizer, "B")


def _says(
    model: Qwen2_5_VLForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    tokens: FrameTokens,
    seed: int,
    device: torch.device,
) -> dict[str, float]:
    """By kind of question, how often the likelier letter is the one that is wanted more, and how far off its probability is.

    Pairs are those that are learnt from, clips others.
    """
    said, pairs = {}, split_pairs()[0]
    for kind in CHECKED_KINDS:
        random = Random(f"{seed} check {kind}")
        lessons = [lesson_of(random, kind, random.choice(pairs), 16, None) for _ in range(CHECKED)]
        generator = torch.Generator().manual_seed(seed)
        batch = batch_of(lessons, tokens, tokenizer, torch.full((CHECKED,), WITHHELD_SPACING_S), generator).on(device)
        told = told_letter_a(model, batch, PATCHES_A_SIDE, letter_tokens(tokenizer))
        said[f"{kind}: right"] = float(((told > 0.5) == (batch.letter_a > 0.5)).float().mean())
        said[f"{kind}: off by"] = float((told - batch.letter_a).abs().mean())
    return said


def _learn_stage(
    accelerator: Accelerator,
    model: Qwen2_5_VLForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    tokens: FrameTokens,
    stage: Stage,
    folder: Path,
    seed: int,
) -> None:
    pairs, letters = split_pairs()[0], letter_tokens(tokenizer)
    names = (token_of(tokenizer, "First"), token_of(tokenizer, "Second")) if stage.names_places else None

    def loss_at(step: int) -> torch.Tensor:
        drawn = step_lessons(stage, seed, step, pairs)
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        batch = batch_of(drawn.lessons, tokens, tokenizer, torch.tensor(drawn.spacing_s), generator)
        batch = batch.on(accelerator.device)
        return lesson_loss(model, batch, PATCHES_A_SIDE, letters, stage.question_weight, names)

    learning = Learning(stage.name, stage.steps, stage.rate_at, loss_at, stage.enough)
    learn(accelerator, {"model": model}, learning, folder / stage.name, seed)


def train_video_reader(accelerator: Accelerator, folder: Path, seed: int) -> Path:
    """Train one, or go on where a run into the same folder was stopped; gives the folder of the checkpoint.

    Args:
        accelerator: decides on the device.
        folder: of this run: a sub-folder for each stage, and the checkpoint.
        seed: of weights, frames and lessons.
    """
    checkpoint = folder / "small-reader"
    if checkpoint.is_dir():
        return checkpoint
    tokenizer = reader_tokenizer(corpus())
    processor = reader_processor(VIDEO_READER, tokenizer)
    model = new_reader(VIDEO_READER, tokenizer, seed)
    bank = _bank(processor, seed)
    device = accelerator.device
    colours, shapes, lights = (row.to(device) for row in sight_words(model, tokenizer))
    rows = colours, shapes, lights
    _learn_sight(accelerator, model, rows, bank, folder, seed)
    visual = model.model.visual.to(device)
    visual.requires_grad_(False)
    other = frame_bank(processor, VIDEO_READER.side_px, seed + _OTHER_CLIPS, 8, 4, 8)
    seen = glimpses(other, CHECKED, torch.Generator().manual_seed(seed)).on(device)
    with torch.no_grad():
        right = sight_accuracy(frame_tokens(visual, seen.patches, VIDEO_READER.merge), rows, seen)
    note_check(folder / "sight", {"frames right": right})
    tokens, other_tokens = (tokens_of_bank(visual, part.on(device), VIDEO_READER.merge).cpu() for part in (bank, other))
    for stage in STAGES:
        _learn_stage(accelerator, model, tokenizer, tokens, stage, folder, seed)
        note_check(folder / stage.name, _says(model.to(device), tokenizer, other_tokens, seed, device))
    save_reader(model, processor, checkpoint)
    return checkpoint
