"""Trials of the image benchmark as columns: one row a trial, and the rows that may be counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from metrics.image.trial import FRAMINGS, ImageTrial
from metrics.letters import key_codes
from metrics.trial_table import UNKNOWN, one_value, receipt_parts, stated_control

ImageTrials: TypeAlias = Iterable[ImageTrial] | pd.DataFrame

BLOCK_KEY = ("question", "mode", "level", "slot")
TRIAL_KEY = (*BLOCK_KEY, "framing")

TEXT_COLUMNS = (
    *("task", "release", "item", "question", "category", "mode", "framing", "elicitation", "image"),
    *(
        "correct",
        "asserted",
        "cannot",
        "read",
        "ruled",
        "judged",
        "asked",
        "judge",
        "control",
        "received_frames",
        "received_order",
        "received_size",
    ),
)
NUMBER_COLUMNS = {
    "release_questions": np.int32,
    "release_levels": np.int16,  # below L0, in each mode; 0: not known
    "level": np.int16,
    "strength": np.float64,
    "slot": np.int8,
    "paraphrase": np.int16,
    "assertion_right": np.bool_,  # the asserted option of the block is the right one, of a neutral trial too
    "abstained": np.float64,  # 0 or 1; NaN if unparseable, as the next two
    "right": np.float64,  # answered with the right option; an abstention is not right
    "accepted": np.float64,  # answered with the option that the block asserts
    "p_cannot": np.float64,  # probability of "cannot be determined"; NaN without, as the next two
    "p_right": np.float64,
    "p_asserted": np.float64,
    "p_top": np.float64,  # of the likeliest option but "cannot be determined"
    "top_right": np.float64,  # whether that one is right; half, a third ... of it where several are as likely
    "option_mass": np.float64,  # probability of any option letter as first token; NaN: not read
    "probability_bound": np.float64,  # largest error of an option probability; NaN: exact
    "tied": np.bool_,  # unparseable because several options are exactly as likely, and none more
    "hedged": np.bool_,
    "refused": np.bool_,
    "unparseable": np.bool_,  # and no refusal
    "unseen": np.bool_,  # a receipt that does not know the images
    "padding": np.bool_,
}
_SHARED_BY_BLOCK = ("item", "category", "image", "strength", "correct", "asserted", "cannot", "paraphrase")
TIE = "a tie between options"  # the rule that `tied` goes by
_ANSWER = ("read", "abstained", "p_cannot", "p_right", "p_asserted", "hedged", "judged")


def _read(trial: Any) -> str:
    """The letter of the option that was answered, or `abstained`, `unparseable` or `refused`."""
    return "refused" if trial.refused else str(trial.answer.option or trial.answer.outcome)


def _judged(trial: Any) -> str:
    """What a judge made of it, in the words of `_read`; empty without a judge."""
    judged = trial.judged
    if judged is None:
        return ""
    return "refused" if judged.get("refused") else str(judged.get("option") or judged.get("outcome") or "")


def _ruled(trial: Any) -> str:
    """What the rules read, in the words of `_read`, where a judge's reading may count instead."""
    judged = trial.judged
    if judged is None or "rules_outcome" not in judged:
        return _read(trial)
    return "refused" if judged.get("rules_refused") else str(judged.get("rules_option") or judged["rules_outcome"])


def _asked(trial: Any) -> str:
    """Which responses the judge was asked about: `all`, or `unparseable` ones alone; empty without a judge."""
    return "" if trial.judged is None else str(trial.judged.get("asked") or "all")


def _judge(trial: Any) -> str:
    """Which model judged; empty without a judge."""
    return "" if trial.judged is None else str(trial.judged.get("model") or "")


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _probabilities(trial: Any) -> tuple[float, float, float]:
    given = trial.answer.option_probabilities
    if given is None or trial.cannot is None or trial.answer.outcome == "unparseable":
        return np.nan, np.nan, np.nan
    return given[trial.cannot], given[trial.correct], given[trial.asserted]


def _top(trial: Any) -> tuple[float, float]:
    given = trial.answer.option_probabilities
    if given is None or trial.answer.outcome == "unparseable":
        return np.nan, np.nan
    options = {letter: p for letter, p in given.items() if letter != trial.cannot}
    top = max(options.values())
    likeliest = [letter for letter, p in options.items() if p == top]
    return top, (trial.correct in likeliest) / len(likeliest)


