"""Events and backgrounds that need no data set: drawn, and recognisable from a single frame.

An event is one large shape of a saturated colour ("a red circle") moving over a plain scene; a background
is a moving grey pattern. No background has a saturated colour, so a frame tells by its colours whether it
shows an event and which: that is what the control model reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from urllib.parse import parse_qs

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from stimuli_builder.catalogue import Catalogue, EventClass, Source
from stimuli_builder.draws import draw_fraction

SCHEME = "procedural:"

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 32, 38),
    "orange": (255, 140, 0),
    "yellow": (250, 222, 30),
    "green": (28, 158, 62),
    "turquoise": (24, 190, 190),
    "blue": (34, 76, 222),
    "purple": (126, 44, 172),
    "pink": (255, 120, 190),
}
SHAPES = ("circle", "square", "triangle", "star", "diamond", "cross")
PATTERNS = ("stripes", "rings", "dots", "waves", "checks", "clouds")

CLIPS_PER_CLASS = 3
CLIP_DURATION_S = 6.0
BACKGROUNDS_PER_PATTERN = 2
BACKGROUND_DURATION_S = 60.0
# Scenes move in steps, as filmed ones do; a coarser step for backgrounds keeps the release small, because
# equal frames are stored once.
EVENT_STEP_S = 0.04
BACKGROUND_STEP_S = 0.5


def procedural_catalogue() -> Catalogue:
    """48 event classes (8 colours x 6 shapes) and 12 backgrounds.

    Two classes that share a colour or a shape are confusable, so the events of a probe differ in both.
    """
    classes = []
    for colour in COLOURS:
        for shape in SHAPES:
            clips = tuple(
                Source(f"{colour}_{shape}/{i}", f"{SCHEME}event?colour={colour}&shape={shape}&variant={i}")
                for i in range(CLIPS_PER_CLASS)
            )
            article = "an" if colour[0] in "aeiou" else "a"
            classes.append(EventClass(f"{colour}_{shape}", f"{article} {colour} {shape}", clips))
    backgrounds = tuple(
        Source(f"background/{pattern}/{i}", f"{SCHEME}background?pattern={pattern}&variant={i}")
        for pattern in PATTERNS
        for i in range(BACKGROUNDS_PER_PATTERN)
    )
    groups = [frozenset(f"{c}_{s}" for s in SHAPES) for c in COLOURS]
    groups += [frozenset(f"{c}_{s}" for c in COLOURS) for s in SHAPES]
    return Catalogue("procedural scenes", tuple(classes), backgrounds, tuple(groups))


def procedural_duration_s(location: str) -> float:
    """How long the scene at a `procedural:` location lasts, in seconds."""
    return CLIP_DURATION_S if location.startswith(f"{SCHEME}event") else BACKGROUND_DURATION_S


def render(location: str, time_s: float, canvas_px: int) -> Image.Image:
    """The frame of a `procedural:` scene that is on screen at `time_s`.

    Raises:
        ValueError: for a location that names no scene.
    """
    kind, _, query = location.removeprefix(SCHEME).partition("?")
    fields = {name: values[0] for name, values in parse_qs(query).items()}
    if kind == "event":
        step = math.floor(time_s / EVENT_STEP_S + 1e-9) * EVENT_STEP_S
        return _event(fields["colour"], fields["shape"], int(fields["variant"]), step, canvas_px)
    if kind == "background":
        step = math.floor(time_s / BACKGROUND_STEP_S + 1e-9) * BACKGROUND_STEP_S
        return _background(fields["pattern"], int(fields["variant"]), step, canvas_px)
    raise ValueError(f"{location} names no procedural scene")


def _grey(values: NDArray[np.float64], tint: int) -> Image.Image:
    """Grey levels in [0, 1], (height, width), as RGB with a slight cold or warm tint."""
    level = np.clip(70 + 130 * values, 0, 255)
    offsets = (-tint, 0, tint)
    return Image.fromarray(np.stack([np.clip(level + o, 0, 255) for o in offsets], axis=-1).astype(np.uint8), "RGB")


def _background(pattern: str, variant: int, time_s: float, canvas_px: int) -> Image.Image:
    # Rendered at a quarter of the size: smooth patterns, quick to draw, small to store.
    side = max(canvas_px // 4, 8)
    y, x = np.mgrid[0:side, 0:side] / side
    speed = 0.05 + 0.02 * variant
    shift = speed * time_s
    patterns: dict[str, Callable[[], NDArray[np.float64]]] = {
        "stripes": lambda: 0.5 + 0.5 * np.sign(np.sin(2 * np.pi * (5 * (x + 0.4 * y) - 4 * shift))),
        "rings": lambda: 0.5 + 0.5 * np.sin(2 * np.pi * (7 * np.hypot(x - 0.5, y - 0.5) - 4 * shift)),
        "dots": lambda: (
            np.hypot((6 * x) % 1 - 0.5, (6 * (y + shift)) % 1 - 0.5) < 0.22 + 0.1 * np.sin(shift * 9)
        ).astype(float),
        "waves": lambda: 0.5 + 0.5 * np.sin(2 * np.pi * (4 * y + 0.3 * np.sin(2 * np.pi * (x + 3 * shift)))),
        "checks": lambda: ((np.floor(5 * (x + shift)) + np.floor(5 * (y + shift / 2))) % 2).astype(float),
        "clouds": lambda: (
            0.5
            + 0.2 * np.sin(2 * np.pi * (2 * x + shift))
            + 0.2 * np.sin(2 * np.pi * (3 * y - 1.7 * shift))
            + 0.1 * np.sin(2 * np.pi * (4 * (x + y) + 2.3 * shift))
        ),
    }
    # Rounding before the conversion to bytes: the last bits of sin differ between machines.
    values = np.round(patterns[pattern](), 3)
    small = _grey(values, tint=(6, -8)[variant % 2])
    return small.resize((canvas_px, canvas_px), Image.Resampling.NEAREST)


def _event(colour: str, shape: str, variant: int, time_s: float, canvas_px: int) -> Image.Image:
    wander = draw_fraction(variant, "wander", colour, shape)
    scene = (226, 224, 220) if variant % 2 else (62, 64, 68)
    image = Image.new("RGB", (canvas_px, canvas_px), scene)
    draw = ImageDraw.Draw(image)
    horizon = round(canvas_px * (0.62 + 0.08 * wander))
    draw.rectangle((0, horizon, canvas_px, canvas_px), fill=tuple(c - 24 for c in scene))
    angle = 2 * math.pi * (time_s / 3 + wander)
    centre_x = round(canvas_px * (0.5 + 0.18 * math.cos(angle)))
    centre_y = round(canvas_px * (0.5 + 0.14 * math.sin(angle)))
    radius = round(canvas_px * 0.26)
    _draw_shape(draw, shape, centre_x, centre_y, radius, COLOURS[colour])
    return image


def _draw_shape(draw: ImageDraw.ImageDraw, shape: str, x: int, y: int, radius: int, fill: tuple[int, int, int]) -> None:
    def ring(turns: list[float], radii: list[float]) -> list[tuple[int, int]]:
        return [
            (
                round(x + radius * r * math.sin(2 * math.pi * t)),
                round(y - radius * r * math.cos(2 * math.pi * t)),
            )
            for t, r in zip(turns, radii, strict=True)
        ]

    if shape == "circle":
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)
    elif shape == "square":
        side = round(radius * 0.88)
        draw.rectangle((x - side, y - side, x + side, y + side), fill=fill)
    elif shape == "triangle":
        draw.polygon(ring([0, 1 / 3, 2 / 3], [1.15] * 3), fill=fill)
    elif shape == "star":
        draw.polygon(ring([i / 10 for i in range(10)], [1.15, 0.5] * 5), fill=fill)
    elif shape == "diamond":
        draw.polygon(ring([0, 0.25, 0.5, 0.75], [1.15, 0.7, 1.15, 0.7]), fill=fill)
    else:
        arm = round(radius * 0.36)
        draw.rectangle((x - radius, y - arm, x + radius, y + arm), fill=fill)
        draw.rectangle((x - arm, y - radius, x + arm, y + radius), fill=fill)
