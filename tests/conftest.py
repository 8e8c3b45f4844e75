"""Fixtures: a small procedural release, real clips where they are at hand, and videos made on the spot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stimuli_builder.build import build_release
from stimuli_builder.catalogue import Catalogue
from stimuli_builder.image.build import build_image_release
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.image.sources import procedural_source
from stimuli_builder.procedural import procedural_catalogue
from stimuli_builder.release import Release

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["CAVED_ANSWERS"] = "off"  # tests must compute what they compare
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, and models are tiny
CLIPS = Path(__file__).resolve().parents[2] / "shared" / "clips"


@pytest.fixture(scope="session")
def clips() -> Path:
    """Small real footage in the layouts of UCF-101 and NExT-QA; it may not be redistributed with the project."""
    if not CLIPS.is_dir():
        pytest.skip(f"real footage is not part of the project and not at {CLIPS}")
    return CLIPS


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return procedural_catalogue()


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue) -> Release:
    """16 procedural probes at k = 8 and 16, on a small canvas."""
    out = tmp_path_factory.mktemp("release") / "procedural"
    return build_release(catalogue, out, (8, 16), 16, 7, 64, "mit", workers=1)


@pytest.fixture(scope="session")
def reversal_release(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue) -> Release:
    """8 procedural probes at k = 16, with 2 offsets of the reversal test, on a small canvas."""
    out = tmp_path_factory.mktemp("release") / "reversal"
    return build_release(catalogue, out, (16,), 8, 7, 64, "mit", workers=1, reversal_offsets=2)


@pytest.fixture(scope="session")
def image_release(tmp_path_factory: pytest.TempPathFactory) -> ImageRelease:
    """8 procedural items with 4 questions each, at 2 levels, on a small canvas."""
    out = tmp_path_factory.mktemp("release") / "images"
    strengths = {"subtractive": (0.4, 1.0), "corruptive": (0.15, 0.4)}
    return build_image_release(procedural_source(8, 7, 224), out, 7, strengths, MARGIN, "mit", workers=1)
