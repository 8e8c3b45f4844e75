"""Answering the requests of our tasks with a served model, from the log-probabilities that its server tells."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.asked import letters_of
from lmms_eval_tasks.readout import served_to_response
from lmms_eval_tasks.receipts import check_prompt
from lmms_eval_tasks.requests import Finished, document_of
from lmms_eval_tasks.sent_media import SentMedia
from lmms_eval_tasks.served_models import reading_top_log_probabilities
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import READOUT

_AT_A_TIME = 256  # requests after which answers are kept: many more than are under way at once
_DIGEST_CHARACTERS = 16


def _receipt(sent: SentMedia, document: Any) -> dict[str, Any]:
    """What is known of a request: its images as they left for the server, whose own preparation cannot be seen.

    Raises:
        RunStopped: if they are not the frames of the trial.
    """
    frames = list(document["frames"])
    note = {"where": "request", "time": {"channel": document["time"]}}  # what a server adds to a prompt is not known
    if sent.frames is None:
        return {"frames": None, "order": None, "digest": None, **note}
    if list(sent.frames) != frames:
        places = [frames.index(frame) if frame in frames else "?" for frame in sent.frames]
        raise RunStopped(
            f"a request held {len(sent.frames)} images for {len(frames)} frames, those at "
            f"{' '.join(map(str, places[:80]))} (counted from 0; ? is none of them): the wrapper resamples, repeats or "
            "compresses them; give the model `frames_as: images` in the task's lmms_eval_specific_kwargs under the "
            "very id that you type, and unset LMMS_IMAGE_ENCODE_FORMAT"
        )
    digest = hashlib.sha256("\n".join(frames).encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return {"frames": len(frames), "order": "as shown", "digest": digest, **note}


def read_served(wrapper: Any, base: Any, requests: Sequence[Any], finished: Finished) -> str | None:
    """Answer requests with a served model; why its text must be read instead, if its server tells no probabilities.

    None of them may need a channel of the model's own for times. `finished` is called with requests and responses as
    soon as they are there.

    Raises:
        RunStopped: if a request failed, or did not hold the frames of its trial.
    """
    letters = letters_of(document_of(wrapper, requests[0])) if requests else ()
    for start in range(0, len(requests), _AT_A_TIME):
        part = list(requests[start : start + _AT_A_TIME])
        with reading_top_log_probabilities(wrapper, letters) as served:
            try:
                answers = base.generate_until(wrapper, part)
            except Exception as error:
                cause = served.failures[-1] if served.failures else f"{type(error).__name__}: {error}"
                raise RunStopped(f"the served model failed: {cause}") from error
        if served.no_log_probabilities is not None:
            if start:
                raise RunStopped(
                    f"the server stopped telling log-probabilities ({served.no_log_probabilities}): run again, or set "
                    f"{READOUT}=text for the whole run"
                )
            return served.no_log_probabilities
        pairs = []
        for request, answer in zip(part, answers, strict=True):
            text = str(getattr(answer, "text", answer))
            sent = served.take(text)
            if sent is None:
                raise RunStopped(
                    f"the served model did not answer document {request.args[-3]}: {served.cause(text)}; mend this "
                    "and run again, finished answers are kept"
                )
            check_prompt(sent.text, document_of(wrapper, request))
            pairs.append((request, served_to_response(text, _receipt(sent, document_of(wrapper, request)))))
        finished(pairs)
    return None
