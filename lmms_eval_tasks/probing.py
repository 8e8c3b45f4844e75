"""Running the colour-coded clip through a wrapper of lmms-eval, and keeping what a run would stop at.

The requests are made, served and checked by the code that a run uses; here they are asked one by one, so that every
fault is seen and belongs to a request, and then all in one call.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lmms_eval.utils import load_yaml_config

from lmms_eval_tasks import wrapped_models
from lmms_eval_tasks.answering import tokenizer_of
from lmms_eval_tasks.asked import VIDEO_LETTERS
from lmms_eval_tasks.colour_clip import RELEASE, Arrived, ColourClip, clip_document, in_hex, read_back
from lmms_eval_tasks.letter_tokens import letter_token_ids
from lmms_eval_tasks.masking import masked
from lmms_eval_tasks.next_token import Rows
from lmms_eval_tasks.plugin import TASK_FOLDER
from lmms_eval_tasks.probe_loading import Choice, first_line, hint, reason_of
from lmms_eval_tasks.probe_report import (
    NEXT_TOKEN,
    TEXT,
    TOP_LOG_PROBABILITIES,
    AskedReport,
    ProbeReport,
    TogetherReport,
)
from lmms_eval_tasks.probe_verdict import judge
from lmms_eval_tasks.probe_watch import logged, nothing_stored, readings
from lmms_eval_tasks.prompts import frame_times_text, wording_of
from lmms_eval_tasks.readout import option_fields, read_response, text_of
from lmms_eval_tasks.receipts import shown_thumbnails
from lmms_eval_tasks.served_models import serves
from lmms_eval_tasks.served_readings import Served
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import READOUT, reads_probabilities
from lmms_eval_tasks.trials import TASK
from lmms_eval_tasks.visuals import doc_to_messages, doc_to_text, doc_to_visual, frames_in_memory, frames_of
from metrics.trial import Claim, Letters

_SPLIT = "clip"
_ASKED: tuple[tuple[bool, Claim, Letters], ...] = (
    (False, "none", "AB"),
    (False, "strong", "BA"),
    (True, "none", "AB"),
    (True, "strong", "BA"),
)
_FELL_BACK = "there are no confidence rates: "  # before the reason, in the warning of a run that reads text
_AS_IT_IS = "the wrapper is run as it is (see docs/adding_a_model.md, A wrapper of your own)"
_READOUTS = {"next_token": NEXT_TOKEN, "top_log_probabilities": TOP_LOG_PROBABILITIES}


def _task_settings(model: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Generation arguments and the model's own settings, from the task file, as the harness looks them up."""
    config = load_yaml_config(yaml_path=str(TASK_FOLDER / f"{TASK}.yaml"), mode="simple")
    settings = config["lmms_eval_specific_kwargs"]
    return dict(config["generation_kwargs"]), dict(settings.get(model, settings["default"]))


def _requests(model: str, simple: bool, documents: Sequence[dict[str, Any]]) -> list[Any]:
    from lmms_eval.api.instance import Instance

    generation, settings = _task_settings(model)
    messages = partial(doc_to_messages, lmms_eval_specific_kwargs=settings)
    requests = []
    for number, document in enumerate(documents):
        first, second = (dict(generation), doc_to_visual) if simple else (messages, dict(generation))
        arguments = (doc_to_text(document, settings), first, second, number, TASK, _SPLIT)
        metadata = {"benchmark": TASK, "task": TASK, "doc_id": number, "repeats": 1, "split": _SPLIT}
        requests.append(Instance("generate_until", arguments, 0, metadata=metadata))
    return requests


def _is_read(wrapper: Any) -> bool:
    """Whether a wrapper is a subclass of ours, through which option probabilities are read."""
    return getattr(type(wrapper).generate_until, "__module__", "") == wrapped_models.__name__


