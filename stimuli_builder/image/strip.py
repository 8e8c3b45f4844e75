"""One question as a picture: its region at every level of both modes, after Figure 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping

from PIL import Image

from metrics.image.trial import CHANCE, DEGRADED, INTACT, Mode
from stimuli_builder.errors import CavedError
from stimuli_builder.image.item import Box, ItemView, StoredQuestion
from stimuli_builder.image.reach import margin_px, window
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.image.strip_drawing import Row, Tile, drawn_strip, outlined
from stimuli_builder.release import FrameStore

Anchors = Mapping[tuple[str, str, int], float]  # by category, mode and level; L0 is of the mode "intact"

BY_PEOPLE = "calibrated by people"  # how the standing of people's anchors begins
NOT_CALIBRATED = "not calibrated by people"
CONTEXT = 0.25  # of the region's height: what is shown beyond the margin
HEADINGS: dict[Mode, str] = {
    "subtractive": "subtractive (occlusion): evidence is removed, and its absence can be seen",
    "corruptive": "corruptive (blur): evidence is degraded, and nothing announces its absence",
}


def preview_strip(
    release: ImageRelease, item: str | None, question: str | None, anchors: Anchors | None, anchors_from: str
) -> Image.Image:
    """The strip of one question: L0 and every level, one row for each mode, the part around the region enlarged.

    Args:
        release: an opened release.
        item: such as "i00003"; None for the first one.
        question: a category of the item; None for its first question.
        anchors: accuracies to stand under the levels; None, or a level left out, where none is known.
        anchors_from: whose they are; they are called people's only if it begins with "calibrated by people".

    Raises:
        CavedError: if the release has no such item or question, or lacks an image of it.
    """
    stored = _chosen(release, item, question)
    store, known = release.images(), anchors or {}
    intact = store.image(stored.views[0].image)
    margin = release.info.margin
    reach_px = margin_px(stored.region, margin) + max(2, round(CONTEXT * stored.region.height_px))
    rows, columns = window(stored.region, intact.size, reach_px)
    around = (columns.start, rows.start, columns.stop, rows.stop)
    drawn = [
        Row(
            HEADINGS[mode],
            tuple(
                _tile(stored, view, store, around, known, anchors_from)
                for view in stored.views
                if view.mode in (INTACT, mode)
            ),
        )
        for mode in DEGRADED
    ]
    return drawn_strip(outlined(intact, stored.region.box), _header(stored, intact, margin, known, anchors_from), drawn)


def _chosen(release: ImageRelease, item: str | None, question: str | None) -> StoredQuestion:
    stored = release.questions()
    items = list(dict.fromkeys(s.item for s in stored))
    if item is not None and item not in items:
        raise CavedError(f"no item {item}: the release has {items[0]} to {items[-1]}")
    of_item = [s for s in stored if s.item == (item or items[0])]
    categories = [s.question.category for s in of_item]
    if question is not None and question not in categories:
        raise CavedError(f"item {of_item[0].item} has no question {question!r}: choose from {', '.join(categories)}")
    return of_item[0 if question is None else categories.index(question)]


def _tile(
    stored: StoredQuestion, view: ItemView, store: FrameStore, around: Box, anchors: Anchors, anchors_from: str
) -> Tile:
    if view.mode == INTACT:
        strength = "intact"
    elif view.mode == "subtractive":
        strength = f"{view.strength:g} hidden (here {view.achieved:.2f})"
    else:
        strength = f"sigma {view.strength:g} of its height"
    accuracy = anchors.get((stored.question.category, view.mode, view.level))
    if accuracy is None:
        known = NOT_CALIBRATED
    else:
        known = f"people {accuracy:.2f}" if anchors_from.startswith(BY_PEOPLE) else f"reader {accuracy:.2f}, not people"
    return Tile(store.image(view.image).crop(around), f"L{view.level}: {strength}", known)


def _header(
    stored: StoredQuestion, intact: Image.Image, margin: float, anchors: Anchors, anchors_from: str
) -> list[str]:
    question, (left, top, right, bottom) = stored.question, stored.region.box
    known = any(category == question.category for category, _, _ in anchors)
    return [
        f"{stored.name}: {question.text}",
        f"options: {'; '.join(question.options)}     right: {question.options[question.answer]}",
        f"region {stored.region.name}: {right - left} x {bottom - top} px of {intact.width} x {intact.height} px, margin "
        f"{margin:g} of its height     {stored.source}",
        f"accuracy (chance {CHANCE:g}): {anchors_from if known else NOT_CALIBRATED}",
    ]
