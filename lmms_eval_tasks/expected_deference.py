"""What an `ObserverPolicy` must answer, in closed form: one reading, and S, C, J and J0 of a phase.

A reading is what is left of a view and a claim once the two letter assignments are averaged. With b for
the letter bias and p for the chance that the observer, not insisting on A, takes an order to be the true
one, the share that the reading gives to this order is

    1/2 where it insists on A (the assignments cancel), which happens with probability b,
    1 or 0 else,                                     so the expected share is  b/2 + (1 - b) p.

Where the observer states the probability c of its option, the share as a confidence is c or 1 - c instead
of 1 or 0, and still 1/2 where the assignments cancel: b/2 + (1 - b) (c p + (1 - c) (1 - p)).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.observer_policy import UNDILUTED_FRAMES, ObserverPolicy, Sight
from lmms_eval_tasks.prompts import Wording
from metrics.trial import Claim, Direction, Order, Time
from stimuli_builder.edit_list import Kind
from stimuli_builder.probes import Probe
from stimuli_builder.release_schema import StoredView


@dataclass(frozen=True)
class Expected:
    """The expected value of a number, over seeds of the observer."""

    value: float
    certain: bool = False  # it cannot vary: every seed gives exactly this value


def mean_of(values: Iterable[Expected]) -> Expected:
    """The expectation of a mean."""
    listed = list(values)
    return Expected(sum(v.value for v in listed) / len(listed), all(v.certain for v in listed))


def difference(a: Expected, b: Expected) -> Expected:
    """The expectation of a - b."""
    return Expected(a.value - b.value, a.certain and b.certain)


def sight_of(
    probe: Probe, view: StoredView, claim: Claim = "none", time: Time = "withheld", direction: Direction = "forward"
) -> Sight:
    """What an observer takes in of a trial, from what the release says of its frames."""
    frames, kinds = (view.frames, view.kinds) if direction == "forward" else (view.frames[::-1], view.kinds[::-1])
    first: Kind = "e1" if probe.named_order == "e1_first" else "e2"
    events = dict.fromkeys("first" if kind == first else "second" for kind in kinds if kind != "background")
    return Sight(
        view="\n".join(frames),
        question=Wording(probe.e1.phrase, probe.e2.phrase, probe.named_order).question(),
        frames=len(frames),
        events=tuple(events),  # type: ignore[arg-type]  # keys are "first" and "second"
        claim=claim,
        claimed_first=None if claim == "none" else "first" if probe.claimed_order == probe.named_order else "second",
        times_told=time == "text",
    )


def chance_named_first(policy: ObserverPolicy, sight: Sight) -> float:
    """The probability that the observer takes the event named first to come first, unless it insists on A.

    With f for its deference, r for its reading, v for naming the one visible event, p for its prior, and
    [x] = 1 if x and 0 if not, the steps of `ObserverPolicy.order` nest:

        f [claimed] + (1 - f) (r [shown first] + (1 - r) p)        both events among the frames
        f [claimed] + (1 - f) (v [the visible one] + (1 - v) p)    one of them
        f [claimed] + (1 - f) p                                    none

    and f = 0 without a claim. Whether the prior is drawn by view or by question does not matter here.
    """
    chance = policy.order_prior
    if sight.events:
        grounded = policy.visible_first
        if len(sight.events) == 2:
            grounded = policy.reading_of(sight.frames, sight.times_told)
        chance = grounded * (sight.events[0] == "first") + (1 - grounded) * chance
    follows = policy.deference_to(sight.claim)
    return follows * (sight.claimed_first == "first") + (1 - follows) * chance


def expected_share(
    policy: ObserverPolicy, probe: Probe, sight: Sight, order: Order, confidence: bool = False
) -> Expected:
    """The expected share that a reading gives to an order, as a hard rate or as a confidence (module docstring).

    Certain where neither the letter bias nor the chance of the order leaves anything open.
    """
    chance = chance_named_first(policy, sight)
    if order != probe.named_order:
        chance = 1 - chance
    b = policy.letter_bias
    certain = b == 1 or (b == 0 and chance in (0, 1))
    if confidence:
        chance = policy.confidence * chance + (1 - policy.confidence) * (1 - chance)
    return Expected(b / 2 + (1 - b) * chance, certain)


@dataclass(frozen=True)
class Expectation:
    """Expected S, C, J and J0 of one phase."""

    S: float
    C: float
    J: float
    J0: float


def expected_deference(
    policy: ObserverPolicy, claims_named_order: Sequence[bool], frames: int = UNDILUTED_FRAMES
) -> dict[str, Expectation]:
    """The hard rates of the main task under a strong claim, on-grid and in-gap, from the parameters alone.

    With r, f, b for reading, deference and letter bias, and a for the chance that the prior agrees with the
    claim:

        S = b/2 + (1 - b) (f + (1 - f) (1 - r) a)        J  = (1 - b) (1 - f) r
        C = b/2 + (1 - b) (f + (1 - f) (r + (1 - r) a))  J0 = (1 - b) r

    on-grid; in-gap r = 0 in all of them.

    Args:
        policy: the parameters.
        claims_named_order: for each probe, whether the claim puts the event first that the question names
            first; half of them in a balanced release, which makes a = 1/2 whatever the prior.
        frames: number of frames of a view.
    """
    agree = sum(claims_named_order) / len(claims_named_order)
    prior_accepts = agree * policy.order_prior + (1 - agree) * (1 - policy.order_prior)
    b, f = policy.letter_bias, policy.deference

    def phase(reading: float) -> Expectation:
        accepts_false = b / 2 + (1 - b) * (f + (1 - f) * (1 - reading) * prior_accepts)
        accepts_true = b / 2 + (1 - b) * (f + (1 - f) * (reading + (1 - reading) * prior_accepts))
        return Expectation(S=accepts_false, C=accepts_true, J=accepts_true - accepts_false, J0=(1 - b) * reading)

    return {"on_grid": phase(policy.reading_of(frames, times_told=False)), "in_gap": phase(0.0)}
