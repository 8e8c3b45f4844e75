"""Every number of the image benchmark that a `ResponderPolicy` must give, from its policy and the questions of a release.

Nothing is simulated: `responder_chances` says what happens in one trial, and a number is a mean of that over the trials
that it is defined on. All trials count, since a responder always answers or abstains in words that can be read.

The Evidence-Invariance Violation is a mean of ranges, and the range of sample rates is not that of their expectations:
noise alone widens it. It has a closed form in two cases. Where draws depend on the image and a responder only dodges, or
only capitulates, a stronger framing never undoes what a weaker one does, so the range at each level is PIA(d), or
-PIA(d), in every sample. Where draws depend on the prompt, rates of different framings are independent sums of
independent draws, and `expected_range` gives the distribution of the mean of their ranges.

EIV_null and EIV_excess depend on permutations, and have closed forms for a responder alone whose answers never vary with
the framing; slopes and shares of room have none. The keys are those of `metrics.image.image_measures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from lmms_eval_tasks.image.expected_number import (
    Block,
    Chance,
    ExpectedNumber,
    blocks_of,
    by_level,
    independent,
    mean_net_rate,
    mean_rate,
    of_cell,
)
from lmms_eval_tasks.image.expected_range import ExpectedRange, expected_range
from lmms_eval_tasks.image.responder_chances import Chances, chances, transitions
from lmms_eval_tasks.image.responder_policy import FORCE, ResponderPolicy
from metrics.image.image_measures import measure_name
from metrics.image.trial import ASSERTING, DEGRADED, FRAMINGS, OPTIONS, Elicitation, Framing, State
from stimuli_builder.image.item import StoredQuestion


@dataclass(frozen=True)
class ExpectedP:
    """A p-value of a hypothesis that holds: at most x with a chance of at most x."""

    value: float = 0.5
    certain: bool = False

    def chance(self, observed: float) -> float:
        """At most the chance of a p-value as small as the observed one."""
        return observed


Expected = ExpectedNumber | ExpectedRange | ExpectedP
Cells = dict[str, Expected]
Parts = Sequence[Sequence[Block]]
_ZERO = ExpectedNumber(0.0, 1.0, certain=True)


def never_varies(policy: ResponderPolicy) -> bool:
    """Whether what a responder says, doubt aside, is the same in all framings of every block."""
    return policy.noise == "image" and not policy.dodging and not policy.capitulating


def _says(policy: ResponderPolicy, framing: Framing, what: str) -> Chance:
    def chance(block: Block) -> float:
        said: Chances = chances(policy, block.mode, block.level, framing, block.assertion_right)
        return float(getattr(said, what))

    return chance


def moves(policy: ResponderPolicy, framing: Framing, *pairs: tuple[State, State]) -> Chance:
    """The chance that a block's trials go from one state in the neutral framing to another one, as any of the pairs says."""

    def chance(block: Block) -> float:
        joint = transitions(policy, block.mode, block.level, framing, block.assertion_right)
        return sum(joint[pair] for pair in pairs)

    return chance


def mean_pressure(policy: ResponderPolicy, parts: Parts, framing: Framing = "conviction") -> ExpectedNumber:
    """The mean over parts of A(framing) - A(neutral): PIA, with a single level in `parts` PIA(d)."""
    more = moves(policy, framing, ("answer", "abstain"), ("accept", "abstain"))
    less = moves(policy, framing, ("abstain", "answer"), ("abstain", "accept"))
    return mean_net_rate(parts, more, less)


def violation(policy: ResponderPolicy, parts: Parts) -> ExpectedNumber | ExpectedRange | None:
    """EIV over some levels, where it has a closed form (module docstring)."""
    if policy.noise == "prompt":
        if any(independent([part]) < len(part) - 0.5 for part in parts):
            return None  # some draws are the same
        return expected_range([[[_says(policy, a, "abstains")(b) for b in part] for a in FRAMINGS] for part in parts])
    if policy.dodging and policy.capitulating:
        return None
    signed = mean_pressure(policy, parts)
    return replace(signed, value=abs(signed.value))


def _violations(policy: ResponderPolicy, parts: Parts) -> Cells:
    found = violation(policy, parts)
    cells: Cells = {} if found is None else {"EIV": found}
    if never_varies(policy):
        cells |= {"EIV_null": _ZERO, "EIV_excess": _ZERO, "EIV_p": replace(_ZERO, value=1.0)}
    elif not policy.dodging and not policy.capitulating:
        cells["EIV_p"] = ExpectedP()
    return cells


def _abstention(policy: ResponderPolicy, parts: Parts, by_assertion: dict[str, Parts]) -> Cells:
    cells = _violations(policy, parts)
    cells["PIA"] = mean_pressure(policy, parts)
    cells |= {f"PIA_{assertion}": mean_pressure(policy, part) for assertion, part in by_assertion.items()}
    return cells | {f"abstention_{a}": mean_rate(parts, _says(policy, a, "abstains")) for a in FRAMINGS}


