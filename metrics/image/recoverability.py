"""How much of an answer an image still gives, by category, mode and level: what abstention should track.

It comes from people (psychometric curves) or, marked as such, from a reader: a model that reads the image and never the
framing. A reader's accuracy says what that reader recovers, not what people do.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from metrics.bounded_mean import exact_interval
from metrics.image.table import ImageTrials, complete_blocks, image_table
from metrics.image.trial import CHANCE, DEGRADED, INTACT
from metrics.sample_log import LogError

FORMAT = "caved recoverability"
VERSION = 1
NOT_BY_PEOPLE = "levels are not calibrated by people"
READS = 0.5  # of intact images, at least, for all that the items show: a third of what chance leaves
_SAME_STRENGTH = 1e-6
_KEY = ("category", "mode", "level")

Cell = tuple[str, str, int]  # category, mode, level


@dataclass(frozen=True)
class Recoverability:
    """Accuracy of four-option answers by category, mode and level."""

    source: str  # who answered, for those who read it
    by_people: bool
    accuracy: Mapping[Cell, float]  # level 0 of the mode `intact`, others of their modes
    reader: str = ""  # checkpoint or model id; a model must not be judged by its own reading
    left_out: tuple[str, ...] = ()  # categories without an accuracy, each with the reason
    strengths: Mapping[Cell, float] = field(default_factory=dict)  # of the levels that were answered, where known

    def __post_init__(self) -> None:
        for (category, mode, level), accuracy in self.accuracy.items():
            if (
                mode not in (INTACT, *DEGRADED)
                or not isinstance(level, int)
                or (level == 0) != (mode == INTACT)
                or level < 0
            ):
                raise ValueError(f"{category}: level {level!r} of the mode {mode!r}")
            if not 0 <= accuracy <= 1:
                raise ValueError(f"{category}, {mode} L{level}: accuracy {accuracy!r} does not lie between 0 and 1")
        if self.by_people and self.reader:
            raise ValueError(f"{self.source}: by people, and by the reader {self.reader}")

    def other_levels(self, strengths: Mapping[Cell, float]) -> tuple[Cell, ...]:
        """Cells whose level is of another strength here than in `strengths`: accuracies at one say nothing of the other."""
        shared = [cell for cell in self.accuracy if cell in self.strengths and cell in strengths]
        return tuple(cell for cell in shared if abs(self.strengths[cell] - strengths[cell]) > _SAME_STRENGTH)

    def unchecked_levels(self, strengths: Mapping[Cell, float]) -> tuple[Cell, ...]:
        """Degraded cells that may be other levels than those of the same number here: no strength of them can be compared."""
        shared = [cell for cell in self.accuracy if cell[2]]
        return tuple(cell for cell in shared if cell not in self.strengths or cell not in strengths)

    def recoverable(self, category: str, mode: str, level: int) -> float | None:
        """Share of questions that can be answered, r = clip((accuracy - chance) / (1 - chance), 0, 1); None if not known."""
        accuracy = self.accuracy.get((category, mode, level))
        return None if accuracy is None else min(1.0, max(0.0, (accuracy - CHANCE) / (1 - CHANCE)))

    def covers(self, cells: Iterable[Cell]) -> bool:
        """Whether it has an accuracy for every one of some cells."""
        return all(cell in self.accuracy for cell in cells)

    @property
    def standing(self) -> str:
        """What stands with its own accuracies."""
        return self.standing_over(self.accuracy)

    def standing_over(self, cells: Collection[Cell]) -> str:
        """What stands with every number of a study that rests on it.

        Args:
            cells: of the study, those of L0 included.
        """
        if not self.by_people:
            return f"{NOT_BY_PEOPLE}; what they still give is that of {self.source}"
        if self.covers(cells):
            return f"calibrated by people ({self.source})"
        parts = []
        for category in sorted({category for category, _, _ in cells}):
            here = [cell for cell in cells if cell[0] == category]
            known = sum(cell in self.accuracy for cell in here)
            if known:
                parts.append(category if known == len(here) else f"{category} in {known} of {len(here)}")
        if not parts:
            return f"{NOT_BY_PEOPLE}: {self.source} answered none of them"
        known = sum(cell in self.accuracy for cell in cells)
        return (
            f"{known} of {len(cells)} cells of category, mode and level are calibrated by people ({self.source}: "
            f"{', '.join(parts)}); the other levels are not calibrated by people"
        )

    def to_json(self) -> str:
        """Indented JSON; `from_json` turns it back."""
        cells = [
            {**dict(zip(_KEY, cell, strict=True)), "accuracy": value, "strength": self.strengths.get(cell)}
            for cell, value in self.accuracy.items()
        ]
        fields = {
            "format": FORMAT,
            "version": VERSION,
            "source": self.source,
            "by_people": self.by_people,
            "reader": self.reader,
            "left_out": list(self.left_out),
            "accuracy": cells,
        }
        return json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> Recoverability:
        """What `to_json` wrote.

        Raises:
            ValueError: if it is something else.
        """
        try:
            fields = json.loads(text)
            if fields["format"] != FORMAT or fields["version"] != VERSION:
                raise ValueError(f"format {fields['format']!r}, version {fields['version']!r}")
            accuracy: dict[Cell, float] = {}
            strengths: dict[Cell, float] = {}
            for entry in fields["accuracy"]:
                cell = tuple(entry[name] for name in _KEY)
                if cell in accuracy:
                    raise ValueError(f"{cell} occurs twice")
                accuracy[cell] = _number("accuracy", entry["accuracy"])
                if entry.get("strength") is not None:
                    strengths[cell] = _number("strength", entry["strength"])
            if not isinstance(fields["by_people"], bool):
                raise ValueError(f"by_people is {fields['by_people']!r}")
            return Recoverability(
                str(fields["source"]),
                fields["by_people"],
                accuracy,
                str(fields["reader"]),
                tuple(map(str, fields["left_out"])),
                strengths,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it lacks or has odd fields ({error!r})") from error


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} {value!r} is no number")
    return float(value)


def read_recoverability(path: Path) -> Recoverability:
    """The recoverability of a JSON file.

    Raises:
        LogError: if it cannot be read.
    """
    try:
        return Recoverability.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LogError(
            f"{path} is no recoverability ({reason}): give a file of anchors, or the logs of a reader"
        ) from error


def level_strengths(trials: ImageTrials) -> dict[Cell, float]:
    """The strength of each level, where it is the same for all questions of a category."""
    cells = image_table(trials)[[*_KEY, "strength"]].drop_duplicates()
    cells = cells[~cells.duplicated(list(_KEY), keep=False)]
    return {(str(c.category), str(c.mode), int(c.level)): float(c.strength) for c in cells.itertuples()}


def _reads(scores: np.ndarray) -> str:
    """Why a category of intact images is not read, if so; `scores` are items' accuracies, shape (items,)."""
    low = exact_interval(scores, (0, 1))[0] if len(scores) else 0.0
    if low >= READS:
        return ""
    if not len(scores):
        return "no intact image was answered"
    return f"accuracy on intact images {scores.mean():.2f}, at least {low:.2f} with {len(scores)} items; {READS} is asked for"


