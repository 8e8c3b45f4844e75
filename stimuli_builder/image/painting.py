"""An item as pixels: the printed carrier in its pose, its shadow, the background, light and grain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from stimuli_builder.draws import draw_fraction, draw_integer
from stimuli_builder.image.backgrounds import BACKGROUNDS, drawn_background, photo_background
from stimuli_builder.image.carriers import BLEED, THICKNESS, Cord, drawn_carrier
from stimuli_builder.image.item import Region
from stimuli_builder.image.layouts import KINDS, REFERENCE_PX, Layout, drawn_layout
from stimuli_builder.image.perspective import Pose, View, view_of
from stimuli_builder.image.prints import Plane, Prints, print_all, print_boxes
from stimuli_builder.image.textures import grain, noise_source

OVERSAMPLING = 2  # pixels of a carrier's plane for one of the canvas
GRAIN = 7  # grey levels, at most
BORDER = 8.0  # units that stay free between the carrier, with its sides, and the edge of the canvas, at least
SHADOW = (20, 20, 24)
DIMMEST, BRIGHTEST, EVEN = 208, 255, 244  # light in the corners; where it is EVEN colours are as printed


@dataclass(frozen=True)
class Setting:
    """Where an item's carrier is and how it is seen; nothing of it depends on what is asked."""

    seed: int
    index: int
    canvas_px: int
    kind: str
    layout: Layout
    pose: Pose
    view: View
    background: str

    @property
    def unit(self) -> float:
        """Pixels of the canvas in a unit of layouts."""
        return self.canvas_px / REFERENCE_PX


def drawn_setting(seed: int, index: int, canvas_px: int) -> Setting:
    """The setting of item `index`; kinds of carriers take turns."""
    kind = KINDS[index % len(KINDS)]
    layout = drawn_layout(kind, seed, index)

    def between(low: float, high: float, name: str) -> float:
        return low + (high - low) * draw_fraction(seed, name, index)

    pose = Pose(between(-16, 16, "yaw"), between(-14, 14, "pitch"), between(-1.2, 1.2, "roll"))
    unit = canvas_px / REFERENCE_PX
    scale = unit * between(0.92, 0.98, "scale")
    straight = view_of(layout.body, pose, layout.code[1], scale, (0, 0))
    border = (BORDER + THICKNESS[kind]) * unit
    corners = [straight.at(x, y) for x in (0, layout.body[0]) for y in (0, layout.body[1])]
    free_x, free_y = (canvas_px / 2 - max(corner[axis] for corner in corners) - border for axis in (0, 1))
    centre = (
        canvas_px / 2 + max(free_x, 0) * between(-1, 1, "centre x"),
        canvas_px / 2 + max(free_y, 0) * between(-1, 1, "centre y"),
    )
    view = view_of(layout.body, pose, layout.code[1], scale, centre)
    behind = BACKGROUNDS[draw_integer(0, len(BACKGROUNDS) - 1, seed, "background", index)]
    return Setting(seed, index, canvas_px, kind, layout, pose, view, behind)


def print_regions(setting: Setting, font: str) -> tuple[Region, ...]:
    """The regions of code, marks and symbol: the boxes of all pixels of the canvas that these areas reach.

    They are boxes, not masks: a mask would show through its own occlusion.
    """
    regions = []
    size = _plane_size(setting)
    for name, box in print_boxes(setting.layout, font).items():
        plane = Plane(Image.new("L", size, 0), setting.unit * OVERSAMPLING, BLEED)
        ImageDraw.Draw(plane.image).rectangle(plane.box_px(box), fill=255)
        reached = _warped(setting, plane.image).getbbox()
        if reached is None:
            raise ValueError(f"{name} of item {setting.index} lies outside of the canvas")
        regions.append(Region(name, reached))
    return tuple(regions)


def painted(setting: Setting, prints: Prints, photo: Image.Image | None = None) -> Image.Image:
    """The image of a setting with its prints, before a photo or the setting's own background.

    Two images of one setting that differ in what is printed differ within the regions of these prints alone.
    """
    seed, index, unit = setting.seed, setting.index, setting.unit
    carrier = drawn_carrier(setting.kind, setting.layout, unit * OVERSAMPLING, seed, index)
    print_all(Plane(carrier.face, unit * OVERSAMPLING, BLEED), setting.layout, prints, seed, index)
    if photo is None:
        canvas = drawn_background(setting.background, seed, index, setting.canvas_px)
    else:
        canvas = photo_background(photo, setting.canvas_px)
    face, outline = _warped(setting, carrier.face), _warped(setting, carrier.outline)
    solid = _thickened(setting, outline)
    shadow = _moved(solid, round(5 * unit), round(8 * unit)).filter(ImageFilter.GaussianBlur(round(7 * unit)))
    canvas.paste(SHADOW, (0, 0), shadow.point([value * 9 // 20 for value in range(256)]))
    canvas.paste(carrier.side, (0, 0), solid)
    canvas.paste(face, (0, 0), outline)
    if carrier.cord is not None:
        canvas.paste(carrier.cord.colour, (0, 0), _cord_mask(setting, carrier.cord))
    return _lit(canvas, seed, index)


def _plane_size(setting: Setting) -> tuple[int, int]:
    width, height = (round((side + 2 * BLEED) * setting.unit * OVERSAMPLING) for side in setting.layout.body)
    return width, height


def _warped(setting: Setting, plane: Image.Image) -> Image.Image:
    return setting.view.warp(plane, setting.unit * OVERSAMPLING, BLEED, setting.canvas_px)


def _moved(mask: Image.Image, dx: int, dy: int) -> Image.Image:
    moved = Image.new("L", mask.size, 0)
    moved.paste(mask, (dx, dy))
    return moved


def _thickened(setting: Setting, outline: Image.Image) -> Image.Image:
    """The outline with the carrier's sides, which are seen where its face is nearest."""
    solid = outline
    right, below = (-1 if setting.pose.yaw > 0 else 1), (-1 if setting.pose.pitch > 0 else 1)
    for step in range(1, round(THICKNESS[setting.kind] * setting.unit) + 1):
        solid = ImageChops.lighter(solid, _moved(outline, right * (step // 2), below * step))
    return solid


def _cord_mask(setting: Setting, cord: Cord) -> Image.Image:
    side = setting.canvas_px * OVERSAMPLING
    mask = Image.new("L", (side, side), 0)
    seen = [setting.view.at(*point) for point in cord.path]
    line = [(round(x * OVERSAMPLING), round(y * OVERSAMPLING)) for x, y in seen]
    width = round(cord.width * setting.unit * OVERSAMPLING)
    ImageDraw.Draw(mask).line(line, fill=255, width=width, joint="curve")
    return mask.reduce(OVERSAMPLING)


def _lit(image: Image.Image, seed: int, index: int) -> Image.Image:
    """Light that falls off across the image, and grain over all of it."""
    corners = [[draw_integer(DIMMEST, BRIGHTEST, seed, "light", index, x, y) for x in "lr"] for y in "tb"]
    light = Image.fromarray(np.array(corners, dtype=np.uint8)).resize(image.size, Image.Resampling.BILINEAR)
    lit = np.asarray(image).astype(np.uint16) * np.asarray(light)[..., None] // EVEN
    grainy = lit.astype(np.int16) + grain(noise_source(seed, "grain", index), image.size, GRAIN)[..., None]
    return Image.fromarray(np.clip(grainy, 0, 255).astype(np.uint8))
