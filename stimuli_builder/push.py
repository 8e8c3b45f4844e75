"""Publishing a release as a data set of the Hub: verified first, whole in one commit, found again by its digest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.release_info import INFO_FILE

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*")
_TAG_CHARACTERS = 16


@dataclass(frozen=True)
class Pushed:
    """A release on the Hub."""

    repository: str
    commit: str
    tag: str  # `digest-<first characters>`
    new: bool  # False if the Hub held this very release already

    @property
    def name(self) -> str:
        """What to set `CAVED_RELEASE` to, so that it means this release for ever."""
        return f"{self.repository}@{self.commit}"


def _reason(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


def _digest_there(api: Any, repository: str) -> str | None:
    """The digest of the release that a data set holds; None if it holds none."""
    from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError

    try:
        path = api.hf_hub_download(repository, INFO_FILE, repo_type="dataset")
    except (EntryNotFoundError, RepositoryNotFoundError):
        return None
    try:
        return str(json.loads(Path(path).read_bytes())["digest"])
    except (ValueError, KeyError, TypeError):
        return None


def push_release(
    folder: Path,
    digest: str,
    repository: str,
    public: bool,
    verify: Callable[[], Sequence[str]],
    token: str | None = None,
) -> Pushed:
    """Publish the release in `folder`.

    The data set is made if it is not there, private unless `public`; one that is there keeps its visibility. All files go
    into one commit, which also removes what an earlier release left; that one stays under its own commit and tag. Large files
    that an interrupted push has sent already are not sent again.

    Args:
        folder: of a release.
        digest: of that release.
        repository: `owner/name`.
        public: whether a new data set may be seen by all.
        verify: gives what is wrong with the release.
        token: of the Hub; None for the one of your login.

    Raises:
        CavedError: if the release does not hold, or the Hub refuses or cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import LocalTokenNotFoundError

    if not _REPOSITORY.fullmatch(repository):
        raise CavedError(f"--to {repository}: write owner/name, as the Hub calls data sets")
    if findings := list(verify()):
        raise BadInputs(f"{folder} is not published, it does not hold", findings[:20], "build the release again")
    api = HfApi(token=token)
    tag = f"digest-{digest[:_TAG_CHARACTERS]}"
    try:
        api.create_repo(repository, repo_type="dataset", private=not public, exist_ok=True)
        new = _digest_there(api, repository) != digest
        if new:
            info = api.upload_folder(
                repo_id=repository,
                folder_path=folder,
                repo_type="dataset",
                commit_message=f"Release {digest[:_TAG_CHARACTERS]}",
                delete_patterns="*",
            )
            commit = str(info.oid)
        else:
            commit = str(api.dataset_info(repository).sha)
        api.create_tag(repository, tag=tag, revision=commit, repo_type="dataset", exist_ok=True)
    except LocalTokenNotFoundError as error:
        raise CavedError(f"pushing to {repository} needs a login: run `hf auth login`, or set HF_TOKEN") from error
    except Exception as error:  # of the library, of its HTTP client, or a bare RuntimeError around either
        raise CavedError(
            f"{repository} cannot be written to ({_reason(error)}): check the spelling, your rights there (`hf auth whoami`) and "
            "the network; the same command goes on"
        ) from error
    return Pushed(repository, commit, tag, new)
