"""The training of the small video reader from nothing: sight on single frames, then exercises, order, and all lengths."""

from __future__ import annotations

import copy
import math
import shutil
from pathlib import Path

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
from lmms_eval_tasks.small_reader.batches import batch_of, lesson_loss
from lmms_eval_tasks.small_reader.curriculum import STAGES, Stage, step_lessons
from lmms_eval_tasks.small_reader.frame_bank import LEARNT_PATTERNS, FrameBank, FrameTokens, frame_bank
from lmms_eval_tasks.small_reader.older_transformers import serve_older_transformers
from lmms_eval_tasks.small_reader.pairs import split_pairs
from lmms_eval_tasks.small_reader.sight import (
    NamingHeads,
    frame_tokens,
    glimpses,
    sight_loss,
    sight_words,
    tokens_of_bank,
)
from lmms_eval_tasks.small_reader.stages import Learning, learn
from lmms_eval_tasks.small_reader.wordings import EVENTS, corpus

SIGHT_STEPS, SIGHT_FRAMES, SIGHT_RATE = 500, 192, 2e-3
EVENT_FRAMES, BACKGROUNDS, BACKGROUND_FRAMES = 60, 20, 24  # of each event, of each pattern, of each background
TEXTURES = 80  # backgrounds of textures
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
    tokenizer: PreTrainedTokenizerFast,
    bank: FrameBank,
    folder: Path,
    seed: int,
) -> None:
    colours, shapes, lights = (part.to(accelerator.device) for part in sight_words(model, tokenizer))
    torch.manual_seed(seed)
    heads = NamingHeads(VIDEO_READER.width)

    def loss_at(step: int) -> torch.Tensor:
        seen = glimpses(bank, SIGHT_FRAMES, torch.Generator().manual_seed(seed * 1_000_003 + step))
        seen = seen.on(accelerator.device)
        tokens = frame_tokens(model.model.visual, seen.patches, VIDEO_READER.merge)
        return sight_loss(tokens, heads, (colours, shapes, lights), seen)

    def rate_at(step: int) -> float:
        return SIGHT_RATE * min(1.0, (step + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * step / SIGHT_STEPS)) + 1e-5

    parts = {"visual": model.model.visual, "heads": heads}
    learn(accelerator, parts, Learning("sight", SIGHT_STEPS, rate_at, loss_at), folder / "sight", seed)


def letter_tokens(tokenizer: PreTrainedTokenizerFast) -> tuple[int, int]:
    """The tokens of the letters A and B."""
    return token_of(tokenizer, "A"), token_of(tokenizer, "B")


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

    def loss_at(step: int) -> torch.Tensor:
        drawn = step_lessons(stage, seed, step, pairs)
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        batch = batch_of(drawn.lessons, tokens, tokenizer, torch.tensor(drawn.spacing_s), generator)
        return lesson_loss(model, batch.on(accelerator.device), PATCHES_A_SIDE, letters, stage.question_weight)

    learning = Learning(stage.name, stage.steps, stage.rate_at, loss_at, stage.enough)
    learn(accelerator, {"model": model}, learning, folder / stage.name, seed)


def save_reader(model: Qwen2_5_VLForConditionalGeneration, processor: Qwen2_5_VLProcessor, folder: Path) -> None:
    """Write a reader as a checkpoint in bfloat16, which is how lmms-eval loads it; the folder appears whole."""
    fresh = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(fresh, ignore_errors=True)
    kept = copy.deepcopy(model).cpu().bfloat16()
    kept.save_pretrained(fresh)
    processor.save_pretrained(fresh)
    serve_older_transformers(fresh)
    for path in fresh.iterdir():
        path.chmod(0o644)  # weights are written for their owner alone
    fresh.rename(folder)


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
    _learn_sight(accelerator, model, tokenizer, bank, folder, seed)
    visual = model.model.visual.to(accelerator.device)
    on_it = FrameBank(bank.events.to(accelerator.device), bank.backgrounds.to(accelerator.device))
    seen = tokens_of_bank(visual, on_it, VIDEO_READER.merge)
    tokens = FrameTokens(seen.events.cpu(), seen.backgrounds.cpu())
    visual.requires_grad_(False)
    for stage in STAGES:
        _learn_stage(accelerator, model, tokenizer, tokens, stage, folder, seed)
    save_reader(model, processor, checkpoint)
    return checkpoint
