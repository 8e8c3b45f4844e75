"""A user's photos, as backgrounds of procedural items."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stimuli_builder.draws import draw_order
from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.frames import frame_id
from stimuli_builder.image.annotation import path_problem
from stimuli_builder.image.image_files import (
    SUFFIXES,
    UnreadableImage,
    absent,
    collected_notes,
    read_upright,
    side_by_side,
)


@dataclass(frozen=True)
class Photos:
    """The photos of a folder, all of which can be read."""

    folder: Path
    names: tuple[str, ...]  # relative to the folder, in order
    ids: tuple[str, ...]  # of their pixels
    fingerprint: str  # of names and pixels
    notes: tuple[str, ...]

    def behind(self, seed: int, index: int) -> str:
        """The photo behind item `index`: each once before any comes again."""
        again, place = divmod(index, len(self.names))
        return draw_order(self.names, str, seed, "photo", again)[place]


def photos_of(folder: Path, update: Callable[[int], object] = lambda _: None) -> Photos:
    """Every photo in a folder and below it.

    Raises:
        CavedError: if the folder is missing or holds none.
        BadInputs: naming every photo that cannot be used.
    """
    if not folder.is_dir():
        raise CavedError(
            f"--photos {folder} {'is a file' if folder.exists() else absent(folder)}: give a folder of photos"
        )
    found = _files_below(folder)
    names = [name for name in found if Path(name).suffix.lower() in SUFFIXES]
    known = " ".join(sorted(SUFFIXES))
    if not names:
        raise CavedError(
            f"--photos {folder} holds no photo: files ending in {known} are expected{_others(found, names) or ''}"
        )

    def read(name: str) -> tuple[str, tuple[str, ...], str | None]:
        try:
            upright = read_upright(folder / name)
        except UnreadableImage as error:
            return "", (), f"{name} {error}"
        return frame_id(upright.image), upright.notes, path_problem(name)

    looked_at = side_by_side(read, names, update)
    problems = [problem for _, _, problem in looked_at if problem]
    first: dict[str, str] = {}
    for name, (photo, _, problem) in zip(names, looked_at, strict=True):
        if not problem and first.setdefault(photo, name) != name:
            problems.append(f"{name} shows the same pixels as {first[photo]}")
    if problems:
        raise BadInputs(
            f"{len(problems)} photo(s) cannot be used", problems, "mend them or take them out of the folder"
        )
    lines = [f"{name}\t{photo}" for name, (photo, _, _) in zip(names, looked_at, strict=True)]
    notes = collected_notes((name, notes) for name, (_, notes, _) in zip(names, looked_at, strict=True))
    skipped = _others(found, names)
    if skipped:
        notes = (*notes, f"--photos {folder}: photos are files ending in {known}{skipped}")
    ids = tuple(photo for photo, _, _ in looked_at)
    return Photos(folder, tuple(names), ids, hashlib.sha256("\n".join(lines).encode()).hexdigest(), notes)


def _files_below(folder: Path) -> list[str]:
    """Files in a folder and below it, but for hidden ones, relative to it; a folder that links lead to twice counts once."""
    found: list[str] = []
    looked_into: set[str] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        looked_into.add(os.path.realpath(parent))
        new = {os.path.realpath(os.path.join(parent, name)): name for name in sorted(folders, reverse=True)}  # noqa: PTH118
        folders[:] = sorted(n for place, n in new.items() if place not in looked_into and not n.startswith("."))
        looked_into |= new.keys()
        found += [(Path(parent) / name).relative_to(folder).as_posix() for name in names if not name.startswith(".")]
    return sorted(found)


def _others(found: list[str], names: list[str]) -> str:
    """How many files are no photos, by what their names end in; empty if all are."""
    endings = Counter(Path(name).suffix.lower() or "nothing" for name in set(found) - set(names))
    listed = ", ".join(f"{count} in {ending}" for ending, count in sorted(endings.items()))
    return f"; {endings.total()} file(s) were left aside, whose names end otherwise: {listed}" if endings else ""
