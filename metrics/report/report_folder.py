"""A folder that appears whole, and only ever replaces one that was written here before."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

MANIFEST = "report.json"  # names its format and every file of the folder
FORMAT = "caved-or-convinced report"
_OF_FILE_MANAGERS = {".DS_Store", "Thumbs.db", "desktop.ini"}


class ReportError(Exception):
    """A report that cannot be written or read; the message names the place and the remedy."""


def _listed_files(folder: Path) -> set[str]:
    """The files that the manifest of a report lists.

    Raises:
        ReportError: if the folder is no report.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest["format"] == FORMAT:
            return {MANIFEST, *(str(name) for name in manifest["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise ReportError(f"{folder} is not empty and no report of ours: choose another folder, or delete this one first")


def _foreign_files(folder: Path, listed: Iterable[str]) -> list[str]:
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()}
    return sorted(name for name in found - set(listed) if PurePosixPath(name).name not in _OF_FILE_MANAGERS)


def check_target(target: Path) -> Path:
    """`target` as an absolute path, if a report may be written there.

    Raises:
        ReportError: if it is a file, a link, the current folder, a folder that holds anything but a report, or
            one that cannot be read.
    """
    target = Path(os.path.abspath(target))  # noqa: PTH100 (resolve() would follow the last link)
    if target.is_symlink():
        raise ReportError(f"{target} is a symbolic link: give the path of a folder")
    if target in (Path.cwd(), *Path.cwd().parents):
        raise ReportError(f"{target} is a folder that you are in: give the name of a new one below it")
    if target.exists() and not target.is_dir():
        raise ReportError(f"{target} is a file: give the path of a folder")
    try:
        foreign = _foreign_files(target, ()) and _foreign_files(target, _listed_files(target))
    except OSError as error:
        raise ReportError(f"{target} cannot be read ({error.strerror}): choose another folder") from error
    if foreign:
        raise ReportError(
            f"{target} is a report that also holds {foreign[0]}, which would be lost: move it elsewhere, or choose "
            "another folder"
        )
    return target


def _swap(new: Path, old: Path, target: Path) -> None:
    """Put `new` at `target`; what is there goes to `old`, and comes back if `new` cannot be put there."""
    if target.is_dir():
        target.rename(old)
    try:
        new.rename(target)
    except OSError as error:
        if old.exists():
            try:
                old.rename(target)
            except OSError:
                raise ReportError(
                    f"{target} cannot be written ({error.strerror}); the earlier report is {old}"
                ) from error
        raise


def replace_folder(files: Mapping[str, bytes], target: Path) -> None:
    """Write `files` (path below the folder -> content) as the folder `target`, all of them or none.

    A report that is there already gives way once the new one is complete.

    Raises:
        ReportError: if `target` may not be written to; what is there stays as it is.
    """
    target = check_target(target)
    workplace = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        new, old = workplace / "new", workplace / "old"
        new.mkdir()
        for name, content in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(content)
        check_target(target)  # again: writing took a while
        _swap(new, old, target)
    except OSError as error:
        raise ReportError(f"{target} cannot be written ({error.strerror}): choose another folder") from error
    finally:
        if workplace is not None and (target.exists() or not (workplace / "old").exists()):
            shutil.rmtree(workplace, ignore_errors=True)
