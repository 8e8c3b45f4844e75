"""What a reader of a run's numbers on the image benchmark must know, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from metrics.image.block_warnings import left_out_warnings, missing_warnings
from metrics.image.reading_warnings import judge_warnings, percent, probability_warnings, unreadable_warnings
from metrics.image.recoverability import NOT_BY_PEOPLE
from metrics.image.table import ImageTrials, complete_blocks, counted_trials, image_table
from metrics.image.trial import CHANCE, FRAMINGS, INTACT
from metrics.scores import mean_over_known
from metrics.trial_table import UNKNOWN

FEW_ITEMS = 30
UNBALANCED = (
    0.02  # distance from one half of the share of blocks that assert the right option, from which on it is named
)
_RESAMPLES = 2000


def _floor_and_ceiling(complete: pd.DataFrame) -> Iterator[str]:
    parts = [("every category", complete)]
    parts += [(f"category {name}", rows) for name, rows in complete.groupby("category", observed=True)]
    rates = [(name, float(rows["abstained"].mean())) for name, rows in parts]
    for end, word, name in ((0.0, "no trial", "floor"), (1.0, "every trial", "ceiling")):
        at = [part for part, rate in rates if rate == end]
        if at:
            where = at[0] if at[0] == "every category" else ", ".join(at)
            yield (
                f"{where}: {word} was abstained from, so EIV and PIA are 0 by {name} and say nothing about framing; look "
                "at acceptance instead"
            )


def _reads_nothing(complete: pd.DataFrame) -> Iterator[str]:
    """Whether intact images are answered no better than by chance, without any assertion."""
    rows = complete[((complete["mode"] == INTACT) & (complete["framing"] == "neutral")).to_numpy()]
    answered = rows[(rows["abstained"] == 0).to_numpy()]
    if answered.empty:
        return
    right = answered.groupby("item", observed=True)["right"].mean().to_numpy()
    accuracy = mean_over_known(right, (0.0, 1.0), resamples=_RESAMPLES)
    if accuracy.low <= CHANCE:
        yield (
            f"intact images are not shown to be answered better than by chance under the neutral framing ({accuracy.value:.0%} "
            f"right of those answered, chance {CHANCE:.0%}): there may be no evidence that framing could turn it from"
        )


def _unbalanced(complete: pd.DataFrame) -> Iterator[str]:
    first = complete.iloc[:: len(FRAMINGS)]
    share = first.groupby(["category", "level"], observed=True)["assertion_right"].mean()
    off = share[(share - 0.5).abs() > UNBALANCED]
    if len(off):
        category, level = off.index[0]
        yield (
            f"the asserted option is right in other than half of the counted blocks in {len(off)} of {len(share)} cells of "
            f"category and level, such as {off.iloc[0]:.0%} of {category} at L{level}: acceptance of right and of wrong "
            "assertions stays apart, but pooled numbers lean to one of them"
        )


def _receipts(table: pd.DataFrame) -> Iterator[str]:
    received = table["received_frames"].astype(str)
    told = table[~received.isin(["", UNKNOWN]).to_numpy()]
    other = (told["received_frames"].astype(str) != "1").to_numpy()
    if other.any():
        yield (
            f"in {int(other.sum())} of {len(told)} trials the receipt is of {told['received_frames'][other].iloc[0]} images "
            "where the trial shows 1: do not use these numbers"
        )
    without, blind = int((received == "").sum()), int(table["unseen"].sum())
    if without + blind:
        why = [f"{without} have no receipt"] if without else []
        why += [f"{blind} have one that cannot tell"] if blind else []
        yield (
            f"which image reached the model is not known for {without + blind} of {len(table)} trials "
            f"({percent(without + blind, len(table))}; {', '.join(why)}); look at what arrives before these numbers are used"
        )


def image_warnings(task: str, trials: ImageTrials, calibrated_by_people: bool = False) -> list[str]:
    """Warnings on the trials of one task of one run, every one of them once.

    Args:
        task: its name.
        trials: of that task; padding is passed over.
        calibrated_by_people: the levels' anchors are answers of people.

    Raises:
        ValueError: as `counted_trials`.
    """
    every = image_table(trials)
    table = counted_trials(every)
    if table.empty:
        return ["no trial of it was answered"]
    found: list[str] = [*_receipts(table)]
    repeated = int((~every["padding"]).sum()) - len(table)
    if repeated:
        found.append(f"{repeated} trials occur twice in the log, with the same answers; each is counted once")
    if not calibrated_by_people:
        found.append(f"{NOT_BY_PEOPLE}: which of them can still be answered is not known from human answers")
    complete = complete_blocks(table)
    found += [*missing_warnings(table), *unreadable_warnings(table), *left_out_warnings(table, complete)]
    found += [*judge_warnings(table), *probability_warnings(task, table)]
    if complete.empty:
        return [*found, "no block has all of its framings answered or abstained from: there is nothing to compare"]
    items = complete["item"].nunique()
    if items < FEW_ITEMS:
        found.append(
            f"{items} items are few: items are what intervals and tests rest on, however many trials there are; use at "
            f"least {FEW_ITEMS}"
        )
    found += [*_floor_and_ceiling(complete), *_reads_nothing(complete), *_unbalanced(complete)]
    return found