def _columns(rows: list[Any]) -> dict[str, Any]:
    read = np.array([_read(trial) for trial in rows], dtype=object)
    correct = np.array([trial.correct for trial in rows], dtype=object)
    asserted = np.array([trial.asserted for trial in rows], dtype=object)
    readable = ~np.isin(read, ("unparseable", "refused"))
    probabilities = np.array([_probabilities(trial) for trial in rows], dtype=np.float64).reshape(-1, 3)
    tops = np.array([_top(trial) for trial in rows], dtype=np.float64).reshape(-1, 2)
    receipts = [receipt_parts(trial.receipt) for trial in rows]
    return {
        "read": read,
        "ruled": [_ruled(trial) for trial in rows],
        "judged": [_judged(trial) for trial in rows],
        "asked": [_asked(trial) for trial in rows],
        "judge": [_judge(trial) for trial in rows],
        "control": [stated_control(trial.receipt) for trial in rows],
        "cannot": [trial.cannot or "" for trial in rows],
        "assertion_right": correct == asserted,
        "abstained": np.where(readable, read == "abstained", np.nan),
        "right": np.where(readable, read == correct, np.nan),
        "accepted": np.where(readable, read == asserted, np.nan),
        "p_cannot": probabilities[:, 0],
        "p_right": probabilities[:, 1],
        "p_asserted": probabilities[:, 2],
        "p_top": tops[:, 0],
        "top_right": tops[:, 1],
        "option_mass": [_number(trial.answer.option_mass) for trial in rows],
        "probability_bound": [_number(trial.answer.option_probability_bound) for trial in rows],
        "tied": (read == "unparseable") & np.array([trial.answer.rule == TIE for trial in rows], dtype=bool),
        "unparseable": read == "unparseable",
        "unseen": [frames == UNKNOWN for frames, _, _ in receipts],
        "received_frames": [frames for frames, _, _ in receipts],
        "received_order": [order for _, order, _ in receipts],
        "received_size": [size for _, _, size in receipts],
    }


def image_table(trials: ImageTrials) -> pd.DataFrame:
    """The table of trials, in their order, with the columns `TEXT_COLUMNS` (categories) and `NUMBER_COLUMNS`.

    Args:
        trials: `ImageTrial`s, or objects with the same attributes; a table is given back as it is.
    """
    if isinstance(trials, pd.DataFrame):
        return trials
    rows: list[Any] = [*trials]
    columns = _columns(rows)
    for name in (*TEXT_COLUMNS, *NUMBER_COLUMNS):
        if name not in columns:
            columns[name] = [getattr(trial, name) for trial in rows]
    data: dict[str, Any] = {name: pd.Categorical(columns[name]) for name in TEXT_COLUMNS}
    data.update({name: np.asarray(columns[name], dtype=kind) for name, kind in NUMBER_COLUMNS.items()})
    return pd.DataFrame(data)


def _codes(column: pd.Series) -> np.ndarray:
    return np.asarray(column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column)


def _differs(table: pd.DataFrame, groups: np.ndarray, name: str) -> np.ndarray:
    """For each row whether its value is another one than that of the first row of its group."""
    values = _codes(table[name])
    first = np.full(int(groups.max(initial=-1)) + 1, len(table))
    np.minimum.at(first, groups, np.arange(len(table)))
    other = values[first[groups]]
    return np.asarray((values != other) & ~(pd.isna(values) & pd.isna(other)))


def _name(table: pd.DataFrame, row: int, key: tuple[str, ...]) -> str:
    return "/".join(str(table[name].iloc[row]) for name in key)


def counted_trials(trials: ImageTrials) -> pd.DataFrame:
    """The rows that count: no padding, and each trial once.

    Raises:
        ValueError: if the trials are of several tasks, releases or elicitations, a trial occurs twice with different
            answers, or the trials of a block differ in more than their framing.
    """
    table = image_table(trials)
    table = table[~table["padding"].to_numpy()]
    plain = [name for name in TEXT_COLUMNS if not isinstance(table[name].dtype, pd.CategoricalDtype)]
    if plain:  # as of tables that were put together
        table = table.astype(dict.fromkeys(plain, "category"))
    for name in ("task", "release", "elicitation"):
        one_value(table, name)
    blocks, keys = key_codes(table, BLOCK_KEY), key_codes(table, TRIAL_KEY)
    for name in _SHARED_BY_BLOCK:
        differs = _differs(table, blocks, name)
        if differs.any():
            block = _name(table, int(differs.argmax()), BLOCK_KEY)
            raise ValueError(
                f"trials of block {block} differ in {name}: a block differs in framing alone; read one run at a time"
            )
    for name in _ANSWER:
        differs = _differs(table, keys, name)
        if differs.any():
            trial = _name(table, int(differs.argmax()), TRIAL_KEY)
            raise ValueError(f"trial {trial} occurs twice with different answers: read one run at a time")
    _, first = np.unique(keys, return_index=True)
    return table if len(first) == len(table) else table.iloc[np.sort(first)]


def complete_blocks(trials: ImageTrials, confidence: bool = False) -> pd.DataFrame:
    """The rows of blocks in which every framing was answered or abstained from.

    A block (question, mode, level, slot) of which one trial is missing, unparseable or refused is left out as a whole,
    so that all framings are compared on the same images and options.

    Args:
        trials: of one run.
        confidence: a trial is known if its option probabilities are.

    Returns:
        Sorted by block, the framings of each in the order of `FRAMINGS`: any column reshapes to (blocks, 4).

    Raises:
        ValueError: as `counted_trials`.
    """
    table = counted_trials(trials)
    known = ~np.isnan(table["p_cannot" if confidence else "abstained"].to_numpy())
    blocks = key_codes(table, BLOCK_KEY)
    whole = np.bincount(blocks[known], minlength=int(blocks.max(initial=-1)) + 1) == len(FRAMINGS)
    keep = whole[blocks]
    place = table["framing"].map({name: i for i, name in enumerate(FRAMINGS)}).to_numpy(dtype=np.int64)
    order = np.lexsort((place[keep], blocks[keep]))
    return table[keep].iloc[order]
