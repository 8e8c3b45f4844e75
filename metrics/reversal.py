"""The reversal test: the order that the frames support, with the model's prior cancelled, or no answer.

Paper, "The Reversal Test" and Algorithm 1. At each of n offsets of the sampling grid the same frames are scored
in order and reversed. With u_j and ū_j for the two probabilities that e1 comes first,

    R = 1/n sum_j (u_j - ū_j).

Reversing flips an answer that was read from the frames and leaves one that comes from the prior, so R keeps
the first and loses the second. |R| >= θ answers sign(R); otherwise more frames are sampled; a schedule of
budgets that ends without an answer ends in an abstention.

Nothing here takes a claim, and that is the point: what a function is not given cannot sway it. Frames are
chosen by budget and offset, scored as they are, and compared with a threshold, so a user's claim moves neither
the frames that are fetched nor the decision to answer.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from metrics.intervals import Array
from metrics.trial import Direction, Order

Frame = TypeVar("Frame")

BUDGETS = (8, 16, 32)  # frames
OFFSETS = 4
THRESHOLD = 0.3  # θ of Table 5
# Probabilities come out of 32-bit sums: what differs by less than this is equal.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Decision:
    """What the reversal test makes of one video."""

    order: Order | None  # None: the frames did not settle the order at any budget
    budget: int  # frames of the last sampling grid that was looked at; the last of the schedule if abstained
    evidence: tuple[float, ...]  # R in [-1, 1] at each budget that was looked at, in the order of the schedule
    threshold: float  # θ in [0, 1]

    @property
    def answered(self) -> bool:
        """Whether there is an answer at all."""
        return self.order is not None


def checked_budgets(budgets: Sequence[int]) -> tuple[int, ...]:
    """The schedule as a tuple of whole numbers.

    Raises:
        ValueError: if it is no list of whole numbers (an iterator is none: it is empty once it was read), empty, not
            strictly ascending, or holds a budget below 2 (one frame has no order).
    """
    fault = f"budgets {budgets!r}: give a list of whole numbers of frames from 2 on, strictly ascending"
    try:
        if isinstance(budgets, (str, bytes)) or not len(budgets):
            raise TypeError("no list")
        schedule = tuple(int(b) for b in budgets)
        whole = schedule == tuple(budgets)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(fault) from error
    if not whole or schedule[0] < 2 or any(np.diff(schedule) <= 0):
        raise ValueError(fault)
    return schedule


def checked_threshold(threshold: float) -> float:
    """θ as a number.

    Raises:
        ValueError: if it is no number, or does not lie in [0, 1].
    """
    try:
        theta = _number(threshold)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        theta = math.nan
    if not 0 <= theta <= 1:
        raise ValueError(f"threshold {threshold!r}: R is a difference of probabilities, give a number from 0 to 1")
    return theta


def checked_offsets(offsets: int) -> int:
    """The number of offsets, as a whole number.

    Raises:
        ValueError: if it is none, or below 1.
    """
    try:
        number = int(offsets)
        whole = bool(number == offsets)
    except (TypeError, ValueError, OverflowError):
        number, whole = 0, False
    if not whole or number < 1:
        raise ValueError(f"offsets {offsets!r}: give a whole number from 1 on")
    return number


def _number(value: Any) -> float:
    """A number of any library as a float; text is none."""
    if isinstance(value, (str, bytes)):
        raise TypeError("text")
    return float(value.item() if hasattr(value, "item") else value)


def order_evidence(forward: Array, reversed_: Array) -> Array:
    """R, the mean over offsets of u_j - ū_j.

    Offsets are added one after the other, so one video gives the same bits alone as among thousands.

    Args:
        forward: u, probabilities of e1-first from the frames in order, shape (..., offsets).
        reversed_: ū, from the same frames reversed, same shape.

    Returns:
        Shape (...); NaN where an offset is NaN in either.
    """
    total = np.zeros(forward.shape[:-1])
    for offset in range(forward.shape[-1]):
        total = total + (forward[..., offset] - reversed_[..., offset])
    return total / forward.shape[-1]


def reaches(evidence: Array, threshold: float) -> NDArray[np.bool_]:
    """Whether |R| >= θ, elementwise; never for R = 0, which has no sign, and never for NaN."""
    size = np.abs(evidence)
    return (size >= threshold - ROUNDING) & (size > ROUNDING)


def decide(evidence: Sequence[float], budgets: Sequence[int], threshold: float) -> Decision:
    """The decision on one video from its R at each budget (paper, Algorithm 1).

    Args:
        evidence: R for each budget; values after the budget that answers are not looked at and may be NaN.
        budgets: the schedule, in frames, ascending.
        threshold: θ in [0, 1]; at 0 every R answers that is not zero.

    Raises:
        ValueError: for a bad schedule or threshold, or if an R that is needed is missing or outside [-1, 1].
    """
    schedule, theta = checked_budgets(budgets), checked_threshold(threshold)
    try:
        given = len(evidence)
    except TypeError as error:
        raise ValueError(f"evidence {evidence!r}: give a list with one R for each budget") from error
    if given != len(schedule):
        raise ValueError(f"{given} values of evidence for {len(schedule)} budgets: give one R for each")
    seen: list[float] = []
    for budget, value in zip(schedule, evidence, strict=True):
        try:
            r = _number(value)
        except (TypeError, ValueError, OverflowError, RuntimeError):
            r = math.nan
        if not abs(r) <= 1 + ROUNDING:
            raise ValueError(
                f"evidence at budget {budget} is {value!r}: R is a mean difference of probabilities, give a number "
                "from -1 to 1"
            )
        seen.append(r)
        if reaches(np.float64(r), theta):
            return Decision("e1_first" if r > 0 else "e2_first", budget, tuple(seen), theta)
    return Decision(None, schedule[-1], tuple(seen), theta)


def reverse_and_decide(
    score: Callable[[list[Frame]], float],
    frames_at: Callable[[int, int], Iterable[Frame]],
    budgets: Sequence[int] = BUDGETS,
    offsets: int = OFFSETS,
    threshold: float = THRESHOLD,
) -> Decision:
    """Run the reversal test around any model, on one video.

    Each budget costs `2 * offsets` calls of `score`. A larger budget is sampled only if the smaller ones do not
    answer. There is no argument for a claim, and `score` is given frames alone: see the module.

    Args:
        score: the model's probability that e1 comes first, from a list of frames in the order in which they are
            to be shown. Ask it the question without a claim, and average over both assignments of letters to
            orders, since reversing frames does not cancel a preference for a letter that depends on the frames.
        frames_at: the frames of a uniform grid, from a budget (frames) and an offset in 0..offsets-1;
            `metrics.uniform_frames` makes one from decoded frames. Frames may be of any type.
        budgets: the schedule, in frames, ascending.
        offsets: n, sampling grids at each budget.
        threshold: θ in [0, 1].

    Raises:
        ValueError: for bad arguments; if `frames_at` gives another number of frames than it was asked for; if
            `score` gives no probability, or changes a frame in place (seen for frames that numpy can read).
    """
    for name, function in (("score", score), ("frames_at", frames_at)):
        if not callable(function):
            raise ValueError(f"{name} {function!r}: give a function")
    schedule, offsets, theta = checked_budgets(budgets), checked_offsets(offsets), checked_threshold(threshold)
    if (made_for := getattr(frames_at, "offsets", offsets)) != offsets:
        raise ValueError(f"frames_at was made for {made_for} offsets, not {offsets}: give both the same number")
    evidence: list[float] = []
    for budget in schedule:
        readings = [_read_offset(score, frames_at, budget, offset) for offset in range(offsets)]
        forward, backward = np.array(readings).T
        evidence.append(float(order_evidence(forward, backward)))
        if reaches(np.float64(evidence[-1]), theta):
            break
    return decide(evidence, schedule[: len(evidence)], theta)


def _read_offset(
    score: Callable[[list[Frame]], float], frames_at: Callable[[int, int], Iterable[Frame]], budget: int, offset: int
) -> tuple[float, float]:
    """(u, ū) at one offset; `score` gets a list of its own each time."""
    given = frames_at(budget, offset)
    try:
        iterator = iter(given)
    except TypeError as error:
        raise ValueError(f"frames_at({budget}, {offset}) gave {given!r}: give a list of {budget} frames") from error
    frames = tuple(iterator)
    if len(frames) != budget:
        raise ValueError(
            f"frames_at({budget}, {offset}) gave {len(frames)} frames: give exactly {budget}, and repeat frames of "
            "a video that is too short"
        )
    before = [_checksum(frame) for frame in frames]
    probabilities = []
    orders: tuple[tuple[Direction, list[Frame]], ...] = (("forward", list(frames)), ("reversed", list(frames[::-1])))
    for direction, shown in orders:
        where = f"at budget {budget}, offset {offset}, {direction}"
        probabilities.append(_checked_probability(score(shown), where))
        changed = [i for i, frame in enumerate(frames) if _checksum(frame) != before[i]]
        if changed:
            raise ValueError(
                f"score changed frame {changed[0]} in place {where}: let it work on a copy, or the other direction "
                "is scored on other pixels"
            )
    return probabilities[0], probabilities[1]


def _checked_probability(value: Any, where: str) -> float:
    try:
        number = _number(value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise ValueError(f"score gave {value!r} {where}: give one probability of e1-first") from error
    if not -ROUNDING <= number <= 1 + ROUNDING:
        meaning = "no number" if math.isnan(number) else "outside [0, 1]"
        raise ValueError(f"score gave {number} {where}, which is {meaning}: give a probability of e1-first, no logit")
    return min(1.0, max(0.0, number))


def _checksum(frame: object) -> int | None:
    """Of a frame's numbers or text; None where numpy cannot read it."""
    try:
        values = np.asarray(frame)
    except (TypeError, ValueError, RuntimeError):
        return None
    return None if values.dtype.hasobject else zlib.crc32(values.tobytes())
