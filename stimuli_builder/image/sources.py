"""Where the items of a release come from: a plan for each, which any process can turn into its scene."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from stimuli_builder.errors import CavedError
from stimuli_builder.frames import frame_id
from stimuli_builder.image.image_files import read_upright
from stimuli_builder.image.item import Scene
from stimuli_builder.image.photos import Photos
from stimuli_builder.image.scenes import procedural_scene

SHARED = "items that share a photo are not independent, and intervals take them to be"


class Plan(Protocol):
    """One item before it is drawn or read; small, so that it travels to other processes."""

    @property
    def index(self) -> int:
        """Number of the item in the release."""

    def scene(self) -> Scene:
        """The item's image, regions and questions; raises CavedError if its file changed or cannot be used."""

    def number_of(self, category: str) -> int:
        """Number of its question among those of the category in the release."""


@dataclass(frozen=True)
class SceneSource:
    """The items of one build."""

    name: str  # what the release says of its sources
    fingerprint: str  # changes when the items would
    canvas_px: int  # side of procedural images; 0 for images of their own sizes
    plans: tuple[Plan, ...]
    licence: str  # what is known of it
    notes: tuple[str, ...] = ()  # what the user should know


@dataclass(frozen=True)
class ProceduralPlan:
    """A drawn item, on a drawn background or on a photo."""

    seed: int
    index: int
    canvas_px: int
    photo: str = ""  # name of the photo, relative to its folder
    photo_id: str = ""  # of its pixels when the build began
    folder: Path = Path()

    def scene(self) -> Scene:
        """As `Plan.scene`."""
        if not self.photo:
            return procedural_scene(self.seed, self.index, self.canvas_px)
        try:
            photo = read_upright(self.folder / self.photo).image
        except CavedError as error:
            raise CavedError(f"{self.photo} {error}") from error
        if frame_id(photo) != self.photo_id:
            raise CavedError(f"{self.photo} was changed while the release was built: run the same command again")
        drawn = procedural_scene(self.seed, self.index, self.canvas_px, photo)
        return replace(drawn, source=f"{drawn.source} {self.photo}")

    def number_of(self, category: str) -> int:
        """Every procedural item has a question of each category."""
        return self.index


def procedural_source(items: int, seed: int, canvas_px: int, photos: Photos | None = None) -> SceneSource:
    """Procedural items 0 .. items - 1; item i depends on the seed, on i, and on the photos alone."""
    if photos is None:
        plans = tuple(ProceduralPlan(seed, index, canvas_px) for index in range(items))
        return SceneSource("procedural scenes", _hash("procedural"), canvas_px, plans, "mit")
    ids = dict(zip(photos.names, photos.ids, strict=True))
    behind = enumerate(photos.behind(seed, index) for index in range(items))
    plans = tuple(ProceduralPlan(seed, n, canvas_px, name, ids[name], photos.folder) for n, name in behind)
    count = len(photos.names)
    notes, name = photos.notes, f"procedural scenes on {count} photos"
    if count < items:
        shared = f"{items} items share {count} photos, and intervals take items for independent: give as many photos as items"
        notes, name = (*notes, shared), f"{name}; {SHARED}"
    return SceneSource(name, _hash("photos", photos.fingerprint), canvas_px, plans, "that of the photos", notes)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
