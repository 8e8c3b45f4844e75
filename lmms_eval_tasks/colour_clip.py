"""A clip whose frames can be told apart whatever a wrapper does to them: each its own colour, all with one mark.

The mark, a black bar above a white one in the top left corner, has no symmetry, so mirroring and turning are seen. It
also says what black and white are in the units of a model's normalisation, so received values become colours again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from lmms_eval_tasks.trials import view_digest
from metrics.trial import Claim, Letters, Time
from stimuli_builder.frames import frame_id

RELEASE = "colour clip"  # stands in documents where other trials name the release of their frames
LEAST_FRAMES, MOST_FRAMES = 2, 64
INTERVAL_S, FIRST_S = 6.5, 2.3
_LEVELS = (16, 91, 165, 240)  # of each channel; 64 colours, 74 apart at least
_GRID = 16  # cells along a side in which the mark is laid out, as in the thumbnails that are compared
_BLACK, _WHITE = (0, 0, 9, 3), (0, 3, 3, 10)  # left, top, right, bottom in cells
_ALIKE = 37.0  # of 255: half the least distance of two colours
_SAME = 30.0  # of 255, root mean square over a whole thumbnail: resizing gives less, mirroring 50 and more
_EQUAL = 5.0  # of 255: what resizing may add to such a distance
_TURNS = {
    "as shown": lambda x: x,
    "mirrored left to right": lambda x: x[..., ::-1],
    "mirrored top to bottom": lambda x: x[..., ::-1, :],
    "turned by 180 degrees": lambda x: x[..., ::-1, ::-1],
    "turned by 90 degrees to the left": lambda x: np.rot90(x, 1, (-2, -1)),
    "turned by 90 degrees to the right": lambda x: np.rot90(x, -1, (-2, -1)),
    "with rows and columns exchanged": lambda x: np.swapaxes(x, -2, -1),
    "with rows and columns exchanged, turned by 180 degrees": lambda x: np.swapaxes(x, -2, -1)[..., ::-1, ::-1],
}
_CHANNELS = {"": (0, 1, 2), "red and blue exchanged": (2, 1, 0)}

Colour = tuple[int, int, int]


def colours(count: int) -> list[Colour]:
    """Clearly different colours, red and blue first; those that come next are far from all before."""
    left = [(r, g, b) for r, g, b in itertools.product(_LEVELS, repeat=3)]
    chosen: list[Colour] = [(240, 16, 16), (16, 16, 240)]
    while len(chosen) < count:
        chosen.append(max(left, key=lambda c: min(np.abs(np.subtract(c, other)).sum() for other in chosen)))
    return chosen[:count]


def in_hex(colour: Sequence[float]) -> str:
    """A colour of three values from 0 to 255 as `#rrggbb`; values beyond are cut."""
    return "#" + "".join(f"{round(min(255.0, max(0.0, value))):02x}" for value in colour)


@dataclass(frozen=True)
class ColourClip:
    """The frames of a clip by their ids, in order."""

    frames: dict[str, Image.Image]
    colours: tuple[Colour, ...]
    canvas_px: int

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Ids of the frames, those of a release: equal exactly if every pixel is."""
        return tuple(self.frames)


def colour_clip(budget: int, canvas_px: int) -> ColourClip:
    """A clip of `budget` frames, each a square of `canvas_px` pixels.

    Raises:
        ValueError: for fewer than 2 or more than 64 frames.
    """
    if not LEAST_FRAMES <= budget <= MOST_FRAMES:
        raise ValueError(f"a clip has {LEAST_FRAMES} to {MOST_FRAMES} frames, not {budget}")
    chosen = colours(budget)
    frames = {}
    for colour in chosen:
        image = Image.new("RGB", (canvas_px, canvas_px), colour)
        draw = ImageDraw.Draw(image)
        for (left, top, right, bottom), fill in ((_BLACK, "black"), (_WHITE, "white")):
            x0, y0, x1, y1 = (round(cell * canvas_px / _GRID) for cell in (left, top, right, bottom))
            draw.rectangle((x0, y0, x1 - 1, y1 - 1), fill=fill)
        frames[frame_id(image)] = image
    return ColourClip(frames, tuple(chosen), canvas_px)


