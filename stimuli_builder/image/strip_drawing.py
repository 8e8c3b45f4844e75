"""Drawing a strip: pictures of one size in rows, lines of text above and below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from stimuli_builder.contact_sheet import FONT_PATH
from stimuli_builder.image.item import Box

TILE_PX = (250, 190)  # a picture fits in
WHOLE_PX = (250, 190)  # the whole image fits in
GAP_PX = 14
TEXT_PX, LINE_PX = 15, 22
INK, FAINT, MARK = "#212529", "#868e96", "#d9480f"


@dataclass(frozen=True)
class Tile:
    """One level: a part of its image, and two lines below."""

    picture: Image.Image
    strength: str
    accuracy: str


@dataclass(frozen=True)
class Row:
    """The levels of one mode; all pictures are of one size."""

    heading: str
    tiles: tuple[Tile, ...]


@cache
def _font(size_px: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONT_PATH), size_px, layout_engine=ImageFont.Layout.BASIC)


def _fitted(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """`image` made as large, or as small, as fits in `size`."""
    scale = min(size[0] / image.width, size[1] / image.height)
    return image.resize(
        (max(1, round(image.width * scale)), max(1, round(image.height * scale))), Image.Resampling.BICUBIC
    )


def outlined(image: Image.Image, box: Box) -> Image.Image:
    """The whole image, small, with a box drawn around."""
    small = _fitted(image, WHOLE_PX)
    x, y = small.width / image.width, small.height / image.height
    left, top, right, bottom = box
    ImageDraw.Draw(small).rectangle((left * x - 2, top * y - 2, right * x + 1, bottom * y + 1), outline=MARK, width=2)
    return small


def wrapped(text: str, width_px: int, size_px: int) -> list[str]:
    """`text` in lines no wider than `width_px`, broken at spaces; a word that is wider is cut."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if _font(size_px).getlength(longer) <= width_px:
            lines[-1] = longer
            continue
        while _font(size_px).getlength(word) > width_px:
            word = word[:-2] + "…"
        lines.append(word)
    return [line for line in lines if line] or [""]


def drawn_strip(whole: Image.Image, header: Sequence[str], rows: Sequence[Row]) -> Image.Image:
    """The header beside the whole image, below it each row with its heading."""
    across = max(len(row.tiles) for row in rows)
    width = GAP_PX + across * (TILE_PX[0] + GAP_PX)
    beside_px = width - whole.width - 3 * GAP_PX
    lines = [
        (line, INK if i < 2 else FAINT)
        for i, text in enumerate(header)
        for line in wrapped(text, beside_px, TEXT_PX + 1)
    ]
    pictures = [[_fitted(tile.picture, TILE_PX) for tile in row.tiles] for row in rows]
    row_px = [LINE_PX + 4 + shown[0].height + 2 * LINE_PX + GAP_PX for shown in pictures]
    top_px = GAP_PX + max(whole.height, len(lines) * (LINE_PX + 2)) + GAP_PX
    sheet = Image.new("RGB", (width, top_px + sum(row_px)), "white")
    draw = ImageDraw.Draw(sheet)
    sheet.paste(whole, (GAP_PX, GAP_PX))
    for i, (line, colour) in enumerate(lines):
        draw.text((2 * GAP_PX + whole.width, GAP_PX + i * (LINE_PX + 2)), line, font=_font(TEXT_PX + 1), fill=colour)
    top = top_px
    for row, shown, height in zip(rows, pictures, row_px, strict=True):
        draw.text((GAP_PX, top), row.heading, font=_font(TEXT_PX), fill=INK)
        for i, (tile, picture) in enumerate(zip(row.tiles, shown, strict=True)):
            left, y = GAP_PX + i * (TILE_PX[0] + GAP_PX), top + LINE_PX + 4
            sheet.paste(picture, (left, y))
            draw.text((left, y + picture.height + 4), tile.strength, font=_font(TEXT_PX - 1), fill=INK)
            draw.text((left, y + picture.height + 4 + LINE_PX - 3), tile.accuracy, font=_font(TEXT_PX - 1), fill=FAINT)
        top += height
    return sheet
