"""Videos in folders: any `<label>/<clip>` tree of events, any tree of backgrounds, NExT-QA among them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from stimuli_builder.catalogue import EventClass, Source
from stimuli_builder.errors import CavedError

VIDEO_SUFFIXES = frozenset({".avi", ".mp4", ".mkv", ".mov", ".webm", ".m4v", ".mpg", ".mpeg"})
PHRASES_FILE = "phrases.json"


def _is_video(path: Path) -> bool:
    return path.suffix.lower() in VIDEO_SUFFIXES and path.is_file()


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _existing_folder(folder: Path, option: str) -> Path:
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "does not exist"
        raise CavedError(f"{option} {folder} {found}: give the folder that the data set was unpacked into")
    return folder


def _sources(folder: Path) -> tuple[Source, ...]:
    found = (Path(parent) / name for parent, _, names in os.walk(folder, followlinks=True) for name in names)
    videos = sorted((p for p in found if _is_video(p) and not _is_hidden(p, folder)), key=lambda p: p.as_posix())
    for video in videos:
        try:
            str(video).encode()
        except UnicodeEncodeError as error:
            raise CavedError(f"{str(video)!r} has a name that is not valid UTF-8: rename the file or folder") from error
    return tuple(Source(name=p.as_posix(), location=str(p)) for p in videos)


def _renamed(sources: tuple[Source, ...], folder: Path) -> tuple[Source, ...]:
    return tuple(Source(Path(s.location).relative_to(folder).as_posix(), s.location) for s in sources)


def words_of(label: str) -> str:
    """A phrase for a label that no table knows: `FlippingPancake`, `flipping_pancake` -> flipping pancake."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", label)
    return re.sub(r"[\s_\-]+", " ", spaced).strip().lower()


def _own_phrases(folder: Path, option: str) -> dict[str, str]:
    path = folder / PHRASES_FILE
    if not path.is_file():
        return {}
    try:
        phrases = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CavedError(f"{option}: {path} cannot be read as JSON ({error}): mend or delete it") from error
    if not isinstance(phrases, dict) or not all(isinstance(v, str) and v.strip() for v in phrases.values()):
        raise CavedError(f'{option}: {path} must be one object of the form {{"label": "a phrase"}}, no phrase empty')
    return phrases


def classes_of(folder: Path, option: str, phrases: Mapping[str, str] | None = None) -> list[EventClass]:
    """One class for each sub-folder of `folder` that holds videos, in order of labels.

    A label's phrase comes from the folder's own `phrases.json` ({label: phrase}), else from `phrases`,
    else from the label's words. Source names are relative to `folder`.

    Raises:
        CavedError: if the folder is missing, or has no sub-folder with a video.
    """
    _existing_folder(folder, option)
    known = {**(phrases or {}), **_own_phrases(folder, option)}
    classes, empty = [], []
    for sub in sorted((p for p in folder.iterdir() if p.is_dir() and p.name[0] != "."), key=lambda p: p.name):
        clips = _renamed(_sources(sub), folder)
        if clips:
            classes.append(EventClass(sub.name, known.get(sub.name, words_of(sub.name)), clips))
        else:
            empty.append(sub.name)
    if not classes:
        seen = f" (sub-folders without videos: {', '.join(empty[:5])})" if empty else ""
        raise CavedError(
            f"{option} {folder} has no sub-folder with videos{seen}: clips are expected as <label>/<clip>, "
            f"with one of the endings {' '.join(sorted(VIDEO_SUFFIXES))}"
        )
    return classes


def backgrounds_of(folder: Path, option: str) -> list[Source]:
    """Every video under `folder`, at any depth, in order of names.

    Where `folder` holds `NExTVideo`, as NExT-QA unpacks, only that part is searched; recorded names read
    `NExTVideo/0101/2909445186.mp4` then, whatever the map of video ids says.

    Raises:
        CavedError: if the folder is missing or has no video.
    """
    _existing_folder(folder, option)
    inner = folder / "NExTVideo"
    videos = _renamed(_sources(inner if inner.is_dir() else folder), folder)
    if not videos:
        raise CavedError(
            f"{option} {folder} holds no video: background files are expected at any depth, "
            f"with one of the endings {' '.join(sorted(VIDEO_SUFFIXES))}"
        )
    return list(videos)
