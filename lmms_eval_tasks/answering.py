"""Answering the requests of our tasks with a wrapper's own model: every trial its option probabilities, or a stop.

A wrapper prepares frames and prompts as ever; what its model receives is checked against the trial, and what it
would say first is read instead of what it would generate.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from loguru import logger
from tqdm import tqdm

from lmms_eval_tasks.answer_store import AnswerStore, answers_folder, open_store, run_facts
from lmms_eval_tasks.answering_served import read_served
from lmms_eval_tasks.asked import letters_of
from lmms_eval_tasks.checked_answers import Checks, checks_of, taken_answer
from lmms_eval_tasks.llava_next_package import handing_frames
from lmms_eval_tasks.native_time import (
    OF_A_SERVED_MODEL,
    OF_A_TEXT,
    NativeChannel,
    first_native,
    is_native,
    native_channel,
)
from lmms_eval_tasks.next_token import reading_next_token
from lmms_eval_tasks.processed_once import replaced
from lmms_eval_tasks.readout import unavailable_response
from lmms_eval_tasks.requests import Finished, by_task, document_of, keys_of, once_each, parts, sampling_of
from lmms_eval_tasks.served_models import serves
from lmms_eval_tasks.sharing import Sharing
from lmms_eval_tasks.stop import NoTrueTime, RunStopped
from lmms_eval_tasks.switches import ANSWERS, READOUT, reads_probabilities, shares_prefixes
from lmms_eval_tasks.untouched_frames import untouched_frames

# Attributes of a wrapper: what was proven for its model holds for later requests; how the steps of a run are read.
_SHARING, _READOUT = "_caved_sharing", "_caved_readout"


def tokenizer_of(wrapper: Any) -> Any:
    """The tokenizer of a wrapper, wherever it keeps it; None if it has none."""
    for owner in (wrapper, getattr(wrapper, "processor", None), getattr(wrapper, "_image_processor", None)):
        for name in ("tokenizer", "_tokenizer"):
            tokenizer = getattr(owner, name, None)
            if callable(getattr(tokenizer, "get_vocab", None)):
                return tokenizer
    return None


def _silent(bar: Any) -> Any:
    return lambda *args, **kwargs: bar(*args, **{**kwargs, "disable": True})


@contextmanager
def without_bars(base: Any) -> Iterator[None]:
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


def _handed_on(wrapper: Any, requests: Sequence[Any], by_view: bool, channel: NativeChannel) -> list[list[Any]]:
    """Requests in parts; one that shows whether the model has a channel for times stands at the very beginning."""
    first = first_native(wrapper, requests) if channel.untried else None
    rest = [request for request in requests if request is not first]
    return [*([[first]] if first is not None else []), *parts(wrapper, rest, by_view)]


def read_locally(
    wrapper: Any,
    base: Any,
    requests: Sequence[Any],
    tokenizer: Any,
    finished: Finished,
    channel: NativeChannel,
    checks: Checks,
) -> bool:
    """Answer requests with a model of this process; False if its wrapper does not end in transformers' `generate`.

    `finished` is called with requests and responses as soon as they are there. Requests that need a channel for times
    which turns out to be missing are left out.
    """
    sharing, letters = _sharing_of(wrapper), letters_of(document_of(wrapper, requests[0])) if requests else ()
    sampling: tuple[Any, ...] | None = None
    try:
        with without_bars(base), reading_next_token(tokenizer, letters, sharing) as rows:
            for part in _handed_on(wrapper, requests, sharing is not None, channel):
                asked = [request for request in part if not (channel.missing and is_native(wrapper, request))]
                if not asked:
                    continue
                if sharing is not None and (new := sampling_of(document_of(wrapper, asked[0]))) != sampling:
                    sharing.forget()
                    sampling = new
                try:
                    answers = base.generate_until(wrapper, asked)
                    if not rows.read and not rows.failures:
                        return False
                    pairs = zip(asked, answers, strict=True)
                    read = [
                        (request, taken_answer(wrapper, rows, request, answer, checks)) for request, answer in pairs
                    ]
                except NoTrueTime as stop:
                    channel.fail(stop)
                    continue
                finished(read)
                channel.proven = channel.proven or any(is_native(wrapper, request) for request in asked)
    finally:
        if sharing is not None:
            sharing.forget()
    return True


def _texts(wrapper: Any, base: Any, requests: Sequence[Any], channel: NativeChannel) -> list[Any]:
    """What the wrapper generates; nothing for times by its own channel, since no text shows whether they arrived."""
    if first_native(wrapper, requests) is not None:
        channel.rule_out(OF_A_TEXT)
    answers: dict[int, Any] = {}
    for task in by_task([request for request in requests if not is_native(wrapper, request)]):
        for request, answer in zip(task, base.generate_until(wrapper, task), strict=True):
            answers[id(request)] = answer
    nothing = unavailable_response(channel.missing)
    return [answers.get(id(request), nothing) for request in requests]


def _facts(wrapper: Any, share: bool, checks: Checks) -> dict[str, Any] | None:
    """What names finished answers; None where they are not kept."""
    if not reads_probabilities() or answers_folder() is None:
        return None
    try:
        facts = run_facts(wrapper, {"share": share, "batch_size": str(getattr(wrapper, "batch_size", 1))})
    except Exception as error:  # a wrapper of an unforeseen kind is no reason not to answer
        checks.warn(f"finished answers are not kept, an interrupted run starts anew ({type(error).__name__}: {error})")
        return None
    if facts is None:
        checks.warn("finished answers are not kept: weights that lie elsewhere cannot be told from others")
    return facts


def answer(wrapper: Any, base: Any, requests: Sequence[Any], step: str = "") -> list[Any]:
    """Responses to requests of our tasks.

    Args:
        wrapper: an instance of the subclass of `base` that the harness made.
        base: the wrapper's class as shipped.
        requests: of our tasks alone.
        step: what the requests are, for the progress bar, where they are a small part of a run.

    Raises:
        RunStopped: if an answer was lost, or other frames reached the model than a trial shows.
    """
    share, checks = shares_prefixes(), checks_of(wrapper, step)
    facts = _facts(wrapper, share, checks)
    every_key = keys_of(wrapper, requests)
    with untouched_frames(wrapper, share), handing_frames(wrapper, requests) as requests:
        tokenizer, served = tokenizer_of(wrapper), serves(wrapper)
        channel = native_channel(wrapper, requests)
        if not reads_probabilities() or (tokenizer is None and not served):
            return _texts(wrapper, base, requests, channel)
        distinct, stands_for = once_each(requests, every_key)
        keys = {id(request): key for request, key in zip(requests, every_key, strict=True)}
        rank = int(getattr(wrapper, "rank", 0))
        store = open_store(facts, int(os.environ.get("RANK", "0")))  # wrappers call themselves 0 on every rank
        unanswered = [request for request in distinct if store.get(keys[id(request)]) is None]
        if len(unanswered) < len(distinct) and not step:
            logger.info(
                f"{len(distinct) - len(unanswered)} of {len(distinct)} requests were answered by an earlier run, kept in "
                f"{store.folder} ({ANSWERS}=off computes them anew)"
            )
        told = [request for request in distinct if is_native(wrapper, request)]
        channel.proven = any(store.get(keys[id(request)]) is not None for request in told)
        if served and told:
            channel.rule_out(OF_A_SERVED_MODEL)
            unanswered = [request for request in unanswered if not is_native(wrapper, request)]
        with tqdm(
            total=len(distinct), initial=len(distinct) - len(unanswered), desc=step or "Model Responding",
            unit=" request", disable=rank != 0, leave=not step,
        ) as bar:  # fmt: skip

            def finished(pairs: Sequence[tuple[Any, str]]) -> None:
                store.add([(keys[id(request)], response) for request, response in pairs])
                bar.update(len(pairs))

            if served:
                why_not = read_served(wrapper, base, unanswered, finished)
            else:
                ends_there = read_locally(wrapper, base, unanswered, tokenizer, finished, channel, checks)
                why_not = None if ends_there else "it does not end in transformers' generate"
        if step:
            _require_one_readout(wrapper, "its text" if why_not is not None else "probabilities")
        if why_not is not None:
            checks.warn(f"the text of {base.__name__} is read, and there are no confidence rates: {why_not}")
            return _texts(wrapper, base, requests, channel)
        if channel.missing:
            checks.warn(f"{len(told)} requests that tell times natively are left out: {channel.missing}")
        responses = [_response(store, keys[id(request)], channel) for request in distinct]
        if served:  # another model may stand behind the same address next time
            store.discard()
    return [responses[place] for place in stands_for]


def _require_one_readout(wrapper: Any, readout: str) -> None:
    """Stop the run if its steps are read in different ways, as when a server begins to refuse log-probabilities."""
    before = vars(wrapper).setdefault(_READOUT, readout)
    if before != readout:
        raise RunStopped(
            f"this model was read from {before} in earlier rounds, and is now read from {readout}: run again, or set "
            f"{READOUT}=text for the whole run"
        )


def _response(store: AnswerStore, key: Sequence[str], channel: NativeChannel) -> str:
    response = store.get(key)
    return unavailable_response(channel.missing) if response is None else response
