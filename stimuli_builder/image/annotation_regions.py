"""From an annotated box or outline to the region in the image that the release shows."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from stimuli_builder.image.annotation import Annotation, Outline
from stimuli_builder.image.image_files import UnreadableImage, UprightImage, read_upright
from stimuli_builder.image.item import Box, Region, region_of_mask

MIN_REGION_PX = 8  # of height; what is lower has no levels between legible and lost
_ROUNDING_PX = 1  # by which annotation tools reach over an edge
_BRIGHT = 128


def _box_in(annotation: Annotation, size: tuple[int, int]) -> Box:
    """The box in whole pixels, rounded outward.

    Raises:
        ValueError: if it reaches outside of the image.
    """
    assert annotation.box is not None
    x, y, width, height = annotation.box
    left, top, right, bottom = math.floor(x), math.floor(y), math.ceil(x + width), math.ceil(y + height)
    if min(left, top) < -_ROUNDING_PX or right > size[0] + _ROUNDING_PX or bottom > size[1] + _ROUNDING_PX:
        raise ValueError(
            f"the box x={x:g}, y={y:g}, w={width:g}, h={height:g} reaches outside of the upright image of {size[0]} x {size[1]} px"
        )
    return max(left, 0), max(top, 0), min(right, size[0]), min(bottom, size[1])


def _mask_of(outline: Outline, size: tuple[int, int], folder: Path) -> NDArray[np.bool_]:
    """The outline's pixels in an image of `size` (width, height), shape (height, width).

    Raises:
        ValueError: if it does not fit the image, or a mask file cannot be read.
    """
    if outline.file:
        try:
            file = read_upright(folder / outline.file)
        except UnreadableImage as error:
            raise ValueError(f"the mask {outline.file} {error}") from error
        if file.image.size != size:
            raise ValueError(
                f"the mask {outline.file} is {file.image.width} x {file.image.height} px, the upright image {size[0]} x {size[1]}"
            )
        return np.asarray(file.image.convert("L")) >= _BRIGHT
    if outline.runs:
        if outline.runs_size != size or sum(outline.runs) != size[0] * size[1]:
            width, height = outline.runs_size
            raise ValueError(
                f"the run lengths fill {sum(outline.runs)} pixels of {width} x {height}, the upright image has {size[0]} x {size[1]}"
            )
        inside = np.arange(len(outline.runs)) % 2 == 1
        return np.repeat(inside, outline.runs).reshape(size).T
    canvas = Image.new("1", size)
    draw = ImageDraw.Draw(canvas)
    for polygon in outline.polygons:
        across, down = polygon[::2], polygon[1::2]
        if min(polygon) < -_ROUNDING_PX or max(across) > size[0] + _ROUNDING_PX or max(down) > size[1] + _ROUNDING_PX:
            raise ValueError(f"a polygon reaches outside of the upright image of {size[0]} x {size[1]} px")
        draw.polygon(polygon, fill=1)
    return np.array(canvas)


def _resized(mask: NDArray[np.bool_], size: tuple[int, int]) -> NDArray[np.bool_]:
    if mask.shape == size[::-1]:
        return mask
    grey = Image.fromarray(mask.astype(np.uint8) * 255)
    return np.asarray(grey.resize(size, Image.Resampling.BOX)) >= _BRIGHT


def region_of(annotation: Annotation, upright: UprightImage, size: tuple[int, int], folder: Path, name: str) -> Region:
    """The region of an annotation in the image as the release shows it.

    Args:
        annotation: with coordinates in pixels of the upright image.
        upright: the image file.
        size: (width, height) of the image in the release, which may be a smaller copy.
        folder: of images and mask files.
        name: of the region.

    Raises:
        ValueError: if box or outline do not fit the image, or the region is too small to be degraded.
    """
    full = upright.image.size
    if annotation.stated_size not in (None, full):
        assert annotation.stated_size is not None
        width, height = annotation.stated_size
        turned = upright.turned and annotation.stated_size == upright.stored_size
        remedy = (
            "it was annotated without its EXIF rotation: rotate the file itself, or annotate it upright"
            if turned
            else "annotate the file that is given"
        )
        raise ValueError(
            f"the annotations say {width} x {height} px, the upright image has {full[0]} x {full[1]}: {remedy}"
        )
    box = _box_in(annotation, full) if annotation.box is not None else None
    if annotation.outline is not None:
        mask = _mask_of(annotation.outline, full, folder)
        if not mask.any():
            raise ValueError("the mask holds no pixel of the image")
        if box is not None:
            around = region_of_mask(name, mask).box
            outside = max(box[0] - around[0], box[1] - around[1], around[2] - box[2], around[3] - box[3])
            if outside > 2 * _ROUNDING_PX:
                raise ValueError(
                    f"the mask reaches {outside} px outside of the box: one of the two belongs to something else"
                )
        region = region_of_mask(name, _resized(mask, size)) if _resized(mask, size).any() else None
    else:
        assert box is not None
        across, down = size[0] / full[0], size[1] / full[1]
        left, top = math.floor(box[0] * across), math.floor(box[1] * down)
        right, bottom = math.ceil(box[2] * across - 1e-9), math.ceil(box[3] * down - 1e-9)
        region = Region(name, (left, top, min(right, size[0]), min(bottom, size[1])))
    if region is None or region.height_px < MIN_REGION_PX:
        height = region.height_px if region is not None else 0
        shrunk = (
            f" after shrinking the image to {size[0]} x {size[1]}: raise --longest-side"
            if size != full
            else ": mark more"
        )
        raise ValueError(f"the region is {height} px high, at least {MIN_REGION_PX} are needed{shrunk}")
    return region
