"""What the small video reader learns when: five stages of lessons, all of them drawn from a seed, a stage and a step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from lmms_eval_tasks.small_reader.lessons import EXERCISES, Lesson, exercise, order_lesson
from lmms_eval_tasks.small_reader.pairs import Pair
from stimuli_builder.timing import INTERVAL_RANGE_S

WITHHELD_SPACING_S = 0.5  # what transformers supposes where no time of a frame is known
_READ = {"order none 2": 0.2, "order strong 2": 0.34, "order mild 2": 0.09, "order none 0": 0.03, "order strong 0": 0.1,
         "order mild 0": 0.04, "order none 1": 0.03, "order strong 1": 0.03}  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """A part of the training."""

    name: str
    steps: int
    lessons: int  # of a step, at 16 frames; fewer where there are more frames
    rate: float  # of learning, at its height
    weights: Mapping[str, float]  # share of each kind of lesson
    budgets: tuple[int, ...] = (16,)  # frames of a step's videos, drawn evenly; one that is named twice twice as often
    question_weight: float = 0.3
    warm_up: int = 100  # steps
    times_share: float = 0.0  # of steps whose prompts hold the times of frames
    native_share: float = 0.0  # of lessons whose frames stand at their true times
    names_places: bool = False  # whether frames shall tell which event came first
    enough: float = 0.0  # the mean loss at which the stage ends before its last step
    decay_from: float = 0.5  # share of the steps after which the rate falls, by a cosine

    def rate_at(self, step: int) -> float:
        """The learning rate of a step."""
        done = max(0.0, step / self.steps - self.decay_from) / max(1e-9, 1 - self.decay_from)
        return self.rate * min(1.0, (step + 1) / self.warm_up) * (0.5 + 0.5 * math.cos(math.pi * min(1.0, done))) + 1e-5


TELLING = {"match": 1.0}
LISTING = {
    "list": 0.3,
    "is_there": 0.12,
    "place": 0.1,
    "dark": 0.16,
    "match": 0.12,
    "first": 0.1,
    "order none 2": 0.1,
}
MATCHING = {"place": 0.2, "first": 0.25, "match": 0.2, "order none 2": 0.22, "list": 0.04, "dark": 0.09}
READING = {**{kind: 0.016 for kind in EXERCISES}, "dark": 0.06, **_READ}
# Which option says what the text says comes first; then words for what is seen. Then which option says it is learnt in some hundred
# steps. Both come all of a sudden, when depends on the seed, so those stages end where it has come. Only the last one knows other numbers of frames.
STAGES = (
    Stage("telling", 2000, 48, 1.5e-3, TELLING, (8,), question_weight=0.1, enough=0.3, decay_from=1.0),
    Stage("listing", 450, 48, 1.2e-3, LISTING, names_places=True, decay_from=1.0),
    Stage(
        "matching", 1500, 48, 1.2e-3, MATCHING, question_weight=0.2, names_places=True, enough=0.22, decay_from=1.0,
    ),
    Stage("order", 350, 48, 1.2e-3, READING, decay_from=1.0),
    Stage(
        "lengths", 700, 48, 1e-3, READING, (16, 16, 8, 24, 32, 48, 64), 0.1, warm_up=30, times_share=0.06,
        native_share=0.15, decay_from=0.3,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Lessons:
    """The lessons of one step, all of equally many frames."""

    lessons: tuple[Lesson, ...]
    spacing_s: tuple[float, ...]


def lesson_of(random: Random, kind: str, pair: Pair, count: int, times_s: tuple[float, ...] | None) -> Lesson:
    """A lesson by the name of its kind: an exercise, or `order <claim> <events seen>`."""
    if kind in EXERCISES:
        return exercise(random, kind, pair, count)
    _, claim, seen = kind.split()
    return order_lesson(random, pair, count, claim, int(seen), times_s)


def step_lessons(stage: Stage, seed: int, step: int, pairs: Sequence[Pair]) -> Lessons:
    """What is learnt in a step; it depends on nothing but the arguments, so a run that was stopped can go on."""
    random = Random(f"{seed} {stage.name} {step}")
    budget = random.choice(stage.budgets)
    count = max(8, stage.lessons * 16 // max(16, budget))
    kinds = random.choices(list(stage.weights), list(stage.weights.values()), k=count)
    stated = budget <= 16 and random.random() < stage.times_share
    lessons, spacings = [], []
    for kind in kinds:
        interval_s = random.uniform(*INTERVAL_RANGE_S)
        first_s = random.uniform(0, interval_s)
        times_s = tuple(round(first_s + i * interval_s, 3) for i in range(budget))
        native = random.random() < stage.native_share
        lessons.append(lesson_of(random, kind, random.choice(pairs), budget, times_s if stated else None))
        spacings.append(interval_s if native else WITHHELD_SPACING_S)
    return Lessons(tuple(lessons), tuple(spacings))
