"""Stimuli: probes, their sources, and the releases that hold them."""

from stimuli_builder.build import build_release
from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.find_release import find_release
from stimuli_builder.release import FrameStore, Release, open_release
from stimuli_builder.verify import verify_release

__all__ = [
    "BadInputs",
    "CavedError",
    "FrameStore",
    "Release",
    "build_release",
    "find_release",
    "open_release",
    "verify_release",
]
