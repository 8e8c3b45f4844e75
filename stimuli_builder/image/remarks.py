"""What the user should know of a release that is sound: its questions may hold less than they seem to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from stimuli_builder.image.distinct import same_levels
from stimuli_builder.image.item import Region, StoredQuestion
from stimuli_builder.image.reach import affected, margin_px
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.image.sources import SHARED

_NAMED = 5


def remarks(release: ImageRelease) -> list[str]:
    """What whoever builds or verifies a release is told of it, as sentences."""
    questions = release.questions()
    said = []
    same = [question.name for question in questions if same_levels(question.views, "corruptive")]
    if same:
        said.append(
            f"{len(same)} question(s) have levels of blur that change no pixel, or are the same, because their region is "
            f"uniform ({_named(same)}): their evidence is not degraded there"
        )
    near = list(_reached(questions, release.info.margin))
    if near:
        said.append(
            f"degrading the region of one question reaches that of another in {len(near)} item(s) ({_named(near)}): images "
            "of the one show the evidence of the other degraded, too; mark regions farther apart, or give a smaller "
            "--margin, where one is to survive what the other loses"
        )
    if release.info.sources.endswith(SHARED):
        said.append(f"{release.info.sources}: give as many photos as items")
    return said


def _named(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''}"


def _reached(questions: Sequence[StoredQuestion], margin: float) -> Iterator[str]:
    """Items of which degrading a region changes pixels of another one that decides a question."""
    regions: dict[str, dict[str, Region]] = {}
    for question in questions:
        regions.setdefault(question.item, {})[question.region.name] = question.region
    for item, named in regions.items():
        if any(_reaches(one, other, margin) for one, other in permutations(named.values(), 2)):
            yield item


def _reaches(one: Region, other: Region, margin: float) -> bool:
    reach_px = margin_px(one, margin)
    left, top, right, bottom = one.box
    box = (left - reach_px, top - reach_px, right + reach_px, bottom + reach_px)
    if box[0] >= other.box[2] or other.box[0] >= box[2] or box[1] >= other.box[3] or other.box[1] >= box[3]:
        return False
    size = max(right, other.box[2]), max(bottom, other.box[3])
    return bool((affected(one, size, margin) & other.mask(size)).any())
