"""Keeping keys out of what is written and shown."""

from __future__ import annotations

import re

_NAMES = r"api_?key|auth_?token|access_?token|hf_?token|token|password|secret"
_ARGUMENT = re.compile(rf"\b({_NAMES})=[^,]*", re.IGNORECASE)
_NAME = re.compile(rf"_*({_NAMES})", re.IGNORECASE)


def masked(arguments: str) -> str:
    """Model arguments, `name=value,...`, without the values of keys and passwords."""
    return _ARGUMENT.sub(r"\1=...", arguments)


def names_a_secret(name: str) -> bool:
    """Whether an attribute of this name holds a key or password."""
    return _NAME.fullmatch(name) is not None
