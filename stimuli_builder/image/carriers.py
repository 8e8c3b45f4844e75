"""The small objects that carry the prints: parcel, badge, plate and tag, blank, on their own plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from stimuli_builder.draws import draw_fraction, draw_integer
from stimuli_builder.image.layouts import Layout, Point
from stimuli_builder.image.textures import (
    Colour,
    Relief,
    Size,
    cardboard,
    metal,
    noise_source,
    paper,
    plastic,
    surface,
)

BLEED = 6.0  # units around a carrier that continue its surface, so that its warped edge has no dark seam


@dataclass(frozen=True)
class Cord:
    """What a badge or a tag hangs from, in units of the carrier's plane."""

    path: tuple[Point, ...]  # from the carrier's opening to beyond the canvas
    width: float
    colour: Colour


@dataclass(frozen=True)
class Carrier:
    """A carrier on its plane, which is larger than it by `BLEED` on all sides."""

    face: Image.Image  # RGB
    outline: Image.Image  # L: 255 on the carrier
    side: Colour
    cord: Cord | None


_SURFACES: dict[str, Callable[[np.random.RandomState, Size], Relief]] = {
    "parcel": cardboard,
    "badge": plastic,
    "plate": metal,
    "tag": paper,
}
# Muted: none of them is one of the colours that a question asks for.
_COLOURS: dict[str, tuple[Colour, ...]] = {
    "parcel": ((190, 152, 108), (204, 170, 128), (176, 138, 98)),
    "badge": ((238, 239, 241), (222, 226, 232), (238, 232, 222)),
    "plate": ((182, 186, 192), (166, 170, 176), (196, 194, 188)),
    "tag": ((238, 230, 208), (218, 204, 172), (240, 240, 234)),
}
_BANDS: tuple[Colour, ...] = ((70, 76, 88), (96, 92, 88), (58, 66, 70))
_TAPE, _STRING = (222, 200, 164), (176, 160, 130)
THICKNESS = {"parcel": 16.0, "badge": 3.0, "plate": 5.0, "tag": 1.5}  # units


def drawn_carrier(kind: str, layout: Layout, scale: float, seed: int, index: int) -> Carrier:
    """The blank carrier of an item, at `scale` pixels a unit."""
    width, height = (round((side + 2 * BLEED) * scale) for side in layout.body)
    colour = _COLOURS[kind][draw_integer(0, len(_COLOURS[kind]) - 1, seed, "carrier colour", index)]
    band = _BANDS[draw_integer(0, len(_BANDS) - 1, seed, "carrier band", index)]
    dark = (colour[0] * 3 // 5, colour[1] * 3 // 5, colour[2] * 3 // 5)
    face = surface(colour, _SURFACES[kind](noise_source(seed, "carrier", index), (width, height)))
    outline = Image.new("L", (width, height), 0)
    draw, cut = ImageDraw.Draw(face), ImageDraw.Draw(outline)
    across, down = layout.body

    def px(*units: float) -> list[int]:
        return [round((unit + BLEED) * scale) for unit in units]

    def thick(units: float) -> int:
        return max(round(units * scale), 1)

    bend = 40 * draw_fraction(seed, "cord", index) - 20
    cord: Cord | None = None
    if kind == "parcel":
        cut.rectangle(px(0, 0, across, down), fill=255)
        top = draw_integer(0, 1, seed, "tape", index) * (down - 22)
        strip = (0, px(top)[0], width, px(top + 22)[0])
        beneath = face.crop(strip)
        face.paste(Image.blend(beneath, Image.new("RGB", beneath.size, _TAPE), 0.45), strip)
    elif kind == "badge":
        cut.rounded_rectangle(px(0, 0, across, down), radius=thick(20), fill=255)
        draw.rectangle(px(-BLEED, -BLEED, across + BLEED, 40), fill=band)
        cut.rounded_rectangle(px(across / 2 - 26, 13, across / 2 + 26, 25), radius=thick(6), fill=0)
        cord = Cord(((across / 2, 22), (across / 2 + bend, -300)), 26, band)
    elif kind == "plate":
        cut.rounded_rectangle(px(0, 0, across, down), radius=thick(14), fill=255)
        draw.rounded_rectangle(px(6, 6, across - 6, down - 6), radius=thick(10), outline=dark, width=thick(1))
        for x in (20, across - 20):
            for y in (20, down - 20):
                draw.ellipse(px(x - 8, y - 8, x + 8, y + 8), fill=dark)
                draw.line(px(x - 5, y - 4, x + 5, y + 4), fill=colour, width=thick(2.5))
    else:
        slant = [(46.0, 0.0), (across, 0.0), (across, down), (46.0, down), (0.0, down - 58), (0.0, 58.0)]
        cut.polygon([(px(x)[0], px(y)[0]) for x, y in slant], fill=255)
        draw.ellipse(px(17, down / 2 - 19, 55, down / 2 + 19), fill=dark)
        cut.ellipse(px(25, down / 2 - 11, 47, down / 2 + 11), fill=0)
        path = ((36, down / 2), (-4, down / 2 + bend), (-264, down / 2 - 2 * bend))
        cord = Cord(path, 3.4, _STRING)
    return Carrier(face, outline, dark, cord)
