"""One trial: a view of a probe, a prompt, and what the model answered; the line that a sample log keeps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Outcome = Literal["answered", "abstained", "unparseable"]
Order = Literal["e1_first", "e2_first"]
Claim = Literal["none", "mild", "strong"]
Letters = Literal["AB", "BA"]
Time = Literal["withheld", "native", "text"]
Phase = Literal["on_grid", "in_gap", "offset"]
Direction = Literal["forward", "reversed"]

OUTCOMES: tuple[Outcome, ...] = ("answered", "abstained", "unparseable")
# Raised when a field changes its meaning; logs of another version are refused rather than misread.
LOG_VERSION = 2
# The largest whole numbers that a trial may have: what a column of the table of trials holds.
LARGEST = {"release_probes": 2**31 - 1, "video_budget": 2**15 - 1, "budget": 2**15 - 1, "offset": 2**15 - 1,
           "release_offsets": 2**15 - 1}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What one response says: an option, that it cannot tell, or nothing that can be read.

    Raises:
        ValueError: if the parts contradict each other, or a number is not finite.
    """

    outcome: Outcome
    option: str | None = None  # the letter, if answered
    option_probabilities: Mapping[str, float] | None = None  # over the options, sum 1; None from text alone
    option_mass: float | None = None  # probability of any option at all, where it was read
    rule: str = ""  # which rule of the reader decided, for those who check
    option_probability_bound: float | None = None  # largest error, where a server tells likely tokens only

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"outcome {self.outcome!r} is none of {OUTCOMES}")
        if (self.outcome == "answered") != (self.option is not None):
            raise ValueError(f"an answer has an option exactly if it is answered: {self.outcome}, {self.option}")
        numbers = (*(self.option_probabilities or {}).values(), self.option_mass, self.option_probability_bound)
        if not all(number is None or math.isfinite(number) for number in numbers):
            raise ValueError(
                f"an answer with a number that is not finite: option probabilities {self.option_probabilities}, mass "
                f"{self.option_mass}, bound {self.option_probability_bound}"
            )
        if self.option_probabilities is not None:
            total = sum(self.option_probabilities.values())
            if min(self.option_probabilities.values()) < 0 or abs(total - 1) > 1e-6:
                raise ValueError(f"option probabilities must sum to 1: {dict(self.option_probabilities)}")


@dataclass(frozen=True)
class Trial:
    """A view plus a prompt plus the answer (design terms; paper, "Problem Formulation").

    `letters` says which option is which order: `AB` puts e1-first at A, `BA` at B. Twin `+` shows e1
    first; it names the video, and `direction` says how its frames were handed over. `view` is the SHA-256
    over the frame ids in order, so equal views are equal requests.
    """

    task: str
    release: str  # digest
    release_probes: int  # how many probes of this budget the release has, so that a partial log shows
    probe: str
    video_budget: int  # k of the virtual video, which lasts k Δ
    budget: int  # frames shown; differs from the video's in the reversal test only
    arm: str
    twin: Literal["+", "-"]
    phase: Phase
    offset: int | None  # which of the reversal test's offsets, with the phase "offset" only
    direction: Direction
    events_sampled: int  # how many of the two events a shown frame meets
    claim: Claim
    claimed_order: Order | None  # None without a claim
    letters: Letters
    time: Time
    view: str
    frames: tuple[str, ...]  # ids, shortened
    answer: Answer
    receipt: Mapping[str, Any] | None = None  # what reached the model, once that is read back
    padding: bool = False  # repeated so that all ranks have equal shares; never counted
    release_offsets: int = 0  # how many offsets of the reversal test the release has at each budget; 0 elsewhere
    threshold: float | None = None  # θ at which an adaptive run stopped; None elsewhere
    unavailable: str = ""  # why this trial could not be put to this model; never counted, never an answer

    def __post_init__(self) -> None:
        allowed: dict[str, tuple[object, ...]] = {
            "twin": ("+", "-"),
            "phase": ("on_grid", "in_gap", "offset"),
            "direction": ("forward", "reversed"),
            "events_sampled": (0, 1, 2),
            "claim": ("none", "mild", "strong"),
            "claimed_order": ("e1_first", "e2_first", None),
            "letters": ("AB", "BA"),
            "time": ("withheld", "native", "text"),
        }
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name} is {getattr(self, name)!r}, none of {values}")
        for name, largest in LARGEST.items():
            number = getattr(self, name)
            if number is None and name == "offset":
                continue
            if not isinstance(number, int) or not 0 <= number <= largest:
                raise ValueError(f"{name} is {number!r}, no whole number from 0 to {largest}")
        if (self.claim == "none") != (self.claimed_order is None):
            raise ValueError(f"a claim of strength {self.claim!r} with the order {self.claimed_order!r}")
        if (self.phase == "offset") != (self.offset is not None):
            raise ValueError(f"phase {self.phase!r} with the offset {self.offset!r}")
        named = {self.answer.option} | set(self.answer.option_probabilities or {})
        if not named <= {"A", "B", None}:
            raise ValueError(f"an answer of options {named}, the question has A and B")
        given = self.answer.option_probabilities
        if given is not None and set(given) != {"A", "B"}:
            raise ValueError(f"option probabilities of {set(given)}, the question has A and B")

    @property
    def shown_order(self) -> Order:
        """The true order of the events in this twin."""
        return "e1_first" if self.twin == "+" else "e2_first"

    @property
    def claim_is_true(self) -> bool | None:
        """Whether the claim states the order that is shown; None without a claim."""
        return None if self.claimed_order is None else self.claimed_order == self.shown_order

    def letter_of(self, order: Order) -> str:
        """The option letter that stands for `order` in this trial."""
        return self.letters[0 if order == "e1_first" else 1]

    @property
    def key(self) -> tuple[str, ...]:
        """What tells trials of one run apart."""
        where = self.phase if self.offset is None else f"{self.phase}{self.offset}"
        return (
            self.probe, str(self.budget), self.arm, self.twin, where, self.direction, self.claim, self.letters, self.time,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """A dictionary that JSON can hold; `from_json` turns it back."""
        return {"log_version": LOG_VERSION, **asdict(self), "frames": list(self.frames)}

    @staticmethod
    def from_json(fields: Mapping[str, Any]) -> Trial:
        """The trial of a log line.

        Raises:
            ValueError: if it was written by another version, or lacks fields.
        """
        rest = dict(fields)
        version = rest.pop("log_version", None)
        if version != LOG_VERSION:
            raise ValueError(f"log version {version}, this version of the package reads {LOG_VERSION}")
        try:
            rest["answer"] = Answer(**rest["answer"])
            rest["frames"] = tuple(rest["frames"])
            return Trial(**rest)
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"no trial: {error}") from error

    def __str__(self) -> str:
        return "/".join(self.key)
