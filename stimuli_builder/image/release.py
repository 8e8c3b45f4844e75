"""An image release: one finished folder, written and opened.

`datasets.load_dataset` opens it as it is:

    README.md                 the card: configs, licence, build arguments, digest
    release.json              the same facts for programs (`ImageReleaseInfo`)
    items/items.parquet       config `items`, split `items`: one row per question, no images
    images/*.parquet          config `images`, split `images`: `frame_id` and the embedded image
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stimuli_builder.atomic import write_whole
from stimuli_builder.errors import CavedError
from stimuli_builder.image.card import image_card_text
from stimuli_builder.image.info import IMAGE_BENCHMARK, IMAGE_FORMAT_VERSION, ImageReleaseInfo
from stimuli_builder.image.item import ITEM_FEATURES, StoredQuestion
from stimuli_builder.image.levels import leading_categories
from stimuli_builder.release import FrameStore, write_frames
from stimuli_builder.release_info import CARD_FILE, INFO_FILE
from stimuli_builder.release_schema import row_hash

ITEMS_FILE = Path("items", "items.parquet")
IMAGES_FOLDER = "images"
COVERED = ("seed", "levels", "strengths", "margin", "canvas_px", "calibrated_by")  # fields under the digest


def images_of(questions: Iterable[StoredQuestion]) -> list[str]:
    """The distinct image ids of some questions, in order of first use."""
    return list(dict.fromkeys(view.image for question in questions for view in question.views))


def image_release_digest(images: Iterable[str], rows: Iterable[Mapping[str, Any]], info: ImageReleaseInfo) -> str:
    """SHA-256 over the sorted hashes of everything a model or a measure can depend on.

    It covers pixels (image ids), every field of every question, the format, and what the description says of the experiment
    (`COVERED`); no detail of how they are stored, nor who built it.

    Args:
        images: distinct image ids.
        rows: of the `items` config.
        info: the description; its own digest has no say.
    """
    covered = json.dumps({name: getattr(info, name) for name in COVERED}, sort_keys=True)
    lines = [f"{IMAGE_BENCHMARK} format {IMAGE_FORMAT_VERSION} {covered}"]
    lines += [f"image {image}" for image in set(images)]
    lines += [f"question {row_hash(row)}" for row in rows]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def write_image_release(
    folder: Path,
    info: ImageReleaseInfo,
    questions: Sequence[StoredQuestion],
    image_of: Callable[[str], bytes],
    progress: Callable[[int], object] = lambda _: None,
) -> None:
    """Write all files of a release into the empty `folder`.

    Args:
        folder: not the final place; the caller publishes it once it is whole.
        info: the description, with its digest.
        questions: in order of items.
        image_of: the encoded image of an image id.
        progress: called with the number of images after each row group.
    """
    table = pa.Table.from_pylist([question.to_row() for question in questions], schema=ITEM_FEATURES.arrow_schema)
    path = folder / ITEMS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    write_frames(folder / IMAGES_FOLDER, images_of(questions), image_of, progress)
    write_whole(folder / INFO_FILE, info.to_json().encode())
    write_whole(folder / CARD_FILE, image_card_text(info, leading_categories(questions)).encode())


@dataclass(frozen=True)
class ImageRelease:
    """A release folder whose description was read and fits this version of the package."""

    folder: Path
    info: ImageReleaseInfo

    def questions(self) -> list[StoredQuestion]:
        """All questions, those of an item after one another.

        Raises:
            CavedError: if the table is missing or damaged.
        """
        path = self.folder / ITEMS_FILE
        try:
            return [StoredQuestion.from_row(row) for row in pq.read_table(path).to_pylist()]
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise CavedError(f"{path} is damaged ({error}): build the release again") from error

    def images(self) -> FrameStore:
        """The images.

        Raises:
            CavedError: if a file of them is damaged.
        """
        folder = self.folder / IMAGES_FOLDER
        try:
            return FrameStore(folder)
        except (OSError, pa.ArrowException, KeyError) as error:
            raise CavedError(f"{folder} is damaged ({error}): build the release again") from error

    def content_digest(self) -> str:
        """The digest that the tables give; `info.digest` is the one that the release states.

        Raises:
            CavedError: if a table is missing or damaged.
        """
        rows = (question.to_row() for question in self.questions())
        return image_release_digest(self.images().ids(), rows, self.info)


def open_image_release(folder: Path) -> ImageRelease:
    """Open the image release in `folder`.

    Raises:
        CavedError: if there is none, or one of another format or benchmark.
    """
    if not folder.is_dir():
        raise CavedError(f"no release at {folder}: the folder does not exist; build one with `caved build image`")
    path = folder / INFO_FILE
    if not path.is_file():
        raise CavedError(
            f"{folder} is no release: it has no {INFO_FILE}; give the folder that `caved build image --out` wrote"
        )
    text = path.read_bytes().decode(errors="replace")  # what is not UTF-8 is no JSON that we wrote, and said so
    return ImageRelease(folder, ImageReleaseInfo.from_json(text, str(folder)))
