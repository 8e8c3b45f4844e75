"""Frames: real pixels on one square canvas, named by the SHA-256 of what a reader of the release gets."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile

# InternVL's tile, a multiple of Qwen2.5-VL's 56 and Qwen3-VL's 64, and the Qwen wrappers' default
# min_pixels: no wrapper resizes such a frame a second time.
CANVAS_PX = 448


def onto_canvas(pixels: NDArray[np.uint8], canvas_px: int) -> Image.Image:
    """The centre square of an RGB frame, (height, width, 3), resized to `canvas_px` x `canvas_px`."""
    image = Image.fromarray(pixels, "RGB")
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    square = image.crop((left, top, left + side, top + side))
    if side == canvas_px:
        return square
    return square.resize((canvas_px, canvas_px), Image.Resampling.BICUBIC)


def frame_id(image: Image.Image) -> str:
    """SHA-256, in hex, over the size and the RGB bytes of an image."""
    rgb = image.convert("RGB")
    return hashlib.sha256(f"RGB {rgb.width}x{rgb.height}\n".encode() + rgb.tobytes()).hexdigest()


def encode(image: Image.Image) -> bytes:
    """`image` as lossless WebP: every decoder gives back the same pixels, at two thirds of PNG's size."""
    buffer = io.BytesIO()
    image.save(buffer, format="WEBP", lossless=True, quality=0, method=0)
    return buffer.getvalue()


_reading = threading.RLock()


@contextmanager
def whole_images() -> Iterator[None]:
    """Within this block Pillow refuses images that are cut short, whoever asked it not to: lmms-eval does when it is imported."""
    with _reading:
        before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
        try:
            yield
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = before


def decode(data: bytes) -> Image.Image:
    """The RGB image of `encode`d bytes.

    Raises:
        OSError: if they are no image, or a broken one.
    """
    with whole_images(), Image.open(io.BytesIO(data)) as image:
        rgb = image.convert("RGB")
    rgb.info.clear()  # pixels and nothing else
    return rgb
