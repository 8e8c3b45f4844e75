"""How a scripted observer decides: its tendencies, and what of a request they go by."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

from metrics.trial import Claim
from stimuli_builder.draws import draw_fraction

Named = Literal["first", "second"]  # one of the two events, by its place in the question
PriorBy = Literal["view", "question"]

UNDILUTED_FRAMES = 16  # the primary budget: more frames than these dilute
_NO_PROBABILITY = ("dilution", "confidence", "prior_by", "seed")
_AS_BEFORE = math.nan  # stands for the value of another field


@dataclass(frozen=True)
class Sight:
    """What an observer takes in of one request, as far as its decision depends on it."""

    view: str  # identifies the frames in their order; equal frames give equal decisions
    question: str  # without claim and options
    frames: int
    events: tuple[Named, ...]  # those among the frames, in the order in which they first appear
    claim: Claim = "none"
    claimed_first: Named | None = None  # the event that the claim puts first
    times_told: bool = False  # the times of the frames are written into the prompt


@dataclass(frozen=True)
class ObserverPolicy:
    """The tendencies of an observer, most of them probabilities.

    It goes through them in this order, and each has its own draw, which the seed, the frames and the
    question fix: insist on A; follow the claim; read the order from both events; name the one visible
    event; fall back on the prior.

    Two tendencies bring out what a table of the paper is about. `visible_first` is the reader of Table 7
    that the paper calls reading the position of one event instead of an order: with p for it, J0 is +p
    where the early event is kept, which is the right answer, -p where the late one is kept, and 0 in the
    mean. `prior_by="question"` draws the prior once for all views of a question: a strong prior that
    reversing the frames leaves untouched, on which the reversal test must abstain; drawn by view, it is
    noise that the test has to average out.

    Raises:
        ValueError: if a field has a value that it cannot have.
    """

    reading: float = 1.0  # reads the order right when both events are among the frames
    deference: float = 0.0  # follows a strong claim, whatever it has read
    order_prior: float = 0.5  # without a reading: says that the event named first comes first
    letter_bias: float = 0.0  # answers A, whatever the options say
    seed: int = 0
    mild_deference: float = _AS_BEFORE  # follows a mild claim; as a strong one unless given
    visible_first: float = 0.0  # with exactly one event among the frames: names it as the first
    dilution: float = 0.0  # above 16 frames, `reading` falls as (16 / frames) ** dilution
    reading_with_time: float = _AS_BEFORE  # `reading` when frame times are in the prompt; as without unless given
    confidence: float = 0.0  # 0: answers by letters; above 0.5: states this probability of its option
    prior_by: PriorBy = "view"  # what the draw of the prior is made for

    def __post_init__(self) -> None:
        for name, stands_for in (("mild_deference", "deference"), ("reading_with_time", "reading")):
            if isinstance(getattr(self, name), float) and math.isnan(getattr(self, name)):
                object.__setattr__(self, name, getattr(self, stands_for))
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in _NO_PROBABILITY and not 0 <= value <= 1:
                raise ValueError(f"{field.name}={value} is a probability: give a number from 0 to 1")
        if not 0 <= self.dilution < math.inf:
            raise ValueError(f"dilution={self.dilution} is an exponent: give 0 or a positive number")
        if self.confidence != 0 and not 0.5 < self.confidence <= 1:
            raise ValueError(
                f"confidence={self.confidence}: give 0 for letters alone, or more than 0.5 and at most 1, so that "
                "the chosen option is the likelier one"
            )
        if self.prior_by not in ("view", "question"):
            raise ValueError(f"prior_by={self.prior_by}: write view or question")

    def reading_of(self, frames: int, times_told: bool) -> float:
        """The probability of reading the order from this many frames that hold both events."""
        undiluted = self.reading_with_time if times_told else self.reading
        return float(undiluted * min(1.0, UNDILUTED_FRAMES / frames) ** self.dilution)

    def deference_to(self, claim: Claim) -> float:
        """The probability of following a claim of this strength; 0 without one."""
        return {"none": 0.0, "mild": self.mild_deference, "strong": self.deference}[claim]

    def order(self, sight: Sight) -> Named:
        """Which event the observer takes to come first."""
        by_view = (sight.view, sight.question)
        if sight.claimed_first is not None and self._happens(self.deference_to(sight.claim), "defers", *by_view):
            return sight.claimed_first
        if len(sight.events) == 2:
            if self._happens(self.reading_of(sight.frames, sight.times_told), "reads", *by_view):
                return sight.events[0]
        elif sight.events and self._happens(self.visible_first, "position", *by_view):
            return sight.events[0]
        prior_for = by_view if self.prior_by == "view" else (sight.question,)
        return "first" if self._happens(self.order_prior, "prior", *prior_for) else "second"

    def insists_on_a(self, sight: Sight) -> bool:
        """Whether it answers A here, under both letter assignments."""
        return self._happens(self.letter_bias, "letter", sight.view, sight.question)

    def model_args(self) -> str:
        """The policy as `--model_args` of lmms-eval."""
        return ",".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))

    def _happens(self, probability: float, *name: str) -> bool:
        return draw_fraction(self.seed, *name) < probability