def clip_document(clip: ColourClip, reverse: bool, claim: Claim, letters: Letters, time: Time) -> dict[str, Any]:
    """A trial document that shows the clip: red comes first, or with `reverse` last."""
    frames = list(clip.ids[::-1] if reverse else clip.ids)
    return {
        "task": "caved_or_convinced",
        "part": len(frames),
        "release": RELEASE,
        "release_probes": 1,
        "release_offsets": 0,
        "probe": "clip",
        "video_budget": len(frames),
        "budget": len(frames),
        "arm": "intact",
        "twin": "-" if reverse else "+",
        "phase": "on_grid",
        "offset": None,
        "direction": "forward",
        "events_sampled": 2,
        "claim": claim,
        "claimed_order": None if claim == "none" else "e1_first",
        "named_order": "e1_first",
        "letters": letters,
        "time": time,
        "times_s": [FIRST_S + place * INTERVAL_S for place in range(len(frames))],
        "e1_phrase": "a red picture",
        "e2_phrase": "a blue picture",
        "frames": frames,
        "view": view_digest(frames),
        "padding": False,
    }


@dataclass(frozen=True)
class Arrived:
    """Received frames, read back."""

    order: tuple[int | None, ...]  # for each received frame the place of the shown one that it is; None if it is none
    colours: tuple[str, ...]  # of each received frame, as `#rrggbb`
    looks: str  # "as shown", or how they were turned, or that they were changed


def _in_colours(thumbnails: np.ndarray) -> np.ndarray:
    """Thumbnails, (n, 3, cells, cells), from the units of a normalisation to 0..255, by their black and white."""
    black, white = (f(thumbnails, axis=(0, 2, 3), keepdims=True) for f in (np.min, np.max))
    return np.asarray(255 * (thumbnails - black) / np.where(white > black, white - black, 1.0))


def read_back(received: np.ndarray, shown: np.ndarray) -> Arrived:
    """Which of the shown frames the received ones are, in what colours, and how they were turned.

    Args:
        received: thumbnails in any units, (n, 3, cells, cells).
        shown: thumbnails of the frames as they were shown, in the same way.
    """
    values, truth = _in_colours(received.astype(np.float64)), _in_colours(shown.astype(np.float64))
    bodies, wanted = (np.median(x, axis=(2, 3)) for x in (values, truth))  # the mark covers less than half
    found: list[tuple[float, str, tuple[int | None, ...], bool]] = []
    for exchanged, channels in _CHANNELS.items():
        distances = np.abs(bodies[:, None, list(channels)] - wanted[None]).max(-1)
        nearest = distances.argmin(1)
        order = tuple(
            int(place) if row[place] <= _ALIKE else None for place, row in zip(nearest, distances, strict=True)
        )
        for turned, turn in _TURNS.items():
            difference = values[:, list(channels)] - turn(truth)[nearest]
            how = ", ".join(filter(None, ("" if exchanged and turned == "as shown" else turned, exchanged)))
            found.append((float(np.sqrt((difference**2).mean())), how, order, bool(exchanged)))
    least = min(distance for distance, *_ in found)
    # Some colours are others with red and blue exchanged; of equals, what is in order is taken, else what is simpler.
    distance, looks, order, _ = min(
        (entry for entry in found if entry[0] <= least + _EQUAL),
        key=lambda entry: (entry[2] != tuple(range(len(wanted))), entry[3], entry[0]),
    )
    return Arrived(
        order, tuple(map(in_hex, bodies)), looks if distance <= _SAME else "changed: cropped, padded or replaced"
    )
