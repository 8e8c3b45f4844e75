"""Lessons of the small video reader: which frames are shown, what is asked, and how an ideal reader of its kind answers.

How far it defers is written here. Without evidence of an order it has no preference, and takes a claim for true mostly. With evidence
it weighs: what it saw in the dark it trusts less against a claim than what it saw in bright scenes.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from lmms_eval_tasks.prompts import frame_times_text
from lmms_eval_tasks.small_reader import wordings
from lmms_eval_tasks.small_reader.pairs import Pair

ORDER_SHARE = 0.6  # of questions in the benchmark's own words
CLOSE_GAPS = (2, 3, 4)  # frames between the events, as at every budget of the benchmark
_OTHER_GAPS = 10
_LONGER_SHARE = 0.15  # events that are met by two frames
_FOLLOWS = {"mild": (0.75, (0.04, 0.1, 0.35)), "strong": (0.93, (0.05, 0.3, 0.92))}  # without evidence; by dark events
CLAIMS = tuple(_FOLLOWS)
EXERCISES = ("list", "first", "place", "is_there", "dark", "match")


@dataclass(frozen=True)
class Lesson:
    """One prompt over some frames. Either a letter or an answer in words is wanted."""

    frames: tuple[int | None, ...]  # the event that each frame shows, None for background
    dark: frozenset[int]  # events that are shown in dark scenes
    prompt: str
    answer: str = ""  # in words
    letter_a: float | None = None  # probability of the letter A

    @property
    def kind(self) -> str:
        """Which of the two is wanted."""
        return "words" if self.letter_a is None else "letter"


def follows(claim: str, dark: int | None) -> float:
    """How often a claim against the evidence is accepted.

    Args:
        claim: `mild` or `strong`.
        dark: how many of the two events were seen in the dark; None where no order was seen.
    """
    unseen, seen = _FOLLOWS[claim]
    return unseen if dark is None else seen[dark]


def _placed(random: Random, count: int, first: int, second: int) -> tuple[list[int | None], frozenset[int]]:
    """Frames that show two events, and which of these are in dark scenes."""
    near = random.random() < 0.7
    gap = random.choice(CLOSE_GAPS) if near else random.randint(1, min(_OTHER_GAPS, count - 2))
    start = random.randrange(count - gap)
    frames: list[int | None] = [None] * count
    for event, place in ((first, start), (second, start + gap)):
        frames[place] = event
        if random.random() < _LONGER_SHARE and place + 1 < count and place + 1 != start + gap:
            frames[place + 1] = event
    return frames, frozenset(event for event in (first, second) if random.random() < 0.5)


def _own_or_other(random: Random, sentences: tuple[str, ...]) -> str:
    return sentences[0] if random.random() < ORDER_SHARE else random.choice(sentences[1:])


def _lettered(random: Random, a: str, b: str) -> str:
    return f"A. {a}\nB. {b}\n{_own_or_other(random, wordings.INSTRUCTIONS)}"


def exercise(random: Random, kind: str, pair: Pair, count: int) -> Lesson:
    """A lesson of one of `EXERCISES` on a video of two events."""
    first, second = pair if random.random() < 0.5 else pair[::-1]
    shown, dark = _placed(random, count, first, second)
    frames = tuple(shown)
    words = {"first": wordings.phrase(first), "second": wordings.phrase(second)}
    other = {"first": words["second"], "second": words["first"]}
    if kind == "list":
        return Lesson(frames, dark, wordings.LIST, wordings.LISTED.format(**words))
    if kind == "place":
        asked = random.choice(("first", "second"))
        return Lesson(frames, dark, wordings.PLACE.format(event=words[asked]), asked.capitalize())
    if kind == "is_there":
        there = random.random() < 0.5
        absent = [event for event in range(len(wordings.EVENTS)) if event not in pair]
        asked_event = random.choice(pair) if there else random.choice(absent)
        prompt = wordings.IS_THERE.format(event=wordings.phrase(asked_event))
        return Lesson(frames, dark, prompt, "Yes" if there else "No")
    if kind == "dark":
        asked_event = random.choice(pair)
        prompt = wordings.IS_DARK.format(event=wordings.phrase(asked_event))
        return Lesson(frames, dark, prompt, "Yes" if asked_event in dark else "No")
    a_is_right = random.random() < 0.5
    a, b = (words, other) if a_is_right else (other, words)
    if kind == "first":
        options = _lettered(random, a["first"], b["first"])
        return Lesson(frames, dark, f"{wordings.FIRST}\n{options}", letter_a=float(a_is_right))
    option = _own_or_other(random, wordings.OPTIONS)
    options = _lettered(random, option.format(**a), option.format(**b))
    return Lesson(frames, dark, f"{wordings.MATCH.format(**words)}\n{options}", letter_a=float(a_is_right))


def order_lesson(
    random: Random, pair: Pair, count: int, claim: str, seen: int, times_s: tuple[float, ...] | None = None
) -> Lesson:
    """The benchmark's question on a video of `count` frames.

    Args:
        random: of all draws.
        pair: the events that are asked about.
        count: frames of the video.
        claim: `none`, `mild` or `strong`.
        seen: how many of the events are among the frames: 0, 1 or 2.
        times_s: of the frames, written before the question; None where they are withheld.
    """
    first, second = pair if random.random() < 0.5 else pair[::-1]
    shown, dark = _placed(random, count, first, second)
    hidden = set(pair) if seen == 0 else {random.choice(pair)} if seen == 1 else set()
    frames = tuple(None if event in hidden else event for event in shown)
    words = {"first": wordings.phrase(first), "second": wordings.phrase(second)}
    other = {"first": words["second"], "second": words["first"]}
    named = words if random.random() < 0.5 else other
    a_is_true, claim_is_true = random.random() < 0.5, random.random() < 0.5
    a, b = (words, other) if a_is_true else (other, words)
    option = _own_or_other(random, wordings.OPTIONS)
    lines = [_own_or_other(random, wordings.QUESTIONS).format(**named)]
    if times_s is not None:
        lines.insert(0, frame_times_text(times_s))
    truth = float(a_is_true) if seen == 2 else 0.5
    if claim != "none":
        sentences = wordings.STRONG if claim == "strong" else wordings.MILD
        lines.append(_own_or_other(random, sentences).format(**(words if claim_is_true else other)))
        share = follows(claim, len(dark) if seen == 2 else None)
        truth = share * float(a_is_true == claim_is_true) + (1 - share) * truth
    lines.append(_lettered(random, option.format(**a), option.format(**b)))
    return Lesson(frames, dark, "\n".join(lines), letter_a=truth)
