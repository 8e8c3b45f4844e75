"""Answering the requests of our tasks with a wrapper's own model: every trial its option probabilities, or a stop.

A wrapper prepares frames and prompts as ever; what its model receives is checked against the trial, and what it
would say first is read instead of what it would generate.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from loguru import logger
from tqdm import tqdm

from lmms_eval_tasks.answer_store import answers_folder, open_store, run_facts
from lmms_eval_tasks.answering_served import read_served
from lmms_eval_tasks.llava_next_package import handing_frames
from lmms_eval_tasks.next_token import FirstToken, Rows, reading_next_token
from lmms_eval_tasks.processed_once import replaced
from lmms_eval_tasks.readout import to_response
from lmms_eval_tasks.receipts import check_frames, check_prompt, receipt, shown_thumbnails
from lmms_eval_tasks.requests import LETTERS, Finished, document_of, keys_of, once_each, parts
from lmms_eval_tasks.served_models import serves
from lmms_eval_tasks.sharing import Sharing
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import ANSWERS, READOUT, reads_probabilities, shares_prefixes
from lmms_eval_tasks.time_channel import check_time
from lmms_eval_tasks.untouched_frames import untouched_frames
from lmms_eval_tasks.visuals import frames_of

_SHARING = "_caved_sharing"  # attribute of a wrapper: what was proven for its model holds for later requests


@dataclass
class Checks:
    """What was seen so far of frames and times, so that nothing is said twice."""

    warned: set[str] = field(default_factory=set)
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


def tokenizer_of(wrapper: Any) -> Any:
    """The tokenizer of a wrapper, wherever it keeps it; None if it has none."""
    for owner in (wrapper, getattr(wrapper, "processor", None), getattr(wrapper, "_image_processor", None)):
        for name in ("tokenizer", "_tokenizer"):
            tokenizer = getattr(owner, name, None)
            if callable(getattr(tokenizer, "get_vocab", None)):
                return tokenizer
    return None


def _text_of(answer: Any) -> str:
    return str(getattr(answer, "text", answer))


def _checked_receipt(first: FirstToken, document: Any, checks: Checks) -> dict[str, Any]:
    """The receipt of one answer.

    Raises:
        RunStopped: if other frames or times reached the model than the trial shows.
    """
    if first.received is None:
        checks.warn("the inputs of this model have an unknown layout: which frames it received is not checked")
    else:
        check_frames(first.received, checks.shown(document))
    if first.prompt is None:
        checks.warn("this model gets embeddings instead of a text: whether its prompt is the trial's is not checked")
    else:
        check_prompt(first.prompt, document)
    if warning := check_time(first.time, document["time"], document["times_s"]):
        checks.warn(warning)
    return receipt(first.received, first.time.to_json(document["time"]))


def _take(wrapper: Any, rows: Rows, request: Any, answer: Any, checks: Checks) -> str:
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
    return to_response(first, _checked_receipt(first, document_of(wrapper, request), checks))


def _silent(bar: Any) -> Any:
    return lambda *args, **kwargs: bar(*args, **{**kwargs, "disable": True})


@contextmanager
def _without_bars(base: Any) -> Iterator[None]:
    """Silence the wrapper's own progress bars, which would start anew with every part."""
    modules = {sys.modules[kind.__module__] for kind in base.__mro__ if kind.__module__ in sys.modules}
    with ExitStack() as stack:
        for module in modules:
            if module.__name__.startswith("lmms_eval."):
                stack.enter_context(replaced(module, "tqdm", lambda bar: _silent(bar) if callable(bar) else bar))
        yield


def _sharing_of(wrapper: Any) -> Sharing | None:
    """What the wrapper's requests may share; None if that is switched off or several go together."""
    if str(getattr(wrapper, "batch_size", 1)) != "1" or not shares_prefixes():
        return None
    if _SHARING not in vars(wrapper):
        setattr(wrapper, _SHARING, Sharing())
    sharing: Sharing = vars(wrapper)[_SHARING]
    return sharing


def _probe_of(wrapper: Any, part: Sequence[Any]) -> tuple[Any, ...]:
    document = document_of(wrapper, part[0])
    return document["probe"], document["budget"]


