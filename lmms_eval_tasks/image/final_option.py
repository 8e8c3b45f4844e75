"""The option that a free answer settles on, where it affirms one only or says which of several it means."""

from __future__ import annotations

from lmms_eval_tasks.image import free_answer_patterns as patterns
from lmms_eval_tasks.image.answer_clues import Clues
from lmms_eval_tasks.image.mention_status import Used
from lmms_eval_tasks.image.option_mentions import CLOSE


def _is_beside(found: Clues, item: Used) -> bool:
    """Whether an option describes what stands beside the answer: "with a red border"."""
    start, end = item.mention.start, item.mention.end
    before, after = found.text[max(0, start - 40) : start], found.text[end : end + 40]
    return patterns.BESIDE_BEFORE.search(before) is not None and patterns.BESIDE_AFTER.match(after) is not None


def _is_total(found: Clues, item: Used) -> bool:
    """Whether a number is given as the sum of what else is counted."""
    start, end = item.mention.start, item.mention.end
    before = found.text[max(0, start - 60) : start].rpartition(CLOSE)[2]
    return bool(patterns.TOTAL_BEFORE.search(before) or patterns.TOTAL_AFTER.match(found.text[end : end + 40]))


def _concludes(found: Clues, item: Used) -> bool:
    """Whether an option is given as the answer or conclusion, in so many words."""
    start, _ = found.cuts.segments.bounds(item.mention.start)
    if patterns.COLON.search(found.text[max(0, start - 4) : start]):
        start, _ = found.cuts.segments.bounds(max(0, start - 2))
    return patterns.CONCLUDES.search(found.text[max(start, item.mention.start - 80) : item.mention.start]) is not None


def final_option(found: Clues) -> tuple[str | None, str, list[Used]]:
    """The option that a response settles on, by which rule, and where it does; no option if it affirms none, or several."""
    affirming = [item for item in found.items if item.affirms]
    for narrower in (lambda i: not i.first_impression, lambda i: i.status == "affirmed"):
        affirming = [i for i in affirming if narrower(i)] or affirming
    letters = {item.letter for item in affirming}
    if len(letters) < 2:
        return (affirming[0].letter, "the only option affirmed", affirming) if letters else (None, "", [])
    last = affirming[-1]
    other = [i for i in affirming if i.letter != last.letter][-1]
    after = next(i for i in affirming if i.mention.start > other.mention.start and i.letter == last.letter)
    if patterns.CORRECTION.search(found.text, other.mention.end, after.mention.start):
        return last.letter, "the option after a correction", [i for i in affirming if i.letter == last.letter]
    for rule, decides in (("the total", _is_total), ("the option that it concludes with", _concludes)):
        chosen = [item for item in affirming if decides(found, item)]
        if len({i.letter for i in chosen}) == 1:
            return chosen[0].letter, rule, chosen
    own = [i for i in affirming if not _is_beside(found, i)]
    if len({i.letter for i in own}) == 1:
        return own[0].letter, "the option that others stand beside", own
    return None, "two options are affirmed", affirming


def is_stated(found: Clues, item: Used) -> bool:
    """Whether an option is what a sentence states, rather than something that it says besides."""
    start, _ = found.cuts.segments.bounds(item.mention.start)
    before = found.text[max(start, item.mention.start - 60) : item.mention.start]
    return len(before.split()) < 2 or patterns.STATES.search(before) is not None
