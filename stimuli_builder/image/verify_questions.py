"""What each question and each item of an image release must be, as far as tables tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from metrics.image.trial import DEGRADED, INTACT, OPTIONS
from stimuli_builder.image.annotation_options import option_problems
from stimuli_builder.image.annotation_regions import MIN_REGION_PX
from stimuli_builder.image.info import PARAPHRASES, ImageReleaseInfo
from stimuli_builder.image.item import Slot, StoredQuestion
from stimuli_builder.image.occlusion import SHARE_TOLERANCE
from stimuli_builder.image.slots import draw_slots


def check_question(stored: StoredQuestion, number: int, info: ImageReleaseInfo) -> Iterator[str]:
    """Everything that is wrong with one question by itself, the `number`-th of its category, as sentences."""
    question = stored.question
    yield from option_problems(question.options)
    for place, slot in enumerate(stored.slots):
        yield from (f"slot {place}: {text}" for text in _check_slot(slot))
    first, second = stored.slots
    if (first.asserted == question.answer) == (second.asserted == question.answer):
        yield "the right option has to be asserted in one slot and a wrong one in the other"
    for name in ("order", "cannot_place", "paraphrase"):
        if getattr(first, name) == getattr(second, name):
            yield f"both slots have the same {name.replace('_', ' ')}"
    if stored.slots != draw_slots(info.seed, number, question.category, question.answer):
        yield f"its slots are not those of seed {info.seed}"
    if stored.region.height_px < MIN_REGION_PX:
        yield f"its region is {stored.region.height_px} px high, at least {MIN_REGION_PX} are needed"
    if PurePosixPath(stored.source).is_absolute():
        yield f"its source {stored.source} is a path on some machine"


def _check_slot(slot: Slot) -> Iterator[str]:
    if sorted(slot.order) != list(range(OPTIONS)):
        yield f"its order {list(slot.order)} does not show each option once"
    if slot.cannot_place not in range(OPTIONS + 1):
        yield f"'cannot be determined' stands in place {slot.cannot_place}"
    if slot.paraphrase not in range(PARAPHRASES):
        yield f"paraphrase {slot.paraphrase} does not exist"
    if slot.asserted not in range(OPTIONS):
        yield f"it asserts option {slot.asserted}"


def check_item(listed: Sequence[StoredQuestion], place: int, info: ImageReleaseInfo) -> Iterator[str]:
    """Everything that is wrong with the questions of one item together; it is the `place`-th of the release."""
    if {question.index for question in listed} != {place}:
        yield f"has the number {listed[0].index}, it is item {place} of the release"
    drawn = listed[0].kind != "photo"
    if drawn != (info.canvas_px > 0):
        yield f"is a {listed[0].kind}, {'drawn' if drawn else 'not drawn'}, and the release says a canvas of {info.canvas_px} px"
    if len({(question.kind, question.source) for question in listed}) > 1:
        yield "its questions name several kinds or sources"
    first: dict[str, StoredQuestion] = {}
    for stored in listed:
        name = stored.region.name
        earlier = first.setdefault(name, stored)
        if earlier.region != stored.region or earlier.views != stored.views:
            yield f"{stored.name} and {earlier.name} share the region {name}, but not its box and images"
    for stored in first.values():
        yield from (f"{stored.name}: {text}" for text in _check_views(stored, info))
    if len({stored.views[0].image for stored in listed if stored.views}) > 1:
        yield "its questions have several intact images"


def _check_views(stored: StoredQuestion, info: ImageReleaseInfo) -> Iterator[str]:
    """L0, then each mode with the strengths of the category that stands first among the region's questions."""
    strengths = info.strengths.get(stored.question.category, {})
    expected = [(INTACT, 0, 0.0)]
    expected += [(mode, level, s) for mode in DEGRADED for level, s in enumerate(strengths.get(mode, ()), start=1)]
    found = [(view.mode, view.level, view.strength) for view in stored.views]
    if found != expected:
        without = [f"{mode} L{level}" for mode, level, _ in expected if (mode, level) not in {f[:2] for f in found}]
        what = f": {', '.join(without)} missing" if without else ""
        yield f"its images are not L0 and {info.levels} levels of each mode with the release's strengths{what}"
        return
    for view in stored.views:
        exact = 0.0 if view.mode == "subtractive" else 1e-12
        tolerance = exact or SHARE_TOLERANCE
        if abs(view.achieved - view.strength) > tolerance:
            yield f"{view.mode} L{view.level} achieves {view.achieved:.3f}, {view.strength:g} is asked for"
    hidden = [view for view in stored.views if view.mode == "subtractive"]
    shares = [view.achieved for view in hidden]
    if sorted(set(shares)) != shares:
        yield f"the shares {', '.join(f'{share:.3f}' for share in shares)} that are hidden do not rise"
    if len({view.image for view in (stored.views[0], *hidden)}) <= len(hidden):
        yield "two levels of the subtractive mode, or one and L0, show the same image"
