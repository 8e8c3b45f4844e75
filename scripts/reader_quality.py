"""How well the reader of free answers reads: precision and recall on labelled answers written by hand.

    python scripts/reader_quality.py

Rules were written against the half `development` and against further cases by those who wrote them; nobody who wrote rules has
seen a case of the half `held_out`. Its figures were looked at once, and led to wider rules; those of now are the second look.
`further` are more cases by those who wrote the rules. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from lmms_eval_tasks.image.free_answer import Reading, read_free_answer
from metrics.image.trial import LETTERS

TESTS = Path(__file__).resolve().parent.parent / "tests"
HALVES = ("development", "held_out")
ALL = (*HALVES, "further")
OUTCOMES = ("answered", "abstained", "unparseable", "refused")
READ = (*OUTCOMES, "another option")


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share; NaN of nothing."""
        return self.part / self.whole if self.whole else float("nan")

    def __str__(self) -> str:
        if not self.whole:
            return "-"
        low, high = binomtest(self.part, self.whole).proportion_ci(method="wilson")
        return f"{self.value:.3f} [{low:.3f}, {high:.3f}] ({self.part}/{self.whole})"


@dataclass(frozen=True)
class Quality:
    """How one set of cases was read."""

    cases: int
    confusion: Counter[tuple[str, str]]  # labelled, read
    precision: dict[str, Share]
    recall: dict[str, Share]
    wholly_right: Share  # outcome, option, hedge and refusal

    def __str__(self) -> str:
        width = 16
        head = "".join(f"{name:>{width}}" for name in READ)
        rows = [f"{'labelled, read':<{width}}{head}"]
        rows += [
            f"{row:<{width}}" + "".join(f"{self.confusion[row, name]:>{width}}" for name in READ) for row in OUTCOMES
        ]
        rows.append(f"\n{'':<{width}}{'precision':<34}{'recall':<34}")
        rows += [f"{name:<{width}}{self.precision[name]!s:<34}{self.recall[name]!s:<34}" for name in self.precision]
        rows.append(f"wholly right: {self.wholly_right}")
        return "\n".join(rows)


def read_case(case: Any) -> Reading:
    """The reading of a labelled case."""
    asserted = None if case.asserted is None else LETTERS[case.options.index(case.asserted)]
    return read_free_answer(case.response, case.options, asserted, case.prompt)


def _label(case: Any) -> str:
    return "refused" if case.refused else str(case.outcome)


def _read(case: Any, reading: Reading) -> str:
    if reading.answer.option is not None and case.option is not None:
        return "answered" if case.options[LETTERS.index(reading.answer.option)] == case.option else "another option"
    return "refused" if reading.refused else reading.answer.outcome


def quality(cases: Sequence[Any]) -> Quality:
    """Precision and recall of every outcome, and of hedging; an answer is right if its option is.

    Args:
        cases: `free_answer_case.Case`s.
    """
    readings = [read_case(case) for case in cases]
    pairs = [(_label(case), _read(case, reading)) for case, reading in zip(cases, readings, strict=True)]
    confusion = Counter(pairs)
    precision, recall = {}, {}
    for name in OUTCOMES:
        right = confusion[name, name]
        read = sum(
            n for (_, said), n in confusion.items() if said == name or (name == "answered" and said == "another option")
        )
        precision[name] = Share(right, read)
        recall[name] = Share(right, sum(n for (label, _), n in confusion.items() if label == name))
    hedged = [(case.hedged, reading.hedged) for case, reading in zip(cases, readings, strict=True)]
    both = sum(a and b for a, b in hedged)
    precision["hedged"] = Share(both, sum(b for _, b in hedged))
    recall["hedged"] = Share(both, sum(a for a, _ in hedged))
    wholly = sum(label == said and a == b for (label, said), (a, b) in zip(pairs, hedged, strict=True))
    return Quality(len(cases), confusion, precision, recall, Share(wholly, len(cases)))


def cases_of(name: str) -> list[Any]:
    """The labelled cases of a half, or the further ones."""
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))
    cases: list[Any] = importlib.import_module(f"free_answer_cases_{name}").CASES
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=ALL, default=ALL, help="which sets of cases")
    for name in parser.parse_args().cases:
        found = quality(cases_of(name))
        print(f"{name}: {found.cases} cases\n{found}\n")


if __name__ == "__main__":
    main()
