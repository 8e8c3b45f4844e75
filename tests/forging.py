"""Releases that were changed by someone who knew how to make the digest fit again."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stimuli_builder.parts import Part, part_name
from stimuli_builder.release import Release, open_release
from stimuli_builder.release_info import INFO_FILE
from stimuli_builder.release_schema import FRAME_FEATURES, PROBE_FEATURES


def redo_digest(folder: Path, **changes) -> Release:
    """Make the stated digest that of the content, and change other fields of the description."""
    release = open_release(folder)
    info = dataclasses.replace(release.info, **changes)
    info = dataclasses.replace(info, digest=Release(folder, info).content_digest())
    (folder / INFO_FILE).write_text(info.to_json())
    return open_release(folder)


def forged(
    release: Release, out: Path, change: Callable[[list[dict]], object], part: Part = 8, digest_fits: bool = True
) -> Release:
    """A copy of a release whose rows of one part were changed."""
    shutil.copytree(release.folder, out)
    path = out / "probes" / f"{part_name(part)}.parquet"
    rows = pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=PROBE_FEATURES.arrow_schema), path)
    return redo_digest(out) if digest_fits else open_release(out)


def forged_frames(release: Release, out: Path, change: Callable[[list[dict]], object], part: Part = 8) -> Release:
    """A copy of a release whose stored frames of one part were changed; the digest is left as it was."""
    shutil.copytree(release.folder, out)
    (path,) = (out / f"frames_{part_name(part)}").glob("*.parquet")
    rows = pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=FRAME_FEATURES.arrow_schema), path, row_group_size=32)
    return open_release(out)


def view(row: dict, arm: str, phase: str, twin: str, offset: int | None = None, frames: int | None = None) -> dict:
    """The one view of a row that is described so."""
    (found,) = [
        v
        for v in row["views"]
        if (v["arm"], v["phase"], v["twin"], v["offset"]) == (arm, phase, twin, offset)
        and frames in (None, len(v["frames"]))
    ]
    return found