def _generate(wrapper: Any, requests: Sequence[Any]) -> tuple[list[str] | None, str | None, float]:
    """Answers, or the message that a run would stop with; and the seconds that it took."""
    start = time.perf_counter()
    answers: list[str] | None = None
    fault = None
    try:
        answers = [str(getattr(answer, "text", answer)) for answer in wrapper.generate_until(list(requests))]
        if len(answers) != len(requests):
            fault = f"the wrapper gives {len(answers)} answers to {len(requests)} requests"
            answers = None
    except RunStopped as stop:
        fault = reason_of(stop)
    except (Exception, SystemExit) as error:
        fault = f"the wrapper fails ({first_line(error)}), and a run would end without results; "
        fault += hint(error, type(wrapper)) or (
            "mend this error in the wrapper, or give it other --model_args"
            if _is_read(wrapper)
            else f"frames are not handed over in the way that it needs, because {_AS_IT_IS}"
        )
    return answers, fault, time.perf_counter() - start


def _frames(reading: Any, document: dict[str, Any], clip: ColourClip) -> tuple[Arrived | None, tuple[int, int] | None]:
    """The frames of one request as they were received, and their size."""
    if isinstance(reading, Rows) and reading.read:
        received = reading.read[0].received
        if received is None:
            return None, None
        return read_back(received.thumbnails, shown_thumbnails(frames_of(document))), received.size_px
    if isinstance(reading, Served) and reading.sent and (ids := reading.sent[-1].frames) is not None:
        shown = list(document["frames"])
        order = tuple(shown.index(name) if name in shown else None for name in ids)
        known = dict(zip(clip.ids, map(in_hex, clip.colours), strict=True))
        looks = "as shown, to the last pixel" if None not in order else "changed: resized or compressed"
        return Arrived(order, tuple(known.get(name, "?") for name in ids), looks), None
    return None, None


def _time_seen(reading: Any, document: dict[str, Any]) -> dict[str, Any] | None:
    in_text = frame_times_text(document["times_s"]) if document["time"] == "text" else None
    if isinstance(reading, Rows) and reading.read:
        return {**reading.read[0].time.to_json(document["time"]), "in_text": in_text}
    return {"channel": "text", "in_text": in_text} if in_text else None


@dataclass(frozen=True)
class _Said:
    """What one request was answered, as far as it is known."""

    readout: str | None = None
    text: str | None = None
    outcome: str | None = None
    probabilities: dict[str, float] | None = None
    bound: float | None = None
    mass: float | None = None


def _said(response: str | None, reading: Any, document: dict[str, Any], prompt: str) -> _Said:
    """What a response says, or where the run stopped before it gave one, what had been read by then."""
    if response is None:
        if not isinstance(reading, Rows) or not reading.read:
            return _Said()
        first = reading.read[0]
        return _Said(
            NEXT_TOKEN, first.likeliest, first.unreadable, first.option_probabilities(), None, first.option_mass
        )
    answer = read_response(response, wording_of(document).options(document["letters"]), prompt)
    readout, text = TEXT, text_of(response)
    if text is None:
        fields = json.loads(response)
        readout, text = _READOUTS.get(fields["caved_readout"], TEXT), str(fields.get("text", response))
    outcome = answer.option if answer.option is not None else f"{answer.outcome}: {answer.rule}"
    given = answer.option_probabilities
    probabilities = None if given is None else dict(given)
    return _Said(readout, text, outcome, probabilities, answer.option_probability_bound, answer.option_mass)


def _ask(wrapper: Any, request: Any, document: dict[str, Any], clip: ColourClip) -> AskedReport:
    """One request, alone."""
    with readings() as seen:
        answers, fault, seconds = _generate(wrapper, [request])
    reading = seen[-1] if seen else None
    arrived, size_px = _frames(reading, document, clip)
    said = _said(answers[0] if answers else None, reading, document, str(request.args[0]))
    palette = dict(zip(clip.ids, map(in_hex, clip.colours), strict=True))
    order = "reversed" if document["twin"] == "-" else "forward"
    return AskedReport(
        name=f"{order}, claim: {document['claim']}, letters {document['letters']}",
        shown=tuple(palette[name] for name in document["frames"]),
        order=arrived.order if arrived else None,
        received=arrived.colours if arrived else None,
        looks=arrived.looks if arrived else None,
        size_px=size_px,
        time=_time_seen(reading, document),
        readout=said.readout,
        option_probabilities=said.probabilities,
        option_probability_bound=said.bound,
        option_mass=said.mass,
        text=said.text,
        outcome=said.outcome,
        seconds=seconds,
        fault=fault,
    )


