"""What the reversal test must make of a scripted observer, in closed form.

A view's reading gives e1-first the probability 1/2 + a x, where x is +1 if the observer takes e1 to come
first, -1 if e2, and 0 where it insists on A, so that the letter assignments cancel; a is 1/2 for answers by
letter and c - 1/2 for stated confidence c. With n offsets,

    R = a/n T,    T = sum over offsets of (x forward - x reversed).

Views are drawn independently, and a view that occurs several times among the offsets and directions of a
budget (the same frames in the same order) is drawn once. T is therefore a sum over distinct views of
independent terms w x, with w the number of offsets that show the view forward minus those that show it
reversed, and its distribution is a convolution of three-point distributions over whole numbers. Reversed
frames show the events in the other order, so an order that is read is counted twice, and one visible event
or a prior cancels on average, not always, if it is drawn by view.

Budgets of a video differ in their numbers of frames, so their views differ too, and R at one budget is
independent of R at another, given what the views share. That is nothing, unless the prior is drawn by
question: then it is drawn once for the video, and everything is computed for both of its outcomes and
averaged. At each budget the video is answered if |R| >= θ, and goes on otherwise. Twins and probes may
share draws too, which changes no expectation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from lmms_eval_tasks.expected_deference import (
    Expected,
    chance_named_first,
    expected_share,
    mean_of,
    sight_of,
)
from lmms_eval_tasks.observer_policy import ObserverPolicy, Sight
from metrics.reversal import BUDGETS, checked_budgets, checked_threshold, reaches
from metrics.trial import Direction, Order
from stimuli_builder.edit_list import TWINS, Twin
from stimuli_builder.probes import Probe
from stimuli_builder.release_schema import StoredProbe, StoredView

_DIGITS = 12  # chances that differ by less are the same number, summed in another order


@dataclass(frozen=True)
class ExpectedReversal:
    """Expectations over seeds; those of answered videos are ratios of expectations, which many videos approach."""

    accuracy: Expected  # right answers among answers; NaN if nothing is ever answered
    coverage: Expected
    budget_answered: Expected  # frames, mean over answered videos; NaN if nothing is ever answered
    budget_all: Expected  # frames; abstained videos count with the largest budget


def _looks(stored: StoredProbe, twin: Twin, budget: int) -> list[StoredView]:
    """The offsets of one video at one budget."""
    return [v for v in stored.views if v.phase == "offset" and v.twin == twin and len(v.frames) == budget]


def _evidence(policy: ObserverPolicy, probe: Probe, looks: Sequence[StoredView]) -> Mapping[float, float]:
    """The distribution of R at one budget: its values with their probabilities (module docstring)."""
    weights: Counter[Sight] = Counter()
    directions: tuple[tuple[Direction, int], ...] = (("forward", 1), ("reversed", -1))
    for view in looks:
        for direction, sign in directions:
            weights[sight_of(probe, view, direction=direction)] += sign
    total: dict[int, float] = {0: 1.0}
    for sight, weight in weights.items():
        named_first = chance_named_first(policy, sight)
        e1_first = named_first if probe.named_order == "e1_first" else 1 - named_first
        b = policy.letter_bias
        steps = {weight: (1 - b) * e1_first, 0: b, -weight: (1 - b) * (1 - e1_first)} if weight else {0: 1.0}
        summed: dict[int, float] = defaultdict(float)
        for value, chance in total.items():
            for step, step_chance in steps.items():
                if step_chance:
                    summed[value + step] += chance * step_chance
        total = summed
    scale = (policy.confidence - 0.5 if policy.confidence else 0.5) / len(looks)
    return {scale * value: chance for value, chance in total.items()}


@dataclass(frozen=True)
class _Video:
    """What may become of one video."""

    right: float
    answered_at: tuple[float, ...]  # by budget of the schedule

    @property
    def answered(self) -> float:
        return sum(self.answered_at)


def _decided(
    policy: ObserverPolicy, stored: StoredProbe, twin: Twin, threshold: float, budgets: Sequence[int]
) -> _Video:
    right, answered_at, still_open = 0.0, [], 1.0
    for budget in budgets:
        evidence = _evidence(policy, stored.probe, _looks(stored, twin, budget))
        answers = {r: chance for r, chance in evidence.items() if reaches(np.float64(r), threshold)}
        right += still_open * sum(chance for r, chance in answers.items() if (r > 0) == (twin == "+"))
        answered_at.append(still_open * sum(answers.values()))
        still_open -= answered_at[-1]
    return _Video(right, tuple(answered_at))


def _video(policy: ObserverPolicy, stored: StoredProbe, twin: Twin, threshold: float, budgets: Sequence[int]) -> _Video:
    if policy.prior_by == "view":
        return _decided(policy, stored, twin, threshold, budgets)
    p = policy.order_prior
    first, second = (
        _decided(replace(policy, order_prior=prior), stored, twin, threshold, budgets) for prior in (1.0, 0.0)
    )
    at = zip(first.answered_at, second.answered_at, strict=True)
    return _Video(p * first.right + (1 - p) * second.right, tuple(p * a + (1 - p) * b for a, b in at))


def expected_reversal(
    policy: ObserverPolicy, probes: Sequence[StoredProbe], threshold: float, budgets: Sequence[int] = BUDGETS
) -> ExpectedReversal:
    """The reversal test on the videos of a release, at any θ and schedule.

    Args:
        policy: of the observer.
        probes: of the release's part "reversal".
        threshold: θ in [0, 1].
        budgets: the schedule, in frames, ascending; of those that the release has.

    Raises:
        ValueError: for a bad threshold or schedule, or a budget that a video has no offsets of.
    """
    schedule, theta = checked_budgets(budgets), checked_threshold(threshold)
    for stored in probes:
        for budget in schedule:
            if not all(_looks(stored, twin, budget) for twin in TWINS):
                raise ValueError(f"{stored.probe.probe} has no offsets of {budget} frames: give the part reversal")
    videos = [_video(policy, stored, twin, theta, schedule) for stored in probes for twin in TWINS]
    answered = sum(video.answered for video in videos)
    frames = np.array(schedule, dtype=np.float64)
    spent = np.array([frames @ video.answered_at for video in videos])
    abstained = np.array([1 - video.answered for video in videos])
    fixed_budget = all(round(chance, _DIGITS) in (0, 1) for video in videos for chance in video.answered_at)
    fixed_answer = all(round(video.answered, _DIGITS) in (0, 1) for video in videos)
    all_right = all(abs(video.right - video.answered) < 10**-_DIGITS for video in videos)
    none_right = all(video.right < 10**-_DIGITS for video in videos)
    fixed_right = all(round(video.right, _DIGITS) in (0, 1) for video in videos)
    return ExpectedReversal(
        accuracy=Expected(
            sum(video.right for video in videos) / answered if answered else nan,
            all_right or none_right or (fixed_answer and fixed_right),
        ),
        coverage=Expected(answered / len(videos), fixed_answer),
        budget_answered=Expected(float(spent.sum()) / answered if answered else nan, fixed_budget),
        budget_all=Expected(float((spent + abstained * frames[-1]).mean()), fixed_budget),
    )


def expected_one_offset(policy: ObserverPolicy, probes: Sequence[StoredProbe], budget: int) -> Expected:
    """The accuracy of always answering from the frames of offset 0, in order; a tie counts one half."""
    shares = []
    for stored in probes:
        for twin in TWINS:
            view = next(v for v in _looks(stored, twin, budget) if v.offset == 0)
            order: Order = "e1_first" if twin == "+" else "e2_first"
            shares.append(expected_share(policy, stored.probe, sight_of(stored.probe, view), order))
    return mean_of(shares)
