"""The images that the small image reader learns from: procedural scenes of seeds that no release has, degraded as the benchmark does.

Every region of a view is intact, occluded or blurred, by a strength between none and the strongest level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lmms_eval_tasks.small_reader.architecture import IMAGE_READER
from lmms_eval_tasks.small_reader.image_wordings import READ, REGIONS
from stimuli_builder.image.blur import blurred
from stimuli_builder.image.item import Region
from stimuli_builder.image.levels import DEFAULT_STRENGTHS, MARGIN
from stimuli_builder.image.occlusion import occluded
from stimuli_builder.image.painting import drawn_setting
from stimuli_builder.image.scenes import procedural_scene

HELD_OUT_BACKGROUND = "cloth"
LEARNT_FROM_SEED = 1_000_000  # scenes of this seed and above are for lessons
CANVAS_PX = 224  # a quarter of the work of the benchmark's 448; made smaller, both look alike
INTACT_SHARE = 0.35  # of regions
_LEADING = {"code": "code", "marks": "count", "symbol": "shape"}  # the category whose strengths a region has
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class ImageView:
    """An image at the size that the reader sees, and what it shows."""

    pixels: NDArray[np.uint8]  # (side, side, 3)
    boxes: Mapping[str, Box]  # by category, in pixels
    words: Mapping[str, int]  # by category, place of the right one in `READ`
    clarity: Mapping[str, float]  # by category, how much of the region shows: 1 all, 0 nothing
    kind: str
    marks: str


def clarity_of(region: str, mode: str, strength: float) -> float:
    """How much of a region shows under a degradation, from 1 to 0.

    Of the coloured field, the share that is not hidden; blur takes little of its colour. Of the symbol, by the levels of the benchmark.
    """
    if region == "code":
        return 1 - strength
    levels = (0.0, *DEFAULT_STRENGTHS[_LEADING[region]]["subtractive" if mode == "subtractive" else "corruptive"])
    return 1 - float(np.interp(strength, levels, np.linspace(0, 1, len(levels))))


def _degraded(image: Image.Image, region: Region, random: Random) -> tuple[Image.Image, float]:
    if random.random() < INTACT_SHARE:
        return image, 1.0
    subtractive = random.random() < 0.5
    levels = (0.0, *DEFAULT_STRENGTHS[_LEADING[region.name]]["subtractive" if subtractive else "corruptive"])
    strength = float(np.interp(random.uniform(0.2, len(levels) - 1), np.arange(len(levels)), levels))
    seed = random.randrange(2**31)
    if subtractive:
        ((achieved, shown),) = occluded(image, region, [strength], MARGIN, seed)
        return shown, clarity_of(region.name, "subtractive", achieved)
    (shown,) = blurred(image, region, [strength], MARGIN, seed)
    return shown, clarity_of(region.name, "corruptive", strength)


def image_views(seed: int, index: int, count: int) -> list[ImageView]:
    """`count` views of scene `index`, each degraded in its own way; none if its background is held out."""
    if drawn_setting(seed, index, CANVAS_PX).background == HELD_OUT_BACKGROUND:
        return []
    scene = procedural_scene(seed, index, CANVAS_PX)
    right = {question.category: question.options[question.answer] for question in scene.questions}
    marks = next(question.text.split()[3] for question in scene.questions if question.category == "count")
    side, regions = IMAGE_READER.side_px, {region.name: region for region in scene.regions}
    scale = side / CANVAS_PX
    views = []
    for number in range(count):
        random = Random(f"{seed} {index} {number}")
        image, clarity = scene.image, {}
        for name, region in regions.items():
            image, clarity[name] = _degraded(image, region, random)
        left_top_right_bottom = {name: tuple(value * scale for value in region.box) for name, region in regions.items()}
        views.append(
            ImageView(
                np.asarray(image.resize((side, side), Image.Resampling.BICUBIC)),
                {category: left_top_right_bottom[name] for category, name in REGIONS.items()},  # type: ignore[misc]
                {category: words.index(right[category]) for category, words in READ.items()},
                {category: clarity[name] for category, name in REGIONS.items()},
                scene.kind,
                marks,
            )
        )
    return views


def view_bank(
    seed: int, scenes: int, count: int, progress: Callable[[int], object] = lambda _: None
) -> list[ImageView]:
    """`count` views of each of `scenes` scenes, those with a held-out background left out."""
    views: list[ImageView] = []
    for index in range(scenes):
        views += image_views(seed, index, count)
        progress(1)
    return views