def _together(wrapper: Any, requests: Sequence[Any], alone: Sequence[AskedReport]) -> TogetherReport:
    """All requests in one call, as a run hands them over."""
    answers, fault, seconds = _generate(wrapper, requests)
    differences = []
    for response, before in zip(answers or (), alone, strict=False):
        now = (option_fields(response) or {}).get("option_probabilities")
        if now is not None and before.option_probabilities is not None:
            differences += [abs(now[letter] - value) for letter, value in before.option_probabilities.items()]
    return TogetherReport(seconds, max(differences, default=None), fault)


def _letters(wrapper: Any) -> tuple[dict[str, list[tuple[int, str]]] | None, str | None]:
    """Id and decoded form of each spelling of the letters; or why they are not known."""
    if serves(wrapper):
        return None, "not known for a served model"
    tokenizer = tokenizer_of(wrapper)
    if tokenizer is None:
        return None, "not known, the wrapper has no tokenizer"
    try:
        ids = letter_token_ids(tokenizer, VIDEO_LETTERS)
    except RunStopped as stop:
        return None, reason_of(stop)
    return {letter: [(i, str(tokenizer.decode([i]))) for i in found] for letter, found in ids.items()}, None


def _why_text(wrapper: Any, asked: Sequence[AskedReport], messages: Sequence[str]) -> str | None:
    """Why the text of a model is read; None if it is not."""
    if not any(report.readout == TEXT for report in asked):
        return None
    if not _is_read(wrapper):
        return _AS_IT_IS
    if not reads_probabilities():
        return f"{READOUT}=text is set"
    told = [message.partition(_FELL_BACK)[2] for message in messages if _FELL_BACK in message]
    return told[0] if told else "the wrapper has no tokenizer, and its model is no served one that is known"


def probe(wrapper: Any, choice: Choice, clip: ColourClip, load_s: float = 0.0) -> ProbeReport:
    """Run the clip through a wrapper.

    Args:
        wrapper: an instance, as the harness makes it.
        choice: what it was made from, and what models are told of time.
        clip: to show.
        load_s: seconds that it took to make the wrapper, for the report.
    """
    documents = [clip_document(clip, *asked, choice.time) for asked in _ASKED]
    simple = bool(getattr(wrapper, "is_simple", True))
    wrapper.task_dict = {TASK: {_SPLIT: documents}}
    requests = _requests(choice.model, simple, documents)
    with nothing_stored(), logged() as messages, frames_in_memory(RELEASE, clip.frames):
        asked = tuple(_ask(wrapper, *pair, clip) for pair in zip(requests, documents, strict=True))
        together = None
        if not any(report.fault for report in asked):
            together = _together(wrapper, requests, asked)
    letters, why_no_letters = _letters(wrapper)
    ready, verdict = judge(asked, together, choice.command(len(documents[0]["frames"])))
    return ProbeReport(
        model=choice.model,
        model_args=masked(choice.model_args),
        wrapper=f"{type(wrapper).__name__}, {'simple' if simple else 'chat'} kind",
        batch_size=str(getattr(wrapper, "batch_size", choice.batch_size or 1)),
        budget=len(clip.ids),
        canvas_px=clip.canvas_px,
        time=choice.time,
        letters=letters,
        why_no_letters=why_no_letters,
        why_text=_why_text(wrapper, asked, messages),
        asked=asked,
        together=together,
        messages=tuple(messages),
        load_s=load_s,
        ready=ready,
        verdict=verdict,
    )
