"""From a response to an image trial, and from trials to the numbers of the results file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loguru import logger

from lmms_eval_tasks.image.bound_images import bound_images
from lmms_eval_tasks.image.closed_answer import read_closed_answer
from lmms_eval_tasks.image.free_answer import read_free_answer
from lmms_eval_tasks.image.judge import judge_reading, settled
from lmms_eval_tasks.image.prompts import image_prompt
from lmms_eval_tasks.image.reading import Reading
from lmms_eval_tasks.readout import receipt_of, text_of
from lmms_eval_tasks.stop import RunStopped, stopping_the_run
from metrics.image.image_measures import image_measures
from metrics.image.image_warnings import image_warnings
from metrics.image.trial import ASSERTING, FRAMINGS, TASKS, Elicitation, ImageTrial
from metrics.intervals import Estimate

TRIAL = "image_trial"  # the metric under which the log keeps a trial
_LIST = re.compile(r"metric_list_(open|closed)")
_SHARES = ("unparseable", "refused", "hedged")


def _reading(doc: Mapping[str, Any], response: str) -> tuple[Reading, dict[str, Any] | None]:
    """What a response says by the rules, or by the judge where they cannot tell; and what the judge says."""
    if doc["elicitation"] == "closed":
        return Reading(read_closed_answer(response, doc["options"], doc["cannot"], image_prompt(doc))), None
    text = text_of(response)
    if text is None:
        raise RunStopped(f"a response of the open elicitation is no text: {response[:80]}")
    suggested = None if doc["framing"] == "neutral" else doc["asserted"]
    reading = read_free_answer(text, doc["options"], suggested, image_prompt(doc))
    judged = judge_reading(doc["text"], doc["options"], suggested, text, reading)
    return settled(reading, judged), judged


def trial_of(doc: Mapping[str, Any], response: str) -> ImageTrial:
    """The trial that a document and a response make."""
    reading, judged = _reading(doc, response)
    return ImageTrial(
        task=doc["task"],
        release=doc["release"],
        release_questions=doc["release_questions"],
        item=doc["item"],
        question=doc["question"],
        category=doc["category"],
        mode=doc["mode"],
        level=doc["level"],
        strength=doc["strength"],
        slot=doc["slot"],
        framing=doc["framing"],
        paraphrase=doc["paraphrase"],
        elicitation=doc["elicitation"],
        options=tuple(doc["options"]),
        correct=doc["correct"],
        asserted=doc["asserted"],
        cannot=doc["cannot"],
        image=doc["frames"][0],
        answer=reading.answer,
        hedged=reading.hedged,
        refused=reading.refused,
        judged=judged,
        receipt=receipt_of(response) if response.startswith("{") else None,
        padding=doc["padding"],
        release_levels=doc["release_levels"],
    )


def numbers_of(elicitation: Elicitation, levels: int) -> tuple[str, ...]:
    """The names of the results file.

    Args:
        elicitation: confidence rates exist for closed options alone.
        levels: how many there are beyond L0.
    """
    every = range(levels + 1)
    violation = ("EIV", "EIV_null", "EIV_excess", "EIV_p", *(f"PIA_L{level}" for level in every))
    abstention = tuple(f"abstention_{framing}_L{level}" for framing in FRAMINGS for level in every)
    answers = tuple(f"accuracy_{framing}" for framing in FRAMINGS)
    acceptance = tuple(f"acceptance_{which}_{framing}" for which in ("right", "wrong") for framing in ASSERTING)
    confident = tuple(f"{name}_confidence" for name in (*violation, *abstention)) if elicitation == "closed" else ()
    return (*violation, *abstention, *answers, *acceptance, *_SHARES, *confident)


def _opens_a_question(doc: Mapping[str, Any]) -> bool:
    return (doc["level"], doc["slot"], doc["framing"]) == (0, 0, FRAMINGS[0])


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The log line of a trial, which holds everything that a report needs.

    The harness computes a number from the entries that lines give it. All numbers here stand on all trials, so each has
    one entry a question, with its name, and is looked up in what was measured once from the trials.
    """
    entry: dict[str, Any] = {TRIAL: trial_of(doc, results[0]).to_json()}
    if _opens_a_question(doc):
        with stopping_the_run():
            levels = bound_images().info.levels
        entry.update(dict.fromkeys(numbers_of(doc["elicitation"], levels), doc["question"]))
    return entry


_measured: dict[
    str, Mapping[str, Estimate]
] = {}  # by task: the harness asks for the trials first, then for each number


def image_trial(entries: Sequence[Mapping[str, Any]]) -> int:
    """How many trials were counted; measures them, and logs what a reader of the numbers must know."""
    trials = [trial for trial in map(ImageTrial.from_json, entries) if not trial.padding]
    if not trials:
        return 0
    task = trials[0].task
    _measured[task] = image_measures(task, trials)
    for warning in image_warnings(task, trials):
        logger.warning(f"{task}: {warning}")
    return len(trials)


def _number(task: str, name: str) -> Callable[[Sequence[str]], float | str]:
    def aggregate(questions: Sequence[str]) -> float | str:
        estimate = _measured.get(task, {}).get(name)
        return "N/A" if estimate is None or math.isnan(estimate.value) else estimate.value

    aggregate.__name__ = name
    aggregate.__doc__ = f"{name} over all trials that were gathered."
    return aggregate


def _metric_list(elicitation: Elicitation) -> list[dict[str, Any]]:
    with stopping_the_run():
        levels = bound_images().info.levels
    task = TASKS[elicitation]
    better = ("accuracy_", "acceptance_right_", TRIAL)
    names: dict[str, Callable[..., Any]] = {TRIAL: image_trial}  # the first that the harness asks for
    names.update({name: _number(task, name) for name in numbers_of(elicitation, levels)})
    return [
        {"metric": name, "aggregation": aggregate, "higher_is_better": name.startswith(better)}
        for name, aggregate in names.items()
    ]


def __getattr__(name: str) -> Any:
    """`metric_list_open` and `metric_list_closed`, which task files name: how many numbers there are is the release's."""
    match = _LIST.fullmatch(name)
    if match is None:
        raise AttributeError(name)
    return _metric_list("open" if match[1] == "open" else "closed")
