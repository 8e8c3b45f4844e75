"""Which image release a task runs on: `CAVED_RELEASE` (a folder, or a Hub id), else the embedded default."""

from __future__ import annotations

from stimuli_builder.errors import CavedError
from stimuli_builder.find_release import VARIABLE, named_folder
from stimuli_builder.image.default import default_image_release
from stimuli_builder.image.release import ImageRelease, open_image_release


def find_image_release() -> ImageRelease:
    """The image release that tasks of this process run on.

    Raises:
        CavedError: if `CAVED_RELEASE` names nothing that can be opened, or a release of videos.
    """
    folder = named_folder()
    if folder is None:
        return default_image_release()
    try:
        return open_image_release(folder)
    except CavedError as error:
        raise CavedError(f"{VARIABLE}: {error}") from error
