"""The workshop beside an image release under construction: finished images, kept across restarts."""

from __future__ import annotations

import hashlib
import json
import signal
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

from metrics.image.trial import INTACT, Mode
from metrics.several_processes import work_on_all
from stimuli_builder.atomic import write_whole
from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.frames import decode, encode, frame_id
from stimuli_builder.image.degraded import affected, degraded_views
from stimuli_builder.image.distinct import levels_that_are_none
from stimuli_builder.image.item import ItemView, Region, Scene, StoredQuestion
from stimuli_builder.image.levels import strengths_for
from stimuli_builder.image.slots import draw_slots
from stimuli_builder.image.sources import Plan


@dataclass(frozen=True)
class Degradation:
    """How the images of a release are degraded, and the seed of all draws."""

    seed: int
    margin: float
    own: Mapping[Mode, tuple[float, ...]]  # strengths of all categories instead of the default ones, by mode

    def strengths(self, category: str) -> dict[Mode, tuple[float, ...]]:
        """Those of a region whose first question is of this category."""
        return {**strengths_for(category), **self.own}


@dataclass(frozen=True)
class ImageStaging:
    """Where finished images wait until the release is written; `state` names all that decides them."""

    folder: Path
    state: str

    def image_path(self, image: str) -> Path:
        """The encoded image of an id."""
        return self.folder / "images" / image[:2] / f"{image}.webp"

    def _record_path(self, index: int) -> Path:
        name = hashlib.sha256(f"{self.state}\n{index}".encode()).hexdigest()
        return self.folder / "items" / f"{name}.json"

    def record(self, index: int) -> list[dict[str, Any]] | None:
        """The rows of an item that was finished before and whose images are whole, or None."""
        try:
            rows = json.loads(self._record_path(index).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        images = {view["image"] for row in rows for view in row["views"]}
        return rows if all(self.holds(image) for image in images) else None

    def save(self, index: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Remember the rows of an item whose images are stored."""
        write_whole(self._record_path(index), json.dumps(rows).encode())

    def store(self, image: Image.Image) -> str:
        """Keep an image; returns its id."""
        name = frame_id(image)
        if not self.holds(name):
            write_whole(self.image_path(name), encode(image), durable=False)
        return name

    def holds(self, image: str) -> bool:
        """Whether the image of an id is stored and whole; what a crash of the machine left may be neither."""
        try:
            return frame_id(decode(self.image_path(image).read_bytes())) == image
        except (OSError, SyntaxError, ValueError):
            return False


def _questions(staging: ImageStaging, plan: Plan, degradation: Degradation) -> list[StoredQuestion]:
    """Draw or read an item, degrade its regions, store all images."""
    seed, scene = degradation.seed, plan.scene()
    intact = ItemView(INTACT, 0, 0.0, 0.0, staging.store(scene.image))
    first = {question.region: question.category for question in reversed(scene.questions)}
    regions = {region.name: region for region in scene.regions}
    views: dict[str, list[ItemView]] = {}
    for name, category in first.items():
        strengths, of = degradation.strengths(category), (scene.item, name)
        views[name] = [intact]
        for mode, level, strength, achieved, image in degraded_views(
            scene.image, regions[name], strengths, degradation.margin, seed, *of
        ):
            views[name].append(ItemView(mode, level, strength, achieved, staging.store(image)))
        _check_levels(scene, regions[name], degradation.margin, views[name])
    return [
        StoredQuestion(
            item=scene.item,
            index=plan.index,
            kind=scene.kind,
            source=scene.source,
            question=question,
            region=regions[question.region],
            slots=draw_slots(seed, plan.number_of(question.category), question.category, question.answer),
            views=tuple(views[question.region]),
        )
        for question in scene.questions
    ]


def _check_levels(scene: Scene, region: Region, margin: float, views: Sequence[ItemView]) -> None:
    """Raise a CavedError if two levels of a region show the same image."""
    may_change = np.asarray(scene.image.convert("RGB"))[affected(region, scene.image.size, margin)]
    same = levels_that_are_none(views, may_change)
    if same:
        raise CavedError(
            f"region {region.name} of {scene.item}: {', '.join(same)} show the same image: give stronger levels, or levels "
            "farther apart"
        )


def _attempt(staging: ImageStaging, degradation: Degradation, plan: Plan) -> tuple[list[dict[str, Any]], str | None]:
    """(rows, problem) of one item, perhaps in another process: a problem travels as its text."""
    if parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are the parent's to handle
    try:
        with warnings.catch_warnings(), threadpool_limits(1):  # blurs are small: BLAS' own threads would only wait
            warnings.simplefilter("ignore")  # Pillow's, of files that were looked at before
            kept = staging.record(plan.index)
            if kept is not None:
                return kept, None
            rows = [question.to_row() for question in _questions(staging, plan, degradation)]
    except CavedError as error:
        return [], f"item {plan.index}: {error}"
    staging.save(plan.index, rows)
    return rows, None


def finished_questions(
    staging: ImageStaging,
    degradation: Degradation,
    plans: Sequence[Plan],
    workers: int,
    progress: Callable[[int], object] = lambda _: None,
) -> list[StoredQuestion]:
    """The questions of all items, in their order, with every image stored.

    Args:
        staging: where images are kept.
        degradation: what is done to them.
        plans: the items.
        workers: processes that draw and degrade at the same time.
        progress: called with 1 after each item.

    Raises:
        BadInputs: naming every item that cannot be degraded, after all others were finished and kept.
    """
    work = partial(_attempt, staging, degradation)
    try:
        done = work_on_all(work, plans, workers, lambda _: progress(1))
    except BrokenProcessPool as error:
        raise CavedError(
            "a process that draws images was killed, most often for want of memory: run the same command again with "
            "--workers 1; finished work is kept"
        ) from error
    problems = [problem for _, problem in done if problem is not None]
    if problems:
        raise BadInputs(
            f"{len(problems)} item(s) cannot be degraded",
            problems,
            "mend or remove them, or give other levels, then run the same command again; finished work is kept",
        )
    return [StoredQuestion.from_row(row) for rows, _ in done for row in rows]
