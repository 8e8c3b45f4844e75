"""A flat thing seen at a slant: from its own plane onto the canvas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image

Point = tuple[float, float]
EYE = 2.4  # distance of the eye over the longer side of the thing
GRID = 64  # corners lie on these fractions of a pixel, so that the last bits of sin and cos decide nothing


@dataclass(frozen=True)
class Pose:
    """How a plane is turned towards the eye, in degrees."""

    yaw: float  # about the vertical; the right side recedes where it is positive
    pitch: float  # about the horizontal; the lower side recedes where it is positive
    roll: float  # in the image, of the line that would be level without it


@dataclass(frozen=True)
class View:
    """A plane as it appears on the canvas."""

    matrix: tuple[float, ...]  # 3 x 3, row by row: (x, y, 1) of the plane, in units, to the canvas, up to a factor

    def at(self, x: float, y: float) -> Point:
        """Where a point of the plane lies on the canvas, in pixels."""
        a, b, c, d, e, f, g, h, i = self.matrix
        depth = g * x + h * y + i
        return (a * x + b * y + c) / depth, (d * x + e * y + f) / depth

    def warp(self, plane: Image.Image, scale: float, bleed: float, canvas_px: int) -> Image.Image:
        """An image of the plane, at `scale` pixels a unit and with `bleed` units around, as it appears on the canvas.

        Black where the plane ends. Linear between the plane's pixels: no pixel depends on others than those around it.
        """
        a, b, c, d, e, f, g, h, i = self.matrix
        # The adjugate is the inverse up to a factor.
        adjugate = (
            e * i - f * h, c * h - b * i, b * f - c * e,
            f * g - d * i, a * i - c * g, c * d - a * f,
            d * h - e * g, b * g - a * h, a * e - b * d,
        )  # fmt: skip
        p, q, r, s, t, u, v, w = (value / adjugate[8] for value in adjugate[:8])
        to_plane = (
            scale * (p + bleed * v), scale * (q + bleed * w), scale * (r + bleed),
            scale * (s + bleed * v), scale * (t + bleed * w), scale * (u + bleed),
            v, w,
        )  # fmt: skip
        size = (canvas_px, canvas_px)
        return plane.transform(size, Image.Transform.PERSPECTIVE, to_plane, resample=Image.Resampling.BILINEAR)


def view_of(size: Point, pose: Pose, level_y: float, scale: float, centre: Point) -> View:
    """The view of a plane of `size` (width, height in units) under a pose.

    Args:
        size: width and height of the plane, in units.
        pose: its turns.
        level_y: the horizontal line of the plane that lies level in the image where roll is 0, such as a line of print:
            a box around it then is as high as the print.
        scale: canvas pixels per unit at the middle of the plane.
        centre: where on the canvas the middle of the plane's bounding box lies.
    """
    width, height = size
    yaw, pitch = math.radians(pose.yaw), math.radians(pose.pitch)
    eye = EYE * max(size)

    def seen(x: float, y: float) -> Point:
        x, y = x - width / 2, y - height / 2
        nearness = eye / (eye + x * math.sin(yaw) * math.cos(pitch) + y * math.sin(pitch))
        return (x * math.cos(yaw)) * nearness, (y * math.cos(pitch) - x * math.sin(yaw) * math.sin(pitch)) * nearness

    (left, left_y), (right, right_y) = seen(0, level_y), seen(width, level_y)
    turn = math.radians(pose.roll) - math.atan2(right_y - left_y, right - left)
    cos, sin = math.cos(turn), math.sin(turn)
    corners = [
        (scale * (x * cos - y * sin), scale * (x * sin + y * cos))
        for x, y in (seen(0, 0), seen(width, 0), seen(width, height), seen(0, height))
    ]
    across, down = ([corner[axis] for corner in corners] for axis in (0, 1))
    dx, dy = centre[0] - (min(across) + max(across)) / 2, centre[1] - (min(down) + max(down)) / 2
    onto = [(round((x + dx) * GRID) / GRID, round((y + dy) * GRID) / GRID) for x, y in corners]
    return View(_onto_quadrilateral(width, height, onto))


def _onto_quadrilateral(width: float, height: float, corners: Sequence[Point]) -> tuple[float, ...]:
    """The matrix that takes the corners of a width x height rectangle, clockwise from the top left, to `corners`.

    Written out rather than solved by a library, so that every machine gives the same bits.
    """
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners
    right_x, right_y, below_x, below_y = x1 - x2, y1 - y2, x3 - x2, y3 - y2
    skew_x, skew_y = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    area = right_x * below_y - below_x * right_y
    g = (skew_x * below_y - below_x * skew_y) / area
    h = (right_x * skew_y - skew_x * right_y) / area
    return (
        (x1 - x0 + g * x1) / width, (x3 - x0 + h * x3) / height, x0,
        (y1 - y0 + g * y1) / width, (y3 - y0 + h * y3) / height, y0,
        g / width, h / height, 1.0,
    )  # fmt: skip
