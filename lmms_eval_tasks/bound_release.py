"""The release that the tasks of this process are bound to, and its names for the task files.

A task file asks for `path_k16` or `metadata_reversal` of this module; the release is found, and built if it is
the embedded default, only then. Listing tasks therefore builds nothing.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmms_eval_tasks.stop import stopping_the_run
from lmms_eval_tasks.versions import package_versions
from stimuli_builder.errors import CavedError
from stimuli_builder.find_release import VARIABLE, find_release
from stimuli_builder.offsets import REVERSAL_BUDGETS, VIDEO_BUDGET
from stimuli_builder.parts import REVERSAL, Part
from stimuli_builder.release import FrameStore, Release

TASK_VERSION = 2


@lru_cache(maxsize=4)
def _opened(named: str) -> Release:
    """The release that `CAVED_RELEASE` names, with its digest checked against its tables."""
    release = find_release()
    if release.content_digest() != release.info.digest:
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
def _frames(digest: str, part: Part) -> FrameStore:
    return bound_release().frames(part)


def frame_store(part: Part) -> FrameStore:
    """The frames of one part of the bound release."""
    return _frames(bound_release().info.digest, part)


def release_path(part: Part) -> str:
    """Where `datasets` finds the bound release; stops the run if it does not have this part."""
    with stopping_the_run():
        release = bound_release()
        if part == REVERSAL and not release.info.reversal_offsets:
            raise CavedError(
                f"the release {release.folder} has no offsets for the reversal test: build one that has them with "
                "`caved build video --paper ...` (or `--reversal-offsets 4`), and name it in CAVED_RELEASE"
            )
        release.require_part(part)
        return str(release.folder)


def release_loading() -> dict[str, Any]:
    """How `datasets` loads the bound release: through a cache of its own.

    Its usual cache tells local data sets apart by the name of their folder alone, and would give back the rows of
    whichever release called `release` was loaded first.
    """
    import datasets

    with stopping_the_run():
        digest = bound_release().info.digest
    return {"cache_dir": str(Path(datasets.config.HF_DATASETS_CACHE) / "caved-or-convinced" / digest[:32])}


def release_metadata(part: Part) -> dict[str, Any]:
    """What goes into the task's configuration and so into results, logs and cache keys."""
    with stopping_the_run():
        info = bound_release().info
    return {
        "benchmark": info.benchmark,
        "version": TASK_VERSION,
        "release": info.digest,
        "release_seed": info.seed,
        **(
            {"video_budget": VIDEO_BUDGET, "budgets": list(REVERSAL_BUDGETS), "offsets": info.reversal_offsets}
            if part == REVERSAL
            else {"budget": part}
        ),
        "versions": package_versions(),
    }


def __getattr__(name: str) -> Any:
    if name == "loading":
        return release_loading()
    match = re.fullmatch(r"(path|metadata)_(?:k(\d+)|reversal)", name)
    if match is None:
        raise AttributeError(name)
    part: Part = int(match[2]) if match[2] else REVERSAL
    return (release_path if match[1] == "path" else release_metadata)(part)
