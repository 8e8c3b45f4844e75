"""A user's image file as upright RGB pixels of 8 bits, or a sentence that says why not and what to do."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from stimuli_builder.errors import CavedError
from stimuli_builder.frames import whole_images

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF")
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif"})
Given = TypeVar("Given")
Made = TypeVar("Made")

MAX_PIXELS = 100_000_000  # beyond, an image takes gigabytes of memory while it is worked on
MIN_SIDE_PX = 28  # below, wrappers of models enlarge an image or fail
TURNED = "turned upright as its EXIF tag says"
_NAMED = 5  # files that a note names
DARK_OF_16_BITS = 4096  # what stays below was stored with 12 bits or fewer
_BITS_PER_SAMPLE = 258  # a TIFF tag
_ORIENTATION = 0x0112  # the EXIF tag; 5 to 8 exchange width and height
_AS_RGB = ("RGB", "L", "1", "P", "PA", "LA", "La", "RGBA", "RGBa", "RGBX", "YCbCr")


class UnreadableImage(CavedError):
    """A file that gives no image that can be used; the message leaves the file's name out."""


@dataclass(frozen=True)
class UprightImage:
    """An image as it is seen: turned as its EXIF tag says, RGB, without transparency."""

    image: Image.Image
    stored_size: tuple[int, int]  # (width, height) as stored in the file, before it was turned
    notes: tuple[str, ...]  # what was done to its pixels

    @property
    def turned(self) -> bool:
        """Whether the EXIF tag exchanges width and height."""
        return self.stored_size != self.image.size


def read_upright(path: Path) -> UprightImage:
    """Read an image file.

    EXIF rotation is applied, transparent pixels are put on white, 16 bits are scaled to 8. Colour profiles are left
    aside, as models' own loaders do.

    Raises:
        UnreadableImage: if it is missing, damaged, too large or too small, or of a kind whose conversion would be a guess.
    """
    if not path.is_file():
        raise UnreadableImage(_missing(path))
    try:
        with whole_images(), Image.open(path, formats=FORMATS) as opened:
            return _upright(opened)
    except UnreadableImage:
        raise
    except UnidentifiedImageError as error:
        raise UnreadableImage("is no image that can be read here: save it as JPEG or PNG") from error
    except Image.DecompressionBombError as error:
        raise UnreadableImage(_too_large()) from error
    except Exception as error:  # decoders raise whatever they like on damaged files
        reason = str(error).strip() or type(error).__name__
        raise UnreadableImage(f"is damaged ({reason}): fetch it again, or save it anew") from error


def absent(path: Path) -> str:
    """How a path that does not exist is spoken of."""
    return f"is a symbolic link to {path.readlink()}, which does not exist" if path.is_symlink() else "does not exist"


def _missing(path: Path) -> str:
    if path.is_symlink() and not path.exists():
        return f"{absent(path)}: mend the link, or put the file itself there"
    if path.is_dir():
        return "is a folder: give the path of an image"
    parent = path.parent
    if parent.is_dir():
        alike = [p.name for p in parent.iterdir() if p.name.casefold() == path.name.casefold()]
        if alike:
            return f"does not exist, but {alike[0]} does: mind upper and lower case"
    return "does not exist: check the path, which is relative to the folder of images, with / between folders"


def _too_large() -> str:
    return f"has more than {MAX_PIXELS // 10**6} million pixels: save a smaller copy"


