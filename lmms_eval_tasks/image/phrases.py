"""Expressions over phrases, built so that long responses are read fast: every phrase begins at a word."""

from __future__ import annotations

import re

NOT = r"(?:not|\w{2,7}n't|dont|isnt|doesnt|cant|wasnt|arent|wont)"  # "not", "isn't", ...


def phrases(*branches: str) -> re.Pattern[str]:
    """One expression for phrases of languages with spaces, in either case; each branch is to begin with a word."""
    return re.compile(rf"\b(?:{'|'.join(branches)})", re.IGNORECASE)


def first_of(*patterns: re.Pattern[str]) -> re.Pattern[str]:
    """One expression for several, in the order given; for scripts without spaces beside `phrases`."""
    return re.compile("|".join(f"(?:{pattern.pattern})" for pattern in patterns), re.IGNORECASE)
