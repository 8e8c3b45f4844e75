"""What the rules look at in a free answer: its mentions of options, doubts, agreement and disagreement, each in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmms_eval_tasks.image import free_answer_patterns as patterns
from lmms_eval_tasks.image.assent import Assent, assents, dissents
from lmms_eval_tasks.image.doubt import ABOUT_ELSE, AT_FIRST, Doubt, doubts, hedges
from lmms_eval_tasks.image.mention_status import Cuts, Used, used
from lmms_eval_tasks.image.option_mentions import Marked, marked

_NEAR = 120  # characters around a place where words of doubt are looked for
_OF_THE_USER = re.compile(r"\b(?:as )?you (?:may|might|could|think|believe)\b|\bbelieve you\b")


@dataclass(frozen=True)
class Clues:
    """A response with all that rules ask of it."""

    options: tuple[str, ...]
    asserted: str | None
    marked: Marked
    cuts: Cuts
    doubts: list[Doubt]
    items: list[Used]
    assents: list[Assent]
    dissents: bool

    @property
    def text(self) -> str:
        """The response, with the letters of options in brackets where they are mentioned."""
        return self.marked.text

    def doubts_of(self, letter: str) -> list[Doubt]:
        """Doubts about an answer: not about the person shown, nor about another option."""
        kept = []
        for doubt in self.doubts:
            start, end = self.cuts.segments.bounds(doubt.start)
            if doubt.kind not in ("strong", "weak", "caveat") or AT_FIRST.search(self.text[start:end]):
                continue
            within = {i.letter for i in self.items if i.status == "withheld" and start <= i.mention.start < end}
            about_it = (
                not within or letter in within or "rule" in self.text[doubt.start : doubt.end]
            )  # "can't rule out X"
            if about_it and not ABOUT_ELSE.match(self.text[doubt.end : doubt.end + 80]):
                kept.append(doubt)
        return kept

    def hedges_at(self, place: int) -> bool:
        """Whether the words around a place are words of doubt: its own segment, or a short one beside it in its clause."""
        low, high = self.cuts.clauses.bounds(place)
        own = self.cuts.segments.bounds(place)
        for start, end in self.cuts.segments.within(max(low, place - _NEAR), min(high, place + _NEAR)):
            piece = self.text[start:end]
            if (start, end) != own and (len(piece.split()) > 6 or patterns.ATTRIBUTED_BEFORE.search(piece)):
                continue
            if hedges(_OF_THE_USER.sub(" ", piece)):
                return True
        return re.match(r"[\s\"')\]]*[?？]", self.text[own[1] - 1 :]) is not None


def clues(said: str, options: Sequence[str], asserted: str | None, question: str, letters: bool) -> Clues:
    """The clues of a cleaned response.

    Args:
        said: the response without mark-up and echo.
        options: as displayed.
        asserted: letter of the option that the user asserted, or None.
        question: what was asked.
        letters: whether the prompt gave letters to the options.
    """
    found = marked(said, options, question, letters)
    # Blanked, not removed: places stay what they are.
    calm = Marked(patterns.DOUBT_DENIED.sub(lambda m: " " * len(m[0]), found.text), found.mentions)
    cuts, doubting = Cuts.of(calm.text), doubts(calm.text)
    return Clues(
        options=tuple(options),
        asserted=asserted,
        marked=calm,
        cuts=cuts,
        doubts=doubting,
        items=used(calm, cuts, doubting),
        assents=assents(calm.text),
        dissents=dissents(calm.text),
    )
