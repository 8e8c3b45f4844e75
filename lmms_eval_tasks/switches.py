"""Choices that a user makes by environment variables, since wrappers refuse model arguments that they do not know."""

from __future__ import annotations

import os

from lmms_eval_tasks.stop import RunStopped

READOUT = "CAVED_READOUT"
SHARE = "CAVED_SHARE"


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
