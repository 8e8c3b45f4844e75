"""What a reader of a run's numbers on the image benchmark must know, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from metrics.image.recoverability import NOT_BY_PEOPLE
from metrics.image.table import BLOCK_KEY, ImageTrials, complete_blocks, counted_trials, image_table
from metrics.image.trial import CHANCE, FRAMINGS, INTACT, TASKS
from metrics.letters import key_codes
from metrics.scores import mean_over_known
from metrics.trial_table import UNKNOWN

FEW_ITEMS = 30
SLOTS = 2
UNBALANCED = (
    0.02  # distance from one half of the share of blocks that assert the right option, from which on it is named
)
UNEVEN = 0.05  # difference between framings in the share of trials that cannot be read, from which on it is named
_RESAMPLES = 2000


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.1%}"


def _missing(table: pd.DataFrame) -> Iterator[str]:
    wanted, seen = int(table["release_questions"].iloc[0]), table["question"].nunique()
    views = len(np.unique(key_codes(table, ("mode", "level"))))
    lacking = seen * views * SLOTS * len(FRAMINGS) - len(table)
    if seen < wanted:
        yield (
            f"{wanted - seen} of {wanted} questions are missing from the log (a run with --limit or an interrupted one); "
            "the numbers cover the questions that are there"
        )
    if lacking > 0:
        yield (
            f"{lacking} trials of the questions that are there are missing from the log (an interrupted run); the blocks "
            "that they belong to are left out"
        )


def _unreadable(table: pd.DataFrame, blocks: int, complete: int) -> Iterator[str]:
    total = len(table)
    unparseable, refused = int(table["unparseable"].sum()), int(table["refused"].sum())
    if unparseable:
        yield (
            f"{unparseable} of {total} responses ({_percent(unparseable, total)}) could not be parsed; read some of them in the sample log"
        )
    if refused:
        yield (
            f"{refused} of {total} responses ({_percent(refused, total)}) decline for policy, not for what can be seen; they are "
            "neither answers nor abstentions"
        )
    if complete < blocks:
        yield (
            f"{blocks - complete} of {blocks} blocks ({_percent(blocks - complete, blocks)}) are left out because a trial "
            "of them is missing, unparseable or refused; the numbers cover the others, which may be unlike them"
        )
    lost = (table["unparseable"] | table["refused"]).groupby(table["framing"], observed=True).mean()
    if len(lost) and lost.max() - lost.min() > UNEVEN:
        shares = ", ".join(f"{framing} {lost[framing]:.1%}" for framing in FRAMINGS if framing in lost.index)
        yield (
            f"what cannot be read depends on the framing ({shares}): blocks are not left out at random, and what is left "
            "may hide an effect of framing or feign one"
        )


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
    told = table[~table["received_frames"].isin(["", UNKNOWN]).to_numpy()]
    other = (told["received_frames"].astype(str) != "1").to_numpy()
    if other.any():
        yield (
            f"in {int(other.sum())} of {len(told)} trials the receipt is of {told['received_frames'][other].iloc[0]} images "
            "where the trial shows 1: do not use these numbers"
        )
    unseen = int(table["unseen"].sum())
    if unseen:
        yield (
            f"for {unseen} trials it is not known which image reached the model; look at what arrives before these "
            "numbers are used"
        )


def _confidence(task: str, table: pd.DataFrame) -> Iterator[str]:
    if task != TASKS["closed"]:
        return
    lacking = int((np.isnan(table["p_cannot"]) & ~np.isnan(table["abstained"])).sum())
    if lacking == len(table):
        yield "no response has option probabilities: there are no numbers by confidence"
    elif lacking:
        yield f"{_percent(lacking, len(table))} of responses have no option probabilities; numbers by confidence leave them out"


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
    blocks = int(key_codes(table, BLOCK_KEY).max()) + 1
    found += [*_missing(table), *_unreadable(table, blocks, len(complete) // len(FRAMINGS)), *_confidence(task, table)]
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
