"""How numbers and names are written, the same in every output."""

from __future__ import annotations

import math
import unicodedata

MINUS = "\u2212"
NOT_MEASURED = "\u2013"
_TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def fixed(value: float, digits: int, signed: bool = False) -> str:
    """A number with a fixed number of digits and a real minus sign; nothing is ever "-0.00".

    Args:
        value: NaN gives the mark of what was not measured.
        digits: after the point.
        signed: show a plus too, and plus-minus where the rounded number is 0.
    """
    if math.isnan(value):
        return NOT_MEASURED
    size = f"{abs(value):.{digits}f}"
    if float(size) == 0:
        return f"±{size}" if signed else size
    return (MINUS if value < 0 else "+" if signed else "") + size


def p_text(p_value: float) -> str:
    """A p-value with three digits; never 0 and never 1."""
    if p_value < 0.001:
        return "p < 0.001"
    return "p > 0.999" if p_value > 0.999 else f"p = {p_value:.3f}"


def plain(text: str) -> str:
    """`text` without what cannot be written to a file, or would show other text than what is written.

    Control characters, halves of characters, and marks that turn the direction of writing.
    """
    return "".join(" " if c in "\t\r\n\v\f" else "\ufffd" if _unshowable(c) else c for c in text)


def _unshowable(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs") or c in _TURNING or c == "\uffff"


def shorten(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, its middle left out: both ends of a model's name tell models apart."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return text[:head] + "…" + text[len(text) - (limit - 1 - head) :]
