"""The embedded default: a procedural release, built on first use, so that a task runs without a data set."""

from __future__ import annotations

import hashlib
from pathlib import Path

from platformdirs import user_cache_path

from stimuli_builder.atomic import sole_owner
from stimuli_builder.build import build_release
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import CANVAS_PX
from stimuli_builder.procedural import procedural_catalogue
from stimuli_builder.release import Release, open_release
from stimuli_builder.release_info import FORMAT_VERSION, INFO_FILE

DEFAULT_PROBES = 64
DEFAULT_SEED = 0
DEFAULT_BUDGETS = (16,)


def _source_state() -> str:
    """Changes with any module that decides what the default contains."""
    here = Path(__file__).parent
    names = (
        "draws",
        "timing",
        "probes",
        "edit_list",
        "arms",
        "procedural",
        "frames",
        "parts",
        "release_info",
        "release_schema",
        "build",
        "default_release",
    )
    text = b"".join((here / f"{name}.py").read_bytes() for name in names)
    return hashlib.sha256(text).hexdigest()[:12]


def _folder() -> Path:
    return user_cache_path("caved-or-convinced") / f"default-video-v{FORMAT_VERSION}-{_source_state()}"


def built_default() -> Release | None:
    """The embedded default release if it was built before; it is not built for that."""
    return open_release(_folder()) if (_folder() / INFO_FILE).is_file() else None


def default_release() -> Release:
    """The embedded default release; the first call builds it, which takes seconds and shows its progress.

    It lies in the user's cache. Processes that start at the same time wait for the one that builds.

    Raises:
        CavedError: if the cache cannot be written.
    """
    folder = _folder()
    cache = folder.parent
    try:
        if not (folder / INFO_FILE).is_file():
            with sole_owner(cache / f"{folder.name}.lock", timeout_s=600):
                if not (folder / INFO_FILE).is_file():
                    build_release(
                        procedural_catalogue(),
                        folder,
                        DEFAULT_BUDGETS,
                        DEFAULT_PROBES,
                        DEFAULT_SEED,
                        CANVAS_PX,
                        "mit",
                        workers=1,
                    )
    except OSError as error:
        raise CavedError(
            f"the default release cannot be built in {cache} ({error.strerror or error}): free or unlock that "
            "folder, set XDG_CACHE_HOME to a writable one, or set CAVED_RELEASE to a release"
        ) from error
    return open_release(folder)
