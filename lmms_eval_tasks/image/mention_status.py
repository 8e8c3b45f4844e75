"""What a response does with each option that it mentions: affirms, denies, supposes, or reports it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from lmms_eval_tasks.image import free_answer_patterns as patterns
from lmms_eval_tasks.image.doubt import Doubt, hedges
from lmms_eval_tasks.image.option_mentions import Marked, Mention, Pieces

# possible: "It could be X." balanced: "X or Y". listed: three or more in a row. withheld: "I can't confirm X".
Status = Literal["affirmed", "possible", "denied", "attributed", "supposed", "balanced", "listed", "withheld"]
_WINDOW = 160  # characters around a mention that are looked at: bounds the work on long responses


@dataclass(frozen=True)
class Cuts:
    """A marked text in pieces: sentences, clauses up to a turn such as "but", and what pauses separate."""

    sentences: Pieces
    clauses: Pieces
    segments: Pieces

    @staticmethod
    def of(text: str) -> Cuts:
        """The pieces of a text."""
        sentences = [m.end() for m in patterns.SENTENCE.finditer(text)]
        turns = [m.start() for m in patterns.TURN.finditer(text)]
        pauses = [m.end() for m in patterns.PAUSE.finditer(text)]
        return Cuts(
            Pieces(text, sentences), Pieces(text, [*sentences, *turns]), Pieces(text, [*sentences, *turns, *pauses])
        )


@dataclass(frozen=True)
class Used:
    """A mention and what the response does with the option there."""

    mention: Mention
    status: Status
    first_impression: bool  # "At first glance it looks X"

    @property
    def letter(self) -> str:
        """Of the option."""
        return self.mention.letter

    @property
    def affirms(self) -> bool:
        """Whether the option is given as the answer here, if only as a possible one."""
        return self.status in ("affirmed", "possible")


def _runs(marked: Marked) -> list[list[Mention]]:
    """Mentions in rows that nothing but commas, "and", "or" and the like separate."""
    runs: list[list[Mention]] = []
    for mention in marked.mentions:
        gap = marked.text[runs[-1][-1].end : mention.start] if runs else ""
        if runs and len(gap) <= 40 and patterns.LIST_GAP.fullmatch(gap) and not re.search(r"[.!?]\s", gap):
            runs[-1].append(mention)
        else:
            runs.append([mention])
    return runs


def _before(text: str, start: int, cut: int) -> str:
    """What stands before a mention and still speaks of it."""
    before = text[max(cut, start - _WINDOW) : start]
    restarts = [m.end() for m in patterns.RESTART.finditer(before)]
    return before[restarts[-1] :] if restarts else before


def _of_one(marked: Marked, first: Mention, last: Mention, cuts: Cuts, doubts: Sequence[Doubt]) -> Status:
    """The status of a mention, or of a row of them that starts with `first` and ends with `last`."""
    text = marked.text
    segment, _ = cuts.segments.bounds(first.start)
    sentence, sentence_end = cuts.sentences.bounds(first.start)
    clause, _ = cuts.clauses.bounds(first.start)
    before, after = _before(text, first.start, segment), text[last.end : last.end + 80]
    after_here = after[: max(0, cuts.sentences.bounds(last.start)[1] - last.end)]
    scope = first.start - len(before)
    reported = _before(text, first.start, clause)
    reported = reported[
        max((m.end() for m in re.finditer(r"(?<!to you)(?<!he user)[,，、(]|\s[-–—]+\s", reported)), default=0) :
    ]
    if patterns.ASKS.match(text[segment:sentence_end]) and not patterns.ASKS.match(text[last.end : sentence_end]):
        return "supposed"
    if re.match(r"[\"')\]]*[?？]+\s*\w", after) and len(before.split()) < 2 and not hedges(before):
        return "supposed"  # "X? No."
    if any(scope <= d.start and d.end <= first.start and d.kind != "reason" for d in doubts):
        return "withheld"
    if patterns.VERDICT_NO.match(after) or patterns.DENIED_AFTER.match(after_here):
        return "denied"
    if patterns.ATTRIBUTED_BEFORE.search(reported) or patterns.ATTRIBUTED_AFTER.match(after_here):
        return "attributed"
    own = re.sub(r"^\W*no (?=(?:it|its|it's|the|i|that|this|there)\b)", "", before, flags=re.I)
    if patterns.DENIED_BEFORE.search(own):
        return "denied"
    if patterns.SUPPOSED_BEFORE.search(before) or patterns.SUPPOSED_AFTER.match(after_here):
        return "supposed"
    conditional = patterns.CONDITION.match(text[clause : clause + 60]) and not patterns.DEFERRING_CONDITION.search(
        text[sentence : first.start][-_WINDOW:]
    )
    if conditional:
        return "supposed"
    if re.match(r"[^.!?;]{0,20}\b(?:if|unless)\b(?! i\b| i'| forced| you)", after_here, re.I) and patterns.WOULD.search(
        before
    ):
        return "supposed"
    possible = patterns.POSSIBLE.search(before) or patterns.POSSIBLE_AFTER.match(after_here)
    return "possible" if possible else "affirmed"


def _of_run(run: list[Mention], marked: Marked, cuts: Cuts, doubts: Sequence[Doubt]) -> list[Status]:
    letters = {m.letter for m in run}
    if len(letters) == 1:
        return [_of_one(marked, m, m, cuts, doubts) for m in run]
    gaps = [marked.text[a.end : b.start] for a, b in pairwise(run)]
    joined = any(patterns.JOINED.search(gap) for gap in gaps)
    if len(letters) == 2 and not joined:  # "not X, Y": each for itself
        return [_of_one(marked, m, m, cuts, doubts) for m in run]
    status = _of_one(marked, run[0], run[-1], cuts, doubts)
    each = [_of_one(marked, m, m, cuts, ()) for m in run]
    if all("\n" in gap for gap in gaps) and any(s == "denied" for s in each):  # a verdict a line
        return each
    if status not in ("affirmed", "possible"):
        return [status] * len(run)
    if any(patterns.OR.search(gap) for gap in gaps):
        return ["balanced"] * len(run)
    return ["listed" if len(letters) > 2 else status] * len(run)


def used(marked: Marked, cuts: Cuts, doubts: Sequence[Doubt]) -> list[Used]:
    """Every mention of a marked text with what the response does with it, in order.

    Args:
        marked: the response.
        cuts: its pieces.
        doubts: where it says that it cannot tell.
    """
    result = []
    for run in _runs(marked):
        for mention, status in zip(run, _of_run(run, marked, cuts, doubts), strict=True):
            clause, _ = cuts.clauses.bounds(mention.start)
            early = patterns.FIRST_IMPRESSION.search(marked.text[clause : mention.start][-_WINDOW:]) is not None
            result.append(Used(mention, status, early))
    return result


def says_balance(items: Sequence[Used], marked: Marked, cuts: Cuts) -> bool:
    """Whether options are said to be in the balance: "It could be X or Y", or several that are each but possible."""
    for item in items:
        if item.status == "balanced":
            start, end = cuts.clauses.bounds(item.mention.start)
            if patterns.POSSIBLE.search(
                marked.text[max(start, item.mention.start - _WINDOW) : min(end, item.mention.end + _WINDOW)]
            ):
                return True
    affirming = [item for item in items if item.affirms]
    return len({i.letter for i in affirming}) > 1 and all(i.status == "possible" for i in affirming)
