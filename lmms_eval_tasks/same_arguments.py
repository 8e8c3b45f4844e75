"""Telling whether a function is called again with what it was called with before, images and tensors included.

Images and arrays are the same if all their values are equal. So are tensors, and a tensor that is the very one
needs no comparison unless it was written to since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image


def _version(tensor: torch.Tensor) -> int | None:
    """How often a tensor was written to; None for tensors of inference mode, which do not count."""
    return None if tensor.is_inference() else int(tensor._version)


@dataclass(frozen=True)
class _KeptTensor:
    tensor: torch.Tensor  # the very one, or a copy where writing to it would not show
    version: int | None


@dataclass(frozen=True)
class _KeptPixels:
    mode: str
    size: tuple[int, int]
    values: bytes


def kept(value: Any) -> Any:
    """A value in the form that `same` compares with, however deep its images and tensors lie."""
    if isinstance(value, Image.Image):
        return _KeptPixels(value.mode, value.size, value.tobytes())
    if isinstance(value, np.ndarray):
        return value.copy()
    if torch.is_tensor(value):
        version = _version(value)
        return _KeptTensor(value.clone() if version is None else value, version)
    if isinstance(value, Mapping):
        return {name: kept(part) for name, part in value.items()}
    return [kept(part) for part in value] if isinstance(value, (list, tuple)) else value


def same(before: Any, value: Any) -> bool:
    """Whether `value` is what `before` was made of by `kept`."""
    if torch.is_tensor(value):
        if not isinstance(before, _KeptTensor):
            return False
        if before.version is not None and _version(before.tensor) != before.version:
            return False
        old = before.tensor
        return old is value or (old.shape == value.shape and old.dtype == value.dtype and torch.equal(old, value))
    if isinstance(value, Image.Image):
        return bool(before == kept(value))
    if isinstance(value, np.ndarray):
        return isinstance(before, np.ndarray) and before.dtype == value.dtype and np.array_equal(before, value)
    if isinstance(value, Mapping):
        return (
            isinstance(before, dict) and list(before) == list(value) and all(same(before[n], value[n]) for n in value)
        )
    if isinstance(value, (list, tuple)):
        return isinstance(before, list) and len(before) == len(value) and all(map(same, before, value))
    return type(before) is type(value) and bool(before == value)
