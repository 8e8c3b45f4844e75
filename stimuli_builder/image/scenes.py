"""Procedural items: a small printed object before a background, with four questions about it."""

from __future__ import annotations

from PIL import Image

from stimuli_builder.draws import draw_integer
from stimuli_builder.errors import CavedError
from stimuli_builder.image.answers import balanced_choice, code_choice
from stimuli_builder.image.item import Question, Scene
from stimuli_builder.image.painting import drawn_setting, painted, print_regions
from stimuli_builder.image.prints import FONTS, INKS, MARKS, Prints

SMALLEST_PX, LARGEST_PX = 224, 2048


def procedural_scene(seed: int, index: int, canvas_px: int, photo: Image.Image | None = None) -> Scene:
    """Item `index`: an image of canvas_px x canvas_px, its three regions, and questions of code, colour, count and shape.

    The code and the colour of its field share a region. The areas that decide answers, and all pixels outside of them, are
    the same whatever the answers are, and the options alone tell nothing of which of them is right.

    Args:
        seed: of all draws.
        index: from 0 on; an item does not depend on which others are drawn.
        canvas_px: side of the image, 224 to 2048.
        photo: what stands behind the object, its centre square, instead of a drawn background.

    Raises:
        CavedError: if the canvas is too small for its print, or too large.
    """
    if not SMALLEST_PX <= canvas_px <= LARGEST_PX:
        raise CavedError(f"a canvas of {canvas_px} px: choose one of {SMALLEST_PX} to {LARGEST_PX} px")
    setting = drawn_setting(seed, index, canvas_px)
    code = code_choice(seed, index)
    colour, count, shape = (balanced_choice(seed, index, category) for category in ("colour", "count", "shape"))
    fonts = tuple(FONTS)
    prints = Prints(
        code=code.right,
        colour=colour.right,
        count=int(count.right),
        shape=shape.right,
        font=fonts[draw_integer(0, len(fonts) - 1, seed, "font", index)],
        marks=MARKS[draw_integer(0, len(MARKS) - 1, seed, "marks", index)],
        ink=INKS[draw_integer(0, len(INKS) - 1, seed, "ink", index)],
    )
    on = f"on the {setting.kind}"
    return Scene(
        item=f"i{index:05d}",
        image=painted(setting, prints, photo),
        regions=print_regions(setting, prints.font),
        questions=(
            Question("code", f"What code is printed {on}?", code.options, code.answer, "code"),
            Question(
                "colour", f"What colour is the field behind the code {on}?", colour.options, colour.answer, "code"
            ),
            Question(
                "count", f"How many small {prints.marks} are in the frame {on}?", count.options, count.answer, "marks"
            ),
            Question("shape", f"What shape is the large symbol {on}?", shape.options, shape.answer, "symbol"),
        ),
        kind=setting.kind,
        source=f"{setting.kind}, {setting.layout.name}, on {'a photo' if photo is not None else setting.background}",
    )
