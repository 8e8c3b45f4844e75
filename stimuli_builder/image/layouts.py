"""Where on a carrier its code, its marks and its symbol stand, in units of 1/448 of the canvas."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stimuli_builder.draws import draw_fraction, draw_integer

REFERENCE_PX = 448  # a unit is one pixel of a canvas of this side
KINDS = ("parcel", "badge", "plate", "tag")
Point = tuple[float, float]
SHIFT = 5.0  # units by which each part is moved at most, in each direction


@dataclass(frozen=True)
class Layout:
    """Centres and sizes on the plane of a carrier, from its top left corner, in units."""

    name: str
    body: Point  # width and height of the carrier
    code: Point  # centre of the code's field
    capital: float  # height of its characters
    area: Point  # centre of the area with the marks
    area_size: Point
    symbol: Point  # centre of the symbol
    symbol_side: float

    def mirrored(self, across: bool, down: bool) -> Layout:
        """The layout with left and right, or top and bottom, exchanged."""

        def place(point: Point) -> Point:
            return (
                self.body[0] - point[0] if across else point[0],
                self.body[1] - point[1] if down else point[1],
            )

        name = self.name + (", left for right" if across else "") + (", upside down" if down else "")
        return replace(self, name=name, code=place(self.code), area=place(self.area), symbol=place(self.symbol))


# Parts keep farther from one another than half of their heights, under any pose.
_LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "parcel": (
        Layout("code above", (350, 322), (175, 88), 42, (90, 226), (116, 56), (268, 226), 62),
        Layout("symbol aside", (376, 322), (110, 80), 37, (106, 230), (122, 56), (308, 154), 60),
    ),
    "badge": (
        Layout("symbol above", (286, 412), (143, 218), 38, (143, 336), (124, 48), (143, 98), 54),
        Layout("code above", (312, 380), (156, 126), 40, (80, 272), (104, 50), (238, 272), 56),
    ),
    "plate": (
        Layout("code above", (408, 290), (204, 82), 46, (130, 216), (116, 48), (290, 216), 54),
        Layout("symbol aside", (412, 280), (286, 78), 42, (286, 206), (130, 50), (70, 138), 58),
    ),
    "tag": (
        Layout("code above", (408, 256), (232, 70), 38, (158, 190), (112, 42), (314, 190), 50),
        Layout("code below", (408, 256), (232, 186), 38, (314, 66), (112, 42), (158, 66), 50),
    ),
}
_MIRRORED_ACROSS = ("parcel", "badge", "plate")  # a tag has its hole at the left
_MIRRORED_DOWN = ("parcel", "plate")


def drawn_layout(kind: str, seed: int, index: int) -> Layout:
    """The layout of an item: one of its kind's, perhaps mirrored, its parts moved a little and the code's size drawn."""
    choices = _LAYOUTS[kind]
    layout = choices[draw_integer(0, len(choices) - 1, seed, "layout", index)].mirrored(
        across=kind in _MIRRORED_ACROSS and draw_integer(0, 1, seed, "mirror across", index) == 1,
        down=kind in _MIRRORED_DOWN and draw_integer(0, 1, seed, "mirror down", index) == 1,
    )

    def moved(point: Point, part: str) -> Point:
        dx, dy = (SHIFT * (2 * draw_fraction(seed, "shift", index, part, axis) - 1) for axis in "xy")
        return point[0] + dx, point[1] + dy

    return replace(
        layout,
        code=moved(layout.code, "code"),
        area=moved(layout.area, "area"),
        symbol=moved(layout.symbol, "symbol"),
        capital=layout.capital * (0.92 + 0.13 * draw_fraction(seed, "capital", index)),
    )
