"""What was really in a request to a served model: its images, in order, as pixels and as frame ids."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from stimuli_builder.frames import frame_id


@dataclass(frozen=True)
class SentMedia:
    """The images of one request, in order, under the number that its response carries.

    Ids are those of the release (`frame_id`): they are equal exactly if every pixel is. Images themselves are not
    kept, a run would hold gigabytes of them.
    """

    number: int
    frames: tuple[str, ...] | None  # ids in order; None where the media are of a kind that cannot be looked into
    text: str = ""  # all text of the request


def _decoded(url: str) -> Image.Image:
    """The image of a data URL.

    Raises:
        ValueError: if it is another kind of URL.
        OSError: if it holds no image.
    """
    header, found, data = url.partition(",")
    if not found or not header.startswith("data:image/") or not header.endswith(";base64"):
        raise ValueError(f"no image in base64: {url[:40]}")
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        return image.convert("RGB")


def sent_images(messages: Sequence[Mapping[str, Any]]) -> list[Image.Image]:
    """The images of OpenAI-style chat messages, in the order in which they stand there.

    Raises:
        ValueError: if media stand there that are not images in data URLs, such as a video.
        OSError: if a data URL holds no image.
    """
    images = []
    for message in messages:
        content = message["content"]
        for part in [] if content is None or isinstance(content, str) else content:
            if part["type"] == "image_url":
                images.append(_decoded(part["image_url"]["url"]))
            elif part["type"] != "text":
                raise ValueError(f"media of the type {part['type']}")
    return images


def sent_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """All text of OpenAI-style chat messages, in order."""
    texts = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += [part["text"] for part in content or [] if part.get("type") == "text"]
    return "\n".join(texts)


def _frames_of_array(video: Any) -> Iterator[Image.Image]:
    """Frames of a video array of values from 0 to 255, (time, height, width, 3) or (time, 3, height, width).

    Raises:
        ValueError: if it is shaped otherwise.
    """
    pixels = np.asarray(video)
    if pixels.ndim == 4 and pixels.shape[1] == 3 and pixels.shape[-1] != 3:
        pixels = pixels.transpose(0, 2, 3, 1)
    if pixels.ndim != 4 or pixels.shape[-1] != 3:
        raise ValueError(f"a video of shape {pixels.shape}")
    for frame in np.rint(pixels).clip(0, 255).astype(np.uint8):
        yield Image.fromarray(np.ascontiguousarray(frame))


def flat_images(media: Any) -> list[Image.Image]:
    """All images of PIL images, lists of them, and video arrays, nested as engines take them, in order.

    A tuple is a video with its metadata, as vLLM takes it: only its first part is looked at.

    Raises:
        ValueError: if anything else is among them, such as a file name.
    """
    if media is None:
        return []
    if isinstance(media, Image.Image):
        return [media]
    if isinstance(media, tuple):
        return flat_images(media[0]) if media else []
    if isinstance(media, list):
        return [image for part in media for image in flat_images(part)]
    if hasattr(media, "ndim") and hasattr(media, "shape"):
        return list(_frames_of_array(media))
    raise ValueError(f"media of the type {type(media).__name__}")


def frame_ids(images: Sequence[Image.Image]) -> tuple[str, ...]:
    """The ids of images, in order."""
    return tuple(frame_id(image) for image in images)
