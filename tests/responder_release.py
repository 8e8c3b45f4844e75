"""A release of tiny images for simulated responders: real questions, slots, documents and prompts, no scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from PIL import Image

from lmms_eval_tasks.image.documents import image_document
from lmms_eval_tasks.image.framed_responder import FramedResponder
from lmms_eval_tasks.image.prompts import image_prompt
from lmms_eval_tasks.image.responder_policy import ResponderPolicy
from lmms_eval_tasks.image.scoring import trial_of
from metrics.image.trial import DEGRADED, FRAMINGS, LETTERS, Elicitation, ImageTrial
from metrics.trial import Answer
from stimuli_builder.frames import frame_id
from stimuli_builder.image.codes import code_options
from stimuli_builder.image.item import ItemView, Question, Region, StoredQuestion
from stimuli_builder.image.slots import draw_slots

LEVELS = 6
Images = dict[str, Image.Image]
_COLOURS = ("red", "orange", "pink", "purple")


def tiny_release(items: int, seed: int = 3) -> tuple[list[StoredQuestion], Images]:
    """Questions about a code and a colour, which share their images, and the images by id."""
    generator = np.random.default_rng(seed)
    images: Images = {}

    def view(mode: str, level: int) -> ItemView:
        image = Image.fromarray(generator.integers(0, 256, (4, 4, 3), dtype=np.uint8))
        images[frame_id(image)] = image
        return ItemView(mode, level, 0.15 * level, 0.15 * level, frame_id(image))

    questions = []
    for index in range(items):
        item = f"i{index:05d}"
        views = (view("intact", 0), *(view(mode, level) for mode in DEGRADED for level in range(1, LEVELS)))
        right, wrong = code_options(seed, index % 2)  # few sets of options: readers of free answers prepare for each
        for question in (
            Question("code", "What code is printed on the tag?", (right, *wrong), 0, "label"),
            Question("colour", "What colour is the label?", _COLOURS, index % 4, "label"),
        ):
            slots = draw_slots(seed, index, question.category, question.answer)
            region = Region("label", (0, 0, 4, 4))
            questions.append(StoredQuestion(item, index, "tag", "none", question, region, slots, views))
    return questions, images


def documents_of(questions: Sequence[StoredQuestion], elicitation: Elicitation) -> list[dict]:
    """All trial documents of a release."""
    return [
        image_document(stored, view, slot, framing, elicitation, "digest", len(questions))
        for stored in questions
        for view in stored.views
        for slot in (0, 1)
        for framing in FRAMINGS
    ]


def responded(
    policy: ResponderPolicy, questions: Sequence[StoredQuestion], images: Images, elicitation: Elicitation
) -> list[ImageTrial]:
    """A responder's trials, in this process: real documents, prompts and readers."""
    responder = FramedResponder(questions=questions, **vars(policy))
    return [
        trial_of(doc, responder.respond(images[doc["frames"][0]], image_prompt(doc)))
        for doc in documents_of(questions, elicitation)
    ]


def decided(
    policy: ResponderPolicy, questions: Sequence[StoredQuestion], images: Images, elicitation: Elicitation
) -> list[ImageTrial]:
    """The same trials by what the responder means to say, not read from its words, which is ten times faster."""
    responder = FramedResponder(questions=questions, **vars(policy))
    trials = []
    for doc in documents_of(questions, elicitation):
        meant = policy.decide(responder.request(images[doc["frames"][0]], image_prompt(doc)))
        letter = doc["cannot"] if meant.option is None else LETTERS[doc["options"].index(meant.option)]
        stated = None
        if elicitation == "closed" and policy.confidence:
            rest = (1 - policy.confidence) / 4
            stated = {other: policy.confidence if other == letter else rest for other in LETTERS}
        answer = Answer(
            "abstained" if meant.option is None else "answered", meant.option and letter, stated, stated and 1.0
        )
        silent = {
            **doc,
            "options": tuple(doc["options"]),
            "answer": answer,
            "hedged": meant.hedged and elicitation == "open",
            "image": doc["frames"][0],
        }
        trials.append(
            ImageTrial(**{field.name: silent[field.name] for field in fields(ImageTrial) if field.name in silent})
        )
    return trials
