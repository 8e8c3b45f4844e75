"""The embedded default image release: procedural, built on first use, so that a task runs without any data."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path

from stimuli_builder.atomic import sole_owner
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import CANVAS_PX
from stimuli_builder.image.build import build_image_release, source_state
from stimuli_builder.image.info import IMAGE_FORMAT_VERSION
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import ImageRelease, open_image_release
from stimuli_builder.image.sources import procedural_source
from stimuli_builder.release_info import INFO_FILE

DEFAULT_ITEMS = 32
DEFAULT_SEED = 0


def _folder() -> Path:
    return user_cache_path("caved-or-convinced") / f"default-image-v{IMAGE_FORMAT_VERSION}-{source_state()[:12]}"


def built_default_image_release() -> ImageRelease | None:
    """The embedded default release if it was built before; it is not built for that."""
    return open_image_release(_folder()) if (_folder() / INFO_FILE).is_file() else None


def default_image_release() -> ImageRelease:
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
                    source = procedural_source(DEFAULT_ITEMS, DEFAULT_SEED, CANVAS_PX)
                    build_image_release(source, folder, DEFAULT_SEED, {}, MARGIN, source.licence, workers=1)
    except OSError as error:
        raise CavedError(
            f"the default release cannot be built in {cache} ({error.strerror or error}): free or unlock that "
            "folder, set XDG_CACHE_HOME to a writable one, or set CAVED_RELEASE to a release"
        ) from error
    return open_image_release(folder)
