"""Writing a release as one finished folder, and opening one to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from stimuli_builder.atomic import write_whole
from stimuli_builder.card import card_text
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import decode
from stimuli_builder.parts import REVERSAL, Part, part_name
from stimuli_builder.release_info import CARD_FILE, INFO_FILE, ReleaseInfo
from stimuli_builder.release_schema import FRAME_FEATURES, PROBE_FEATURES, StoredProbe, release_digest

# Frames of one probe lie next to each other; a reader fetches them with one or two row groups.
_ROWS_PER_GROUP = 32
_FRAMES_PER_FILE = 2048


def frames_of(probes: Iterable[StoredProbe]) -> list[str]:
    """The distinct frame ids of some probes, in order of first use."""
    return list(dict.fromkeys(f for probe in probes for view in probe.views for f in view.frames))


def write_release(
    folder: Path,
    info: ReleaseInfo,
    probes: Mapping[Part, Sequence[StoredProbe]],
    image_of: Callable[[str], bytes],
    progress: Callable[[int], object] = lambda _: None,
) -> None:
    """Write all files of a release into the empty `folder`.

    Args:
        folder: not the final place; the caller publishes it once it is whole.
        info: the description, with its digest.
        probes: rows of each part.
        image_of: the encoded image of a frame id.
        progress: called with 1 after each frame.
    """
    for part, rows in probes.items():
        path = folder / "probes" / f"{part_name(part)}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        schema = PROBE_FEATURES.arrow_schema
        pq.write_table(pa.Table.from_pylist([row.to_row() for row in rows], schema=schema), path)
        write_frames(folder / f"frames_{part_name(part)}", frames_of(rows), image_of, progress)
    write_whole(folder / INFO_FILE, info.to_json().encode())
    write_whole(folder / CARD_FILE, card_text(info).encode())


def write_frames(
    folder: Path, frames: Sequence[str], image_of: Callable[[str], bytes], progress: Callable[[int], object]
) -> None:
    """Write frames into Parquet files of a new folder, which a `FrameStore` reads; the arguments are as above."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = FRAME_FEATURES.arrow_schema
    for number, start in enumerate(range(0, len(frames), _FRAMES_PER_FILE)):
        shard = frames[start : start + _FRAMES_PER_FILE]
        # Images are compressed already; Parquet's own compression would only cost time.
        with pq.ParquetWriter(folder / f"part-{number:05d}.parquet", schema, compression="none") as writer:
            for first in range(0, len(shard), _ROWS_PER_GROUP):
                group = shard[first : first + _ROWS_PER_GROUP]
                images = [{"bytes": image_of(frame), "path": None} for frame in group]
                writer.write_table(pa.Table.from_pydict({"frame_id": group, "image": images}, schema=schema))
                progress(len(group))


