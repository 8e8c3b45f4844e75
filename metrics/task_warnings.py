"""What a reader of a run's numbers must know, cell by cell of its task, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from metrics.deference import PHASES, deference_warnings, measure_deference
from metrics.intervals import NOTHING
from metrics.paper_measures import TASK
from metrics.reversal_log import missing_trials, reversal_readings, threshold_of
from metrics.reversal_table import measure_reversal, reversal_warnings
from metrics.trial_table import UNKNOWN, Trials, chosen, table_of

TWINS, LETTERS = 2, 2  # of each question


@dataclass(frozen=True)
class TaskCells:
    """What a task asks about each probe: every combination, for both twins and both letter assignments."""

    arms: tuple[str, ...] = ("intact",)
    claims: tuple[str, ...] = ("strong",)  # beside no claim; empty: no claim alone
    phases: tuple[str, ...] = PHASES


_CELLS = {
    f"{TASK}_attribution": TaskCells(arms=("intact", "no_events", "placebo"), phases=("on_grid",)),
    f"{TASK}_mild": TaskCells(claims=("strong", "mild")),
    f"{TASK}_single_event": TaskCells(arms=("intact", "early_only", "late_only"), claims=(), phases=("on_grid",)),
}
_REVERSAL = {f"{TASK}_reversal": False, f"{TASK}_reversal_adaptive": True}


def _cells(cells: TaskCells, times: list[str]) -> Iterator[tuple[str, str, str, str, str]]:
    """(arm, claim, phase, time, how to call the cell) of each cell; the claim is empty where nothing is claimed."""
    for arm in cells.arms:
        for claim in cells.claims or ("",):
            for time in times:
                for phase in cells.phases:
                    several = (
                        (arm, len(cells.arms) > 1),
                        (f"{claim} claim", len(cells.claims) > 1),
                        (f"time {time}", len(times) > 1),
                    )
                    yield arm, claim, phase, time, ", ".join(label for label, shown in several if shown)


def _claim_warnings(task: str, table: pd.DataFrame) -> Iterator[str]:
    probes = int(table["release_probes"].iloc[0])
    times = sorted(map(str, table["time"].unique()))  # a channel that a model does not have is no gap in the log
    for arm, claim, phase, time, cell in _cells(_CELLS.get(task, TaskCells()), times):
        result = measure_deference(table, phase, claim or "strong", arm, time, resamples=0)
        asked = probes * TWINS * LETTERS * (2 if claim else 1)
        result = replace(result, missing=max(0, asked - result.responses))
        for warning in deference_warnings(result):
            yield f"{cell}{', ' if cell else ''}{warning}"


def _reversal_warnings(table: pd.DataFrame, threshold: float, adaptive: bool) -> Iterator[str]:
    result = measure_reversal(reversal_readings(table), (threshold,), resamples=0)
    yield from reversal_warnings(replace(result, one_offset=()) if adaptive else result)
    missing = int(table["release_probes"].iloc[0]) * TWINS - result.videos
    lacking = 0 if adaptive else missing_trials(table)
    if missing > 0 or lacking:
        yield (
            f"{max(0, missing)} videos are missing from the log{'' if adaptive else f', and {lacking} trials in all'} (a run "
            "with --limit or an interrupted one); the numbers cover the videos that are whole"
        )
    for budget in sorted(map(int, table["budget"].unique())):  # what is amiss with readings, whatever is made of them
        at = measure_deference(chosen(table, budget=budget), "offset", resamples=0)
        for warning in deference_warnings(replace(at, missing=0, unparseable=0.0, J0=NOTHING)):
            yield f"{budget} frames, {warning}"
    lost = int(table["e1"].isna().sum())
    if lost:
        yield f"{lost / len(table):.1%} of {len(table)} responses could not be parsed; read some of them in the sample log"


def _receipt_warnings(table: pd.DataFrame) -> list[str]:
    """What reached the model against what the trials show; a run stops on it, so it should never be seen here."""
    told = table[~table["received_frames"].isin(["", UNKNOWN]).to_numpy()]
    other = (told["received_frames"].astype(str) != told["budget"].astype(str)) | (told["received_order"] != "as shown")
    if not other.any():
        return []
    first = told[other.to_numpy()].iloc[0]
    return [
        f"in {int(other.sum())} of {len(told)} trials the receipt is of other frames than the trial shows, such as "
        f"{first['received_frames']} frames, {first['received_order']}, for k = {first['budget']}: do not use these numbers"
    ]


def task_warnings(task: str, trials: Trials, threshold: float | None = None) -> list[str]:
    """Warnings on the trials of one task of one run, each naming its cell; every one of them once.

    Args:
        task: its name; the main task at any budget if it is none of the others.
        trials: of that task; padding and what was unavailable is passed over.
        threshold: θ of the reversal test; None for the one at which an adaptive run stopped, else 0.3.

    Raises:
        ValueError: if the trials mix releases or budgets, or contradict each other.
    """
    table = chosen(table_of(trials), padding=False, unavailable="")
    if table.empty:
        return ["no trial of it could be put to this model"]
    if task in _REVERSAL:
        theta = threshold_of(table) if threshold is None else threshold
        return list(dict.fromkeys([*_receipt_warnings(table), *_reversal_warnings(table, theta, _REVERSAL[task])]))
    return list(dict.fromkeys([*_receipt_warnings(table), *_claim_warnings(task, table)]))
