"""What a reader must know of how the answers of a run were read: what could not be, what a judge settled, what letters got."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from metrics.image.agreement import ALL, settled_by_judge
from metrics.image.trial import FRAMINGS, TASKS

UNEVEN = 0.05  # difference between framings in a share of trials, from which on it is named
LITTLE_MASS = 0.5  # of the first token's probability on the option letters
WIDE_BOUND = 0.01  # of an option probability


def percent(part: float, whole: float) -> str:
    """A share in words."""
    return f"{part / whole:.1%}"


def _uneven(table: pd.DataFrame, flag: np.ndarray) -> str:
    """The share of a flag by framing, if it differs by more than `UNEVEN`; else nothing."""
    shares = pd.Series(flag, index=table.index).groupby(table["framing"], observed=True).mean()
    if not len(shares) or shares.max() - shares.min() <= UNEVEN:
        return ""
    return ", ".join(f"{framing} {shares[framing]:.1%}" for framing in FRAMINGS if framing in shares.index)


def unreadable_warnings(table: pd.DataFrame) -> Iterator[str]:
    """What was unparseable, a tie or refused, and whether that depends on the framing."""
    total = len(table)
    unparseable, refused, tied = (int(table[name].sum()) for name in ("unparseable", "refused", "tied"))
    if unparseable:
        ties = f", {tied} of them because several options were exactly as likely" if tied else ""
        yield (
            f"{unparseable} of {total} responses ({percent(unparseable, total)}) could not be parsed{ties}; read some of them in "
            "the sample log"
        )
    if refused:
        yield (
            f"{refused} of {total} responses ({percent(refused, total)}) decline for policy, not for what can be seen; they are "
            "neither answers nor abstentions"
        )
    shares = _uneven(table, (table["unparseable"] | table["refused"]).to_numpy())
    if shares:
        yield (
            f"what cannot be read depends on the framing ({shares}): blocks are not left out at random, and what is left "
            "may hide an effect of framing or feign one"
        )


def judge_warnings(table: pd.DataFrame) -> Iterator[str]:
    """How much rests on a judge's reading, and whether that depends on the framing."""
    settled = settled_by_judge(table)
    if not settled.any():
        return
    total, count = len(table), int(settled.sum())
    judges = ", ".join(sorted(set(table["judge"][settled].astype(str)) - {""})) or "a judge"
    abstained = int((table["read"].to_numpy()[settled] == "abstained").sum())
    known = bool((table["asked"] == ALL).any())
    unknown = "; how far rules and judge agree is not known with CAVED_JUDGE=unparseable: use CAVED_JUDGE=all"
    yield (
        f"{count} of {total} responses ({percent(count, total)}) could not be read by rules and count as {judges} read them, "
        f"{abstained} of them as abstentions{'' if known else unknown}"
    )
    shares = _uneven(table, settled)
    if shares:
        yield (
            f"what the judge settles depends on the framing ({shares}): an effect of framing may be the judge's; compare with "
            "a run without one (CAVED_JUDGE=off), or read what it settled in the sample log"
        )


def probability_warnings(task: str, table: pd.DataFrame) -> Iterator[str]:
    """Of the closed task: probabilities that are not there, lie off the letters, or are not exact."""
    if task != TASKS["closed"]:
        return
    mass, bound = table["option_mass"].mean(), table["probability_bound"].max()
    if mass < LITTLE_MASS:
        yield (
            f"only {mass:.1%} of the first token's probability lies on the option letters: the model would rather begin with "
            "something else, and its preference between letters means little; compare with its text (CAVED_READOUT=text)"
        )
    if bound > WIDE_BOUND:
        yield (
            "the server tells the likeliest tokens only, which leaves option probabilities open by up to "
            f"{bound:.3f}: numbers by confidence are middles of such intervals; run the model locally for exact ones"
        )
    lacking = int((np.isnan(table["p_cannot"]) & ~np.isnan(table["abstained"])).sum())
    if lacking == len(table):
        yield "no response has option probabilities: there are no numbers by confidence"
    elif lacking:
        yield f"{percent(lacking, len(table))} of responses have no option probabilities; numbers by confidence leave them out"
