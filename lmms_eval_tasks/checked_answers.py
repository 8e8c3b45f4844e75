"""One answer of a wrapper, and the checks that it passes before it counts: its own row, its frames, prompt and times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from loguru import logger

from lmms_eval_tasks.asked import is_image
from lmms_eval_tasks.next_token import FirstToken, Rows
from lmms_eval_tasks.readout import to_response
from lmms_eval_tasks.receipts import check_frames, check_image, check_prompt, receipt, shown_thumbnails
from lmms_eval_tasks.received_frames import ReceivedFrames
from lmms_eval_tasks.requests import document_of
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import READOUT
from lmms_eval_tasks.time_channel import check_time
from lmms_eval_tasks.visuals import frames_of

_WARNED = "_caved_warned"  # attribute of a wrapper: what was said of it in the steps of a run


@dataclass
class Checks:
    """What was seen so far of frames and times, so that nothing is said twice."""

    warned: set[str] = field(default_factory=set)
    _images: dict[str, str] = field(default_factory=dict)  # by digest of what arrived
    _values: dict[str, str] = field(default_factory=dict)  # digest of what arrived, by image
    _shown: dict[str, np.ndarray] = field(default_factory=dict)  # thumbnails of the frames of the last view

    def warn(self, warning: str) -> None:
        """Log a warning unless it was logged before."""
        if warning not in self.warned:
            self.warned.add(warning)
            logger.warning(warning)

    def shown(self, document: Any) -> np.ndarray:
        """Thumbnails of the frames of a trial."""
        names = document["frames"]
        if not all(name in self._shown for name in names):
            frames = dict(zip(names, frames_of(document), strict=True))
            new = [name for name in frames if name not in self._shown]
            made = dict(zip(new, shown_thumbnails([frames[name] for name in new]), strict=True))
            self._shown = {name: made[name] if name in made else self._shown[name] for name in frames}
        return np.stack([self._shown[name] for name in names])

    def compares_image(self, received: ReceivedFrames, document: Any) -> bool:
        """Compare what arrived with the image of a trial; False, and a warning, where that cannot be told.

        Other images of the same release differ in a small region only, so what arrived of each is compared with what
        arrived of all others too.

        Raises:
            RunStopped: if it is another image.
        """
        if warning := check_image(received, self.shown(document), document):
            self.warn(warning)
        image = document["frames"][0]
        if self._images.setdefault(received.digest, image) != image:
            self.warn(
                "two images of the release reach this model as the same values: they are too small for it, or its wrapper "
                "repeats one; give the wrapper more pixels an image"
            )
        if self._values.setdefault(image, received.digest) != received.digest:
            self.warn("one image reaches this model as different values: its wrapper prepares images anew each time")
        return not warning


def checks_of(wrapper: Any, step: str) -> Checks:
    """Nothing seen yet; in the steps of a run, what was said in earlier ones is not said again."""
    return Checks(vars(wrapper).setdefault(_WARNED, set()) if step else set())


def _text_of(answer: Any) -> str:
    return str(getattr(answer, "text", answer))


def _checked_receipt(first: FirstToken, document: Any, checks: Checks) -> dict[str, Any]:
    """The receipt of one answer.

    Raises:
        RunStopped: if other frames or times reached the model than the trial shows.
    """
    compared = True
    if first.received is None:
        checks.warn("the inputs of this model have an unknown layout: which frames it received is not checked")
    elif is_image(document):
        compared = checks.compares_image(first.received, document)
    else:
        check_frames(first.received, checks.shown(document))
    if first.prompt is None:
        checks.warn("this model gets embeddings instead of a text: whether its prompt is the trial's is not checked")
    else:
        check_prompt(first.prompt, document)
    if warning := check_time(first.time, document["time"], document["times_s"]):
        checks.warn(warning)
    return receipt(first.received, first.time.to_json(document["time"]), compared)


def taken_answer(wrapper: Any, rows: Rows, request: Any, answer: Any, checks: Checks) -> str:
    """The response to a request from the row that the wrapper's answer names.

    Raises:
        RunStopped: if the wrapper lost the row, or handed on other frames.
    """
    first = rows.take(_text_of(answer))
    if first is None:
        cause = rows.failures[0] if rows.failures else "look for its message above"
        raise RunStopped(
            f"the wrapper answered {_text_of(answer)[:60]!r} to document {request.args[-3]} instead of what was "
            f"read: it swallowed an error ({cause}), or changes answers in a way of its own; mend the error, or "
            f"set {READOUT}=text to read its text"
        )
    if first.unreadable is not None:
        checks.warn(
            f"{first.unreadable}, and such responses count as unparseable: load the model in bfloat16 or float32"
        )
    return to_response(first, _checked_receipt(first, document_of(wrapper, request), checks))
