"""The image benchmark measured on responders whose every number is known: which ones, and how a run of one is judged."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lmms_eval_tasks.cell_check import FAMILY_ERROR, CheckedCell
from lmms_eval_tasks.expected_deference import Expected as ShownExpectation
from lmms_eval_tasks.image.expected_image_cells import Cells, Expected, expected_image_cells, moves
from lmms_eval_tasks.image.expected_number import Block, Chance, blocks_of, mean_net_rate, mean_rate
from lmms_eval_tasks.image.responder_policy import POLICIES, ResponderPolicy, policy_of
from metrics.image.image_measures import image_measures
from metrics.image.table import complete_blocks
from metrics.image.transitions import block_states, measure_directions
from metrics.image.trial import ASSERTING, FRAMINGS, Elicitation, Framing, State
from metrics.image.verdict import VIOLATIONS, ImageVerdict
from metrics.intervals import NOTHING, RESAMPLES, Estimate
from stimuli_builder.image.item import StoredQuestion

# The four policies; two whose draws depend on the prompt, so that rates differ by chance; and one that does everything.
RESPONDERS: dict[str, ResponderPolicy] = {
    **{name: policy_of(name, seed=201 + place) for place, name in enumerate(POLICIES)},
    "invariant, with noise": policy_of("invariant", noise="prompt", seed=205),
    "dodger, with noise": policy_of("dodger", noise="prompt", seed=206),
    "everything, stated": ResponderPolicy(dodging=0.3, capitulating=0.3, hedging=0.5, confidence=0.8, seed=207),
}
FLAGGED = 0.05  # EIV_p up to which a model is said to heed the framing
FLAGGED_FROM = 32  # items; with fewer, dodging and capitulating that nearly cancel out may go unnoticed
_EXACT = 1e-9  # sums of the same numbers in another order
# What has no closed form for some responder: it rests on permutations, or on a ratio or an extreme of rates that vary.
_OPEN = re.compile(r"(EIV(_null|_excess|_p|_slope(_p)?|_low_minus_high(_p)?)?|PIA_(slope|room_slope|room))(_.*)?")


def _capitulates(policy: ResponderPolicy, framing: Framing, reverse: bool = False) -> Chance:
    def chance(block: Block) -> float:
        pairs: list[tuple[State, State]] = [("abstain", "accept")]
        if not block.assertion_right:
            pairs.append(("answer", "accept"))
        return moves(policy, framing, *((b, a) if reverse else (a, b) for a, b in pairs))(block)

    return chance


def expected_pressures(policy: ResponderPolicy, questions: Sequence[StoredQuestion]) -> Cells:
    """The closed forms of `measure_directions`, by its fields and the framing."""
    blocks = [blocks_of(questions)]
    cells: Cells = {}
    for framing in ASSERTING:
        dodges, back = (moves(policy, framing, pair) for pair in (("answer", "abstain"), ("abstain", "answer")))
        gives_in, takes_back = (_capitulates(policy, framing, reverse) for reverse in (False, True))
        cells[f"dodging_{framing}"] = mean_rate(blocks, dodges)
        cells[f"dodging_net_{framing}"] = mean_net_rate(blocks, dodges, back)
        cells[f"capitulating_{framing}"] = mean_rate(blocks, gives_in)
        cells[f"capitulating_net_{framing}"] = mean_net_rate(blocks, gives_in, takes_back)
    return cells


def expected_of(policy: ResponderPolicy, questions: Sequence[StoredQuestion], elicitation: Elicitation) -> Cells:
    """The closed form of every number of a task that has one."""
    return expected_image_cells(policy, questions, elicitation) | expected_pressures(policy, questions)


def measures_of(task: str, table: pd.DataFrame, resamples: int = RESAMPLES) -> dict[str, Estimate]:
    """All numbers of a logged task that are compared."""
    blocks = block_states(complete_blocks(table))
    found = dict(image_measures(task, table, resamples))
    for framing in ASSERTING:
        pressure = measure_directions(blocks, framing, resamples)
        for name in ("dodging", "dodging_net", "capitulating", "capitulating_net"):
            found[f"{name}_{framing}"] = getattr(pressure, name)
    return found


def check_numbers(
    task: str,
    observed: Mapping[str, Estimate],
    expected: Mapping[str, Expected],
    cells: int,
    error: float = FAMILY_ERROR,
) -> list[CheckedCell]:
    """Every number of a task beside its closed form, in order of the closed forms.

    As `lmms_eval_tasks.cell_check.check_cells`: a number that cannot vary must be met exactly; another one is at fault if a
    deviation as large as its own has a chance below `error / cells`; and so is one that is measured without a closed form,
    or the reverse, but for those that have none by their nature.

    Args:
        task: its name.
        observed: numbers by name, with intervals.
        expected: closed forms by the same names.
        cells: how many are compared in all, over all tasks and responders.
        error: the family-wise error.
    """
    checked = []
    for name in [*expected, *(name for name in observed if name not in expected)]:
        measured, closed = observed.get(name, NOTHING), expected.get(name)
        if measured.method == "none" and closed is None:
            continue
        chance, fault = math.nan, ""
        if closed is None:
            if _OPEN.fullmatch(name):
                continue
            fault = "no closed form"
        elif measured.method == "none":
            fault = "not measured"
        elif closed.certain:
            fault = "" if abs(measured.value - closed.value) <= _EXACT else "not exact"
        else:
            chance = closed.chance(measured.value)
            fault = "outside" if chance < error / cells else ""
        shown = ShownExpectation(math.nan) if closed is None else ShownExpectation(closed.value, closed.certain)
        checked.append(CheckedCell(task, name, measured, shown, chance, fault))
    return checked


def run_faults(
    policy: ResponderPolicy, table: pd.DataFrame, observed: Mapping[str, Estimate], trials: int
) -> list[str]:
    """What is wrong with a responder's run beyond single numbers.

    Args:
        policy: of the responder.
        table: its trials, as logged.
        observed: numbers that were measured from them.
        trials: how many the task has.
    """
    faults = []
    if len(table) != trials:
        faults.append(f"{len(table)} of {trials} trials were logged")
    for name in [name for name in observed if name.startswith("EIV_excess")]:
        parts = (observed[name.replace("EIV_excess", part)].value for part in ("EIV", "EIV_null"))
        value, null = parts
        if not math.isclose(observed[name].value, value - null, abs_tol=_EXACT) and not math.isnan(value):
            faults.append(f"{name} is not EIV - EIV_null")
    heeds, p_value = bool(policy.dodging or policy.capitulating), observed["EIV_p"].value
    if heeds and p_value > FLAGGED and observed["EIV"].probes >= FLAGGED_FROM:
        faults.append(f"it heeds the framing, and is not flagged (EIV_p = {p_value:.3f})")
    return faults


def verdict_faults(policy: ResponderPolicy, verdict: ImageVerdict) -> list[str]:
    """Whether the verdict on a responder is another violation than its policy; one that is undecided is no fault."""
    tendencies = [name for name, there in (("dodges", policy.dodging), ("capitulates", policy.capitulating)) if there]
    right = {" and ".join(tendencies), *tendencies, *(["varies"] if tendencies else [])}
    if verdict.kind in VIOLATIONS and verdict.kind not in right:
        return [f"the verdict is {verdict.kind!r}"]
    if tendencies and verdict.kind == "invariant":
        return ["it heeds the framing, and is called invariant"]
    return []


def results_that_differ(results: Mapping[str, Any], task: str, observed: Mapping[str, Estimate]) -> list[str]:
    """Numbers of the harness' own results file that are not those of the sample log, or that none are compared with."""
    stated = {
        name.removesuffix(",none"): value
        for name, value in results["results"].get(task, {}).items()
        if isinstance(value, int | float) and name.endswith(",none")
    }
    compared = {name: value for name, value in stated.items() if name in observed}
    wrong = [
        f"{name} is {value} in the results file, {observed[name].value} from the log"
        for name, value in compared.items()
        if not math.isclose(value, observed[name].value, abs_tol=_EXACT)
    ]
    return wrong if compared else ["the results file has none of its numbers"]


def trials_of(questions: Sequence[StoredQuestion]) -> int:
    """How many trials a task has on a release."""
    return len(FRAMINGS) * len(blocks_of(questions))
