"""The training of the small image reader from nothing: sight on close-ups and whole images, then saying, choosing, weighing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn
from tqdm import tqdm
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from lmms_eval_tasks.small_reader.architecture import IMAGE_READER, new_reader, reader_processor, reader_tokenizer
from lmms_eval_tasks.small_reader.checkpoint import note_check, save_reader
from lmms_eval_tasks.small_reader.image_batches import first_tokens, image_batch, image_lesson_loss
from lmms_eval_tasks.small_reader.image_curriculum import CLEAR_FROM, IMAGE_STAGES, WEIGHING, ImageStage, image_step
from lmms_eval_tasks.small_reader.image_sight import (
    Rows,
    SeenViews,
    image_sight_loss,
    image_tokens,
    region_readings,
    rows_of,
    seen_views,
)
from lmms_eval_tasks.small_reader.image_sights import CLOSE_UP_PX, Sights, close_up, mosaic, sights_of, whole_image
from lmms_eval_tasks.small_reader.image_views import LEARNT_FROM_SEED, ImageView, view_bank
from lmms_eval_tasks.small_reader.image_wordings import corpus
from lmms_eval_tasks.small_reader.stages import Learning, learn

SCENES, VIEWS_OF_A_SCENE = 1200, 3  # for sight
READING_SCENES = 700  # others, for reading
CHECKED = 96  # views or lessons
CLOSE_UPS, CLOSE_STEPS, CLOSE_RATE = 200, 250, 4e-3
MOSAICS, WHOLE_IMAGES, WHOLE_STEPS, WHOLE_RATE = 9, 6, 380, 2.5e-3


def _views(seed: int, scenes: int, what: str) -> list[ImageView]:
    with tqdm(total=scenes, desc=f"drawing scenes for {what}", unit=" scene") as bar:
        return view_bank(seed, scenes, VIEWS_OF_A_SCENE, bar.update)


def _close(views: Sequence[ImageView], rng: np.random.Generator) -> Sights:
    return sights_of([close_up(views, CLOSE_UP_PX, rng) for _ in range(CLOSE_UPS)], rng)


def _wide(views: Sequence[ImageView], rng: np.random.Generator) -> Sights:
    whole = [whole_image(views[int(i)], rng) for i in rng.integers(len(views), size=WHOLE_IMAGES)]
    return sights_of([mosaic(views, rng) for _ in range(MOSAICS)] + whole, rng)


def _learn_sight(
    accelerator: Accelerator,
    model: Qwen2_5_VLForConditionalGeneration,
    rows: Rows,
    views: Sequence[ImageView],
    folder: Path,
    seed: int,
) -> None:
    stages: tuple[tuple[str, Callable[..., Sights], int, int, float], ...] = (
        ("close-ups", _close, CLOSE_UP_PX, CLOSE_STEPS, CLOSE_RATE),
        ("mosaics", _wide, IMAGE_READER.side_px, WHOLE_STEPS, WHOLE_RATE),
    )
    for number, (name, draw, side_px, steps, rate) in enumerate(stages):
        side = side_px // IMAGE_READER.patch_px

        def loss_at(
            step: int, draw: Callable[..., Sights] = draw, number: int = number, side: int = side
        ) -> torch.Tensor:
            seen = draw(views, np.random.default_rng([seed, number, step])).on(accelerator.device)
            return image_sight_loss(image_tokens(model.model.visual, seen.patches, (side, side)), seen, rows)

        def rate_at(step: int, steps: int = steps, rate: float = rate) -> float:
            return rate * min(1.0, (step + 1) / 30) * (0.01 + 0.99 * (0.5 + 0.5 * math.cos(math.pi * step / steps)))

        learning = Learning(name, steps, rate_at, loss_at)
        learn(accelerator, {"visual": model.model.visual}, learning, folder / name, seed)


def _sees(visual: nn.Module, rows: Rows, views: Sequence[ImageView], device: torch.device) -> dict[str, float]:
    """By category, how often tokens name what is clear, and how far they are from telling how clear it is; views not learnt from."""
    side = IMAGE_READER.side_px // IMAGE_READER.patch_px
    sights = sights_of([whole_image(view, np.random.default_rng(0)) for view in views], None).on(device)
    with torch.no_grad():
        tokens = image_tokens(visual, sights.patches, (side, side))
    said = {}
    for category, (right, clarity) in region_readings(tokens, sights, rows).items():
        wanted = torch.tensor([view.clarity[category] for view in views], device=device)
        said[f"{category} right where clear"] = float(right[wanted > CLEAR_FROM].float().mean())
        said[f"{category} clarity off by"] = float((clarity - wanted).abs().mean())
    return said


def _says(
    model: Qwen2_5_VLForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    seen: SeenViews,
    seed: int,
    device: torch.device,
) -> dict[str, float]:
    """By elicitation, how often an answer begins with its likeliest first token; fresh lessons on learnt views."""
    said = {}
    for elicitation in ("open", "closed"):
        weights = {kind: weight for kind, weight in WEIGHING.items() if kind.endswith(elicitation)}
        stage = replace(IMAGE_STAGES[-1], name=f"check {elicitation}", lessons=CHECKED, weights=weights)
        generator = torch.Generator().manual_seed(seed)
        batch = image_batch(image_step(stage, seed, 0, seen), seen, tokenizer, stage.units, generator).on(device)
        said[f"{elicitation} right"] = float((first_tokens(model, batch) == batch.first.argmax(1)).float().mean())
    return said


def _learn_stage(
    accelerator: Accelerator,
    model: Qwen2_5_VLForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    seen: SeenViews,
    stage: ImageStage,
    folder: Path,
    seed: int,
) -> None:
    def loss_at(step: int) -> torch.Tensor:
        lessons = image_step(stage, seed, step, seen)
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        batch = image_batch(lessons, seen, tokenizer, stage.units, generator)
        return image_lesson_loss(model, batch.on(accelerator.device), stage.question_weight)

    learning = Learning(stage.name, stage.steps, stage.rate_at, loss_at, stage.enough)
    learn(accelerator, {"model": model}, learning, folder / stage.name.replace(" ", "-"), seed)


def train_image_reader(accelerator: Accelerator, folder: Path, seed: int) -> Path:
    """Train one, or go on where a run into the same folder was stopped; gives the folder of the checkpoint.

    Args:
        accelerator: decides on the device.
        folder: of this run: a sub-folder for each stage, and the checkpoint.
        seed: of weights, scenes and lessons.
    """
    checkpoint = folder / "small-image-reader"
    if checkpoint.is_dir():
        return checkpoint
    tokenizer = reader_tokenizer(corpus())
    processor = reader_processor(IMAGE_READER, tokenizer)
    model = new_reader(IMAGE_READER, tokenizer, seed)
    scenes_from = LEARNT_FROM_SEED + 2 * seed
    rows = rows_of(model, tokenizer).on(accelerator.device)
    _learn_sight(accelerator, model, rows, _views(scenes_from, SCENES, "sight"), folder, seed)
    visual = model.model.visual.to(accelerator.device)
    visual.requires_grad_(False)
    views = _views(scenes_from + 1, READING_SCENES, "reading")
    note_check(folder / "mosaics", _sees(visual, rows, views[:CHECKED], accelerator.device))
    seen = seen_views(visual, views, seed, accelerator.device)
    for stage in IMAGE_STAGES:
        _learn_stage(accelerator, model, tokenizer, seen, stage, folder, seed)
        said = _says(model.to(accelerator.device), tokenizer, seen, seed, accelerator.device)
        note_check(folder / stage.name.replace(" ", "-"), said)
    save_reader(model, processor, checkpoint)
    return checkpoint
