"""Whether a model has a channel of its own for the times of frames: tried once, and the same for all of its trials.

The task that compares time channels asks every model for all three. A model without a native one is no reason to stop
there: its native trials are unavailable, all of them, and counted nowhere. Elsewhere such a trial stops the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.paper_trials import TIME
from lmms_eval_tasks.requests import document_of
from lmms_eval_tasks.stop import NoTrueTime, RunStopped

OF_A_SERVED_MODEL = "a served model gets its frames as images, without a channel for their times"
OF_A_TEXT = "a model that is read from its text does not show whether the times of frames reached it"
USE_TEXT = "use time: text, which writes them into the prompt"


def is_native(wrapper: Any, request: Any) -> bool:
    """Whether a request wants times told by the model's own channel."""
    return bool(document_of(wrapper, request)["time"] == "native")


@dataclass
class NativeChannel:
    """What is known so far of a model's own channel for times."""

    optional: bool  # only trials of the task that compares channels need it
    proven: bool = False  # true times reached the model
    missing: str = ""  # why it has none; empty as long as that is not known

    @property
    def untried(self) -> bool:
        """Whether the next request that needs it decides for all."""
        return self.optional and not self.proven and not self.missing

    def rule_out(self, reason: str) -> None:
        """Note that there is none.

        Raises:
            RunStopped: if a trial of another task needs it, or it was seen at work.
        """
        if not self.optional or self.proven:
            raise RunStopped(f"time: native, but {reason}; {USE_TEXT}")
        self.missing = reason

    def fail(self, stop: NoTrueTime) -> None:
        """Take note that no true time reached the model in the request that was to decide; raises as above."""
        if not self.untried:
            raise stop
        self.missing = stop.reason


def native_channel(wrapper: Any, requests: Sequence[Any]) -> NativeChannel:
    """The channel as it stands before any of the requests is answered."""
    documents = [document_of(wrapper, request) for request in requests if is_native(wrapper, request)]
    return NativeChannel(optional=all(document["task"] == TIME.name for document in documents))


def first_native(wrapper: Any, requests: Sequence[Any]) -> Any | None:
    """The first request that needs a native channel."""
    return next((request for request in requests if is_native(wrapper, request)), None)