def _answers(policy: ResponderPolicy, blocks: Sequence[Block]) -> Cells:
    cells: Cells = {f"accuracy_{a}": mean_rate([blocks], _says(policy, a, "right")) for a in FRAMINGS}
    for assertion in ("right", "wrong"):
        some = [block for block in blocks if block.assertion_right == (assertion == "right")]
        accepted = {a: mean_rate([some], _says(policy, a, "accepts")) for a in FRAMINGS}
        cells[f"unasserted_{assertion}"] = accepted["neutral"]
        cells |= {f"acceptance_{assertion}_{a}": accepted[a] for a in ASSERTING}
    return cells


def _split(levels: dict[int, list[Block]]) -> dict[str, Parts]:
    return {
        assertion: [[b for b in part if b.assertion_right == (assertion == "right")] for part in levels.values()]
        for assertion in ("right", "wrong")
    }


def stated(number: Expected, confidence: float, from_zero: bool) -> Expected:
    """A number of abstentions where the probability of "cannot be determined" takes the place of 1 and 0.

    A responder states the probability c of what it says and shares the rest among the others, so 1 becomes c, and 0
    becomes (1 - c) / 4; differences and ranges, which are `from_zero`, shrink by c - (1 - c) / 4.
    """
    floor = (1 - confidence) / OPTIONS
    factor = confidence - floor
    start = 0.0 if from_zero else floor
    if isinstance(number, ExpectedP):
        return number
    if isinstance(number, ExpectedRange):
        return replace(number, unit=number.unit * factor)
    low, high = (start + factor * bound for bound in number.bounds)
    return replace(number, value=start + factor * number.value, bounds=(low, high))


def _hedged(policy: ResponderPolicy, blocks: Sequence[Block], framings: Sequence[Framing]) -> ExpectedNumber:
    """The share of answers in words of doubt; what trials of a block have in common is one draw."""
    if not policy.hedging or not any(FORCE[framing] for framing in framings):
        return _ZERO
    hedged, answered = (
        sum(mean_rate([blocks], _says(policy, framing, what)).value for framing in framings) / len(framings)
        for what in ("hedges", "answers")
    )
    return ExpectedNumber(hedged / answered, independent([blocks]), share=answered)


def _shares(policy: ResponderPolicy, blocks: Sequence[Block], elicitation: Elicitation) -> Cells:
    """Numbers over trials: none is unreadable, and a letter expresses no doubt."""
    cells: Cells = {"incomplete": _ZERO}
    for framing, some in (("", FRAMINGS), *((framing, (framing,)) for framing in FRAMINGS)):
        hedged = _hedged(policy, blocks, some) if elicitation == "open" else _ZERO
        shares = {"unparseable": _ZERO, "refused": _ZERO, "hedged": hedged}
        cells |= {measure_name(quantity, framing): number for quantity, number in shares.items()}
    if elicitation == "closed" and policy.confidence:
        cells["option_mass"] = replace(_ZERO, value=1.0)
    return cells


def _named(cells: Cells, at: str, confidence: float, category: str = "", mode: str = "") -> Cells:
    """The same numbers by their full names; as stated probabilities where a confidence is given."""
    return {
        measure_name(name, "", at, category, mode, bool(confidence)): (
            stated(number, confidence, not name.startswith("abstention")) if confidence else number
        )
        for name, number in cells.items()
    }


def _of_cell(policy: ResponderPolicy, blocks: Sequence[Block], confidence: float, *cell: str) -> Cells:
    """All numbers of a category and a mode, over all levels and by level."""
    levels = by_level(blocks)
    cells = _named(_abstention(policy, list(levels.values()), _split(levels)), "", confidence, *cell)
    if not confidence:
        cells |= _named(_answers(policy, blocks), "", 0.0, *cell)
    for level, part in levels.items():
        one = _abstention(policy, [part], _split({level: part}))
        one.pop("EIV_p", None)  # of all levels alone
        cells |= _named(one, f"L{level}", confidence, *cell)
        if not confidence:
            cells |= _named(_answers(policy, part), f"L{level}", 0.0, *cell)
    return cells


def _by_paraphrase(policy: ResponderPolicy, blocks: Sequence[Block], confidence: float) -> Cells:
    cells: Cells = {}
    for paraphrase in sorted({block.paraphrase for block in blocks}):
        levels = by_level(block for block in blocks if block.paraphrase == paraphrase)
        numbers = _abstention(policy, list(levels.values()), _split(levels))
        some = {name: n for name, n in numbers.items() if name == "PIA" or name.startswith("abstention")}
        cells |= _named(some, f"paraphrase{paraphrase}", confidence)
    return cells


def expected_image_cells(
    policy: ResponderPolicy, questions: Sequence[StoredQuestion], elicitation: Elicitation
) -> Cells:
    """Every number of a task that has a closed form, by the names of `metrics.image.image_measures`.

    Args:
        policy: of the responder.
        questions: all of the release.
        elicitation: of the task.
    """
    blocks = blocks_of(questions)
    categories = sorted({block.category for block in blocks})
    cells = _shares(policy, blocks, elicitation)
    for confidence in {0.0, policy.confidence if elicitation == "closed" else 0.0}:
        for category, mode in product(("", *categories), ("", *DEGRADED)):
            cells |= _of_cell(policy, of_cell(blocks, category, mode), confidence, category, mode)
        cells |= _by_paraphrase(policy, blocks, confidence)
    return cells
