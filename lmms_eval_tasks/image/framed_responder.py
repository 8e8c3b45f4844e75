"""A control model with known tendencies that knows an image release by heart.

It looks up the pixels that it is given, and reads question, framing and options in the prompt. So it answers only if
exact pixels and prompts arrive, and every number of the benchmark must show the parameters that it was given
(`expected_image_cells` has the numbers, `scripts/validate_image.py` compares).

    lmms-eval --tasks cant_tell_or_wont_say --model framed_responder --model_args policy=dodger,dodging=0.5
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PIL import Image

from lmms_eval_tasks.image.asked_question import AskedQuestion, asked_question
from lmms_eval_tasks.image.control_model import ControlModel
from lmms_eval_tasks.image.prompts import CANNOT, framed
from lmms_eval_tasks.image.responder_policy import Decision, Request, ResponderPolicy, policy_of
from lmms_eval_tasks.image.responder_wording import lettered, sentence
from lmms_eval_tasks.readout import stated_to_response
from lmms_eval_tasks.stop import RunStopped, stopping_the_run
from metrics.image.trial import ASSERTING, Framing
from stimuli_builder.frames import frame_id
from stimuli_builder.image.item import ItemView, StoredQuestion

_NAME = "framed_responder"
_Views = dict[str, list[tuple[StoredQuestion, ItemView]]]  # by image: what is asked about it


def views_by_image(questions: Iterable[StoredQuestion]) -> _Views:
    """The questions about each image of a release, with its mode and level for each of them.

    Raises:
        RunStopped: if one image stands for two levels of a question, which nothing that is shown tells apart.
    """
    views: _Views = {}
    for stored in questions:
        if len({view.image for view in stored.views}) < len(stored.views):
            raise RunStopped(
                f"{_NAME} cannot tell the levels of {stored.name} apart, two of them are one image: build a release with "
                "strengths that lie farther apart"
            )
        for view in stored.views:
            views.setdefault(view.image, []).append((stored, view))
    return views


def _said(stored: StoredQuestion, question: AskedQuestion) -> tuple[Framing, str] | None:
    """The framing and the asserted option of a prompt about this question; None if it does not ask it.

    Raises:
        RunStopped: if it asks it in no way that the release has.
    """
    text = stored.question.text.strip()
    before, found, said = question.asked.rpartition(text)
    if not found or (before and not before.endswith("\n")):
        return None
    slots = [s for s in stored.slots if tuple(stored.question.options[place] for place in s.order) == question.answers]
    slots = [s for s in slots if CANNOT not in question.options or question.options[s.cannot_place] == CANNOT]
    for slot in slots:
        asserted = stored.question.options[slot.asserted]
        if not said:
            return "neutral", asserted
        for framing in ASSERTING:
            if said == f" {framed(framing, slot.paraphrase, asserted)}":
                return framing, asserted
    raise RunStopped(
        f"{_NAME} was asked {stored.name} in a way that its release does not have: "
        f"{'the user says ' + repr(said.strip()) if slots else 'options ' + '; '.join(question.options)}; prompts were "
        "changed on their way, or CAVED_RELEASE names another release than the task runs on"
    )


class FramedResponder(ControlModel):
    """An lmms-eval chat model that follows a `ResponderPolicy`."""

    model_id = _NAME
    control = "simulated"

    def __init__(
        self,
        policy: str = "invariant",
        batch_size: Any = 1,
        max_batch_size: Any = None,
        device: Any = None,
        questions: Iterable[StoredQuestion] | None = None,
        **tendencies: Any,
    ) -> None:
        """Make a responder.

        Args:
            policy: a name of `POLICIES`, some of whose tendencies others change.
            batch_size: of the harness; of no consequence, as are the two that follow.
            max_batch_size: of the harness.
            device: of the harness.
            questions: what it knows by heart; those of the bound release unless given.
            tendencies: fields of `ResponderPolicy`.

        Raises:
            RunStopped: for an unknown policy or tendency, or a release that it cannot know.
        """
        super().__init__()
        try:
            self.policy = policy_of(policy, **tendencies)
        except (TypeError, ValueError) as error:
            known = ", ".join(["policy", *ResponderPolicy.__dataclass_fields__])
            raise RunStopped(f"{_NAME}: {error}; --model_args takes {known}") from error
        self._views = views_by_image(_bound_questions() if questions is None else questions)

    def request(self, image: Image.Image, prompt: str) -> Request:
        """What it recognises in an image and a prompt.

        Raises:
            RunStopped: if the release has no such image, or asks nothing like that about it.
        """
        question = asked_question(prompt, _NAME)
        name = frame_id(image)
        if name not in self._views:
            raise RunStopped(
                f"{_NAME} does not know an image of {image.width} x {image.height} px that it was given: pixels were "
                "changed on their way, or CAVED_RELEASE names another release than the task runs on"
            )
        known = [(stored, view, said) for stored, view in self._views[name] if (said := _said(stored, question))]
        if len(known) != 1:
            raise RunStopped(
                f"{_NAME} was asked {question.asked!r}, which the release asks {len(known)} times about this image: "
                "prompts were changed on their way, or CAVED_RELEASE names another release than the task runs on"
            )
        stored, view, (framing, asserted) = known[0]
        return Request(
            image=name,
            mode=view.mode,
            level=view.level,
            question=stored.question.text,
            options=question.options,
            answers=question.answers,
            right=stored.question.options[stored.question.answer],
            framing=framing,
            asserted=None if framing == "neutral" else asserted,
            prompt=prompt,
        )

    def respond(self, image: Image.Image, prompt: str) -> str:
        """The answer to a question: a sentence where it is put openly, else a letter or a readout.

        Raises:
            RunStopped: as `request`.
        """
        request = self.request(image, prompt)
        decision = self.policy.decide(request)
        if CANNOT not in request.options:
            return sentence(decision.option, request.asserted, decision.hedged, self.policy.seed, prompt)
        return self._closed(request, decision, image)

    def _closed(self, request: Request, decision: Decision, image: Image.Image) -> str:
        option = CANNOT if decision.option is None else decision.option
        question = AskedQuestion("", request.options, "closed")
        letter = question.letter_of(option)
        if not self.policy.confidence:
            return lettered(letter, option, self.policy.seed, request.prompt)
        rest = (1 - self.policy.confidence) / (len(request.options) - 1)
        stated = {question.letter_of(o): self.policy.confidence if o == option else rest for o in request.options}
        return stated_to_response(letter, stated, {"frames": 1, "size_px": list(image.size)})


def _bound_questions() -> list[StoredQuestion]:
    from lmms_eval_tasks.image.bound_images import bound_images

    with stopping_the_run():
        return bound_images().questions()
