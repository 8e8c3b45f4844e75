"""Image releases that were changed by someone who knew how to make the digest fit again."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from stimuli_builder.frames import encode, frame_id
from stimuli_builder.image.item import ITEM_FEATURES
from stimuli_builder.image.release import IMAGES_FOLDER, ITEMS_FILE, ImageRelease, open_image_release
from stimuli_builder.release_info import INFO_FILE
from stimuli_builder.release_schema import FRAME_FEATURES


def redo_image_digest(folder: Path, **changes) -> ImageRelease:
    """Make the stated digest that of the content, and change other fields of the description."""
    info = dataclasses.replace(open_image_release(folder).info, **changes)
    info = dataclasses.replace(info, digest=ImageRelease(folder, info).content_digest())
    (folder / INFO_FILE).write_text(info.to_json())
    return open_image_release(folder)


def _write(path: Path, rows: list[dict], features) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=features.arrow_schema), path, row_group_size=32)


def forged_items(
    release: ImageRelease, out: Path, change: Callable[[list[dict]], object], digest_fits: bool = True, **changes
) -> ImageRelease:
    """A copy of a release whose rows were changed, and fields of its description."""
    shutil.copytree(release.folder, out)
    rows = pq.read_table(out / ITEMS_FILE).to_pylist()
    change(rows)
    _write(out / ITEMS_FILE, rows, ITEM_FEATURES)
    return redo_image_digest(out, **changes) if digest_fits else open_image_release(out)


def forged_images(release: ImageRelease, out: Path, change: Callable[[list[dict]], object]) -> ImageRelease:
    """A copy of a release whose stored images were changed; rows and digest are left as they were."""
    shutil.copytree(release.folder, out)
    (path,) = (out / IMAGES_FOLDER).glob("*.parquet")
    rows = pq.read_table(path).to_pylist()
    change(rows)
    _write(path, rows, FRAME_FEATURES)
    return open_image_release(out)


def repainted(
    release: ImageRelease,
    out: Path,
    paint: Callable[[Image.Image, list[dict]], Image.Image],
    item: int,
    mode: str,
    level: int,
) -> ImageRelease:
    """A copy in which one image of an item's first region is another, known by its own id everywhere; the digest fits."""
    shutil.copytree(release.folder, out)
    rows = pq.read_table(out / ITEMS_FILE).to_pylist()
    mine = [row for row in rows if row["item_index"] == item and row["region"] == rows[item * 4]["region"]]
    (old,) = {view["image"] for row in mine for view in row["views"] if (view["mode"], view["level"]) == (mode, level)}
    image = paint(release.images().image(old).copy(), mine)
    for row in rows:
        for view in row["views"]:
            if view["image"] == old:
                view["image"] = frame_id(image)
    _write(out / ITEMS_FILE, rows, ITEM_FEATURES)
    (path,) = (out / IMAGES_FOLDER).glob("*.parquet")
    images = pq.read_table(path).to_pylist()
    for row in images:
        if row["frame_id"] == old:
            row.update(frame_id=frame_id(image), image={"bytes": encode(image), "path": None})
    _write(path, images, FRAME_FEATURES)
    return redo_image_digest(out)
