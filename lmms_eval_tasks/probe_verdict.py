"""Whether a model is ready for a run, after the colour-coded clip went through it, and if not, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_eval_tasks.next_token import NOT_FINITE
from lmms_eval_tasks.probe_report import TEXT, AskedReport, TogetherReport

_TOGETHER = 0.1  # option probabilities may differ by this much; half precision and padding change the last digits
_LOW_MASS = 0.5
_TEXT_CHARACTERS = 80


def _faults(asked: Sequence[AskedReport], together: TogetherReport | None) -> Iterator[str]:
    """What is wrong, the most telling first."""
    for report in asked:
        if report.fault is not None:
            arrived = "" if report.unchanged else f" (its frames arrive {report.looks})"
            yield report.fault + arrived
    if any(report.readout == TEXT and not (report.text or "").strip() for report in asked):
        yield (
            "the wrapper answers nothing: it swallowed an error, which a run would count as unparseable; look at what it "
            "logged above, and mend it or give other --model_args"
        )
    if together is not None and together.fault is not None:
        yield f"all requests in one call: {together.fault}; --batch_size 1 may help"
    if together is not None and (together.largest_difference or 0.0) > _TOGETHER:
        yield (
            f"option probabilities change by {together.largest_difference:.2g} when requests go together: the wrapper "
            "mixes up or pads a batch; run it with --batch_size 1"
        )
    if any(NOT_FINITE in (report.outcome or "") for report in asked):
        yield f"{NOT_FINITE}, which a run would count as unparseable; load the model in bfloat16 or float32"
    if asked and all((report.outcome or "").startswith("unparseable") for report in asked):
        text = (asked[0].text or "")[:_TEXT_CHARACTERS]
        other = "CAVED_READOUT=text" if asked[0].readout != TEXT else "a model that follows instructions"
        yield f"none of {len(asked)} answers names an option ({text!r}, ...); try {other}"
    if all(report.order is None for report in asked) and _order_is_lost(asked):
        yield (
            "the same question about the frames in the reverse order has exactly the same probabilities, so the frames "
            "or their order do not reach the model; look at how the wrapper reads the message item of type video"
        )


def _order_is_lost(asked: Sequence[AskedReport]) -> bool:
    """Whether the reverse order changes no probability; False where there are none."""
    half = len(asked) // 2
    pairs = [(a.option_probabilities, b.option_probabilities) for a, b in zip(asked[:half], asked[half:], strict=True)]
    return bool(pairs) and all(a is not None and a == b for a, b in pairs)


def _cautions(asked: Sequence[AskedReport]) -> Iterator[str]:
    if asked[0].order is None:
        yield "which frames arrive cannot be seen for this model"
    if all(report.readout == TEXT for report in asked):
        yield "its text is read, there will be no confidence rates"
    masses = [report.option_mass for report in asked if report.option_mass is not None]
    if masses and (mean := sum(masses) / len(masses)) < _LOW_MASS:
        yield (
            f"the letters hold only {mean:.2g} of the first token, the likeliest is {asked[0].text!r}: compare with "
            "CAVED_READOUT=text"
        )


def judge(asked: Sequence[AskedReport], together: TogetherReport | None, command: str) -> tuple[bool, str]:
    """Whether a run would work, and the line that says so.

    Args:
        asked: the requests one by one; the second half asks the same of the reverse order.
        together: all of them in one call, if that was tried.
        command: of a run; empty if there is no task for it.
    """
    fault = next(_faults(asked, together), None)
    if fault is not None:
        return False, fault
    arrived = f"{len(asked[0].shown)} frames arrive in order" if asked[0].order is not None else "it answers"
    return True, "; ".join([arrived, *_cautions(asked)]) + (f"; {command}" if command else "")
