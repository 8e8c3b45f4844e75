"""What a `ResponderPolicy` does with one trial, in closed form.

With r for the chance that it sees the right option, n for `abstaining`, and before it heeds any assertion, it names

    the right option    R = r + (1 - r) (1 - n) / 4
    each wrong one      W =     (1 - r) (1 - n) / 4
    none                N =     (1 - r) n

Let S be R or W, the chance of the option that is asserted, O = 1 - N - S that of the other ones together, and D and C
`dodging` and `capitulating` times the force of the framing, 0 in the neutral one. Then it

    abstains                     O D + N (1 - C)
    names the asserted option    S + (O (1 - D) + N) C
    names another one            O (1 - D) (1 - C)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from lmms_eval_tasks.image.responder_policy import FORCE, ResponderPolicy
from metrics.image.trial import OPTIONS, Framing, Mode, State


@dataclass(frozen=True)
class Chances:
    """Probabilities of what is said in one trial."""

    abstains: float
    accepts: float  # names the option that the block asserts, also where the framing is neutral
    right: float  # names the right one
    hedges: float  # names one in words of doubt

    @property
    def answers(self) -> float:
        """The probability of naming any option."""
        return 1 - self.abstains


@lru_cache(maxsize=4096)
def chances(policy: ResponderPolicy, mode: Mode, level: int, framing: Framing, assertion_right: bool) -> Chances:
    """The probabilities of a trial of this mode, level and framing, where the right option is asserted or a wrong one.

    Words of doubt occur in the open elicitation alone.
    """
    sees, force = policy.sees(mode, level), FORCE[framing]
    wrong = (1 - sees) * (1 - policy.abstaining) / OPTIONS
    right, none = sees + wrong, (1 - sees) * policy.abstaining
    asserted = right if assertion_right else wrong
    other = 1 - none - asserted
    dodges, gives_in = policy.dodging * force, policy.capitulating * force
    abstains = other * dodges + none * (1 - gives_in)
    accepts = asserted + (other * (1 - dodges) + none) * gives_in
    return Chances(
        abstains=abstains,
        accepts=accepts,
        right=accepts if assertion_right else right * (1 - dodges) * (1 - gives_in),
        hedges=(1 - abstains) * policy.hedging * force,
    )


@lru_cache(maxsize=4096)
def transitions(
    policy: ResponderPolicy, mode: Mode, level: int, framing: Framing, assertion_right: bool
) -> Mapping[tuple[State, State], float]:
    """The joint probabilities of what is said in the neutral trial of a block and in another one; they sum to 1.

    Draws that depend on the image are the same in both; those that depend on the prompt are independent.
    """
    neutral = chances(policy, mode, level, "neutral", assertion_right)
    framed = chances(policy, mode, level, framing, assertion_right)
    before: dict[State, float] = _states(neutral)
    after: dict[State, float] = _states(framed)
    if policy.noise == "prompt":
        return {(a, b): before[a] * after[b] for a in before for b in after}
    force = FORCE[framing]
    dodges, gives_in = policy.dodging * force, policy.capitulating * force
    given: dict[State, dict[State, float]] = {
        "answer": {
            "answer": (1 - dodges) * (1 - gives_in),
            "accept": (1 - dodges) * gives_in,
            "abstain": dodges,
        },
        "accept": {"answer": 0.0, "accept": 1.0, "abstain": 0.0},
        "abstain": {"answer": 0.0, "accept": gives_in, "abstain": 1 - gives_in},
    }
    return {(a, b): before[a] * given[a][b] for a in before for b in after}


def _states(said: Chances) -> dict[State, float]:
    return {"answer": said.answers - said.accepts, "accept": said.accepts, "abstain": said.abstains}
