"""The image release that the tasks of this process are bound to, and its names for the task files.

A task file asks for `path`, `loading` or `metadata` of this module; the release is found, and built if it is the embedded
default, only then. Listing tasks therefore builds nothing.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmms_eval_tasks.stop import stopping_the_run
from lmms_eval_tasks.versions import package_versions
from metrics.image.trial import DEGRADED, IMAGE_LOG_VERSION
from stimuli_builder.errors import CavedError
from stimuli_builder.find_release import VARIABLE
from stimuli_builder.image.find import find_image_release
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.release import FrameStore

IMAGE_TASK_VERSION = 1


@lru_cache(maxsize=4)
def _opened(named: str) -> ImageRelease:
    release = find_image_release()
    if release.content_digest() != release.info.digest:
        raise CavedError(
            f"{release.folder} was changed after it was built: its tables do not give its digest; "
            "run `caved verify` on it, or build it again"
        )
    return release


def bound_images() -> ImageRelease:
    """The image release that `CAVED_RELEASE` names now, opened once.

    Raises:
        CavedError: if it cannot be opened or its tables do not give its digest.
    """
    return _opened(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=4)
def _images(digest: str) -> FrameStore:
    return bound_images().images()


def image_store() -> FrameStore:
    """The images of the bound release."""
    return _images(bound_images().info.digest)


def _loading() -> dict[str, Any]:
    """A cache of the release's own: the usual one tells local data sets apart by the name of their folder alone."""
    import datasets

    with stopping_the_run():
        digest = bound_images().info.digest
    return {"cache_dir": str(Path(datasets.config.HF_DATASETS_CACHE) / "caved-or-convinced" / digest[:32])}


def _metadata() -> dict[str, Any]:
    with stopping_the_run():
        info, questions = bound_images().info, bound_images().questions()
    strengths: dict[str, dict[str, list[float]]] = {}  # as they are: a region may have those of another category
    for stored in questions:
        of_modes = {str(mode): [view.strength for view in stored.views if view.mode == mode] for mode in DEGRADED}
        strengths.setdefault(stored.question.category, of_modes)
    return {
        "benchmark": info.benchmark,
        "version": IMAGE_TASK_VERSION,
        "log_version": IMAGE_LOG_VERSION,
        "release": info.digest,
        "release_seed": info.seed,
        "levels": info.levels,
        "margin": info.margin,
        "strengths": strengths,
        "calibrated_by": info.calibrated_by,
        "versions": package_versions(),
    }


def __getattr__(name: str) -> Any:
    if name == "path":
        with stopping_the_run():
            return str(bound_images().folder)
    if name == "loading":
        return _loading()
    if name == "metadata":
        return _metadata()
    raise AttributeError(name)
