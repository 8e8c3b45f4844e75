"""Watching a run from outside: what its readers saw, and what was logged, without changing what it does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from loguru import logger

from lmms_eval_tasks import answering, answering_served
from lmms_eval_tasks.processed_once import replaced
from lmms_eval_tasks.switches import ANSWERS

_MESSAGES, _CHARACTERS = 12, 300  # of what is logged on the way


@contextmanager
def readings() -> Iterator[list[Any]]:
    """Within this block, what the readers of a run saw, whether or not the run stops over it."""
    kept: list[Any] = []

    def watching(read: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def watched(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with read(*args, **kwargs) as reading:
                kept.append(reading)
                yield reading

        return watched

    with (
        replaced(answering, "reading_next_token", watching),
        replaced(answering_served, "reading_top_log_probabilities", watching),
    ):
        yield kept


@contextmanager
def nothing_stored() -> Iterator[None]:
    """Within this block answers are neither kept on disk nor taken from there."""
    before = os.environ.get(ANSWERS)
    os.environ[ANSWERS] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ[ANSWERS]
        else:
            os.environ[ANSWERS] = before


@contextmanager
def logged() -> Iterator[list[str]]:
    """Within this block, the first lines of warnings and errors, each once."""
    messages: list[str] = []

    def keep(message: Any) -> None:
        line = (str(message.record["message"]).strip().splitlines() or [""])[0][:_CHARACTERS]
        if line not in messages and len(messages) < _MESSAGES:
            messages.append(line)

    sink = logger.add(keep, level="WARNING")
    try:
        yield messages
    finally:
        with suppress(ValueError):  # wrappers may remove all sinks
            logger.remove(sink)