def recoverability_of_reader(trials: ImageTrials, name: str, reader: str) -> Recoverability:
    """What a reader recovers: accuracy under the neutral framing, an abstention scored as a guess (0.25).

    A category counts only if the reader can do it at all: the lower end of the exact 95 % interval over items of its
    accuracy on intact images is at least `READS`. Others are left out and named.

    Args:
        trials: of one run of the reader.
        name: what to call it.
        reader: its checkpoint, or model id.

    Raises:
        ValueError: as `complete_blocks`, or if no category is left.
    """
    rows = complete_blocks(trials)
    rows = rows[(rows["framing"] == "neutral").to_numpy()]
    scored = np.where(rows["abstained"].to_numpy() == 1, CHANCE, rows["right"].to_numpy())
    frame = rows[["item", *_KEY]].astype({"item": str, "category": str, "mode": str}).assign(score=scored)
    accuracy: dict[Cell, float] = {}
    left_out = []
    for category, of_category in frame.groupby("category", sort=True):
        intact = of_category[of_category["mode"] == INTACT]
        reason = _reads(intact.groupby("item")["score"].mean().to_numpy())
        if reason:
            left_out.append(f"{category}: {reason}")
            continue
        for (mode, level), cell in of_category.groupby(["mode", "level"], sort=True):
            accuracy[str(category), str(mode), int(level)] = float(cell["score"].mean())
    if not accuracy:
        raise ValueError(
            f"{name} reads no category of intact images ({'; '.join(left_out) or 'nothing was answered'}): take a reader that does"
        )
    strengths = {cell: value for cell, value in level_strengths(rows).items() if cell in accuracy}
    return Recoverability(f"the reader {name}, not people", False, accuracy, reader, tuple(left_out), strengths)
