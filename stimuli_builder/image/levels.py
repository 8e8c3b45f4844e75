"""How strong each level of degradation is, by category and mode."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from metrics.image.trial import DEGRADED, Mode
from stimuli_builder.errors import CavedError
from stimuli_builder.image.item import StoredQuestion

MARGIN = 0.75  # of the region's height

# L1 to L5. Subtractive: share of the region hidden; corruptive: sigma of the blur over the region's height. Those of codes are
# where a reader (PP-OCR) chooses the right one of four look-alikes in about 0.97, 0.8, 0.6, 0.4 and 0.25 of procedural items;
# the others are where simulated observers of procedural items go from ceiling towards chance. People may differ: until they have
# answered, levels are not calibrated by people.
DEFAULT_STRENGTHS: dict[str, dict[Mode, tuple[float, ...]]] = {
    "code": {"subtractive": (0.15, 0.3, 0.45, 0.6, 1.0), "corruptive": (0.09, 0.11, 0.135, 0.18, 0.3)},
    "colour": {"subtractive": (0.5, 0.8, 0.9, 0.97, 1.0), "corruptive": (0.3, 0.7, 1.3, 2.5, 6.0)},
    "count": {"subtractive": (0.06, 0.15, 0.3, 0.5, 1.0), "corruptive": (0.12, 0.15, 0.175, 0.21, 0.6)},
    "shape": {"subtractive": (0.3, 0.6, 0.8, 0.92, 1.0), "corruptive": (0.12, 0.2, 0.3, 0.5, 1.0)},
}


def strengths_for(category: str) -> dict[Mode, tuple[float, ...]]:
    """The default strengths of a category, those of "code" for one that has none of its own.

    A region takes those of the category that stands first among its questions: where colour is asked of a code's region, it
    meets the code's strengths.
    """
    return dict(DEFAULT_STRENGTHS.get(category, DEFAULT_STRENGTHS["code"]))


def leading_categories(questions: Iterable[StoredQuestion]) -> dict[str, tuple[str, ...]]:
    """{category: those whose strengths its regions have}, in order of appearance.

    A category is among its own where it stands first among the questions of a region.
    """
    first: dict[tuple[str, str], str] = {}
    leading: dict[str, dict[str, None]] = {}
    for stored in questions:
        category = stored.question.category
        leader = first.setdefault((stored.item, stored.region.name), category)
        leading.setdefault(category, {})[leader] = None
    return {category: tuple(leaders) for category, leaders in leading.items()}


def check_strengths(strengths: Mapping[Mode, Sequence[float]]) -> None:
    """Refuse strengths that are no levels.

    Raises:
        CavedError: unless both modes have equally many strengths, at least one, that rise strictly; shares in (0, 1] and
            sigmas above 0.
    """
    if set(strengths) != set(DEGRADED):
        raise CavedError(
            f"strengths for {', '.join(sorted(strengths)) or 'no mode'}: give them for {' and '.join(DEGRADED)}"
        )
    for mode, values in strengths.items():
        listed = ",".join(f"{value:g}" for value in values)
        if not len(values):
            raise CavedError(f"no strengths for the {mode} mode: give at least one")
        if not all(math.isfinite(value) and value > 0 for value in values):
            raise CavedError(f"{mode} strengths {listed}: give numbers above 0, the intact image is L0 anyway")
        if mode == "subtractive" and max(values) > 1:
            raise CavedError(f"{mode} strengths {listed}: give shares of the region, at most 1")
        if any(later <= earlier for earlier, later in zip(values[:-1], values[1:], strict=True)):
            raise CavedError(f"{mode} strengths {listed}: each level must be stronger than the one before, sort them")
    lengths = {len(values) for values in strengths.values()}
    if len(lengths) > 1:
        counts = " and ".join(f"{len(strengths[mode])} {mode}" for mode in DEGRADED)
        raise CavedError(f"{counts} strengths: both modes need the same number of levels")


def check_margin(margin: float) -> None:
    """Refuse a margin that is none.

    Raises:
        CavedError: unless it is a number, not below 0.
    """
    if not (math.isfinite(margin) and margin >= 0):
        raise CavedError(f"margin {margin:g}: give a share of the region's height, 0 or more")
