"""Choices that a user makes by environment variables, since wrappers refuse model arguments that they do not know."""

from __future__ import annotations

import os

from lmms_eval_tasks.stop import RunStopped
from metrics.trial import Time

READOUT = "CAVED_READOUT"
SHARE = "CAVED_SHARE"
TIME = "CAVED_TIME"
ANSWERS = "CAVED_ANSWERS"
THRESHOLD = "CAVED_THRESHOLD"
TIMES: tuple[Time, ...] = ("withheld", "native", "text")


def _chosen(variable: str, usual: str, other: str) -> bool:
    """Whether a variable is unset or says `usual`, rather than `other`."""
    value = os.environ.get(variable, "").strip() or usual
    if value not in (usual, other):
        raise RunStopped(f"{variable}={value}: write {usual} or {other}")
    return value == usual


def reads_probabilities() -> bool:
    """Whether option probabilities are wanted: `CAVED_READOUT` is unset or `probabilities`, not `text`.

    Raises:
        RunStopped: if it is anything else.
    """
    return _chosen(READOUT, "probabilities", "text")


def shares_prefixes() -> bool:
    """Whether frames may be computed once for all prompts of a view: `CAVED_SHARE` is unset or `on`, not `off`.

    Raises:
        RunStopped: if it is anything else.
    """
    return _chosen(SHARE, "on", "off")


def time_setting() -> Time:
    """What models are told of the times of their frames: `CAVED_TIME`, else `withheld`.

    Raises:
        RunStopped: if it is none of the three.
    """
    value = os.environ.get(TIME, "").strip() or TIMES[0]
    for setting in TIMES:
        if value == setting:
            return setting
    raise RunStopped(f"{TIME}={value}: write {', '.join(TIMES[:-1])} or {TIMES[-1]}")


def threshold_setting(usual: float) -> float:
    """θ of the adaptive reversal test: `CAVED_THRESHOLD`, else `usual`.

    Raises:
        RunStopped: if it is no number from 0 to 1.
    """
    value = os.environ.get(THRESHOLD, "").strip()
    try:
        threshold = float(value or usual)
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold <= 1:  # NaN fails too
        raise RunStopped(f"{THRESHOLD}={value or usual}: write a number from 0 to 1")
    return threshold
