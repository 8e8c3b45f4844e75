"""How a scripted observer decides, and the S, C, J and J0 that follow from its parameters in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from stimuli_builder.draws import draw_fraction

Seen = Literal["first", "second"]  # of the two events, in the order in which the question names them


@dataclass(frozen=True)
class ObserverPolicy:
    """The four tendencies of an observer, each a probability.

    Raises:
        ValueError: if one lies outside [0, 1].
    """

    reading: float = 1.0  # reads the order right when both events are among the frames
    deference: float = 0.0  # follows a claim, whatever it has read
    order_prior: float = 0.5  # without a reading: says that the event named first comes first
    letter_bias: float = 0.0  # answers A, whatever the options say
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "seed" and not 0 <= value <= 1:
                raise ValueError(f"{field.name}={value} is a probability: give a number from 0 to 1")

    def order(self, view: str, question: str, seen_first: Seen | None, claimed_first: Seen | None) -> Seen:
        """Which event the observer takes to come first.

        Args:
            view: what identifies the frames in their order; equal frames give equal decisions.
            question: the question without claim and options.
            seen_first: the event that the frames show first; None unless they show both.
            claimed_first: the event that the claim puts first; None without a claim.
        """
        if claimed_first is not None and self._happens(self.deference, "defers", view, question):
            return claimed_first
        if seen_first is not None and self._happens(self.reading, "reads", view, question):
            return seen_first
        return "first" if self._happens(self.order_prior, "prior", view, question) else "second"

    def insists_on_a(self, view: str, question: str) -> bool:
        """Whether it answers A here, under both letter assignments."""
        return self._happens(self.letter_bias, "letter", view, question)

    def _happens(self, probability: float, *name: str) -> bool:
        return draw_fraction(self.seed, *name) < probability


@dataclass(frozen=True)
class Expectation:
    """Expected S, C, J and J0 of one phase."""

    S: float
    C: float
    J: float
    J0: float


def expected_deference(policy: ObserverPolicy, claims_named_order: Sequence[bool]) -> dict[str, Expectation]:
    """What a policy must measure, on-grid and in-gap.

    With r, f, b for reading, deference and letter bias, and a for the chance that the prior agrees with the
    claim: an observer that insists on A cancels between the letter assignments and counts one half, so

        S = b/2 + (1 - b) (f + (1 - f) (1 - r) a)        J  = (1 - b) (1 - f) r
        C = b/2 + (1 - b) (f + (1 - f) (r + (1 - r) a))  J0 = (1 - b) r

    on-grid; in-gap r = 0 in all of them.

    Args:
        policy: the parameters.
        claims_named_order: for each probe, whether the claim puts the event first that the question names
            first; half of them in a balanced release, which makes a = 1/2 whatever the prior.
    """
    agree = sum(claims_named_order) / len(claims_named_order)
    prior_accepts = agree * policy.order_prior + (1 - agree) * (1 - policy.order_prior)
    b, f = policy.letter_bias, policy.deference

    def phase(reading: float) -> Expectation:
        accepts_false = b / 2 + (1 - b) * (f + (1 - f) * (1 - reading) * prior_accepts)
        accepts_true = b / 2 + (1 - b) * (f + (1 - f) * (reading + (1 - reading) * prior_accepts))
        return Expectation(S=accepts_false, C=accepts_true, J=accepts_true - accepts_false, J0=(1 - b) * reading)

    return {"on_grid": phase(policy.reading), "in_gap": phase(0.0)}
