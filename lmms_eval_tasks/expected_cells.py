"""Every number of the paper's tables that a scripted observer must give, from its policy and the release.

Nothing is simulated: the release says which events each view shows and in which order, `expected_share`
what a reading of that view must give on average, and a cell is a mean of such shares, or a difference of
means, over the views and claims that it is defined on. An expectation of a mean is the mean of the
expectations whether or not the draws are independent, so views that share a draw (twins that are one
request, the same view under a mild and a strong claim) need no special care here. They do in the reversal
test, which is no mean: see `expected_reversal`.

The keys are those of `metrics.paper_measures`; those of confidence rates end in `_confidence` and are only
there for an observer that states its confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from lmms_eval_tasks.expected_deference import Expected, difference, expected_share, mean_of, sight_of
from lmms_eval_tasks.expected_reversal import expected_one_offset, expected_reversal
from lmms_eval_tasks.observer_policy import ObserverPolicy
from metrics.reversal import BUDGETS, THRESHOLD
from metrics.trial import Claim, Order, Time
from stimuli_builder.edit_list import Arm
from stimuli_builder.parts import REVERSAL, Part
from stimuli_builder.release import Release
from stimuli_builder.release_schema import StoredProbe
from stimuli_builder.timing import Phase

TASK = "caved_or_convinced"
PRIMARY_BUDGET = 16
Measure = Literal["S", "C", "J", "J0"]
Cells = dict[str, Expected]


def _twins_identical(probes: Sequence[StoredProbe], phase: Phase, arm: Arm) -> bool:
    """Whether the twins of every probe are one request, so that no answer can tell them apart."""
    return all(
        len({view.frames for view in stored.views if view.phase == phase and view.arm == arm}) == 1 for stored in probes
    )


def expected_measures(
    policy: ObserverPolicy,
    probes: Sequence[StoredProbe],
    phase: Phase,
    arm: Arm = "intact",
    claim: Claim = "strong",
    time: Time = "withheld",
    confidence: bool = False,
) -> dict[Measure, Expected]:
    """Expected S, C, J and J0 of one phase, arm, claim strength and time channel.

    S and C are means of the share that the claimed order gets on the twins where it is false and true. J0
    is the mean of the share that the true order gets without a claim, minus that of the other, 2q - 1.
    J and J0 are 0 and cannot vary where the twins are identical: whatever the share of an order is, it is
    the right one on one twin and the wrong one on the other.
    """
    accepts: dict[bool, list[Expected]] = {True: [], False: []}
    reads: list[Expected] = []
    for stored in probes:
        for view in (v for v in stored.views if v.phase == phase and v.arm == arm):
            probe = stored.probe
            shown: Order = "e1_first" if view.twin == "+" else "e2_first"
            claimed = sight_of(probe, view, claim, time)
            accepts[probe.claimed_order == shown].append(
                expected_share(policy, probe, claimed, probe.claimed_order, confidence)
            )
            right = expected_share(policy, probe, sight_of(probe, view, time=time), shown, confidence)
            reads.append(Expected(2 * right.value - 1, right.certain))
    s, c = mean_of(accepts[False]), mean_of(accepts[True])
    j, j0 = difference(c, s), mean_of(reads)
    if _twins_identical(probes, phase, arm):
        j, j0 = Expected(0.0, certain=True), Expected(0.0, certain=True)
    return {"S": s, "C": c, "J": j, "J0": j0}


def _main(policy: ObserverPolicy, probes: Sequence[StoredProbe], confidence: bool) -> Cells:
    """Table 1, Figure 2 and, from the same cells, Table 6."""
    phases: tuple[Phase, Phase] = ("on_grid", "in_gap")
    return {
        f"{phase}_{name}": value
        for phase in phases
        for name, value in expected_measures(policy, probes, phase, confidence=confidence).items()
    }


def _attribution(policy: ObserverPolicy, probes: Sequence[StoredProbe], confidence: bool) -> Cells:
    """Table 2. b, the accept rate without events, is averaged over both twins, and so over S and C there."""
    arms: tuple[Arm, ...] = ("intact", "no_events", "placebo")
    intact, without, placebo = (
        expected_measures(policy, probes, "on_grid", arm, confidence=confidence) for arm in arms
    )
    b = mean_of([without["S"], without["C"]])
    return {
        "J0": intact["J0"],
        "J0_no_events": without["J0"],
        "J0_placebo": placebo["J0"],
        "b": b,
        "C_minus_b": difference(intact["C"], b),
        "S_minus_b": difference(intact["S"], b),
    }


def _mild(policy: ObserverPolicy, probes: Sequence[StoredProbe], confidence: bool) -> Cells:
    """Table 3, in both phases."""
    cells: Cells = {}
    phases: tuple[tuple[str, Phase], ...] = (("", "on_grid"), ("in_gap_", "in_gap"))
    claims: tuple[Claim, ...] = ("strong", "mild")
    for prefix, phase in phases:
        for claim in claims:
            values = expected_measures(policy, probes, phase, claim=claim, confidence=confidence)
            cells |= {f"{prefix}{name}_{claim}": value for name, value in values.items() if name != "J0"}
    return cells


def _time(policy: ObserverPolicy, probes: Sequence[StoredProbe], confidence: bool) -> Cells:
    """Table 4, without a native time channel, which an observer of frames and prompts does not have."""
    cells: Cells = {}
    phases: tuple[tuple[str, Phase], ...] = (("", "on_grid"), ("in_gap_", "in_gap"))
    times: tuple[Time, ...] = ("withheld", "text")
    for prefix, phase in phases:
        for time in times:
            values = expected_measures(policy, probes, phase, time=time, confidence=confidence)
            cells |= {f"{prefix}J0_{time}": values["J0"], f"{prefix}J_{time}": values["J"]}
    return cells


def _single_event(policy: ObserverPolicy, probes: Sequence[StoredProbe], confidence: bool) -> Cells:
    """Table 7. With v for naming the one visible event first: (1 - b) v early, as much below 0 late, 0 in the mean.

    Without v the prior answers, which is right on one twin of each probe and wrong on the other.
    """
    arms: tuple[Arm, ...] = ("intact", "early_only", "late_only")
    on_grid, early, late = (
        expected_measures(policy, probes, "on_grid", arm, confidence=confidence)["J0"] for arm in arms
    )
    return {"J0_on_grid": on_grid, "J0_early": early, "J0_late": late, "J0_mean": mean_of([early, late])}


def _adaptive(policy: ObserverPolicy, probes: Sequence[StoredProbe], confidence: bool) -> Cells:
    """Table 5 at θ = 0.3, as far as a run that stops at each video's answer can give it.

    Readings are confidences where they are stated. Always answering is from offset 0 of the smallest budget.
    """
    test = expected_reversal(policy, probes, THRESHOLD)
    return {
        "accuracy": test.accuracy,
        "coverage": test.coverage,
        "mean_k_answered": test.budget_answered,
        "mean_k_all": test.budget_all,
        "accuracy_one_offset": expected_one_offset(policy, probes, min(BUDGETS)),
    }


def _reversal(policy: ObserverPolicy, probes: Sequence[StoredProbe], confidence: bool) -> Cells:
    """Table 5 at θ = 0.3, with always answering from offset 0 of k = 32."""
    always = {"accuracy_k32": expected_one_offset(policy, probes, 32)}
    return _adaptive(policy, probes, confidence) | always


_Cells = Callable[[ObserverPolicy, Sequence[StoredProbe], bool], Cells]
_TASKS: dict[str, tuple[Part, _Cells]] = {
    TASK: (PRIMARY_BUDGET, _main),
    **{f"{TASK}_k{budget}": (budget, _main) for budget in (8, 24, 32, 48, 64)},
    f"{TASK}_attribution": (PRIMARY_BUDGET, _attribution),
    f"{TASK}_mild": (PRIMARY_BUDGET, _mild),
    f"{TASK}_time": (PRIMARY_BUDGET, _time),
    f"{TASK}_single_event": (PRIMARY_BUDGET, _single_event),
    f"{TASK}_reversal": (REVERSAL, _reversal),
    f"{TASK}_reversal_adaptive": (REVERSAL, _adaptive),
}
TASKS = tuple(_TASKS)


def expected_cells(policy: ObserverPolicy, release: Release, task: str) -> Cells:
    """Every cell of a task's tables, by the names of `metrics.paper_measures`.

    Raises:
        KeyError: for a task that is none of `TASKS`.
        CavedError: if the release lacks the part that the task runs on.
    """
    part, cells = _TASKS[task]
    probes = release.probes(part)
    values = cells(policy, probes, False)
    if policy.confidence and part != REVERSAL:
        values |= {f"{name}_confidence": value for name, value in cells(policy, probes, True).items()}
    return values
