"""Which benchmark a release is of; a folder is told by its `release.json` alone."""

from __future__ import annotations

import json
from pathlib import Path

from stimuli_builder.errors import CavedError
from stimuli_builder.find_release import VARIABLE, find_release, named_folder
from stimuli_builder.image.info import IMAGE_BENCHMARK
from stimuli_builder.image.release import ImageRelease, open_image_release
from stimuli_builder.release import Release, open_release
from stimuli_builder.release_info import BENCHMARK, INFO_FILE


def benchmark_of(folder: Path) -> str:
    """The benchmark that the release in `folder` says it is of.

    Raises:
        CavedError: if there is no release, or one of a benchmark that this version does not know.
    """
    if not folder.is_dir():
        raise CavedError(
            f"no release at {folder}: the folder does not exist; build one with `caved build video` or `caved build image`"
        )
    path = folder / INFO_FILE
    if not path.is_file():
        raise CavedError(f"{folder} is no release: it has no {INFO_FILE}; give the folder that `caved build` wrote")
    try:
        benchmark = json.loads(path.read_bytes())["benchmark"]
    except (ValueError, KeyError, TypeError) as error:
        raise CavedError(f"{folder}: {INFO_FILE} is damaged ({error!r}): build the release again") from error
    if benchmark not in (BENCHMARK, IMAGE_BENCHMARK):
        raise CavedError(f"{folder} is a release of {benchmark}: this version knows {BENCHMARK} and {IMAGE_BENCHMARK}")
    return str(benchmark)


def open_any_release(folder: Path) -> Release | ImageRelease:
    """The release in `folder`, of whichever benchmark.

    Raises:
        CavedError: if there is none that can be opened.
    """
    return open_image_release(folder) if benchmark_of(folder) == IMAGE_BENCHMARK else open_release(folder)


def find_any_release() -> Release | ImageRelease:
    """The release that `CAVED_RELEASE` names, of whichever benchmark; the embedded default one of videos if it is not set.

    Raises:
        CavedError: if it names nothing that can be opened.
    """
    folder = named_folder()
    if folder is None:
        return find_release()
    try:
        return open_any_release(folder)
    except CavedError as error:
        raise CavedError(f"{VARIABLE}: {error}") from error