@dataclass
class FrameStore:
    """The frames of one part, looked up by id; keeps the row groups and images that were used last."""

    folder: Path
    _place: dict[str, tuple[Path, int]] = field(default_factory=dict, repr=False)
    _groups: dict[tuple[Path, int], dict[str, bytes]] = field(default_factory=dict, repr=False)
    _images: dict[str, Image.Image] = field(default_factory=dict, repr=False)
    groups_kept: int = 4
    images_kept: int = 160

    def __post_init__(self) -> None:
        for path in sorted(self.folder.glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    for frame in file.read_row_group(group, columns=["frame_id"])["frame_id"].to_pylist():
                        self._place[frame] = (path, group)

    def __contains__(self, frame: str) -> bool:
        return frame in self._place

    def ids(self) -> list[str]:
        """All frame ids, in storage order."""
        return list(self._place)

    def encoded(self, frame: str) -> bytes:
        """The stored bytes of a frame.

        Raises:
            CavedError: if the release does not hold it.
        """
        if frame not in self._place:
            raise CavedError(
                f"frame {frame[:16]} is not in {self.folder}: the release is damaged; run `caved verify` on it"
            )
        place = self._place[frame]
        if place not in self._groups:
            path, group = place
            with pq.ParquetFile(path) as file:
                table = file.read_row_group(group)
            images = [image["bytes"] for image in table["image"].to_pylist()]
            _keep(self._groups, place, dict(zip(table["frame_id"].to_pylist(), images, strict=True)))
            while len(self._groups) > self.groups_kept:
                self._groups.pop(next(iter(self._groups)))
        return self._groups[place][frame]

    def image(self, frame: str) -> Image.Image:
        """The frame as an RGB image that the caller may keep but not change.

        Raises:
            CavedError: if the release does not hold it, or holds something else than an image.
        """
        if frame not in self._images:
            try:
                image = decode(self.encoded(frame))
            except (OSError, SyntaxError, ValueError) as error:
                raise CavedError(
                    f"frame {frame[:16]} of {self.folder} is no image ({error}): run `caved verify` on the release"
                ) from error
            _keep(self._images, frame, image)
            while len(self._images) > self.images_kept:
                self._images.pop(next(iter(self._images)))
        return self._images[frame]


def _keep(store: dict[Any, Any], key: Any, value: Any) -> None:
    store.pop(key, None)
    store[key] = value


@dataclass(frozen=True)
class Release:
    """A release folder whose description was read and fits this version of the package."""

    folder: Path
    info: ReleaseInfo

    def probes(self, part: Part) -> list[StoredProbe]:
        """The probes of one part: a budget, or "reversal".

        Raises:
            CavedError: if the release has no such part, or its table is damaged.
        """
        self.require_part(part)
        path = self.folder / "probes" / f"{part_name(part)}.parquet"
        try:
            return [StoredProbe.from_row(row) for row in pq.read_table(path).to_pylist()]
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise CavedError(f"{path} is damaged ({error}): build the release again") from error

    def frames(self, part: Part) -> FrameStore:
        """The frames of one part.

        Raises:
            CavedError: if the release has no such part, or a file of its frames is damaged.
        """
        self.require_part(part)
        folder = self.folder / f"frames_{part_name(part)}"
        try:
            return FrameStore(folder)
        except (OSError, pa.ArrowException, KeyError) as error:
            raise CavedError(f"{folder} is damaged ({error}): build the release again") from error

    def content_digest(self) -> str:
        """The digest that the tables give; `info.digest` is the one that the release states.

        Raises:
            CavedError: if a table is missing or damaged.
        """
        frames = {part: self.frames(part).ids() for part in self.info.parts}
        rows = {part: (probe.to_row() for probe in self.probes(part)) for part in self.info.parts}
        return release_digest(frames, rows, self.info.canvas_px)

    def require_budget(self, budget: int) -> None:
        """Raise a CavedError unless the release has probes of this budget."""
        if budget not in self.info.budgets:
            has = ", ".join(map(str, self.info.budgets))
            raise CavedError(
                f"the release {self.folder} has no probes with k = {budget} frames (it has {has}): build one "
                f"with `caved build video --budgets {budget} ...`, or run a task of a budget that it has"
            )

    def require_part(self, part: Part) -> None:
        """Raise a CavedError unless the release has this part."""
        if not isinstance(part, str):
            self.require_budget(part)
        elif part != REVERSAL or not self.info.reversal_offsets:
            raise CavedError(
                f"the release {self.folder} has no part {part} (it has {', '.join(map(part_name, self.info.parts))}): "
                "build one with `caved build video --reversal-offsets 4 ...`"
            )


def open_release(folder: Path) -> Release:
    """Open the release in `folder`.

    Raises:
        CavedError: if there is none, or one of another format.
    """
    if not folder.is_dir():
        raise CavedError(f"no release at {folder}: the folder does not exist; build one with `caved build video`")
    path = folder / INFO_FILE
    if not path.is_file():
        raise CavedError(
            f"{folder} is no release: it has no {INFO_FILE}; give the folder that `caved build video --out` wrote"
        )
    text = path.read_bytes().decode(errors="replace")  # what is not UTF-8 is no JSON that we wrote, and said so
    return Release(folder, ReleaseInfo.from_json(text, str(folder)))
