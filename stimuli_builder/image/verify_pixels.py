"""What the images of an item must show: nothing changed but the region, more at each level, all as the seed draws it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from metrics.image.trial import DEGRADED, Mode
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import decode, frame_id
from stimuli_builder.image.degraded import affected, degraded_views
from stimuli_builder.image.distinct import levels_that_are_none, nothing_to_blur
from stimuli_builder.image.info import ImageReleaseInfo
from stimuli_builder.image.item import ItemView, Region, StoredQuestion
from stimuli_builder.image.occlusion import TONES
from stimuli_builder.image.scenes import procedural_scene
from stimuli_builder.release import FrameStore

Pixels = NDArray[np.uint8]  # (height, width, 3)
Shown = Mapping[tuple[Mode, int], Pixels]  # by mode and level
_ROUNDING = 1  # grey levels by which platforms may differ in a blur
_DRAWN_ALIKE = 8  # grey levels, mean over a region: versions of the font renderer differ by less
_BOX_ALIKE_PX = 2  # by which they may place an edge otherwise
_RISE = 0.995  # of a level's distance from the intact image, which the next level has to reach
_FAINT = 0.01  # of that distance, in squared grey levels: rounding of a blur that hardly changes anything
_ROUNDED = 0.01  # share of values that may be rounded otherwise


def check_item_pixels(listed: Sequence[StoredQuestion], info: ImageReleaseInfo, store: FrameStore) -> Iterator[str]:
    """Everything that is wrong with the images of one item, as sentences."""
    images: dict[str, Image.Image] = {}
    for name in dict.fromkeys(view.image for stored in listed for view in stored.views):
        if name not in store:
            continue  # said elsewhere, once for all
        try:
            images[name] = decode(store.encoded(name))
        except (OSError, SyntaxError, ValueError) as error:
            yield f"image {name[:16]} cannot be decoded ({error})"
            continue
        if frame_id(images[name]) != name:
            yield f"image {name[:16]} holds other pixels: they hash to {frame_id(images[name])[:16]}"
    intact = images.get(listed[0].views[0].image) if listed[0].views else None
    if intact is None:
        return
    canvas = (info.canvas_px, info.canvas_px)
    if info.canvas_px and intact.size != canvas:
        yield f"its images are {intact.width} x {intact.height}, the canvas is {canvas[0]} x {canvas[1]}"
    odd = [name[:16] for name, image in images.items() if image.size != intact.size]
    if odd:
        yield f"image {odd[0]} is of another size than the intact one"
        return
    for stored in {stored.region.name: stored for stored in reversed(listed)}.values():
        where = f"region {stored.region.name}"
        try:
            may_change = affected(stored.region, intact.size, info.margin)
        except ValueError as error:
            yield f"{where}: {error}"
            continue
        if all(view.image in images for view in stored.views):
            shown: Shown = {(view.mode, view.level): np.asarray(images[view.image]) for view in stored.views}
            findings = [
                *_check_modes(stored, shown, may_change),
                *_check_draws(stored, intact, shown, info, int(may_change.sum())),
            ]
            yield from (f"{where}: {text}" for text in findings)
    if info.canvas_px:
        yield from _check_scene(listed, intact, info)


def _check_modes(stored: StoredQuestion, shown: Shown, may_change: NDArray[np.bool_]) -> Iterator[str]:
    intact = shown["intact", 0]
    region = stored.region.mask(may_change.shape[::-1])
    for view in stored.views:
        outside = int(((shown[view.mode, view.level] != intact).any(-1) & ~may_change).sum())
        if outside:
            yield f"{view.mode} L{view.level} changes {outside} pixels outside of the region and its margin"
    yield from _check_subtractive([v for v in stored.views if v.mode == "subtractive"], shown, region)
    for same in levels_that_are_none(stored.views, intact[may_change]):
        yield f"{same} show the same image"
    yield from _check_corruptive([v for v in stored.views if v.mode == "corruptive"], shown, may_change)


def _check_subtractive(views: Sequence[ItemView], shown: Shown, region: NDArray[np.bool_]) -> Iterator[str]:
    """Patches of the two tones, as many as it says, and none of them gone at the next level."""
    intact = shown["intact", 0]
    before: Pixels | None = None
    for view in views:
        pixels, where = shown[view.mode, view.level], f"{view.mode} L{view.level}"
        changed = (pixels != intact).any(-1)
        patched = np.isin(pixels, TONES).all(-1) & (np.ptp(pixels, axis=-1) == 0)
        if not changed.any() or not patched[changed].all():
            yield f"{where} hides nothing, or not under patches of the greys {' and '.join(map(str, TONES))}"
            continue
        # What was of a patch's tone before counts as hidden or not.
        least, most = changed[region].mean(), patched[region].mean()
        if not least - 1e-9 <= view.achieved <= most + 1e-9:
            yield f"{where} hides {least:.3f} of the region, it says {view.achieved:.3f}"
        if before is not None and (pixels != before)[(before != intact).any(-1)].any():
            yield f"{where} shows again what the level before hides"
        before = pixels


def _check_corruptive(views: Sequence[ItemView], shown: Shown, may_change: NDArray[np.bool_]) -> Iterator[str]:
    """The distance from the intact image rises with the level, unless there is nothing that a blur could change."""
    if nothing_to_blur(shown["intact", 0][may_change]):
        return
    intact = shown["intact", 0][may_change].astype(float)
    distance = 0.0
    for view in views:
        now = float(np.square(shown[view.mode, view.level][may_change] - intact).mean())
        if now < distance * _RISE - _FAINT or now == 0:
            yield f"{view.mode} L{view.level} is no more blurred than the level before"
        distance = max(distance, now)


def _check_draws(
    stored: StoredQuestion, intact: Image.Image, shown: Shown, info: ImageReleaseInfo, may_change: int
) -> Iterator[str]:
    """Degrading the intact image again gives the same images, but for the rounding of a blur."""
    region: Region = stored.region
    strengths: dict[Mode, tuple[float, ...]] = {
        mode: tuple(view.strength for view in stored.views if view.mode == mode) for mode in DEGRADED
    }
    try:
        again = degraded_views(intact, region, strengths, info.margin, info.seed, stored.item, region.name)
        for mode, level, _, _, image in again:
            off = np.abs(np.asarray(image).astype(int) - shown[mode, level])
            rounded = np.count_nonzero(off) <= _ROUNDED * 3 * may_change and off.max() <= _ROUNDING
            if off.any() and not (mode == "corruptive" and rounded):
                what = "hides other pixels" if mode == "subtractive" else "is blurred otherwise"
                yield f"{mode} L{level} {what} than seed, strength and margin say"
    except (CavedError, ValueError, KeyError) as error:
        yield f"it cannot be degraded again: {error}"


def _check_scene(listed: Sequence[StoredQuestion], intact: Image.Image, info: ImageReleaseInfo) -> Iterator[str]:
    """A procedural item asks, and shows in its regions, what the seed draws; on a photo its background does not count."""
    try:
        drawn = procedural_scene(info.seed, listed[0].index, info.canvas_px)
    except CavedError as error:
        yield f"it cannot be drawn again: {error}"
        return
    if [stored.question for stored in listed] != list(drawn.questions):
        yield f"its questions, options or answers are not those of seed {info.seed}"
        return
    setting = drawn.source.rpartition(", on ")[0]
    for stored in listed:
        if stored.kind != drawn.kind or (
            stored.source != drawn.source and not stored.source.startswith(f"{setting}, on a photo ")
        ):
            yield f"{stored.name} is said to be {stored.source!r}, seed {info.seed} draws {drawn.source!r}"
    regions = {region.name: region for region in drawn.regions}
    for stored in listed:
        again = regions[stored.question.region]
        if max(abs(a - b) for a, b in zip(stored.region.box, again.box, strict=True)) > _BOX_ALIKE_PX:
            yield f"the region of {stored.name} is not that of seed {info.seed}"
            continue
        mask = stored.region.mask(intact.size)
        off = np.abs(np.asarray(intact)[mask].astype(int) - np.asarray(drawn.image)[mask]).mean()
        if off > _DRAWN_ALIKE:
            yield f"the region of {stored.name} does not show what seed {info.seed} draws"
