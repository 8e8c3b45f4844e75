"""Trials as columns: one row a trial, so that a million of them fit into memory and are counted in seconds.

Everything that measures works on this table; a list of `Trial` is turned into it first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd

from metrics.trial import Trial

Trials: TypeAlias = Iterable[Trial] | pd.DataFrame

TEXT_COLUMNS = (
    *("task", "release", "probe", "arm", "twin", "phase", "direction", "claim", "claimed_order", "letters", "time"),
    *("view", "unavailable", "control", "received_frames", "received_order", "received_size"),
)
UNKNOWN = "unknown"  # frames of a receipt that could not see them
NUMBER_COLUMNS = {
    "release_probes": np.int32,  # whole numbers up to those of `metrics.trial.LARGEST`
    "video_budget": np.int16,
    "budget": np.int16,
    "offset": np.int16,  # -1: none
    "release_offsets": np.int16,
    "threshold": np.float64,  # NaN: none
    "events_sampled": np.int8,
    "e1": np.float64,  # what the response gives to e1-first: a probability, or 0 or 1; NaN if unparseable
    "e2": np.float64,
    "abstained": np.float64,
    "has_probabilities": np.bool_,
    "option_mass": np.float64,  # NaN: not read
    "probability_bound": np.float64,  # NaN: exact
    "unseen": np.bool_,  # a receipt that does not know the frames
    "padding": np.bool_,
}


class LoggedTrial(Protocol):
    """What a row is made from: a `Trial`, or a line of a log read in a hurry."""

    letters: Any
    answer: Any
    receipt: Any


def _vote(trial: LoggedTrial) -> tuple[float, float, float]:
    """(e1-first, e2-first, abstained) of one response, summing to 1; NaN if it is unparseable."""
    answer = trial.answer
    if answer.outcome == "answered":
        e1, e2 = trial.letters  # `AB` puts e1-first at A
        given = answer.option_probabilities
        if given is not None:
            return given[e1], given[e2], 0.0
        return float(answer.option == e1), float(answer.option == e2), 0.0
    if answer.outcome == "abstained":
        return 0.0, 0.0, 1.0
    return np.nan, np.nan, np.nan


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def receipt_parts(receipt: Any) -> tuple[str, str, str]:
    """(frames, order, size) that reached the model, in words; all empty without a receipt, `unknown` if it cannot tell."""
    if receipt is None:
        return "", "", ""
    get = receipt.get if isinstance(receipt, dict) else lambda name: getattr(receipt, name)
    frames, size = get("frames"), get("size_px")
    if frames is None:
        return UNKNOWN, "", ""
    return str(frames), str(get("order") or ""), f"{size[0]:.10g} x {size[1]:.10g} px" if size else ""


def stated_control(receipt: Any) -> str:
    """What a receipt says of a model that tests the benchmark: `simulated`, `control`; empty of any other."""
    said = receipt.get("control") if isinstance(receipt, dict) else getattr(receipt, "control", None)
    return str(said or "")


def rows_to_table(trials: Iterable[Any]) -> pd.DataFrame:
    """The table of trials, in their order; text columns are categories.

    Args:
        trials: `Trial`s, or objects with the same attributes.
    """
    rows = [*trials]
    answers = [trial.answer for trial in rows]
    votes = np.array([_vote(trial) for trial in rows], dtype=np.float64).reshape(-1, 3)
    receipts = [receipt_parts(trial.receipt) for trial in rows]
    columns: dict[str, Any] = {
        "claimed_order": [trial.claimed_order or "" for trial in rows],
        "offset": [-1 if trial.offset is None else trial.offset for trial in rows],
        "e1": votes[:, 0],
        "e2": votes[:, 1],
        "abstained": votes[:, 2],
        "has_probabilities": [answer.option_probabilities is not None for answer in answers],
        "threshold": [_number(trial.threshold) for trial in rows],
        "option_mass": [_number(answer.option_mass) for answer in answers],
        "probability_bound": [_number(answer.option_probability_bound) for answer in answers],
        "unseen": [frames == UNKNOWN for frames, _, _ in receipts],
        "control": [stated_control(trial.receipt) for trial in rows],
        "received_frames": [frames for frames, _, _ in receipts],
        "received_order": [order for _, order, _ in receipts],
        "received_size": [size for _, _, size in receipts],
    }
    for name in (*TEXT_COLUMNS, *NUMBER_COLUMNS):
        if name not in columns:
            columns[name] = [getattr(trial, name) for trial in rows]
    data: dict[str, Any] = {name: pd.Categorical(columns[name]) for name in TEXT_COLUMNS}
    data.update({name: np.asarray(columns[name], dtype=kind) for name, kind in NUMBER_COLUMNS.items()})
    return pd.DataFrame(data)


def table_of(trials: Trials) -> pd.DataFrame:
    """The table of some trials; a table is given back as it is."""
    return trials if isinstance(trials, pd.DataFrame) else rows_to_table(trials)


def chosen(table: pd.DataFrame, **wanted: str | int | Sequence[str | int]) -> pd.DataFrame:
    """The rows whose columns have one of the wanted values."""
    keep = np.ones(len(table), dtype=bool)
    for name, values in wanted.items():
        some = [values] if isinstance(values, str | int) else list(values)
        keep &= table[name].isin(some).to_numpy()
    return table[keep]


def one_value(table: pd.DataFrame, name: str) -> Any:
    """The value of a column that must be the same in all rows; None for a table without rows.

    Raises:
        ValueError: if it is not: such trials cannot share a table.
    """
    values = sorted(map(str, table[name].unique()))
    if len(values) > 1:
        raise ValueError(
            f"trials of several {name}s cannot share a table: {', '.join(values)}; report one run, and one release, at a time"
        )
    return table[name].iloc[0] if values else None
