"""Outlines of the shapes that a question asks for, all of the same width and height."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = tuple[float, float]


def _ring(turns: Sequence[float], radii: Sequence[float]) -> list[Point]:
    """Points at turns from the top, clockwise, and radii."""
    return [(r * math.sin(2 * math.pi * t), -r * math.cos(2 * math.pi * t)) for t, r in zip(turns, radii, strict=True)]


def _heart() -> list[Point]:
    """Two lobes above a point (the curve x = 16 sin^3 t)."""
    points = []
    for i in range(72):
        t = 2 * math.pi * i / 72
        down = 5 * math.cos(2 * t) + 2 * math.cos(3 * t) + math.cos(4 * t) - 13 * math.cos(t)
        points.append((16 * math.sin(t) ** 3, down))
    return points


_ARM = 0.34  # half of its width
_CORNERS: dict[str, list[Point]] = {
    "circle": _ring([i / 72 for i in range(72)], [1] * 72),
    "hexagon": _ring([(i + 0.5) / 6 for i in range(6)], [1] * 6),
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "diamond": [(0, -1), (1, 0), (0, 1), (-1, 0)],
    "triangle": [(0, -1), (1, 1), (-1, 1)],
    "star": _ring([i / 10 for i in range(10)], [1, 0.42] * 5),
    "cross": [
        (-_ARM, -1), (_ARM, -1), (_ARM, -_ARM), (1, -_ARM), (1, _ARM), (_ARM, _ARM),
        (_ARM, 1), (-_ARM, 1), (-_ARM, _ARM), (-1, _ARM), (-1, -_ARM), (-_ARM, -_ARM),
    ],
    "heart": _heart(),
}  # fmt: skip
# Neighbours are confusable; the last one is a neighbour of the first one.
SHAPES = tuple(_CORNERS)


def shape_outline(shape: str) -> list[Point]:
    """The corners of one of `SHAPES`, stretched so that it reaches all four sides of the square from (0, 0) to (1, 1).

    So the box around a shape tells nothing of it.
    """
    xs, ys = [x for x, _ in _CORNERS[shape]], [y for _, y in _CORNERS[shape]]
    left, top, width, height = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
    # Rounded, since the last bits of sin and cos differ between machines.
    return [(round((x - left) / width, 6), round((y - top) / height, 6)) for x, y in _CORNERS[shape]]


def shape_hole(shape: str, ink_share: float) -> list[Point]:
    """The corners of a hole, similar to `shape_outline(shape)` about its centroid, that leaves `ink_share` of the square.

    Raises:
        ValueError: if the whole shape has less ink than that.
    """
    corners = shape_outline(shape)
    area, middle_x, middle_y = 0.0, 0.0, 0.0
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        cross = (x0 * y1 - x1 * y0) / 2
        area += cross
        middle_x += cross * (x0 + x1) / 3
        middle_y += cross * (y0 + y1) / 3
    if not 0 < ink_share < area:
        raise ValueError(f"a {shape} fills {area:.2f} of its square, {ink_share:.2f} is asked for")
    middle_x, middle_y, scale = middle_x / area, middle_y / area, math.sqrt(1 - ink_share / area)
    return [
        (round(middle_x + scale * (x - middle_x), 6), round(middle_y + scale * (y - middle_y), 6)) for x, y in corners
    ]
