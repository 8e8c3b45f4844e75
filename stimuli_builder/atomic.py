"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from stimuli_builder.errors import CavedError


def write_whole(path: Path, data: bytes, durable: bool = True) -> None:
    """Write `data` to `path` through a neighbouring temporary file, so that a killed run leaves no half.

    `durable` waits for the disk, which also survives a power cut; it is too slow for thousands of frames.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def publish_folder(finished: Path, target: Path) -> None:
    """Move a finished folder to `target` in one step; an empty folder there gives way.

    Raises:
        CavedError: if `target` holds something.
    """
    if target.is_dir() and not any(target.iterdir()):
        target.rmdir()
    if target.exists():
        raise CavedError(f"{target} was created by something else meanwhile: choose another --out")
    finished.rename(target)


def check_target(target: Path) -> Path:
    """`target` as an absolute path without detours.

    Raises:
        CavedError: unless a new folder can be made there.
    """
    target = Path(os.path.abspath(target))  # noqa: PTH100 (resolve() would follow the last link)
    try:
        str(target).encode()
    except UnicodeEncodeError as error:
        raise CavedError(f"--out {str(target)!r} is not valid UTF-8: choose another name") from error
    if target.is_symlink():
        raise CavedError(f"--out {target} is a symbolic link: give the path of a new folder")
    if target == Path.cwd():
        raise CavedError(f"--out {target} is the folder that you are in: give the name of a new one below it")
    if target.exists() and not target.is_dir():
        raise CavedError(f"--out {target} is a file: give the path of a new folder")
    if target.is_dir() and any(target.iterdir()):
        raise CavedError(f"--out {target} is not empty: choose another folder, or delete this one first")
    nearest = target.absolute()
    while not nearest.exists():
        nearest = nearest.parent
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise CavedError(f"--out {target} cannot be created: {nearest} is not writable for this user")
    return target


@contextmanager
def sole_owner(lock_path: Path, timeout_s: float) -> Iterator[None]:
    """Hold `lock_path` against other processes.

    Raises:
        CavedError: if another process still holds it after `timeout_s` seconds.
    """
    try:
        lock_path.parent.mkdir(parents=True, exist_ok=True)
        lock_path.touch()  # where this fails the reason is said; FileLock would wait for a lock for ever
        with FileLock(str(lock_path), timeout=timeout_s):
            yield
    except Timeout as error:
        raise CavedError(f"another process is building here ({lock_path}): wait for it to end") from error


def remove_folder(folder: Path) -> None:
    """Delete a folder with all that it holds, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)
