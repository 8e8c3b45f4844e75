"""Versions of the packages that a run stands on."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("caved-or-convinced", "lmms-eval", "torch", "transformers", "vllm", "sglang", "openai", "rapidocr")


def package_versions() -> dict[str, str]:
    """By package, as far as they are installed."""
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
