"""How a run's answers were read: option probabilities, or text."""

from __future__ import annotations

import pandas as pd

PROBABILITIES, TEXT = "option probabilities", "text"


def readout_of(table: pd.DataFrame) -> str | None:
    """Whether the answers of a table of trials are option probabilities or text; None if nothing was answered.

    Raises:
        ValueError: if some of its answers are one and some the other: their rates do not mean the same.
    """
    answered = table["e1"].notna() & (table["abstained"] == 0)
    given = table.loc[answered, "has_probabilities"]
    if not len(given):
        return None
    if given.any() and not given.all():
        raise ValueError(
            f"it holds both option probabilities ({int(given.sum())} trials) and texts ({int((~given).sum())}): run it "
            "again with one readout (CAVED_READOUT)"
        )
    return PROBABILITIES if given.any() else TEXT
