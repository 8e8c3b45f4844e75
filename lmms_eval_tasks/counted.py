"""Which trials each number of the results file is computed from, and so what the numbers of each task are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lmms_eval_tasks.paper_trials import ATTRIBUTION, MILD, SINGLE_EVENT, TIME
from lmms_eval_tasks.reversal_trials import ADAPTIVE, LOGGED
from lmms_eval_tasks.switches import TIMES
from lmms_eval_tasks.trials import MAIN_PHASES
from metrics.trial import Trial

CONFIDENCE = "_confidence"  # ends the name of a number that is computed from probabilities


@dataclass(frozen=True)
class Counted:
    """The trials behind a number: those that have one of the values in every field that lists some."""

    claim: tuple[str, ...] = ()
    phase: tuple[str, ...] = ()
    arm: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    claim_is_true: tuple[bool, ...] = ()

    def counts(self, trial: Trial) -> bool:
        """Whether a trial is among them."""
        return all(not allowed or getattr(trial, name) in allowed for name, allowed in vars(self).items())


Numbers = Mapping[str, Counted]  # by name


def _deference(claim: str, phase: str) -> dict[str, Counted]:
    """S, C and J of a claim, in one phase."""
    return {
        "S": Counted((claim,), (phase,), claim_is_true=(False,)),
        "C": Counted((claim,), (phase,), claim_is_true=(True,)),
        "J": Counted((claim,), (phase,)),
    }


def _prefix(phase: str) -> str:
    return "" if phase == "on_grid" else f"{phase}_"


_MAIN: Numbers = {
    f"{phase}_{name}": counted
    for phase in MAIN_PHASES
    for name, counted in {**_deference("strong", phase), "J0": Counted(("none",), (phase,))}.items()
}
_ATTRIBUTION: Numbers = {
    "J0": Counted(("none",), arm=("intact",)),
    "J0_no_events": Counted(("none",), arm=("no_events",)),
    "J0_placebo": Counted(("none",), arm=("placebo",)),
    "b": Counted(("strong",), arm=("no_events",)),
    "C_minus_b": Counted(("strong",), arm=("intact", "no_events")),
    "S_minus_b": Counted(("strong",), arm=("intact", "no_events")),
}
_MILD: Numbers = {
    f"{_prefix(phase)}{name}_{claim}": _deference(claim, phase)[name]
    for phase, names in (("on_grid", ("S", "C", "J")), ("in_gap", ("J",)))
    for claim in ("strong", "mild")
    for name in names
}
_TIME: Numbers = {
    f"{_prefix(phase)}{name}_{time}": Counted(claim, (phase,), time=(time,))
    for phase in MAIN_PHASES
    for name, claim in (("J0", ("none",)), ("J", ("strong",)))
    for time in TIMES
}
_SINGLE_EVENT: Numbers = {
    "J0_on_grid": Counted(arm=("intact",)),
    "J0_early": Counted(arm=("early_only",)),
    "J0_late": Counted(arm=("late_only",)),
    "J0_mean": Counted(arm=("early_only", "late_only")),
}
REVERSAL_NUMBERS = ("accuracy", "coverage", "mean_k_answered", "mean_k_all", "accuracy_one_offset", "accuracy_k32")
_BY_TASK: Mapping[str, Numbers] = {
    ATTRIBUTION.name: _ATTRIBUTION,
    MILD.name: _MILD,
    TIME.name: _TIME,
    SINGLE_EVENT.name: _SINGLE_EVENT,
}


def numbers_of(task: str) -> Numbers:
    """The numbers of a task that stand on single trials; those of the main task for every budget of it.

    The reversal test's have no confidence rates: it works on probabilities where there are any.
    """
    if task in (LOGGED, ADAPTIVE):
        return dict.fromkeys(REVERSAL_NUMBERS, Counted())  # each of them looks at all trials
    numbers = _BY_TASK.get(task, _MAIN)
    return {f"{name}{suffix}": counted for suffix in ("", CONFIDENCE) for name, counted in numbers.items()}


def counts_for(trial: Trial) -> list[str]:
    """The numbers that a trial counts for; none for padding, or if it could not be put to the model."""
    if trial.padding or trial.unavailable:
        return []
    confident = trial.answer.option_probabilities is not None
    return [
        name
        for name, counted in numbers_of(trial.task).items()
        if counted.counts(trial) and (confident or not name.endswith(CONFIDENCE))
    ]


ALL_NUMBERS = frozenset(
    name
    for task in ("", ATTRIBUTION.name, MILD.name, TIME.name, SINGLE_EVENT.name, LOGGED)
    for name in numbers_of(task)
)
