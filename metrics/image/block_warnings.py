"""What a reader must know of the blocks behind a run's numbers: which are missing or left out, and whether by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from metrics.image.reading_warnings import UNEVEN, percent
from metrics.image.table import BLOCK_KEY
from metrics.image.trial import DEGRADED, FRAMINGS, INTACT
from metrics.letters import key_codes

SLOTS = 2
View = tuple[str, int]  # mode, level
_ERRORS = 3  # standard errors of a difference of shares, below which it may be chance
_MOST_NAMED = 8


def levels_text(levels: Sequence[int]) -> str:
    """Levels in words: `L0..L5`, or each of them where some between are missing."""
    first, last = levels[0], levels[-1]
    if len(levels) > 2 and last - first + 1 == len(levels):
        return f"L{first}..L{last}"
    return ", ".join(f"L{level}" for level in levels)


def _views(rows: pd.DataFrame) -> list[View]:
    pairs = rows[["mode", "level"]].drop_duplicates()
    return sorted(((str(p.mode), int(p.level)) for p in pairs.itertuples()), key=lambda view: (view[1], view[0]))


def _expected(table: pd.DataFrame) -> list[View]:
    """The views of the release where their number is known, else those of the log."""
    levels = int(table["release_levels"].max())
    whole = {(INTACT, 0), *((mode, level) for mode in DEGRADED for level in range(1, levels + 1))} if levels else set()
    return sorted(whole | set(_views(table)), key=lambda view: (view[1], view[0]))


def levels_without_blocks(table: pd.DataFrame, counted: Sequence[int]) -> bool:
    """Whether the release, or the log where that is not known, has levels beside those that are counted."""
    return bool({level for _, level in _expected(table)} - set(counted))


def _name(view: View) -> str:
    mode, level = view
    return f"L{level}" if mode == INTACT else f"{mode} L{level}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _named_views(views: Sequence[View]) -> str:
    """Views in words, a level by its number alone where it is missing in both modes."""
    names = []
    for mode, level in views:
        both = mode != INTACT and all((other, level) in views for other in DEGRADED)
        names.append(f"L{level}" if both else _name((mode, level)))
    return _listed(list(dict.fromkeys(names)))


def missing_warnings(table: pd.DataFrame) -> Iterator[str]:
    """Questions, views and trials that the log lacks."""
    wanted, seen = int(table["release_questions"].iloc[0]), table["question"].nunique()
    there = _views(table)
    lacking = seen * len(there) * SLOTS * len(FRAMINGS) - len(table)
    if seen < wanted:
        yield (
            f"{wanted - seen} of {wanted} questions are missing from the log (a run with --limit or an interrupted one); "
            "the numbers cover the questions that are there"
        )
    absent = [view for view in _expected(table) if view not in there]
    if absent:
        yield (
            f"the log has no trial of {_named_views(absent)}, which the release has: the numbers are of the other levels and "
            "modes, and no numbers of the release; run it again whole"
        )
    if lacking > 0:
        yield (
            f"{lacking} trials of the questions that are there are missing from the log (an interrupted run); the blocks "
            "that they belong to are left out"
        )


def _lost(table: pd.DataFrame, complete: pd.DataFrame) -> pd.DataFrame:
    """Every block of the log, with whether it is left out."""
    _, first = np.unique(key_codes(table, BLOCK_KEY), return_index=True)
    blocks = table.iloc[first][[*BLOCK_KEY, "category"]].astype({"question": str, "mode": str, "category": str})
    whole = complete.iloc[:: len(FRAMINGS)][list(BLOCK_KEY)].astype({"question": str, "mode": str})
    marked = blocks.merge(whole.assign(whole=True), on=list(BLOCK_KEY), how="left")
    return marked.assign(lost=marked["whole"].isna())


def _uneven(lost: pd.Series, by: pd.Series) -> str:
    """The share of blocks left out by some part of the design, if it differs by more than chance would make it."""
    shares = lost.groupby(by).agg(["mean", "size"])
    if len(shares) < 2:
        return ""
    low, high = shares.loc[shares["mean"].idxmin()], shares.loc[shares["mean"].idxmax()]
    pooled = float((shares["mean"] * shares["size"]).sum() / shares["size"].sum())
    error = math.sqrt(pooled * (1 - pooled) * (1 / low["size"] + 1 / high["size"]))
    if high["mean"] - low["mean"] <= max(UNEVEN, _ERRORS * error):
        return ""
    return _listed([f"{name} {share:.1%}" for name, share in shares["mean"].items()])


def left_out_warnings(table: pd.DataFrame, complete: pd.DataFrame) -> Iterator[str]:
    """Blocks left out: how many, which levels, modes and categories have none left, and whether it depends on them."""
    lost = _lost(table, complete)
    blocks, gone = len(lost), int(lost["lost"].sum())
    if gone:
        yield (
            f"{gone} of {blocks} blocks ({percent(gone, blocks)}) are left out because a trial "
            "of them is missing, unparseable or refused; the numbers cover the others, which may be unlike them"
        )
    if complete.empty:
        return
    yield from _empty_parts(table, complete)
    modes = lost[lost["mode"] != INTACT]
    parts = (
        ("level", lost["lost"], "L" + lost["level"].astype(str)),
        ("mode", modes["lost"], modes["mode"]),
        ("category", lost["lost"], lost["category"]),
    )
    for name, flags, by in parts:
        shares = _uneven(flags, by)
        if shares:
            yield (
                f"which blocks are left out depends on the {name} ({shares}): what is compared between {name}s, or pooled "
                "over them, is not of the same questions"
            )


def _empty_parts(table: pd.DataFrame, complete: pd.DataFrame) -> Iterator[str]:
    counted = _views(complete)
    empty = [view for view in _expected(table) if view not in counted]
    if empty:
        levels = sorted({level for _, level in counted})
        half = [level for _, level in empty if level in levels]
        alone = "".join(f", L{d} of the {m} mode alone" for m, d in counted if d in half)
        without = (
            "" if 0 in levels else "; without L0 nothing says whether the effect is largest there, and H2 is not tested"
        )
        yield f"no complete block at {_named_views(empty)}: EIV and PIA are over {levels_text(levels)}{alone}{without}"
    cells = ["category", "mode", "level"]
    asked, there = (rows[cells].astype({"category": str, "mode": str}).drop_duplicates() for rows in (table, complete))
    known = {tuple(row) for row in there.itertuples(index=False)}
    bare = [(c, m, d) for c, m, d in asked.itertuples(index=False) if (c, m, d) not in known and (m, d) in counted]
    if bare:
        names = [f"{category} at {_name((mode, level))}" for category, mode, level in sorted(bare)]
        yield f"no complete block of {_listed(names)}: these levels are over the other categories alone"
