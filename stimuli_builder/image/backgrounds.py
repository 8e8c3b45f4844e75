"""What lies behind the carrier: a drawn surface in muted colours, or the middle of a photo."""

from __future__ import annotations

import numpy as np
from PIL import Image

from stimuli_builder.draws import draw_integer
from stimuli_builder.frames import onto_canvas
from stimuli_builder.image.textures import Colour, Relief, noise_source, paper, ramp, smooth_noise, surface

# Muted: none of them is one of the colours that a question asks for.
_COLOURS: dict[str, tuple[Colour, ...]] = {
    "table": ((128, 94, 66), (160, 126, 92), (92, 70, 56), (186, 158, 124)),
    "floor": ((150, 146, 138), (112, 114, 116), (176, 168, 154)),
    "wall": ((198, 196, 188), (176, 182, 186), (204, 192, 176)),
    "gradient": ((120, 124, 132), (168, 168, 172), (86, 90, 98)),
    "cloth": ((104, 104, 112), (142, 134, 124), (84, 92, 100)),
}
BACKGROUNDS = tuple(_COLOURS)
_JOINT = -34  # grey levels


def drawn_background(kind: str, seed: int, index: int, canvas_px: int) -> Image.Image:
    """A background of one of `BACKGROUNDS`, canvas_px x canvas_px."""
    size = (canvas_px, canvas_px)
    source = noise_source(seed, "background", index)
    colour = _COLOURS[kind][draw_integer(0, len(_COLOURS[kind]) - 1, seed, "background colour", index)]
    parts = draw_integer(3, 5, seed, "background parts", index)
    relief = paper(source, size) // 2
    if kind == "table":
        relief += smooth_noise(source, size, (3, canvas_px // 5), 16) + smooth_noise(
            source, size, (6, canvas_px // 2), 8
        )
        relief += _joints(canvas_px, parts)
    elif kind == "floor":
        relief += smooth_noise(source, size, (canvas_px // 6, canvas_px // 6), 8)
        relief += np.minimum(_joints(canvas_px, parts), _joints(canvas_px, parts).T)
    elif kind == "wall":
        relief += smooth_noise(source, size, (canvas_px // 4, canvas_px // 4), 6) + smooth_noise(
            source, size, (4, 4), 8
        )
    elif kind == "gradient":
        relief += ramp(size, 36, -36)
    else:
        relief += smooth_noise(source, size, (canvas_px // 2, 24), 9) + smooth_noise(
            source, size, (24, canvas_px // 2), 9
        )
    return surface(colour, relief)


def _joints(canvas_px: int, parts: int) -> Relief:
    """Dark lines between equal parts, from top to bottom."""
    into = np.arange(canvas_px) * parts % canvas_px  # how far into its part each row is, times `parts`
    line = np.where(into < parts * max(canvas_px // 220, 1), _JOINT, 0)
    return np.broadcast_to(line[:, None], (canvas_px, canvas_px)).astype(np.int16)


def photo_background(photo: Image.Image, canvas_px: int) -> Image.Image:
    """The centre square of a photo at the size of the canvas."""
    return onto_canvas(np.asarray(photo.convert("RGB")), canvas_px)
