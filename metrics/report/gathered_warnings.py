"""Warnings of many cells that say the same of one model, as one line: a page of repetitions is not read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from metrics.paper_measures import TASK

_AT_MOST = 2  # alike, before they are gathered
_NUMBERS = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class RunWarning:
    """What is to be said of one run."""

    model: str
    task: str
    text: str  # "CELL: what", or only what

    def __str__(self) -> str:
        return f"{self.model}, {self.task}: {self.text}"

    @property
    def kind(self) -> tuple[str, str]:
        """The same for warnings of one model that differ in their cell and their numbers only."""
        return self.model, _NUMBERS.sub("#", self.text.split(": ", 1)[-1])

    @property
    def size(self) -> float:
        """The first number of what it says: the larger, the worse."""
        found = _NUMBERS.search(self.text.split(": ", 1)[-1])
        return float(found[0].replace(",", "").rstrip(".")) if found else 0.0


def gather_warnings(warnings: Iterable[RunWarning]) -> list[str]:
    """One line for each warning, or for all warnings of a kind where there are more than two of it."""
    kinds: dict[tuple[str, str], list[RunWarning]] = {}
    for warning in warnings:
        kinds.setdefault(warning.kind, []).append(warning)
    lines = []
    for alike in kinds.values():
        if len(alike) <= _AT_MOST:
            lines += [str(warning) for warning in alike]
            continue
        worst = max(alike, key=lambda warning: warning.size)
        tasks = dict.fromkeys(warning.task.removeprefix(f"{TASK}_") for warning in alike)
        lines.append(f"{worst.model}, {len(alike)} times ({', '.join(tasks)}); the worst is {worst.task}, {worst.text}")
    return lines