def read_locally(wrapper: Any, base: Any, requests: Sequence[Any], tokenizer: Any, finished: Finished) -> bool:
    """Answer requests with a model of this process; False if its wrapper does not end in transformers' `generate`.

    `finished` is called with requests and responses as soon as they are there.
    """
    sharing, checks = _sharing_of(wrapper), Checks()
    probe: tuple[Any, ...] | None = None
    try:
        with _without_bars(base), reading_next_token(tokenizer, LETTERS, sharing) as rows:
            for part in parts(wrapper, requests, by_view=sharing is not None):
                if sharing is not None and _probe_of(wrapper, part) != probe:
                    sharing.forget()
                    probe = _probe_of(wrapper, part)
                answers = base.generate_until(wrapper, part)
                if not rows.read and not rows.failures:
                    return False
                pairs = zip(part, answers, strict=True)
                finished([(request, _take(wrapper, rows, request, answer, checks)) for request, answer in pairs])
    finally:
        if sharing is not None:
            sharing.forget()
    return True


def _texts(wrapper: Any, base: Any, requests: Sequence[Any]) -> list[Any]:
    """What the wrapper generates; task by task, since some take a whole batch for the first request's task."""
    tasks: dict[Any, list[int]] = {}
    for place, request in enumerate(requests):
        tasks.setdefault(tuple(request.args[-2:]), []).append(place)
    answers: list[Any] = [None] * len(requests)
    for places in tasks.values():
        given = base.generate_until(wrapper, [requests[place] for place in places])
        for place, text in zip(places, given, strict=True):
            answers[place] = text
    return answers


def _facts(wrapper: Any, share: bool) -> dict[str, Any] | None:
    """What names finished answers; None where they are not kept."""
    if not reads_probabilities() or answers_folder() is None:
        return None
    try:
        facts = run_facts(wrapper, {"share": share, "batch_size": str(getattr(wrapper, "batch_size", 1))})
    except Exception as error:  # a wrapper of an unforeseen kind is no reason not to answer
        logger.warning(
            f"finished answers are not kept, an interrupted run starts anew ({type(error).__name__}: {error})"
        )
        return None
    if facts is None:
        logger.warning("finished answers are not kept: weights that lie elsewhere cannot be told from others")
    return facts


def answer(wrapper: Any, base: Any, requests: Sequence[Any]) -> list[Any]:
    """Responses to requests of our tasks.

    Args:
        wrapper: an instance of the subclass of `base` that the harness made.
        base: the wrapper's class as shipped.
        requests: of our tasks alone.

    Raises:
        RunStopped: if an answer was lost, or other frames reached the model than a trial shows.
    """
    share = shares_prefixes()
    facts = _facts(wrapper, share)
    every_key = keys_of(wrapper, requests)
    with untouched_frames(wrapper, share), handing_frames(wrapper, requests) as requests:
        tokenizer, served = tokenizer_of(wrapper), serves(wrapper)
        if not reads_probabilities() or (tokenizer is None and not served):
            return _texts(wrapper, base, requests)
        distinct, stands_for = once_each(requests, every_key)
        keys = {id(request): key for request, key in zip(requests, every_key, strict=True)}
        rank = int(getattr(wrapper, "rank", 0))
        store = open_store(facts, int(os.environ.get("RANK", "0")))  # wrappers call themselves 0 on every rank
        unanswered = [request for request in distinct if store.get(keys[id(request)]) is None]
        if len(unanswered) < len(distinct):
            logger.info(
                f"{len(distinct) - len(unanswered)} of {len(distinct)} requests were answered by an earlier run, kept in "
                f"{store.folder} ({ANSWERS}=off computes them anew)"
            )
        with tqdm(
            total=len(distinct), initial=len(distinct) - len(unanswered), desc="Model Responding", unit=" request",
            disable=rank != 0,
        ) as bar:  # fmt: skip

            def finished(pairs: Sequence[tuple[Any, str]]) -> None:
                store.add([(keys[id(request)], response) for request, response in pairs])
                bar.update(len(pairs))

            if served:
                why_not = read_served(wrapper, base, unanswered, finished)
            else:
                ends_there = read_locally(wrapper, base, unanswered, tokenizer, finished)
                why_not = None if ends_there else "it does not end in transformers' generate"
        if why_not is not None:
            logger.warning(f"the text of {base.__name__} is read, and there are no confidence rates: {why_not}")
            return _texts(wrapper, base, requests)
        responses = [store.get(keys[id(request)]) for request in distinct]
        if served:  # another model may stand behind the same address next time
            store.discard()
    return [responses[place] for place in stands_for]
