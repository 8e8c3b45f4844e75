"""Stopping a run of the harness so that nobody mistakes it for a result.

lmms-eval catches every `Exception`, logs it, and exits with status 0. What must not pass as success is
therefore raised as `SystemExit`, which reaches the shell as one line and status 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stimuli_builder.errors import CavedError


class RunStopped(SystemExit):
    """The run cannot go on; the message says why and what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"caved_or_convinced: {reason}")


class NoTrueTime(RunStopped):
    """A model was to be told the times of its frames by its own channel, and they did not reach it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"time: native, but {reason}{f'; {remedy}' if remedy else ''}")
        self.reason = reason


@contextmanager
def stopping_the_run() -> Iterator[None]:
    """Turn a user's mistake inside this block into a stop of the whole run."""
    try:
        yield
    except CavedError as error:
        raise RunStopped(str(error)) from None
