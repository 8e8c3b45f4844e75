"""Tables of trials from a rule, for testing measures without a harness."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metrics.trial import Answer, Trial

PHASES, TWINS, LETTERS = ("on_grid", "in_gap"), ("+", "-"), ("AB", "BA")


def make_trials(answer: Callable[[Trial], Answer], probes: int = 8, budget: int = 16) -> list[Trial]:
    """All trials of some probes; odd probes claim e2-first. `answer` sees the trial without its answer."""
    trials = []
    for i in range(probes):
        for phase in PHASES:
            for twin in TWINS:
                for claim in ("none", "strong"):
                    for letters in LETTERS:
                        view = f"{i}-{phase}-{twin if phase == 'on_grid' else ''}"
                        claimed = None if claim == "none" else ("e1_first", "e2_first")[i % 2]
                        blank = Trial(
                            "caved_or_convinced", "digest", probes, f"p{i:05d}", budget, budget, "intact", twin, phase,
                            None, "forward", 2 if phase == "on_grid" else 0, claim, claimed, letters, "withheld", view,
                            ("a", "b"), Answer("unparseable"),
                        )  # fmt: skip
                        trials.append(with_answer(blank, answer(blank)))
    return trials


def with_answer(trial: Trial, answer: Answer) -> Trial:
    return Trial(**{**vars(trial), "answer": answer})


def says(trial: Trial, order: str) -> Answer:
    """The answer that picks the letter of an order."""
    return Answer("answered", trial.letter_of(order))


def confident(trial: Trial, e1: float) -> Answer:
    """Probabilities with mass `e1` on e1-first."""
    p = {trial.letter_of("e1_first"): e1, trial.letter_of("e2_first"): 1 - e1}
    return Answer("answered", max(p, key=lambda letter: p[letter]), p)


def only(trials: Iterable[Trial], **fields: str) -> list[Trial]:
    return [t for t in trials if all(getattr(t, k) == v for k, v in fields.items())]
