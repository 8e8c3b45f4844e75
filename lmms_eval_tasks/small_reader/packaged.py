"""The small readers that come with this package: where they lie, and the arguments with which lmms-eval runs them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from stimuli_builder.errors import CavedError

CHECKPOINTS = Path(__file__).parent / "checkpoints"
_NEEDED = ("config.json", "model.safetensors")
_DEVICE = re.compile(r"cpu|cuda(:\d+)?")
_TOGETHER = "processor_config.json"  # holds the settings of all processors; others hold those of one
_OWN_FILE = {"image_processor": "preprocessor_config.json", "video_processor": "video_preprocessor_config.json"}


@dataclass(frozen=True)
class PackagedReader:
    """What a packaged checkpoint looks at. How large it sees that is in its own files."""

    processor: Literal["image_processor", "video_processor"]
    frames: int | None = None  # the most that one video may have; None for images


PACKAGED: Mapping[str, PackagedReader] = {
    "small-reader": PackagedReader("video_processor", frames=64),
    "small-image-reader": PackagedReader("image_processor"),
}


def _reader(name: str) -> PackagedReader:
    if name not in PACKAGED:
        raise CavedError(f"no packaged model is called {name!r}: choose from {', '.join(PACKAGED)}")
    return PACKAGED[name]


def packaged_folder(name: str) -> Path:
    """The folder of a packaged checkpoint, absolute.

    Raises:
        CavedError: if no packaged model has this name, or its files are not there.
    """
    _reader(name)
    folder = (CHECKPOINTS / name).resolve()
    lacking = [file for file in _NEEDED if not (folder / file).is_file()]
    if lacking:
        raise CavedError(
            f"{folder} lacks {' and '.join(lacking)}: this installation came without the packaged models, install the "
            "package again from its wheel or its whole source tree"
        )
    return folder


def _settings(folder: Path, processor: str) -> Iterator[Any]:
    """What the files of a checkpoint hold of the settings of a processor."""
    for path in (folder / _TOGETHER, folder / _OWN_FILE[processor]):
        if path.is_file():
            try:
                fields = json.loads(path.read_bytes())
                yield fields.get(processor) if path.name == _TOGETHER else fields
            except (ValueError, AttributeError) as error:
                raise CavedError(f"{path} is damaged ({error}): install the package again") from error


def pixels_of(folder: Path, processor: str) -> tuple[int, int]:
    """The least and the most pixels of a frame or image as a checkpoint sees it, from its processor's settings.

    Raises:
        CavedError: if the settings do not say.
    """
    for settings in _settings(folder, processor):
        size = settings.get("size") if isinstance(settings, dict) else None
        least, most = (size.get(f"{edge}_edge") if isinstance(size, dict) else None for edge in ("shortest", "longest"))
        if isinstance(least, int) and isinstance(most, int) and 0 < least <= most:
            return least, most
    raise CavedError(
        f"{folder}: neither {_TOGETHER} nor {_OWN_FILE[processor]} says how many pixels the model sees (`size` of its "
        f"{processor}): install the package again"
    )


def arguments_for(folder: Path, name: str, device: str = "cpu") -> str:
    """What to give lmms-eval as `--model_args` with `--model qwen2_5_vl`, to run a checkpoint that is a packaged model or like one.

    Args:
        folder: of the checkpoint.
        name: one of `PACKAGED`.
        device: `cpu`, `cuda`, or one of several such as `cuda:1`.

    Raises:
        CavedError: as `pixels_of`; for any other device or name; or if the folder's path holds what lmms-eval splits at.
    """
    reader = _reader(name)
    if not _DEVICE.fullmatch(device):
        raise CavedError(f"--device {device}: choose cpu, cuda, or a single one such as cuda:1")
    if found := [mark for mark in ",=" if mark in str(folder)]:
        raise CavedError(
            f"{folder} holds {' and '.join(map(repr, found))}, where lmms-eval splits --model_args: copy this folder to a path "
            "without, or install the package into an environment that lies under such a path"
        )
    least, most = pixels_of(folder, reader.processor)
    arguments: dict[str, str | int] = {
        "pretrained": str(folder),
        "device": device,
        "device_map": device,
        "min_pixels": least,
        "max_pixels": most,
    }
    if reader.frames is not None:
        arguments["max_num_frames"] = reader.frames
    return ",".join(f"{key}={value}" for key, value in arguments.items())


def model_args(name: str, device: str = "cpu") -> str:
    """The same for a packaged model.

    Raises:
        CavedError: as `packaged_folder` and `arguments_for`.
    """
    return arguments_for(packaged_folder(name), name, device)
