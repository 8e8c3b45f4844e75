"""The release that the tasks of this process are bound to, and its names for the task files.

A task file asks for `path_k16` or `metadata_k16` of this module; the release is found, and built if it is
the embedded default, only then. Listing tasks therefore builds nothing.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any

from lmms_eval_tasks.stop import stopping_the_run
from stimuli_builder.errors import CavedError
from stimuli_builder.find_release import VARIABLE, find_release
from stimuli_builder.release import FrameStore, Release
from stimuli_builder.release_schema import release_digest

TASK_VERSION = 1


@lru_cache(maxsize=4)
def _opened(named: str) -> Release:
    """The release that `CAVED_RELEASE` names, with its digest checked against its tables."""
    release = find_release()
    budgets = release.info.budgets
    frames = {budget: release.frames(budget).ids() for budget in budgets}
    rows = (probe.to_row() for budget in budgets for probe in release.probes(budget))
    if release_digest(frames, rows, release.info.canvas_px) != release.info.digest:
        raise CavedError(
            f"{release.folder} was changed after it was built: its tables do not give its digest; "
            "run `caved verify` on it, or build it again"
        )
    return release


def bound_release() -> Release:
    """The release that `CAVED_RELEASE` names now, opened once.

    Raises:
        CavedError: if it cannot be opened or its tables do not give its digest.
    """
    return _opened(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=8)
def _frames(digest: str, budget: int) -> FrameStore:
    return bound_release().frames(budget)


def frame_store(budget: int) -> FrameStore:
    """The frames of one budget of the bound release."""
    return _frames(bound_release().info.digest, budget)


def release_path(budget: int) -> str:
    """Where `datasets` finds the bound release; stops the run if it has no probes of this budget."""
    with stopping_the_run():
        release = bound_release()
        release.require_budget(budget)
        return str(release.folder)


def release_metadata(budget: int) -> dict[str, Any]:
    """What goes into the task's configuration and so into results, logs and cache keys."""
    with stopping_the_run():
        info = bound_release().info
    return {
        "benchmark": info.benchmark,
        "version": TASK_VERSION,
        "release": info.digest,
        "release_seed": info.seed,
        "budget": budget,
    }


def __getattr__(name: str) -> Any:
    match = re.fullmatch(r"(path|metadata)_k(\d+)", name)
    if match is None:
        raise AttributeError(name)
    return (release_path if match[1] == "path" else release_metadata)(int(match[2]))
