"""What is printed on a carrier: a code on a coloured field, small marks in a frame, and a symbol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from stimuli_builder.draws import draw_fraction, draw_integer, draw_order
from stimuli_builder.image.layouts import Layout
from stimuli_builder.image.symbols import shape_hole, shape_outline
from stimuli_builder.image.textures import Colour
from stimuli_builder.procedural import COLOURS

MARKS = ("dots", "bars", "squares")
INKS: tuple[Colour, ...] = ((34, 34, 38), (40, 44, 62), (58, 46, 40), (44, 54, 48))
# Width of the place of a character over its height. Places are equal, so that the width of a code tells no character.
FONTS = {"DejaVuSans-Bold.ttf": 1.12, "DejaVuSansMono-Bold.ttf": 0.92}
CAPITAL_OF_EM = 0.729  # height of capitals and digits in both fonts
FIELD_MARGIN = 0.1  # of the field beyond the characters, over their height
FRAME_MARGIN = 6.0  # units from the marks' area to its frame
COLUMNS, ROWS = 5, 2  # places for marks
_DARK_INK, _LIGHT_INK = (22, 22, 26), (246, 246, 242)
# All that is left of a region under the strongest blur is its mean. So what decides the mean, but no answer, is drawn widely for
# each item: the size of marks and the tone of the panel behind them. The ink of a symbol, as a share of its square, is drawn too,
# and each shape gets a hole that leaves that much.
MARK_HEIGHT = (0.4, 0.6)  # of a place for a mark
PANEL = (150, 243)  # lightness
SYMBOL_INK = (0.2, 0.3)
_FOLDER = Path(__file__).parent.parent / "fonts"
UnitBox = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Prints:
    """What a carrier says, and how it is set."""

    code: str
    colour: str  # of the field behind the code
    count: int  # of marks
    shape: str  # of the symbol
    font: str
    marks: str
    ink: Colour  # of marks, frame and symbol


@lru_cache(maxsize=64)
def print_font(name: str, size_px: int) -> ImageFont.FreeTypeFont:
    """One of `FONTS` at a size; text is laid out one character at a time, without kerning."""
    return ImageFont.truetype(str(_FOLDER / name), size_px, layout_engine=ImageFont.Layout.BASIC)


def print_boxes(layout: Layout, font: str) -> dict[str, UnitBox]:
    """The areas, in units, that decide the answers. None depends on what is printed, so none tells an answer.

    "code" is the coloured field, which ends right behind the characters: both the code and its colour are within it, and
    nowhere else.
    """
    field = ((4 * FONTS[font] + 2 * FIELD_MARGIN) * layout.capital, (1 + 2 * FIELD_MARGIN) * layout.capital)
    parts = {
        "code": (layout.code, field),
        "marks": (layout.area, layout.area_size),
        "symbol": (layout.symbol, (layout.symbol_side, layout.symbol_side)),
    }
    return {
        name: (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        for name, ((x, y), (width, height)) in parts.items()
    }


@dataclass(frozen=True)
class Plane:
    """A carrier's plane at `scale` pixels a unit, with `bleed` units around."""

    image: Image.Image
    scale: float
    bleed: float

    def px(self, *units: float) -> list[int]:
        """Coordinates in whole pixels."""
        return [round((unit + self.bleed) * self.scale) for unit in units]

    def box_px(self, box: UnitBox) -> tuple[int, int, int, int]:
        """The first and the last pixel of a box, as `ImageDraw` wants them."""
        left, top, right, bottom = self.px(*box)
        return left, top, max(right - 1, left), max(bottom - 1, top)


