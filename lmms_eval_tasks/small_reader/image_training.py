"""The training of the small image reader from nothing: sight on close-ups and whole images, then saying, choosing, weighing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from tqdm import tqdm
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from lmms_eval_tasks.small_reader.architecture import IMAGE_READER, new_reader, reader_processor, reader_tokenizer
from lmms_eval_tasks.small_reader.image_batches import image_batch, image_lesson_loss
from lmms_eval_tasks.small_reader.image_curriculum import IMAGE_STAGES, ImageStage, image_step
from lmms_eval_tasks.small_reader.image_sight import SeenViews, image_sight_loss, image_tokens, rows_of, seen_views
from lmms_eval_tasks.small_reader.image_sights import CLOSE_UP_PX, Sights, close_up, mosaic, sights_of, whole_image
from lmms_eval_tasks.small_reader.image_views import LEARNT_FROM_SEED, ImageView, view_bank
from lmms_eval_tasks.small_reader.image_wordings import corpus
from lmms_eval_tasks.small_reader.stages import Learning, learn
from lmms_eval_tasks.small_reader.video_training import save_reader

SCENES, VIEWS_OF_A_SCENE = 1200, 3  # for sight
READING_SCENES = 700  # others, for reading
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
    tokenizer: PreTrainedTokenizerFast,
    views: Sequence[ImageView],
    folder: Path,
    seed: int,
) -> None:
    rows = rows_of(model, tokenizer).on(accelerator.device)
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
    _learn_sight(accelerator, model, tokenizer, _views(scenes_from, SCENES, "sight"), folder, seed)
    visual = model.model.visual.to(accelerator.device)
    seen = seen_views(visual, _views(scenes_from + 1, READING_SCENES, "reading"), seed, accelerator.device)
    visual.requires_grad_(False)
    for stage in IMAGE_STAGES:
        _learn_stage(accelerator, model, tokenizer, seen, stage, folder, seed)
    save_reader(model, processor, checkpoint)
    return checkpoint