def _upright(opened: Image.Image) -> UprightImage:
    frames = getattr(opened, "n_frames", 1)
    if frames > 1 and opened.format != "MPO":  # phones store a second picture behind the one that is shown
        raise UnreadableImage(f"holds {frames} pictures: save the one that is meant as a file of its own")
    if opened.width * opened.height > MAX_PIXELS:
        raise UnreadableImage(_too_large())
    if min(opened.size) < MIN_SIDE_PX:
        raise UnreadableImage(f"is {opened.width} x {opened.height} px: both sides need at least {MIN_SIDE_PX}")
    deep = _has_16_bits(opened)
    orientation = _orientation(opened)
    if (
        orientation != 1 and opened.format == "TIFF"
    ):  # Pillow turns some kinds while it loads them, and scrambles others
        raise UnreadableImage("is a TIFF with a rotation tag: save it upright, or as JPEG or PNG")
    opened.load()
    image = ImageOps.exif_transpose(opened) if orientation != 1 else opened
    notes = [TURNED] if orientation != 1 else []
    stored = image.size[::-1] if orientation >= 5 else image.size
    if image.mode.startswith("I;16") or (image.mode == "I" and opened.format == "PNG"):
        rgb = _of_16_bits(image)
        notes.append("16-bit grey, scaled to 8 bits")
    elif image.mode == "CMYK":
        raise UnreadableImage("is in CMYK, whose colours depend on a press: save it as RGB")
    elif image.mode not in _AS_RGB:
        raise UnreadableImage(f"has pixels of the kind {image.mode}, whose range is unknown: save it as RGB of 8 bits")
    elif image.has_transparency_data:
        seen = image.convert("RGBA")
        if seen.getchannel("A").getextrema() != (255, 255):
            notes.append("transparent pixels put on white")
        rgb = Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen).convert("RGB")
    else:
        rgb = image.convert("RGB")
    if deep and image.mode in _AS_RGB:
        # Pillow has kept the upper 8 bits.
        highest = int(np.asarray(image.convert("RGBA"))[..., :3].max())
        if highest < DARK_OF_16_BITS >> 8:
            raise UnreadableImage(_nearly_black(f"below {(highest + 1) << 8}"))
        notes.append("16-bit colour, scaled to 8 bits")
    rgb.info.clear()
    return UprightImage(rgb, (stored[0], stored[1]), tuple(notes))


def _orientation(opened: Image.Image) -> int:
    try:
        value = opened.getexif().get(_ORIENTATION, 1)
    except Exception:  # an EXIF block that cannot be read turns nothing, as in a viewer
        return 1
    return value if value in range(1, 9) else 1


def _has_16_bits(opened: Image.Image) -> bool:
    """Whether the file has 16 bits a channel; of colour, Pillow's mode does not tell. To be asked before it is loaded."""
    if opened.format == "PNG":
        return ";16" in str(getattr(opened, "tile", ""))
    return opened.format == "TIFF" and max(getattr(opened, "tag_v2", {}).get(_BITS_PER_SAMPLE, (8,))) > 8


def _nearly_black(highest: str) -> str:
    return (
        f"has 16-bit pixels that stay {highest} of 65535, as those of a camera of 10 or 12 bits do, and would be nearly "
        "black: save it with 8 bits"
    )


def _of_16_bits(image: Image.Image) -> Image.Image:
    """65535 becomes 255; Pillow's own conversion would cut everything above 255."""
    values = np.asarray(image).astype(np.int64)
    if values.max() < DARK_OF_16_BITS:
        raise UnreadableImage(_nearly_black(f"at {values.max()}"))
    return Image.fromarray(((values * 255 + 32767) // 65535).astype(np.uint8)).convert("RGB")


def shrunk(image: Image.Image, longest_side_px: int) -> Image.Image:
    """The image with its longest side at most `longest_side_px` long; 0 leaves it as it is."""
    longest = max(image.size)
    if not longest_side_px or longest <= longest_side_px:
        return image
    width, height = (max(1, round(side * longest_side_px / longest)) for side in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS)


def side_by_side(work: Callable[[Given], Made], given: Iterable[Given], update: Callable[[int], object]) -> list[Made]:
    """`work` on each, in threads: Pillow decodes and resizes without Python's lock. Keeps the order."""
    made = []
    with warnings.catch_warnings(), ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        warnings.simplefilter("ignore")  # Pillow's, of sizes and odd EXIF blocks; both are looked at here
        try:
            for result in pool.map(work, given):
                made.append(result)
                update(1)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return made


def collected_notes(notes_of: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """One note for each kind of change that was made to files, with how many and the first ones."""
    files: dict[str, list[str]] = {}
    for name, notes in notes_of:
        for note in notes:
            files.setdefault(note, []).append(name)
    return tuple(
        f"{note}: {len(names)} file(s), {', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''}"
        for note, names in files.items()
    )
