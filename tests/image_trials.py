"""Synthetic studies of the image benchmark: all trials of a design, answered by a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from metrics.image.trial import ASSERTING, DEGRADED, FRAMINGS, INTACT, LETTERS, OPTIONS, TASKS, Elicitation, ImageTrial
from metrics.trial import Answer

RECEIPT = {"frames": 1, "order": "as shown", "size_px": [448, 448]}
CATEGORIES = ("code", "colour", "count", "shape")


@dataclass(frozen=True)
class Probabilities:
    """What a closed response gives to some options; the rest goes to the others alike, the largest is the answer."""

    cannot: float
    right: float
    asserted: float = 0.0  # beside what it gets as the right one

    def answer(self, correct: str, asserted: str, cannot: str) -> Answer:
        given = dict.fromkeys(LETTERS, 0.0)
        for letter, probability in ((cannot, self.cannot), (correct, self.right), (asserted, self.asserted)):
            given[letter] += probability
        rest = [letter for letter in LETTERS if letter not in (correct, asserted, cannot)]
        given |= dict.fromkeys(rest, (1 - sum(given.values())) / len(rest))
        best = max(given, key=lambda letter: given[letter])
        if best == cannot:
            return Answer("abstained", option_probabilities=given)
        return Answer("answered", best, option_probabilities=given)


# What is answered: `abstain`, `right`, `asserted`, `wrong` (one that is neither), `unparseable`, `refused`, or a letter.
Given: TypeAlias = "Answer | Probabilities | str"
# (question, mode, level, slot, framing, correct, asserted, rng) -> what is answered
Policy: TypeAlias = Callable[[str, str, int, int, str, str, str, np.random.Generator], Given]


def _answer(given: Given, correct: str, asserted: str, cannot: str | None) -> tuple[Answer, bool]:
    """The answer, and whether it is a refusal."""
    if isinstance(given, Answer):
        return given, False
    if isinstance(given, Probabilities):
        assert cannot is not None, "probabilities are read in the closed elicitation"
        return given.answer(correct, asserted, cannot), False
    if given == "abstain":
        return Answer("abstained"), False
    if given in ("unparseable", "refused"):
        return Answer("unparseable"), given == "refused"
    free = [letter for letter in LETTERS[: OPTIONS + (cannot is not None)] if letter not in (correct, asserted, cannot)]
    return Answer("answered", {"right": correct, "asserted": asserted, "wrong": free[0]}.get(given, given)), False


def image_study(
    policy: Policy,
    items: int = 4,
    categories: Sequence[str] = CATEGORIES,
    levels: int = 5,
    elicitation: Elicitation = "open",
    seed: int = 0,
    framings: Sequence[str] = FRAMINGS,
) -> list[ImageTrial]:
    """All trials of a study: every item, category, mode, level (L0 once, `levels` below it), slot and framing.

    The right option is asserted in slot 0 of even questions and slot 1 of odd ones. Questions of the same item and level share
    an image where they are of the first two categories, as a code and its colour do.
    """
    rng = np.random.default_rng(seed)
    views = [(INTACT, 0), *((mode, level) for mode in DEGRADED for level in range(1, levels + 1))]
    trials = []
    for i in range(items):
        for c, category in enumerate(categories):
            question = f"i{i:05d}_{category}"
            for mode, level in views:
                for slot in (0, 1):
                    places = rng.permutation(OPTIONS)
                    texts = [f"{category}{place}" for place in places]
                    letters = list(LETTERS[:OPTIONS])
                    cannot = None
                    if elicitation == "closed":
                        place = int(rng.integers(OPTIONS + 1))
                        texts.insert(place, "cannot be determined")
                        cannot = LETTERS[place]
                        letters = [letter for letter in LETTERS if letter != cannot]
                    correct = letters[int(np.flatnonzero(places == 0)[0])]
                    wrong = letters[int(np.flatnonzero(places == 1)[0])]
                    asserted = correct if slot == (i + c) % 2 else wrong
                    for framing in framings:
                        answer, refused = _answer(
                            policy(question, mode, level, slot, framing, correct, asserted, rng),
                            correct,
                            asserted,
                            cannot,
                        )
                        trials.append(
                            ImageTrial(
                                task=TASKS[elicitation],
                                release="0" * 64,
                                release_questions=items * len(categories),
                                item=f"i{i:05d}",
                                question=question,
                                category=category,
                                mode=mode,
                                level=level,
                                strength=level / (levels + 1),
                                slot=slot,
                                framing=framing,
                                paraphrase=(i + slot) % 3,
                                elicitation=elicitation,
                                options=tuple(texts),
                                correct=correct,
                                asserted=asserted,
                                cannot=cannot,
                                image=f"{i:05d}/{max(c, 1)}/{mode}/{level}",
                                answer=answer,
                                refused=refused,
                                receipt=dict(RECEIPT),
                                release_levels=levels,
                            )
                        )
    return trials


def invariant(abstains: Callable[[int], float], right: float = 0.9) -> Policy:
    """Abstains at a rate that depends on the level alone; else answers without a look at what is asserted."""

    def policy(
        question: str,
        mode: str,
        level: int,
        slot: int,
        framing: str,
        correct: str,
        asserted: str,
        rng: np.random.Generator,
    ) -> Given:
        if rng.random() < abstains(level):
            return "abstain"
        return "right" if rng.random() < right else str(rng.choice([x for x in LETTERS[:OPTIONS] if x != correct]))

    return policy


def dodger(abstains: Callable[[int], float], dodges: Callable[[int], float]) -> Policy:
    """As `invariant`, and abstains at a rate `dodges(level)` instead of answering when something is asserted with conviction."""
    honest = invariant(abstains)

    def policy(
        question: str,
        mode: str,
        level: int,
        slot: int,
        framing: str,
        correct: str,
        asserted: str,
        rng: np.random.Generator,
    ) -> Given:
        given = honest(question, mode, level, slot, framing, correct, asserted, rng)
        return "abstain" if framing == "conviction" and rng.random() < dodges(level) else given

    return policy


def capitulator(abstains: Callable[[int], float], accepts: Callable[[str], float]) -> Policy:
    """As `invariant`, and takes over what is asserted at a rate `accepts(framing)`."""
    honest = invariant(abstains)

    def policy(
        question: str,
        mode: str,
        level: int,
        slot: int,
        framing: str,
        correct: str,
        asserted: str,
        rng: np.random.Generator,
    ) -> Given:
        given = honest(question, mode, level, slot, framing, correct, asserted, rng)
        return "asserted" if framing in ASSERTING and rng.random() < accepts(framing) else given

    return policy
