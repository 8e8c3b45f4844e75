"""The parts of a release: one for each budget, and that of the reversal test."""

from __future__ import annotations

from typing import Literal

Part = int | Literal["reversal"]  # a budget k, or the reversal test's offsets on the videos of k = 16
REVERSAL: Literal["reversal"] = "reversal"


def part_name(part: Part) -> str:
    """How files, splits and the digest call a part: `k16`, `reversal`."""
    return part if isinstance(part, str) else f"k{part}"
