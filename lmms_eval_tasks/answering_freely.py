"""Answering the requests of our tasks in free words: the wrapper's own text, with a check of what its model received.

Nothing is read instead of what a model writes; its images and prompts are compared with the trials at its door.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any

from loguru import logger
from tqdm import tqdm

from lmms_eval_tasks.answer_store import answers_folder, open_store, run_facts
from lmms_eval_tasks.answering import tokenizer_of, without_bars
from lmms_eval_tasks.checked_answers import Checks, checks_of
from lmms_eval_tasks.generations import Generation, Watched, watching_generations
from lmms_eval_tasks.llava_next_package import handing_frames
from lmms_eval_tasks.readout import text_to_response
from lmms_eval_tasks.receipts import holds_prompt, receipt
from lmms_eval_tasks.requests import by_task, document_of, keys_of, once_each
from lmms_eval_tasks.served_models import serves
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import ANSWERS
from lmms_eval_tasks.untouched_frames import untouched_frames

_SERVED_AT_A_TIME = 256  # requests after which answers of a server are kept
_WITHHELD = {"channel": "withheld"}  # an image has no time


def _facts(wrapper: Any, checks: Checks) -> dict[str, Any] | None:
    """What names finished answers; None where they are not kept."""
    if answers_folder() is None:
        return None
    try:
        return run_facts(wrapper, {"free": True, "batch_size": str(getattr(wrapper, "batch_size", 1))})
    except Exception as error:  # a wrapper of an unforeseen kind is no reason not to answer
        checks.warn(f"finished answers are not kept, an interrupted run starts anew ({type(error).__name__}: {error})")
        return None


def _keys(wrapper: Any, requests: Sequence[Any]) -> list[tuple[str, ...]]:
    """What each answer depends on, with how long and in which way it is generated."""
    settings = [next(a for a in request.args[1:3] if isinstance(a, dict)) for request in requests]
    keys = zip(keys_of(wrapper, requests), settings, strict=True)
    return [(*key, "free", json.dumps(setting, sort_keys=True, default=str)) for key, setting in keys]


def _text_of(answer: Any) -> str:
    return str(getattr(answer, "text", answer))


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def _wrote(generation: Generation, answer: str) -> bool:
    """Whether an answer is what the model wrote, or a part of it: wrappers trim, and cut at stop sequences."""
    return not generation.answers or any(_squeezed(answer) in _squeezed(written) for written in generation.answers)


def _matching(seen: list[Generation], document: Any, answer: str) -> Generation | None:
    """The generation that belongs to a document, taken out of those that were seen; None if none does.

    Where several have its prompt, one whose output is the answer is taken.
    """
    places = [i for i, one in enumerate(seen) if one.prompt is None or holds_prompt(one.prompt, document)]
    places.sort(key=lambda i: not _wrote(seen[i], answer))
    return seen.pop(places[0]) if places else None


def _receipts(
    wrapper: Any, part: Sequence[Any], answers: Sequence[str], watched: Watched, checks: Checks
) -> list[dict[str, Any] | None]:
    """What is known to have reached the model with each request.

    Raises:
        RunStopped: if it was another image or prompt than the trial's, or the answer is not the model's own.
    """
    seen = watched.take()
    if not seen and watched.ever:
        raise RunStopped(
            f"the wrapper answered {answers[0][:60]!r} to document {part[0].args[-3]} without asking its model, as it did "
            "before: it keeps answers, or swallowed an error; mend that and run again"
        )
    if not seen:
        checks.warn("this model does not answer through transformers: which images it received is not checked")
        return [None] * len(part)
    if len(seen) != len(part):
        raise RunStopped(
            f"the wrapper asked its model {len(seen)} times for {len(part)} requests: which answer belongs to which image "
            "cannot be told; run with --batch_size 1"
        )
    receipts: list[dict[str, Any] | None] = []
    for request, answer in zip(part, answers, strict=True):
        document = document_of(wrapper, request)
        found = _matching(seen, document, answer)
        if found is None:
            raise RunStopped(
                "a prompt that reached the model is not that of a trial: its wrapper changes or cuts prompts (the model got "
                f"...{(seen[0].prompt or '')[-300:]!r}); look at what arrives with `caved probe-model`"
            )
        if not _wrote(found, answer):
            raise RunStopped(
                f"the wrapper answered {answer[:60]!r} to document {request.args[-3]}, and its model wrote "
                f"{found.answers[0][:60]!r}: it mixes up answers, or changes them; run with --batch_size 1"
            )
        if found.prompt is None:
            checks.warn(
                "this model gets embeddings instead of a text: whether its prompt is the trial's is not checked"
            )
        if found.received is None:
            checks.warn("the inputs of this model have an unknown layout: which image it received is not checked")
        compared = found.received is not None and checks.compares_image(found.received, document)
        receipts.append(receipt(found.received, _WITHHELD, compared))
    return receipts


def _answer_part(wrapper: Any, base: Any, part: Sequence[Any], watched: Watched, checks: Checks) -> list[str]:
    failed = len(watched.failures)
    try:
        answers = base.generate_until(wrapper, list(part))
    except Exception as error:
        cause = watched.failures[-1] if watched.failures else f"{type(error).__name__}: {error}"
        raise RunStopped(f"the model failed on document {part[0].args[-3]}: {cause}") from error
    if len(watched.failures) > failed:
        raise RunStopped(
            f"the wrapper swallowed an error of its model ({watched.failures[-1]}) and answered something in its place: "
            "mend the error and run again"
        )
    texts = [_text_of(answer) for answer in answers]
    notes = _receipts(wrapper, part, texts, watched, checks)
    return [text_to_response(text, note) for text, note in zip(texts, notes, strict=True)]


def _parts(wrapper: Any, requests: Sequence[Any]) -> list[list[Any]]:
    size = _SERVED_AT_A_TIME
    if not serves(wrapper):
        given = str(getattr(wrapper, "batch_size", 1))
        size = max(1, int(given)) if given.isdigit() else 1
    return [task[i : i + size] for task in by_task(requests) for i in range(0, len(task), size)]


def answer_freely(wrapper: Any, base: Any, requests: Sequence[Any]) -> list[str]:
    """Responses to requests of our tasks as the wrapper generates them, each with its receipt.

    Args:
        wrapper: an instance of the subclass of `base` that the harness made.
        base: the wrapper's class as shipped.
        requests: of our tasks alone.

    Raises:
        RunStopped: if the model failed, or received another image or prompt than a trial has.
    """
    checks = checks_of(wrapper, "")
    facts = _facts(wrapper, checks)
    every_key = _keys(wrapper, requests)
    with untouched_frames(wrapper, remember=False), handing_frames(wrapper, requests) as requests:
        distinct, stands_for = once_each(requests, every_key)
        keys = {id(request): key for request, key in zip(requests, every_key, strict=True)}
        store = open_store(facts, int(os.environ.get("RANK", "0")))
        unanswered = [request for request in distinct if store.get(keys[id(request)]) is None]
        if len(unanswered) < len(distinct):
            logger.info(
                f"{len(distinct) - len(unanswered)} of {len(distinct)} requests were answered by an earlier run, kept in "
                f"{store.folder} ({ANSWERS}=off computes them anew)"
            )
        bar = tqdm(
            total=len(distinct),
            initial=len(distinct) - len(unanswered),
            desc="Model Responding",
            unit=" request",
            disable=int(getattr(wrapper, "rank", 0)) != 0,
        )
        with bar, without_bars(base), watching_generations(tokenizer_of(wrapper)) as watched:
            for part in _parts(wrapper, unanswered):
                responses = _answer_part(wrapper, base, part, watched, checks)
                store.add([(keys[id(request)], text) for request, text in zip(part, responses, strict=True)])
                bar.update(len(part))
        answers = [str(store.get(keys[id(request)])) for request in distinct]
        if serves(wrapper):  # another model may stand behind the same address next time
            store.discard()
    return [answers[place] for place in stands_for]
