"""How a simulated responder decides: its tendencies, and what of a request they go by."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from metrics.image.trial import FRAMINGS, OPTIONS, Framing, Mode
from stimuli_builder.draws import draw_fraction, draw_integer

Noise = Literal["image", "prompt"]

# Pragmatic force of a framing: 0, 1/3, 2/3, 1.
FORCE: dict[Framing, float] = {framing: step / (len(FRAMINGS) - 1) for step, framing in enumerate(FRAMINGS)}
_NO_PROBABILITY = ("confidence", "noise", "seed")


@dataclass(frozen=True)
class Request:
    """What a responder takes in of one request, as far as its decision depends on it."""

    image: str  # id
    mode: Mode
    level: int
    question: str  # without assertion
    options: tuple[str, ...]  # as displayed, "cannot be determined" included if it is one
    answers: tuple[str, ...]  # the same without it
    right: str  # option
    framing: Framing
    asserted: str | None  # option; None without an assertion
    prompt: str  # the whole text


@dataclass(frozen=True)
class Decision:
    """What a responder says; `option` is None where it abstains."""

    option: str | None
    hedged: bool = False  # in words of doubt


@dataclass(frozen=True)
class ResponderPolicy:
    """The tendencies of a responder, most of them probabilities.

    It first takes a stand on the image alone. With `reading`, less `loss_subtractive` or `loss_corruptive` for each
    level, it sees the right option. Else it abstains with `abstaining`, or guesses one of the four options.

    An assertion of the option that it would name changes nothing. Any other assertion, with the force f of its
    framing (hedged 1/3, plain 2/3, conviction 1), meets these steps in turn, each with a draw of its own:

    1. with `dodging` x f it abstains, where it would have named another option: it avoids to contradict;
    2. with `capitulating` x f it names the asserted option instead, whether it would have named another or abstained.

    An option that it names in the end under an assertion comes in words of doubt with `hedging` x f.

    `noise` is what the draws are made for. With "image" they depend on the image, the question and the options as
    displayed: the stand is the same in all framings, and who follows a weak assertion follows a strong one. With
    "prompt" they depend on the whole text: answers to the same image differ by chance alone, as those of a model that
    samples do, and so does the abstention rate.

    Raises:
        ValueError: if a field has a value that it cannot have.
    """

    reading: float = 0.95
    loss_subtractive: float = 0.1
    loss_corruptive: float = 0.2
    abstaining: float = 0.7
    dodging: float = 0.0
    capitulating: float = 0.0
    hedging: float = 0.0
    confidence: float = (
        0.0  # 0: closed questions are answered by letter; above 0.5: states this probability of its option
    )
    noise: Noise = "image"
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in _NO_PROBABILITY and (isinstance(value, str) or not 0 <= value <= 1):
                raise ValueError(f"{field.name}={value} is a probability: give a number from 0 to 1")
        if isinstance(self.confidence, str) or (self.confidence != 0 and not 0.5 < self.confidence <= 1):
            raise ValueError(
                f"confidence={self.confidence}: give 0 for letters alone, or more than 0.5 and at most 1, so that the "
                "chosen option is the likeliest one"
            )
        if self.noise not in ("image", "prompt"):
            raise ValueError(f"noise={self.noise}: write image or prompt")
        if not isinstance(self.seed, int):
            raise ValueError(f"seed={self.seed}: give a whole number")

    def sees(self, mode: Mode, level: int) -> float:
        """The probability of seeing the right option in an image of this mode and level."""
        loss = {"intact": 0.0, "subtractive": self.loss_subtractive, "corruptive": self.loss_corruptive}[mode]
        return max(0.0, self.reading - loss * level)

    def decide(self, request: Request) -> Decision:
        """What the responder says to a request."""
        stand = self._stand(request)
        if request.asserted is None:
            return Decision(stand)
        force = FORCE[request.framing]
        says = stand
        if stand != request.asserted:
            if stand is not None and self._happens(self.dodging * force, request, "dodges"):
                says = None
            elif self._happens(self.capitulating * force, request, "capitulates"):
                says = request.asserted
        hedged = says is not None and self._happens(self.hedging * force, request, "hedges")
        return Decision(says, hedged)

    def model_args(self) -> str:
        """The policy as `--model_args` of lmms-eval."""
        return ",".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))

    def _stand(self, request: Request) -> str | None:
        if self._happens(self.sees(request.mode, request.level), request, "sees"):
            return request.right
        if self._happens(self.abstaining, request, "abstains"):
            return None
        return request.answers[draw_integer(0, OPTIONS - 1, self.seed, *self._drawn_for(request), "guess")]

    def _drawn_for(self, request: Request) -> tuple[str, ...]:
        by = request.prompt if self.noise == "prompt" else f"{request.question}\n{'; '.join(request.options)}"
        return request.image, by

    def _happens(self, probability: float, request: Request, what: str) -> bool:
        return draw_fraction(self.seed, *self._drawn_for(request), what) < probability


POLICIES: dict[str, ResponderPolicy] = {
    "invariant": ResponderPolicy(),
    "dodger": ResponderPolicy(dodging=0.6),
    "capitulator": ResponderPolicy(capitulating=0.6),
    "hedger": ResponderPolicy(hedging=0.8),
}


def policy_of(policy: str = "invariant", **tendencies: Any) -> ResponderPolicy:
    """A policy by its name, with some of its tendencies changed.

    Raises:
        TypeError: for a tendency that there is none of.
        ValueError: for an unknown name, or a value that a tendency cannot have.
    """
    if policy not in POLICIES:
        raise ValueError(f"policy={policy}: write one of {', '.join(POLICIES)}")
    return ResponderPolicy(**{**vars(POLICIES[policy]), **tendencies})
