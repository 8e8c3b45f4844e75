"""A user's photos, as backgrounds of procedural items."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stimuli_builder.draws import draw_order
from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.frames import frame_id
from stimuli_builder.image.annotation import path_problem
from stimuli_builder.image.image_files import SUFFIXES, UnreadableImage, collected_notes, read_upright, side_by_side


@dataclass(frozen=True)
class Photos:
    """The photos of a folder, all of which can be read."""

    folder: Path
    names: tuple[str, ...]  # relative to the folder, in order
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
        found = "is a file" if folder.exists() else "does not exist"
        raise CavedError(f"--photos {folder} {found}: give a folder of photos")
    paths = (Path(parent) / name for parent, _, names in os.walk(folder, followlinks=True) for name in names)
    inside = (path.relative_to(folder) for path in paths if path.suffix.lower() in SUFFIXES)
    names = sorted(name.as_posix() for name in inside if not any(part.startswith(".") for part in name.parts))
    if not names:
        raise CavedError(f"--photos {folder} holds no photo: files ending in {' '.join(sorted(SUFFIXES))} are expected")

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
    return Photos(folder, tuple(names), hashlib.sha256("\n".join(lines).encode()).hexdigest(), notes)