def print_all(plane: Plane, layout: Layout, prints: Prints, seed: int, index: int) -> None:
    """Print onto the image of a plane. What `seed` and `index` draw depends on nothing that is asked for."""
    boxes = print_boxes(layout, prints.font)
    draw = ImageDraw.Draw(plane.image)
    shade = [draw_integer(-10, 10, seed, "field shade", index, channel) for channel in range(3)]
    _print_code(draw, plane, layout, prints, boxes["code"], shade)
    left, top, right, bottom = boxes["marks"]
    frame = (left - FRAME_MARGIN, top - FRAME_MARGIN, right + FRAME_MARGIN, bottom + FRAME_MARGIN)
    tone = draw_integer(*PANEL, seed, "panel", index)
    panel = (tone, tone - 1, tone - 5)
    draw.rectangle(plane.box_px(frame), fill=panel, outline=prints.ink, width=max(round(1.4 * plane.scale), 1))
    _print_marks(draw, plane, prints, boxes["marks"], seed, index)
    _print_symbol(plane, prints, boxes["symbol"], _between(SYMBOL_INK, seed, "symbol ink", index))


def _between(limits: tuple[float, float], seed: int, *name: object) -> float:
    low, high = limits
    return low + (high - low) * draw_fraction(seed, *name)


def _print_symbol(plane: Plane, prints: Prints, square: UnitBox, ink_share: float) -> None:
    """The shape, which reaches all four sides of its square, with a hole of the same shape."""
    left, top, right, bottom = square
    first, last = plane.px(left, top), plane.px(right, bottom)
    spans = (last[0] - 1 - first[0], last[1] - 1 - first[1])
    stencil = Image.new("L", plane.image.size, 0)
    cut = ImageDraw.Draw(stencil)
    for outline, value in ((shape_outline(prints.shape), 255), (shape_hole(prints.shape, ink_share), 0)):
        cut.polygon([(first[0] + round(x * spans[0]), first[1] + round(y * spans[1])) for x, y in outline], fill=value)
    plane.image.paste(prints.ink, (0, 0), stencil)


def _print_code(
    draw: ImageDraw.ImageDraw, plane: Plane, layout: Layout, prints: Prints, field: UnitBox, shade: Sequence[int]
) -> None:
    """The field, its colour shifted by `shade` in each channel, and the code in dark or light ink, whichever contrasts."""
    red, green, blue = (min(max(c + s, 0), 255) for c, s in zip(COLOURS[prints.colour], shade, strict=True))
    draw.rectangle(plane.box_px(field), fill=(red, green, blue))
    ink = _DARK_INK if 299 * red + 587 * green + 114 * blue > 125_000 else _LIGHT_INK
    font = print_font(prints.font, round(layout.capital * plane.scale / CAPITAL_OF_EM))
    x, y = layout.code
    (baseline,) = plane.px(y + layout.capital / 2)
    for i, character in enumerate(prints.code):
        (middle,) = plane.px(x + (i - (len(prints.code) - 1) / 2) * FONTS[prints.font] * layout.capital)
        draw.text((middle, baseline), character, font=font, fill=ink, anchor="ms")


def _print_marks(draw: ImageDraw.ImageDraw, plane: Plane, prints: Prints, area: UnitBox, seed: int, index: int) -> None:
    """Marks, all alike and apart from one another, at drawn places of their area."""
    left, top, right, bottom = area
    step_x, step_y = (right - left) / COLUMNS, (bottom - top) / ROWS
    height = _between(MARK_HEIGHT, seed, "mark height", index) * min(step_x, step_y)
    width = height / 2 if prints.marks == "bars" else height
    for place in draw_order(range(COLUMNS * ROWS), str, seed, "marks", index)[: prints.count]:
        row, column = divmod(place, COLUMNS)
        dx, dy = (0.6 * (draw_fraction(seed, "mark", index, place, axis) - 0.5) for axis in "xy")
        x = left + (column + 0.5 + dx) * step_x - dx * height
        y = top + (row + 0.5 + dy) * step_y - dy * height
        box = plane.box_px((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
        if prints.marks == "dots":
            draw.ellipse(box, fill=prints.ink)
        else:
            draw.rectangle(box, fill=prints.ink)
