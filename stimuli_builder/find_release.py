"""Which release a task runs on: `CAVED_RELEASE` (a folder, or a Hub id), else the embedded default."""

from __future__ import annotations

import os
import re
from pathlib import Path

from stimuli_builder.default_release import default_release
from stimuli_builder.errors import CavedError
from stimuli_builder.release import Release, open_release

VARIABLE = "CAVED_RELEASE"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.\-]*/[\w.\-]+(@[\w.\-/]+)?")


def _from_hub(name: str) -> Path:
    """Download the data set `owner/name`, optionally `owner/name@revision`, or find it in the Hub's cache."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    repository, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(repository, repo_type="dataset", revision=revision or None))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CavedError(
            f"{VARIABLE}={name} is no folder here, and as a data set of the Hub it cannot be fetched ({reason}): "
            "check the spelling, the network and your login, or give the folder of a release"
        ) from error


def named_folder() -> Path | None:
    """The folder that `CAVED_RELEASE` names, fetched from the Hub if it is an id there; None where it is not set.

    Raises:
        CavedError: if it is an id that cannot be fetched.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.exists() and _HUB_ID.fullmatch(named) and not named.startswith((".", "~", "/")):
        folder = _from_hub(named)
    return folder


def find_release() -> Release:
    """The release that tasks of this process run on.

    Raises:
        CavedError: if `CAVED_RELEASE` names nothing that can be opened.
    """
    folder = named_folder()
    if folder is None:
        return default_release()
    try:
        return open_release(folder)
    except CavedError as error:
        raise CavedError(f"{VARIABLE}: {error}") from error
