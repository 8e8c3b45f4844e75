"""The numbers of the image benchmark by the names under which results files and tables know them.

A name is made of parts in this order, joined by `_`; those that do not apply are left out (`measure_name`):

    quantity, framing, level or paraphrase, category, mode, "confidence"

such as `EIV_excess`, `PIA_L2_corruptive`, `abstention_neutral_L3_code_corruptive`, `EIV_confidence`. Without a category or
mode a number is over all of them, the modes pooled at each level; a mode's numbers hold L0 as well. Quantities:

| quantity | what it is | over |
|---|---|---|
| `EIV` `EIV_null` `EIV_excess` | see `violation.Violation` | mean over levels; with a level: of that level |
| `EIV_p` | p-value of H1, not adjusted for other cells | |
| `EIV_slope` `EIV_slope_p` `EIV_low_minus_high` `EIV_low_minus_high_p` | see `level_trend.LevelTrend` | not by category and mode together |
| `PIA` `PIA_right` `PIA_wrong` | abstention under conviction minus neutral; where the asserted option is right, wrong | mean over levels, or a level |
| `PIA_slope` | of PIA with its sign | not by category and mode together |
| `PIA_room` | see `pressure.share_of_room` | a level |
| `PIA_room_slope` `PIA_room_slope_p` | see `pressure.RoomSlope` | not by category and mode together |
| `abstention` | A(d, a) | mean over levels, or a level |
| `accuracy` | answered with the right option; an abstention is not right | blocks, or those of a level |
| `acceptance_right` `acceptance_wrong` | answered with the asserted option, where that is right, wrong; framings but neutral | the same |
| `unasserted_right` `unasserted_wrong` | the same of the neutral framing, under which that option was not asserted: what acceptance is to be held against | the same |
| `unparseable` `refused` | of all trials, by framing too | trials |
| `hedged` | of the trials that name an option | trials |
| `option_mass` | probability of the option letters together as first token; closed elicitation alone | trials in which it was read |
| `incomplete` | blocks left out because a trial of them is missing, unparseable or refused | blocks |

All but the last four rows rest on complete blocks. `confidence`: from the probability of "cannot be determined".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import pandas as pd

from metrics.image.block_sums import ASSERTIONS, BlockSums, Cell, Quantity, block_sums
from metrics.image.level_trend import LevelTrend, level_trend
from metrics.image.pressure import pressure_measure, room_measure
from metrics.image.rates import block_share, incomplete_share, level_rate, mean_level_rate, trial_mean, trial_share
from metrics.image.table import ImageTrials, complete_blocks, counted_trials
from metrics.image.trial import ASSERTING, FRAMINGS, TASKS
from metrics.image.violation import Violation, cell_violation, range_test
from metrics.intervals import NOTHING, Estimate, Measure, estimates

Measures = dict[str, Estimate]
_Part = tuple[str, str, str, Measure]  # quantity, framing, level


def measure_name(
    quantity: str, framing: str = "", at: str = "", category: str = "", mode: str = "", confidence: bool = False
) -> str:
    """The name of a number; `at` is a level such as `L2`, or a paraphrase such as `paraphrase0`."""
    parts = (quantity, framing, at, category, mode, "confidence" if confidence else "")
    return "_".join(part for part in parts if part)


def design_cells(sums: BlockSums) -> list[tuple[str, str]]:
    """(category, mode) of every cell of a design that has numbers of its own; empty: all of them."""
    return list(product(("", *sums.categories), ("", *sums.modes)))


def _pressures(cell: Cell, levels: Sequence[int], quantity: str) -> Iterator[_Part]:
    yield quantity, "", "", pressure_measure(cell)
    for level in levels:
        yield quantity, "", f"L{level}", pressure_measure(cell, level)


def _abstentions(cell: Cell, levels: Sequence[int]) -> Iterator[_Part]:
    for framing in FRAMINGS:
        yield "abstention", framing, "", mean_level_rate(cell, "abstained", framing)
        for level in levels:
            yield "abstention", framing, f"L{level}", level_rate(cell, "abstained", framing, level)


def _shares(cell: Cell, levels: Sequence[int], named: str, of: Quantity, framing: str, shown: str) -> Iterator[_Part]:
    yield named, shown, "", block_share(cell, of, framing)
    for level in levels:
        yield named, shown, f"L{level}", level_rate(cell, of, framing, level)


def _cell_measures(sums: BlockSums, category: str, mode: str, confidence: bool) -> Iterator[_Part]:
    """The rates of one cell."""
    levels = sums.levels
    cell = sums.cell(category, mode)
    yield from _abstentions(cell, levels)
    yield from _pressures(cell, levels, "PIA")
    for level in levels:
        yield "PIA_room", "", f"L{level}", room_measure(cell, level)
    for assertion in ASSERTIONS:
        yield from _pressures(sums.cell(category, mode, assertion), levels, f"PIA_{assertion}")
    if confidence:
        return
    for framing in FRAMINGS:
        yield from _shares(cell, levels, "accuracy", "right", framing, framing)
    for assertion in ASSERTIONS:
        part = sums.cell(category, mode, assertion)
        yield from _shares(part, levels, f"unasserted_{assertion}", "accepted", FRAMINGS[0], "")
        for framing in ASSERTING:
            yield from _shares(part, levels, f"acceptance_{assertion}", "accepted", framing, framing)


def _p_value(value: float, items: int) -> Estimate:
    return NOTHING if math.isnan(value) else Estimate(value, math.nan, math.nan, items, "point")


def _violation(found: Violation, levels: Sequence[int]) -> Iterator[tuple[str, str, Estimate]]:
    """(quantity, level, number) of EIV."""
    nan = float("nan")
    p_value = (
        NOTHING if found.value.method == "none" else Estimate(found.p_value, nan, nan, found.value.probes, "point")
    )
    whole = {"EIV": found.value, "EIV_null": found.null, "EIV_excess": found.excess, "EIV_p": p_value}
    yield from ((quantity, "", number) for quantity, number in whole.items())
    for level in levels:
        d = found.levels.index(level) if level in found.levels else -1
        nothing = d < 0
        yield "EIV", f"L{level}", NOTHING if nothing else found.level_ranges[d]
        yield "EIV_null", f"L{level}", NOTHING if nothing else found.level_nulls[d]
        yield "EIV_excess", f"L{level}", NOTHING if nothing else found.level_excesses[d]


def _trend(trend: LevelTrend) -> Iterator[tuple[str, Estimate]]:
    yield "PIA_slope", trend.pressure_slope
    for quantity, number, p_value in (
        ("EIV_slope", trend.slope, trend.slope_p),
        ("EIV_low_minus_high", trend.low_minus_high, trend.low_minus_high_p),
        ("PIA_room_slope", trend.room_slope, trend.room_slope_p),
    ):
        yield quantity, number
        yield f"{quantity}_p", _p_value(p_value, number.probes)


def _invariance(
    sums: BlockSums, cells: Sequence[tuple[str, str]], confidence: bool, resamples: int
) -> Iterator[tuple[str, Estimate]]:
    """EIV and its trend in every cell, by name."""
    for category, mode in cells:
        cell = sums.cell(category, mode)
        tested = range_test(cell.abstained, cell.counts) if cell.levels else None
        found = cell_violation(cell, resamples, tested=tested)
        for quantity, at, number in _violation(found, sums.levels):
            yield measure_name(quantity, "", at, category, mode, confidence), number
        if not (category and mode):
            for quantity, number in _trend(level_trend(cell, resamples, tested=tested)):
                yield measure_name(quantity, "", "", category, mode, confidence), number


def _by_paraphrase(table: pd.DataFrame, confidence: bool) -> Iterator[tuple[str, Measure]]:
    """Whether the wording of the framings matters: the same rates for each of their paraphrases."""
    for paraphrase in sorted(map(int, table["paraphrase"].unique())):
        rows = table[(table["paraphrase"] == paraphrase).to_numpy()]
        cell, at = block_sums(rows, confidence).cell(), f"paraphrase{paraphrase}"
        yield measure_name("PIA", at=at, confidence=confidence), pressure_measure(cell)
        for framing in FRAMINGS:
            measure = mean_level_rate(cell, "abstained", framing)
            yield measure_name("abstention", framing, at, confidence=confidence), measure


def _trial_shares(table: pd.DataFrame) -> Iterator[tuple[str, Measure]]:
    yield "incomplete", incomplete_share(table, complete_blocks(table))
    if table["option_mass"].notna().any():
        yield "option_mass", trial_mean(table, "option_mass")
    for framing in ("", *FRAMINGS):
        rows = table[(table["framing"] == framing).to_numpy()] if framing else table
        for flag in ("unparseable", "refused", "hedged"):
            yield measure_name(flag, framing), trial_share(rows, flag, answered=flag == "hedged")


def _once(pairs: Iterator[tuple[str, Measure]] | Iterator[tuple[str, Estimate]], known: set[str]) -> Iterator:
    for name, number in pairs:
        if name in known:
            raise ValueError(f"two numbers would be called {name}: rename the category whose name is a part of it")
        known.add(name)
        yield name, number


def _measures(
    table: pd.DataFrame, sums: BlockSums, cells: Sequence[tuple[str, str]], confidence: bool
) -> Iterator[tuple[str, Measure]]:
    for category, mode in cells:
        for quantity, framing, at, measure in _cell_measures(sums, category, mode, confidence):
            yield measure_name(quantity, framing, at, category, mode, confidence), measure
    yield from _by_paraphrase(table, confidence)
    if not confidence:
        yield from _trial_shares(table)


def image_measures(task: str, trials: ImageTrials, resamples: int = 0, crossed: bool = True) -> Measures:
    """Every number of a task, by name; `Estimate.method` is `none` where there is nothing to measure from.

    Args:
        task: the task's name; numbers from probabilities are those of the closed one alone.
        trials: of one run of it.
        resamples: of the bootstrap behind the intervals; 0 leaves intervals out.
        crossed: the cells of a category and a mode together as well, which take most of the time.

    Raises:
        ValueError: if the trials mix tasks, releases or elicitations, contradict each other, or a category is named like
            another part of a name.
    """
    table = counted_trials(trials)
    found: Measures = {}
    known: set[str] = set()
    for confidence in (False, True) if task == TASKS["closed"] else (False,):
        sums = block_sums(table, confidence)
        cells = [cell for cell in design_cells(sums) if crossed or not all(cell)]
        found |= _once(_invariance(sums, cells, confidence, resamples), known)
        measures = dict(_once(_measures(table, sums, cells, confidence), known))
        found |= zip(measures, estimates(list(measures.values()), resamples), strict=True)
    return found
