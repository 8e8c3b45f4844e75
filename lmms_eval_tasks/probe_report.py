"""What is known of a model after a colour-coded clip went through its wrapper, as JSON and as text to read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

NEXT_TOKEN, TOP_LOG_PROBABILITIES, TEXT = "next-token probabilities", "top log-probabilities", "text"
_MOST_TEXTS = 4  # stamps that are printed
_MOST_CHARACTERS = 300  # of a generated text
_STEPS = {1: "each frame", 2: "each pair of frames"}


@dataclass(frozen=True)
class AskedReport:
    """One request: what arrived, and what was answered."""

    name: str
    shown: tuple[str, ...]  # colour of each frame, in the order of this request
    order: tuple[int | None, ...] | None  # the place of the shown frame that each received one is; None if not known
    received: tuple[str, ...] | None  # colour of each received frame; None if not known
    looks: str | None  # "as shown", perhaps with more, or what happened to the frames; None if not known
    size_px: tuple[int, int] | None  # width and height at the model's inputs; None if not known
    time: dict[str, Any] | None  # what the prompt told of time; None if not known
    readout: str | None  # None if nothing was answered
    option_probabilities: dict[str, float] | None
    option_probability_bound: float | None  # of a served model: the true ones differ by at most this
    option_mass: float | None  # probability that the first token is one of the letters
    text: str | None  # likeliest first token, or what was generated where text is read
    outcome: str | None  # the letter, or why there is none
    seconds: float
    fault: str | None  # the message that a run would stop with

    @property
    def in_order(self) -> bool | None:
        """Whether exactly the shown frames arrived, in their order; None if it is not known."""
        return None if self.order is None else self.order == tuple(range(len(self.shown)))

    @property
    def unchanged(self) -> bool:
        """Whether each received frame looks like one that was shown, as far as that is known."""
        return self.looks is None or self.looks.startswith("as shown")


@dataclass(frozen=True)
class TogetherReport:
    """All requests in one call, as a run hands them over."""

    seconds: float
    largest_difference: float | None  # of option probabilities, from asking one by one; None where there are none
    fault: str | None


@dataclass(frozen=True)
class ProbeReport:
    """Everything that the probe knows."""

    model: str
    model_args: str
    wrapper: str  # its class, and whether it is of the chat or the simple kind
    batch_size: str
    budget: int  # frames shown
    canvas_px: int
    time: str  # what the model was to be told
    letters: dict[str, list[tuple[int, str]]] | None  # id and decoded form of each spelling of A and B
    why_no_letters: str | None
    why_text: str | None  # why text is read; None if it is not
    asked: tuple[AskedReport, ...]
    together: TogetherReport | None  # None if asking one by one failed
    messages: tuple[str, ...]  # warnings and errors that were logged on the way
    load_s: float
    ready: bool
    verdict: str

    def to_json(self) -> str:
        """The report as indented JSON."""
        return json.dumps(asdict(self), indent=2) + "\n"


def _places(order: tuple[int | None, ...]) -> str:
    return " ".join("?" if place is None else str(place) for place in order)


def _table(asked: AskedReport) -> Iterator[str]:
    """Received frames, one a line, beside those that were shown at their places."""
    assert asked.order is not None and asked.received is not None
    yield "    place  shown    received"
    for place in range(max(len(asked.shown), len(asked.order))):
        shown = asked.shown[place] if place < len(asked.shown) else "-"
        if place >= len(asked.order):
            yield f"    {place:<5}  {shown:<7}  -"
            continue
        which = asked.order[place]
        told = "none of the shown frames" if which is None else f"frame {which}"
        yield f"    {place:<5}  {shown:<7}  {asked.received[place]:<7}  {told}"


def _time_line(asked: AskedReport) -> str:
    if asked.time is None:
        return "not known"
    beside, spacing = asked.time.get("beside_frames"), asked.time.get("seconds_per_step")
    parts = []
    if beside:
        listed = ", ".join(map(repr, beside[:_MOST_TEXTS]))
        parts.append(f"beside the frames {listed}{', ...' if len(beside) > _MOST_TEXTS else ''}")
    if spacing is not None:
        frames = int(asked.time.get("frames_per_step") or 1)
        parts.append(f"positions say {spacing:g} s for {_STEPS.get(frames, f'every {frames} frames')}")
    if asked.time.get("in_text"):
        parts.append(f"in the text: {asked.time['in_text']}")
    return "; ".join(parts) or "nothing"


def _answer_line(asked: AskedReport) -> str:
    if asked.readout is None:
        return "none"
    if asked.option_probabilities is None:
        text = repr((asked.text or "")[:_MOST_CHARACTERS])
        return f"{asked.outcome} ({'generated text' if asked.readout == TEXT else 'likeliest token'} {text})"
    options = ", ".join(f"{letter} {value:.4f}" for letter, value in asked.option_probabilities.items())
    bound = f" (within {asked.option_probability_bound:.4f})" if asked.option_probability_bound is not None else ""
    return f"{options}{bound}; the letters hold {asked.option_mass:.4g}; likeliest token {asked.text!r}"


def _asked_lines(number: int, asked: AskedReport, table: bool) -> Iterator[str]:
    yield f"{number}. {asked.name} ({asked.seconds:.2f} s)"
    if asked.order is None:
        yield f"  frames   not known ({len(asked.shown)} shown)"
    else:
        size = f", {asked.size_px[0]} x {asked.size_px[1]} px" if asked.size_px is not None else ""
        yield f"  frames   {len(asked.order)} received of {len(asked.shown)} shown{size}, each {asked.looks}"
        yield f"  order    {_places(asked.order)}{'' if asked.in_order else '  (not as shown)'}"
        if table or not asked.in_order or not asked.unchanged:
            yield from _table(asked)
    yield f"  time     {_time_line(asked)}"
    yield f"  answer   {_answer_line(asked)}"
    if asked.fault is not None:
        yield f"  fault    {asked.fault}"


def _letter_lines(report: ProbeReport) -> Iterator[str]:
    if report.letters is None:
        yield f"letters  {report.why_no_letters}"
        return
    for letter, spellings in report.letters.items():
        listed = ", ".join(f"{index} {text!r}" for index, text in spellings)
        yield f"{'letters' if letter == 'A' else '       '}  {letter}: {listed}"


def describe(report: ProbeReport) -> str:
    """The report as text; its last line is the verdict."""
    readouts = list(dict.fromkeys(asked.readout for asked in report.asked if asked.readout))
    lines = [
        f"model    {report.model}, {report.model_args or 'no arguments'}",
        f"wrapper  {report.wrapper}, loaded in {report.load_s:.1f} s, batch size {report.batch_size}",
        f"clip     {report.budget} frames of {report.canvas_px} x {report.canvas_px} px, time {report.time}",
        f"readout  {', '.join(readouts) or 'none'}{f': {report.why_text}' if report.why_text else ''}",
        *_letter_lines(report),
    ]
    for number, asked in enumerate(report.asked, 1):
        lines += ["", *_asked_lines(number, asked, table=number == 1)]
    if report.together is not None:
        together = report.together
        lines += ["", f"All {len(report.asked)} requests in one call ({together.seconds:.2f} s)"]
        if together.largest_difference is not None:
            lines.append(
                f"  answer   probabilities differ by at most {together.largest_difference:.2g} from asking one by one"
            )
        if together.fault is not None:
            lines.append(f"  fault    {together.fault}")
    if report.messages:
        lines += ["", "Logged on the way", *(f"  {message}" for message in report.messages)]
    return "\n".join([*lines, "", f"{'ready' if report.ready else 'not ready'}: {report.verdict}"])
