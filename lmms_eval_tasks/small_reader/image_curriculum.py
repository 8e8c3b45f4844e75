"""What the small image reader learns when, once it sees: to find letters, to say, to choose, to weigh."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from lmms_eval_tasks.small_reader.image_lessons import ImageLesson, drawn_framing, image_lesson, told_lesson
from lmms_eval_tasks.small_reader.image_sight import SeenViews

# Shares of kinds: category and elicitation, or `told`. Codes and counts are always met with an abstention.
TELLING = {"told closed": 0.8, "told open": 0.2}
SAYING = {
    "colour open": 0.25, "shape open": 0.3, "count open": 0.06, "code open": 0.06, "told open": 0.05, "told closed": 0.28,
}  # fmt: skip
CHOOSING = {
    "told closed": 0.15, "colour closed": 0.3, "shape closed": 0.35, "colour open": 0.05, "shape open": 0.1, "code closed": 0.05,
}  # fmt: skip
WEIGHING = {
    "colour open": 0.11, "shape open": 0.16, "count open": 0.04, "code open": 0.04,
    "colour closed": 0.21, "shape closed": 0.32, "count closed": 0.05, "code closed": 0.05, "told closed": 0.02,
}  # fmt: skip


@dataclass(frozen=True)
class ImageStage:
    """A part of the training."""

    name: str
    steps: int
    lessons: int  # of a step
    rate: float  # of learning, at its height
    weights: Mapping[str, float]
    units: int  # tokens of an image that are shown: those of regions first, then drawn others
    question_weight: float
    clear: bool  # whether only clear views are asked about
    enough: float = 0.0  # the mean loss at which the stage ends before its last step
    decay_from: float = 1.0  # share of the steps after which the rate falls, by a cosine

    def rate_at(self, step: int) -> float:
        """The learning rate of a step."""
        done = max(0.0, step / self.steps - self.decay_from) / max(1e-9, 1 - self.decay_from)
        return self.rate * min(1.0, (step + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * min(1.0, done))) + 1e-5


# To find an option's letter is learnt all of a sudden, and far sooner where the text says the answer and nothing needs to be seen.
IMAGE_STAGES = (
    ImageStage("telling", 2000, 48, 1.5e-3, TELLING, 4, 0.1, clear=False, enough=0.2),
    ImageStage("saying", 300, 48, 1.5e-3, SAYING, 56, 0.2, clear=False),
    ImageStage("choosing", 1000, 48, 1.2e-3, CHOOSING, 56, 0.1, clear=True, enough=0.2),
    ImageStage("weighing", 650, 48, 1.2e-3, WEIGHING, 56, 0.03, clear=False, decay_from=0.5),
    ImageStage("whole images", 200, 32, 6e-4, WEIGHING, 144, 0.05, clear=False, decay_from=0.1),
)
CLEAR_FROM = 0.9


def image_step(stage: ImageStage, seed: int, step: int, seen: SeenViews) -> list[ImageLesson]:
    """The lessons of a step; they depend on nothing but the arguments, so a run that was stopped can go on."""
    random = Random(f"{seed} {stage.name} {step}")
    kinds = random.choices(list(stage.weights), list(stage.weights.values()), k=stage.lessons)
    lessons = []
    for kind in kinds:
        category, elicitation = kind.split()
        assert elicitation in ("open", "closed")
        number = random.randrange(len(seen.views))
        if category == "told":
            lessons.append(told_lesson(random, number, "open" if elicitation == "open" else "closed"))
            continue
        while stage.clear and seen.views[number].clarity.get(category, 1.0) < CLEAR_FROM:
            number = random.randrange(len(seen.views))
        framing = drawn_framing(random)
        lessons.append(
            image_lesson(
                random, number, seen.views[number], category, framing, "open" if elicitation == "open" else "closed"
            )
        )
    return lessons
