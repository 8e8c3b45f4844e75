"""From the questions of an image release to trial documents: every view, slot and framing, in an order that ranks can share."""

from __future__ import annotations

import os
from collections.abc import Sequence

from datasets import Dataset

from lmms_eval_tasks.image.bound_images import bound_images
from lmms_eval_tasks.image.judge import open_judge
from lmms_eval_tasks.image.prompts import CANNOT
from lmms_eval_tasks.stop import RunStopped, stopping_the_run
from lmms_eval_tasks.trials import Document, deal_to_ranks, view_digest
from metrics.image.trial import FRAMINGS, LETTERS, TASKS, Elicitation, Framing
from stimuli_builder.image.info import IMAGE_BENCHMARK
from stimuli_builder.image.item import ItemView, StoredQuestion
from stimuli_builder.release_schema import row_hash

PART = "images"  # whose frames an image task shows


def displayed_options(
    stored: StoredQuestion, slot: int, elicitation: Elicitation
) -> tuple[tuple[str, ...], str | None]:
    """Options in the order in which a slot displays them, and the letter of "cannot be determined" if it is one."""
    put = stored.slots[slot]
    options = [stored.question.options[place] for place in put.order]
    if elicitation == "open":
        return tuple(options), None
    options.insert(put.cannot_place, CANNOT)
    return tuple(options), LETTERS[put.cannot_place]


def image_document(
    stored: StoredQuestion,
    view: ItemView,
    slot: int,
    framing: Framing,
    elicitation: Elicitation,
    release: str,
    release_questions: int,
) -> Document:
    """One trial: an image of a question, and how the question is put."""
    options, cannot = displayed_options(stored, slot, elicitation)
    question, put = stored.question, stored.slots[slot]
    frames = [view.image]
    return {
        "benchmark": IMAGE_BENCHMARK,
        "task": TASKS[elicitation],
        "part": PART,
        "release": release,
        "release_questions": release_questions,
        "release_levels": max(view.level for view in stored.views),
        "item": stored.item,
        "question": stored.name,
        "category": question.category,
        "text": question.text,
        "mode": view.mode,
        "level": view.level,
        "strength": view.strength,
        "slot": slot,
        "framing": framing,
        "paraphrase": put.paraphrase,
        "elicitation": elicitation,
        "options": list(options),
        "correct": LETTERS[options.index(question.options[question.answer])],
        "asserted": LETTERS[options.index(question.options[put.asserted])],
        "cannot": cannot,
        "frames": frames,
        "view": view_digest(frames),
        "probe": stored.item,
        "budget": 1,
        "video_budget": 1,
        "phase": "image",
        "time": "withheld",
        "times_s": [],
        "padding": False,
    }


def question_documents(
    stored: StoredQuestion, elicitation: Elicitation, release: str, release_questions: int
) -> list[Document]:
    """All trial documents of one question: its views, each in both slots and all four framings."""
    return [
        image_document(stored, view, slot, framing, elicitation, release, release_questions)
        for view in stored.views
        for slot in range(len(stored.slots))
        for framing in FRAMINGS
    ]


def image_documents(questions: Sequence[StoredQuestion], elicitation: Elicitation, release: str) -> list[Document]:
    """The documents of a release in the order in which the harness deals them; each question's go to one rank."""
    groups = [question_documents(stored, elicitation, release, len(questions)) for stored in questions]
    return deal_to_ranks(groups, int(os.environ.get("WORLD_SIZE", "1")))


def _trials(rows: Dataset, elicitation: Elicitation) -> Dataset:
    listed = list(rows)
    with stopping_the_run():
        release = bound_images()
        questions = release.questions()
    if sorted(map(row_hash, listed)) != sorted(row_hash(stored.to_row()) for stored in questions):
        raise RunStopped(
            f"the data set cache holds other questions than {release.folder}: delete the cache of `datasets` "
            "(HF_DATASETS_CACHE, else ~/.cache/huggingface/datasets) and run again"
        )
    return Dataset.from_list(image_documents(questions, elicitation, release.info.digest))


def open_trials(rows: Dataset) -> Dataset:
    """Trial documents of `cant_tell_or_wont_say` (`process_docs` of the task).

    Raises:
        RunStopped: if the rows are not the bound release's, or a judge is wanted that cannot be asked: hours later, when
            answers are read, it would be too late to say so.
    """
    open_judge()
    return _trials(rows, "open")


def closed_trials(rows: Dataset) -> Dataset:
    """Trial documents of `cant_tell_or_wont_say_closed`; raises as `open_trials`."""
    return _trials(rows, "closed")
