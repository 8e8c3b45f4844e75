"""The reversal test: one rule in three forms that agree, closed forms, and a call that no claim can reach."""

import inspect
import itertools
import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from reversal_observer import Tendencies, expected_reversal

from metrics.intervals import estimate, mean_over_probes
from metrics.reversal import Decision, decide, reverse_and_decide
from metrics.reversal_readings import ReversalReadings, decide_all, pool_readings
from metrics.reversal_table import measure_one_offset, measure_reversal, measure_threshold, reversal_warnings
from metrics.reversal_threshold import choose_threshold, tune_and_measure, tuning_probes
from metrics.uniform_frames import uniform_frames

DOCS = Path(__file__).resolve().parent.parent / "docs" / "reversal.md"
BUDGETS = (8, 16, 32)
ORDERS = {1: "e1_first", -1: "e2_first", 0: None}
TWENTIETHS = st.integers(0, 20).map(lambda i: i / 20)  # sums of them meet thresholds exactly, up to rounding


def readings_of(evidence, truth=None, probes=None, budgets=BUDGETS):
    """Readings of one offset with the given R, shape (videos, budgets)."""
    evidence = np.array(evidence, dtype=float)
    truth = np.ones(len(evidence), dtype=int) if truth is None else np.array(truth)
    probes = np.arange(len(evidence)) if probes is None else probes
    return ReversalReadings((1 + evidence[:, :, None]) / 2, (1 - evidence[:, :, None]) / 2, truth, probes, budgets)


@st.composite
def drawn_readings(draw, values=st.one_of(TWENTIETHS, st.just(math.nan)), videos=6):
    budgets = draw(st.sampled_from([(8,), (8, 32), (8, 16, 32)]))
    shape = (draw(st.integers(1, videos)), len(budgets), draw(st.integers(1, 4)))
    count = math.prod(shape)
    arrays = [np.array(draw(st.lists(values, min_size=count, max_size=count))).reshape(shape) for _ in "ur"]
    truth = draw(st.lists(st.sampled_from([1, -1]), min_size=shape[0], max_size=shape[0]))
    probes = draw(st.lists(st.sampled_from("abc"), min_size=shape[0], max_size=shape[0]))
    return ReversalReadings(*arrays, np.array(truth), probes, budgets)


# ---------------------------------------------------------------- one rule, four ways


def naive(readings, video, threshold):
    """(order, budget) of one video by the words of the definition; None where a needed reading is missing."""
    for level, budget in enumerate(readings.budgets):
        pairs = list(zip(readings.forward[video, level], readings.reversed[video, level], strict=True))
        r = math.fsum(u - v for u, v in pairs) / len(pairs)
        if math.isnan(r):
            return None
        if abs(r) > 1e-6 and abs(r) >= threshold - 1e-6:
            return (1 if r > 0 else -1), budget
    return 0, readings.budgets[-1]


class Recorder:
    """A model and a sampler for one video of some readings; frames name their place."""

    def __init__(self, readings, video):
        self.readings, self.video, self.sampled = readings, video, []

    def frames_at(self, budget, offset):
        self.sampled.append((budget, offset))
        return [(budget, offset, i) for i in range(budget)]

    def score(self, frames):
        budget, offset, first = frames[0]
        ascending = [(budget, offset, i) for i in range(budget)]
        assert frames in (ascending, ascending[::-1])
        values = self.readings.forward if first == 0 else self.readings.reversed
        return values[self.video, self.readings.budgets.index(budget), offset]


@settings(max_examples=150, deadline=None)
@given(drawn_readings(), TWENTIETHS)
def test_loop_decide_arrays_and_call_agree_on_every_video(readings, threshold):
    together, evidence = decide_all(readings, threshold), readings.evidence
    for video in range(len(readings)):
        expected = naive(readings, video, threshold)
        run = Recorder(readings, video)
        assert together.unknown[video] == (expected is None)
        if expected is None:
            assert together.order[video] == 0
            with pytest.raises(ValueError, match="evidence at budget"):
                decide(evidence[video], readings.budgets, threshold)
            with pytest.raises(ValueError, match=r"score gave nan at budget \d+, offset \d"):
                reverse_and_decide(run.score, run.frames_at, readings.budgets, readings.offsets, threshold)
            continue
        assert (together.order[video], together.budget[video]) == expected
        alone = decide(evidence[video], readings.budgets, threshold)
        called = reverse_and_decide(run.score, run.frames_at, readings.budgets, readings.offsets, threshold)
        assert called == alone
        assert (alone.order, alone.budget) == (ORDERS[expected[0]], expected[1])
        looked_at = readings.budgets[: readings.budgets.index(alone.budget) + 1]
        assert alone.evidence == tuple(evidence[video, : len(looked_at)])
        assert run.sampled == list(itertools.product(looked_at, range(readings.offsets)))


@settings(max_examples=150, deadline=None)
@given(drawn_readings(), TWENTIETHS)
def test_rates_agree_with_a_loop(readings, threshold):
    result = measure_reversal(readings, (threshold,), resamples=0)
    at = result.at(threshold)
    outcomes = [naive(readings, v, threshold) for v in range(len(readings))]
    known = [(o, t) for o, t in zip(outcomes, readings.truth, strict=True) if o is not None]
    answered = [(o, t) for o, t in known if o[0] != 0]

    def mean(values):
        return pytest.approx(sum(values) / len(values) if len(values) else math.nan, nan_ok=True)

    assert (at.videos, at.answered, at.unknown) == (len(known), len(answered), len(readings) - len(known))
    assert at.answered_at == tuple(sum(o[1] == b for o, _ in answered) for b in readings.budgets)
    assert at.coverage.value == mean([o[0] != 0 for o, _ in known])
    assert at.accuracy.value == mean([o[0] == t for o, t in answered])
    assert at.budget_answered.value == mean([o[1] for o, _ in answered])
    assert at.budget_all.value == mean([o[1] for o, _ in known])
    for level, budget in enumerate(readings.budgets):
        pairs = list(zip(readings.forward[:, level, 0], readings.truth, strict=True))
        credits = [0.5 if u == 0.5 else float((u > 0.5) == (t > 0)) for u, t in pairs if not math.isnan(u)]
        always = result.always(budget)
        assert always.accuracy.value == mean(credits)
        assert (always.videos, always.ties) == (len(credits), sum(c == 0.5 for c in credits))
        assert always.unknown == len(readings) - len(credits)


# ---------------------------------------------------------------- properties of the rule


def test_zero_is_no_answer_even_at_zero():
    assert decide([0.0, 0.0], (8, 16), 0) == Decision(None, 16, (0.0, 0.0), 0.0)
    assert decide([0.1 + 0.2 - 0.3, 0.0], (8, 16), 0).order is None  # 5.6e-17 is a rounding error, not evidence
    assert decide([0.0, 1e-4], (8, 16), 0) == Decision("e1_first", 16, (0.0, 1e-4), 0.0)
    assert not decide_all(readings_of([[0.0, 0.0, 0.0]]), 0).answered.any()


@pytest.mark.parametrize(("high", "low"), [(0.7, 0.4), (0.8, 0.5), (0.35, 0.05), (0.3, 0.0)])
def test_a_threshold_that_is_met_in_decimals_is_met(high, low):
    """0.7 - 0.4 is 0.29999999999999993 in binary; with single precision it is off by 1e-8."""
    for kind in (float, np.float32):
        scores = iter([kind(high), kind(low)])
        found = reverse_and_decide(
            lambda _, scores=scores: next(scores), lambda b, j: range(b), (8,), offsets=1, threshold=0.3
        )
        assert found.order == "e1_first"


def test_what_comes_after_the_answer_is_not_looked_at():
    assert decide([0.1, -0.5, math.nan], BUDGETS, 0.3) == Decision("e2_first", 16, (0.1, -0.5), 0.3)
    at = measure_threshold(readings_of([[0.1, -0.5, math.nan], [0.9, math.nan, math.nan]]), 0.3, resamples=0)
    assert (at.unknown, at.answered) == (0, 2)


def test_single_precision_may_pass_one():
    ones = np.ones((1, 1, 1)) + 1e-7
    readings = ReversalReadings(ones, ones - 1 - 2e-7, np.array([1]), ["p"], (8,))
    assert readings.evidence.tolist() == [[1.0]]


def test_a_missing_offset_is_not_averaged_away():
    """Three offsets of 1 and one missing would be far above θ whatever the fourth says; it stays unknown."""
    forward, backward = np.ones((1, 2, 4)), np.zeros((1, 2, 4))
    forward[0, 0, 3] = math.nan
    decisions = decide_all(ReversalReadings(forward, backward, np.array([1]), ["p"], (8, 16)), 0.3)
    assert decisions.unknown.tolist() == [True] and decisions.order.tolist() == [0]


@settings(max_examples=100, deadline=None)
@given(drawn_readings(values=TWENTIETHS), TWENTIETHS, st.randoms())
def test_symmetries(readings, threshold, random):
    """Swapping directions flips every answer; the order of offsets and a prior common to both do not matter."""
    base = decide_all(readings, threshold)
    f, r = readings.forward, readings.reversed
    permuted = random.sample(range(readings.offsets), readings.offsets)
    same = (readings.truth, readings.probe, readings.budgets)
    flipped = decide_all(ReversalReadings(r, f, *same), threshold)
    assert (flipped.order == -base.order).all() and (flipped.budget == base.budget).all()
    shuffled = decide_all(ReversalReadings(f[..., permuted], r[..., permuted], *same), threshold)
    assert (shuffled.order == base.order).all()
    half = decide_all(ReversalReadings(f / 2, r / 2, *same), threshold)
    shifted = decide_all(ReversalReadings(f / 2 + 0.4, r / 2 + 0.4, *same), threshold)
    assert (half.order == shifted.order).all() and (half.budget == shifted.budget).all()


@settings(max_examples=50, deadline=None)
@given(drawn_readings(values=st.floats(0, 1), videos=20))
def test_coverage_falls_with_the_threshold_and_the_schedule(readings):
    coverage = [t.coverage.value for t in measure_reversal(readings, np.linspace(0, 1, 9), resamples=0).thresholds]
    assert coverage == sorted(coverage, reverse=True)
    short = measure_reversal(readings, (0.3,), budgets=readings.budgets[:1], resamples=0)
    assert short.at(0.3).coverage.value <= measure_reversal(readings, (0.3,), resamples=0).at(0.3).coverage.value


def test_any_logged_schedule_can_be_taken_afterwards():
    readings = readings_of([[0.1, 0.9, -0.8]])
    assert decide_all(readings.at_budgets((8, 32)), 0.3).order.tolist() == [-1]
    result = measure_reversal(readings, budgets=(8, 32), resamples=0)
    at = result.at(0.3)
    assert (at.answered_at, at.accuracy.value, at.budget_answered.value) == ((0, 1), 0.0, 32.0)
    assert result.budgets == (8, 32) and [o.budget for o in result.one_offset] == [8, 16, 32]
    with pytest.raises(ValueError, match=r"\[24\] were not logged"):
        readings.at_budgets((8, 24))


# ---------------------------------------------------------------- intervals


def test_intervals_are_over_probes():
    rng = np.random.default_rng(3)
    evidence, truth = rng.uniform(-1, 1, (80, 3)) * 0.6, np.tile([1, -1], 40)
    probes = np.repeat([f"p{i}" for i in range(40)], 2)
    readings = readings_of(evidence, truth, probes)
    at = measure_threshold(readings, 0.3, resamples=500)
    decisions = decide_all(readings, 0.3)
    right, counts = np.zeros(40), np.zeros(40)
    for video in range(80):
        if decisions.order[video]:
            right[video // 2] += decisions.order[video] == truth[video]
            counts[video // 2] += 1
    order = np.argsort([f"p{i}" for i in range(40)])
    right, counts = right[order], counts[order]
    per_probe = np.divide(right, counts, out=np.full(40, math.nan), where=counts > 0)
    assert at.accuracy == estimate(mean_over_probes(right, counts), per_probe, (0, 1), resamples=500)
    assert at.accuracy.low < at.accuracy.value < at.accuracy.high and at.accuracy.probes == (counts > 0).sum()
    copies = pool_readings([readings] * 10)  # ten models that agree carry the information of one
    assert measure_threshold(copies, 0.3, resamples=500).accuracy == at.accuracy


def test_nothing_answered_has_coverage_and_no_accuracy():
    at = measure_threshold(readings_of([[0.0, 0.1, 0.2]] * 5), 0.3)
    assert at.accuracy.method == at.budget_answered.method == "none"
    assert (at.coverage.value, at.coverage.low, at.budget_all.value, at.budget_all.high) == (0, 0, 32, 32)
    assert at.coverage.high == pytest.approx(scipy.stats.binomtest(0, 5).proportion_ci(0.95, "exact").high)


def test_nothing_known_has_no_numbers():
    result = measure_reversal(readings_of([[math.nan] * 3]), (0.3,))
    at = result.at(0.3)
    assert {e.method for e in (at.accuracy, at.coverage, at.budget_all, result.always(8).accuracy)} == {"none"}
    assert any("1 of 1 videos lack a reading" in w for w in reversal_warnings(result))


def test_a_log_that_stopped_at_its_first_answer_serves_its_own_threshold_and_smaller_ones():
    """The easy video has no reading at 32 frames: no baseline there, and no rate at a larger θ, without a warning."""
    adaptive = readings_of([[0.1, 0.5, math.nan], [0.1, 0.1, -0.2]], [1, 1])
    result = measure_reversal(adaptive, (0.2, 0.3, 0.6), resamples=0)
    assert [t.unknown for t in result.thresholds] == [0, 0, 1] and result.always(32).unknown == 1
    warnings = reversal_warnings(result)
    assert sum("at a smaller θ" in w for w in warnings) == sum("no baseline" in w for w in warnings) == 1


def test_warnings_say_what_the_numbers_hide():
    always_a = readings_of(np.zeros((4, 3)), [1, -1, 1, -1], ["p", "p", "q", "r"])
    warnings = " ".join(reversal_warnings(measure_reversal(always_a, resamples=0)))
    assert "2 of 3 probes lack a twin" in warnings and "4 of 4 readings are ties" in warnings
    few = readings_of([[0.9, 0.9, 0.9], [-0.9, -0.9, -0.9]], [1, -1], ["p", "p"])
    warnings = reversal_warnings(measure_reversal(few, (0.3,), resamples=0))
    assert len(warnings) == 1 and "2 answered videos of 1 probes" in warnings[0]


def test_a_tie_survives_rounding():
    """An observer that always says A at 0.9 averages to one half, but not to its last bit."""
    forward = np.full((2, 1, 1), (0.9 + (1 - 0.9)) / 2 - 1e-16)
    readings = ReversalReadings(forward, forward, np.array([1, 1]), ["p", "q"], (8,))
    always = measure_one_offset(readings, 8, resamples=0)
    assert (always.accuracy.value, always.ties) == (0.5, 2)


# ---------------------------------------------------------------- closed forms


def expected(meets, truth, tendencies, threshold=0.3, budgets=BUDGETS, offsets=4):
    return expected_reversal(np.array(meets), np.array(truth), [tendencies], budgets, offsets, threshold)


@pytest.mark.parametrize("reading", [0.2, 0.7, 1.0])
@pytest.mark.parametrize("met", [0, 1, 3, 4])
@pytest.mark.parametrize("threshold", [0.1, 0.25, 0.3, 0.5])
def test_a_stated_prior_of_one_half_is_a_binomial(reading, met, threshold):
    """Each of 2 met readings of an offset adds one half to the sum with probability r: R = Binomial(2 met, r) / 2n."""
    found = expected([[met]], [1], Tendencies(reading, 0.5, "states"), threshold, (8,))
    needed = math.ceil(threshold * 8 - 1e-9)
    assert found.coverage == pytest.approx(scipy.stats.binom.sf(needed - 1, 2 * met, reading))
    assert found.evidence[0, 0] == pytest.approx(reading * met / 4)
    assert found.accuracy == pytest.approx(1 if found.coverage else math.nan, nan_ok=True)


def test_one_offset_of_drawn_guesses_by_hand():
    r, p = 0.6, 0.7
    found = expected([[1]], [1], Tendencies(r, p), 0.3, (8,), offsets=1)
    right = (r + (1 - r) * p) * (1 - (1 - r) * p)
    wrong = (1 - r) * (1 - p) * (1 - r) * p
    assert found.coverage == pytest.approx(right + wrong)
    assert found.accuracy == pytest.approx(right / (right + wrong))
    assert found.evidence[0, 0] == pytest.approx(r)


@pytest.mark.parametrize("truth", [1, -1])
def test_two_budgets_by_brute_force(truth):
    """Every outcome of every call, weighted."""
    t, threshold, meets = Tendencies(0.6, 0.7, "draws", 0.1, 0.9), 0.4, (1, 2)
    calls = [(level, j, way) for level in range(2) for j in range(2) for way in (truth, -truth)]
    answered = right = spent = 0.0
    for values in itertools.product((t.confidence, 1 - t.confidence, 0.5), repeat=len(calls)):
        chance, sums = 1.0, [0.0, 0.0]
        for (level, j, way), value in zip(calls, values, strict=True):
            reads = t.reading if j < meets[level] else 0.0
            e1 = reads * (way > 0) + (1 - reads) * t.prior
            heeds = 1 - t.letter_bias
            chance *= {0.5: t.letter_bias, t.confidence: heeds * e1}.get(value, heeds * (1 - e1))
            sums[level] += value * (1 if way == truth else -1) / 2
        level = next((i for i in range(2) if abs(sums[i]) >= threshold - 1e-9), None)
        spent += chance * (16 if level is None else (8, 16)[level])
        if level is not None:
            answered += chance
            right += chance * (sums[level] * truth > 0)
    found = expected([meets], [truth], t, threshold, (8, 16), offsets=2)
    assert found.coverage == pytest.approx(answered)
    assert found.accuracy == pytest.approx(right / answered)
    assert found.budget_all == pytest.approx(spent)
    assert found.evidence[0] == pytest.approx(truth * 0.9 * 0.6 * 0.8 * np.array([0.5, 1.0]))


def test_simulated_observers_measure_what_is_expected():
    rng, videos = np.random.default_rng(1), 20_000
    t = Tendencies(0.7, 0.8, "draws", 0.1, 0.95)
    truth, meets = np.tile([1, -1], videos // 2), np.repeat(rng.integers(0, 5, (videos // 2, 3)), 2, axis=0)
    met = np.arange(4) < meets[:, :, None]

    def answers(first):
        drawn = np.where(met & (rng.random(met.shape) < t.reading), first, rng.random(met.shape) < t.prior)
        stated = np.where(drawn, t.confidence, 1 - t.confidence)
        return np.where(rng.random(met.shape) < t.letter_bias, 0.5, stated)

    e1 = (truth > 0)[:, None, None]
    readings = ReversalReadings(answers(e1), answers(~e1), truth, np.arange(videos) // 2, BUDGETS)
    for threshold in (0.1, 0.3, 0.5):
        wanted = expected(meets, truth, t, threshold)
        at = measure_threshold(readings, threshold, resamples=0)
        for value, aim in ((at.coverage, wanted.coverage), (at.accuracy, wanted.accuracy)):
            assert value.value == pytest.approx(aim, abs=4 * math.sqrt(aim * (1 - aim) / at.answered) + 1e-9)
        assert at.budget_answered.value == pytest.approx(wanted.budget_answered, abs=0.3)
        assert at.budget_all.value == pytest.approx(wanted.budget_all, abs=0.3)
    aim = wanted.evidence * truth[:, None]
    assert (readings.evidence * truth[:, None]).mean(axis=0) == pytest.approx(aim.mean(axis=0), abs=0.01)
    assert aim == pytest.approx(0.9 * 0.9 * 0.7 * meets / 4)  # (2c - 1) (1 - b) r times the share of met offsets


def test_each_video_may_have_its_own_prior():
    kinds = [Tendencies(0.0, 0.9), Tendencies(0.0, 0.1)]
    both = expected_reversal(np.zeros((2, 1), int), np.array([1, 1]), kinds, (8,), 2, 0.5)
    one = expected_reversal(np.zeros((1, 1), int), np.array([1]), kinds[:1], (8,), 2, 0.5)
    assert both.coverage == pytest.approx(one.coverage) and both.accuracy == pytest.approx(0.5)


# ---------------------------------------------------------------- θ on separate probes


def tuning():
    """|R| of 0.2, 0.4, 0.6, 0.8; the smallest one is wrong."""
    return readings_of([[0.2], [0.4], [0.6], [0.8]], [-1, 1, 1, 1], budgets=(8,))


def test_a_target_coverage_takes_the_largest_threshold_that_reaches_it():
    choice = choose_threshold(tuning(), "coverage", 0.75, [0.1, 0.3, 0.4, 0.5, 0.9])
    assert choice.threshold == 0.4
    assert choice.coverage == (1.0, 0.75, 0.75, 0.5, 0.0) and choice.answered == (4, 3, 3, 2, 0)


def test_a_target_accuracy_takes_the_smallest_threshold_that_reaches_it():
    choice = choose_threshold(tuning(), "accuracy", 0.75, [0.9, 0.3, 0.1])
    assert choice.threshold == 0.1 and choice.grid == (0.1, 0.3, 0.9)
    assert choose_threshold(tuning(), "accuracy", 0.76, [0.1, 0.3, 0.9]).threshold == 0.3
    assert choice.accuracy[:2] == (0.75, 1.0) and math.isnan(choice.accuracy[2])


@pytest.mark.parametrize(("target", "grid"), [("coverage", [0.9]), ("accuracy", [0.1]), ("accuracy", [0.9])])
def test_an_unmet_target_has_no_threshold_and_no_numbers(target, grid):
    assert choose_threshold(tuning(), target, 0.9, grid).threshold is None
    many = pool_readings([readings_of([[0.2]] * 40, [-1] * 40, budgets=(8,))])
    tuned = tune_and_measure(many, target, 0.9, grid, resamples=0)
    assert tuned.choice.threshold is None and tuned.evaluation is None


def test_the_split_is_by_the_name_of_a_probe_alone():
    names = [f"p{i:05d}" for i in range(5000)]
    sides = tuning_probes(names)
    assert sides.mean() == pytest.approx(0.2, abs=0.02)
    assert (tuning_probes(names[::-1]) == sides[::-1]).all() and (tuning_probes(names[:7]) == sides[:7]).all()
    assert [names[i] for i in np.flatnonzero(sides)[:4]] == GOLDEN
    assert 0.1 < (tuning_probes(names, seed=1) & sides).sum() / sides.sum() < 0.3


GOLDEN = ["p00016", "p00020", "p00025", "p00029"]  # by sha256sum


def test_tuned_numbers_come_from_other_probes():
    """On tuning probes R is 0.9 and right, on the others 0.5 and wrong: no video serves both purposes."""
    names = np.repeat([f"p{i}" for i in range(100)], 2)
    side = tuning_probes(names, seed=5)
    readings = readings_of(np.where(side, 0.9, -0.5)[:, None], np.ones(200, int), names, (8,))
    tuned = tune_and_measure(readings, "accuracy", 0.9, [0.4, 0.8], seed=5, resamples=0)
    assert (tuned.choice.threshold, tuned.seed, tuned.choice.videos) == (0.4, 5, side.sum())
    assert tuned.evaluation.videos == 200 - side.sum() and tuned.evaluation.at(0.4).accuracy.value == 0.0
    both = readings_of(
        np.stack([np.full(200, -1.0), np.where(side, 0.9, 0.5)], axis=1), np.ones(200, int), names, (8, 16)
    )
    later = tune_and_measure(both, "accuracy", 0.9, [0.4, 0.8], (16,), seed=5, resamples=0)
    assert later.choice.threshold == 0.4 and later.evaluation.budgets == (16,)
    assert later.evaluation.at(0.4).accuracy.value == 1.0 and tune_and_measure(both, "accuracy", 0.9).evaluation is None
    with pytest.raises(ValueError, match="a side of the split empty"):
        tune_and_measure(readings_of([[0.9]], budgets=(8,)), "accuracy", 0.9)


# ---------------------------------------------------------------- the library call


class Footage:
    """Grey frames with two coloured events, and a model that sees nothing but the frames it is given."""

    def __init__(self, kind):
        video = np.full((200, 6, 6, 3), 128, dtype=np.uint8)
        video += np.arange(200, dtype=np.uint8)[:, None, None, None] % 7
        video[40:45], video[95:100] = (255, 0, 0), (0, 0, 255)
        self.video = {
            "array": lambda: video,
            "list": lambda: list(video),
            "images": lambda: [Image.fromarray(frame) for frame in video],
        }[kind]()
        self.calls = []

    def score(self, *args, **kwargs):
        (frames,) = args
        self.calls.append((pickle.dumps([np.asarray(f).tobytes() for f in frames]), len(args), sorted(kwargs)))
        colours = [np.asarray(f)[0, 0] for f in frames]
        red = [i for i, c in enumerate(colours) if c[0] == 255]
        blue = [i for i, c in enumerate(colours) if c[2] == 255]
        return 0.8 if not red or not blue else 0.9 if red[0] < blue[0] else 0.2


@pytest.mark.parametrize("kind", ["array", "list", "images"])
def test_no_claim_reaches_the_model(kind):
    """Under every claim the model gets the same bytes in the same order, and the same decision comes out."""

    def handle(user_says, asked):
        """What an application does that holds a claim while it asks for a decision."""
        footage = Footage(kind)
        sampler = uniform_frames(footage.video)

        def frames_at(*place):
            asked.append(place)
            return sampler(*place)

        return reverse_and_decide(footage.score, frames_at), footage.calls, user_says

    claims = [None, "I am sure red came first.", "I am sure blue came first. Say so, or you are wrong.", "x" * 10_000]
    places = [[] for _ in claims]
    results = [handle(claim, asked) for claim, asked in zip(claims, places, strict=True)]
    decision, calls, _ = results[0]
    assert decision.order == "e1_first" and len(calls) == 2 * len(places[0]) == 8 * len(decision.evidence)
    assert all(args == 1 and not names for _, args, names in calls)  # frames, and nothing beside them
    for (other, other_calls, _), asked in zip(results[1:], places[1:], strict=True):
        assert (other, other_calls, asked) == (decision, calls, places[0])
    assert list(inspect.signature(reverse_and_decide).parameters) == [
        "score", "frames_at", "budgets", "offsets", "threshold",
    ]  # fmt: skip


def test_each_offset_is_shown_forward_and_reversed():
    shown = []
    reverse_and_decide(lambda frames: shown.append(list(frames)) or 0.5, lambda b, j: [(b, j, i) for i in range(b)])
    for forward, backward in zip(shown[::2], shown[1::2], strict=True):
        assert backward == forward[::-1]
    assert [f[0][:2] for f in shown[::2]] == list(itertools.product(BUDGETS, range(4)))


def test_frames_stay_as_they_were_and_score_may_spoil_its_own_list():
    video = Footage("array").video
    before = video.tobytes()

    def score(frames):
        first = frames[0].mean()
        frames.clear()
        return first / 255

    reverse_and_decide(score, uniform_frames(video))
    assert video.tobytes() == before


def test_a_score_that_changes_frames_is_found():
    def score(frames):
        frames[3][...] = frames[3] // 2
        return 0.9

    with pytest.raises(ValueError, match="changed frame 3 in place at budget 8, offset 0, forward: let it work"):
        reverse_and_decide(score, uniform_frames(Footage("array").video))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "no number"), (1.5, r"outside \[0, 1\]"), (-0.01, r"outside \[0, 1\]"), (math.inf, "outside"),
        (None, "one probability"), ("0.7", "one probability"), ([0.7], "one probability"),
        (np.array([0.2, 0.8]), "one probability"),
    ],
)  # fmt: skip
def test_a_score_that_is_no_probability_is_an_error_that_says_where(value, message):
    scores = iter([0.5] * 11 + [value])
    with pytest.raises(ValueError, match=rf"at budget 16, offset 1, reversed.*{message}"):
        reverse_and_decide(lambda _: next(scores), lambda b, j: range(b), offsets=4)


@pytest.mark.parametrize("value", [1 + 1e-7, np.float32(0.7), np.array(0.7), np.array([0.7]), 1, True])
def test_a_probability_of_any_type_is_one(value):
    decision = reverse_and_decide(lambda frames: value if frames[0] == 0 else 0, lambda b, j: range(b))
    assert decision.evidence[0] == min(1.0, float(np.asarray(value).item()))


@pytest.mark.parametrize("extra", [-1, 1])
def test_a_sampler_that_gives_another_number_of_frames_is_an_error(extra):
    with pytest.raises(ValueError, match=rf"frames_at\(16, 2\) gave {16 + extra} frames"):
        reverse_and_decide(lambda _: 0.5, lambda b, j: range(b + extra * ((b, j) == (16, 2))))


@pytest.mark.parametrize("budgets", [(), (8, 8), (16, 8), (1, 8), (0,), (8.5,), (-8, 8)])
def test_bad_schedules(budgets):
    for call in (
        lambda: decide([0.1] * len(budgets), budgets, 0.3),
        lambda: reverse_and_decide(lambda _: 0.5, lambda b, j: range(b), budgets),
        lambda: readings_of(np.zeros((1, len(budgets))), budgets=budgets),
    ):
        with pytest.raises(ValueError, match="strictly ascending"):
            call()


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, 10**400])
def test_bad_thresholds(threshold):
    for call in (
        lambda: decide([0.1], (8,), threshold),
        lambda: reverse_and_decide(lambda _: 0.5, lambda b, j: range(b), threshold=threshold),
        lambda: measure_reversal(readings_of([[0.1, 0.1, 0.1]]), (threshold,)),
        lambda: choose_threshold(tuning(), "coverage", 0.5, [threshold]),
    ):
        with pytest.raises(ValueError, match="from 0 to 1"):
            call()


def test_bad_evidence_and_offsets():
    with pytest.raises(ValueError, match="2 values of evidence for 1 budgets"):
        decide([0.1, 0.2], (8,), 0.3)
    with pytest.raises(ValueError, match=r"evidence at budget 8 is 1\.5"):
        decide([1.5], (8,), 0.3)
    with pytest.raises(ValueError, match="made for 4 offsets, not 2"):
        reverse_and_decide(lambda _: 0.5, uniform_frames([0]), offsets=2)
    with pytest.raises(ValueError, match="whole number from 1 on"):
        reverse_and_decide(lambda _: 0.5, lambda b, j: range(b), offsets=0)


NO_NUMBERS = [None, "0.3", b"1", [], [1, 2], {}, object(), 1j, math.nan, math.inf, np.zeros(2), len]


@pytest.mark.parametrize("name", ["budgets", "budget", "offsets", "threshold"])
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_no_argument_that_is_no_number_gets_past_its_name(name, value):
    """Whatever is given for a number or a list of them, the message names the argument and what to give."""
    given = {"budgets": [value]} if name == "budget" else {name: value}
    calls = [lambda: reverse_and_decide(lambda _: 0.5, lambda b, j: range(b), **given)]
    if name != "offsets":
        calls.append(lambda: decide([0.1], **{"budgets": (8,), "threshold": 0.3, **given}))
    for call in calls:
        with pytest.raises(ValueError, match=rf"^{name.rstrip('s')}s? (?s:.*)[:,] give"):
            call()


@pytest.mark.parametrize("budgets", [8, iter((8, 16)), (b for b in (8, 16)), [[8]], ["8"], np.array(8), {8: 1}.values])
def test_budgets_that_are_no_list(budgets):
    for call in (
        lambda: decide([0.1], budgets, 0.3),
        lambda: reverse_and_decide(lambda _: 0.5, lambda b, j: range(b), budgets),
    ):
        with pytest.raises(ValueError, match=r"^budgets (?s:.*): give a list of whole numbers of frames"):
            call()


def test_numbers_of_other_libraries_are_numbers():
    decision = decide(np.array([0.1, 0.4]), np.array([8, 16]), np.float32(0.3))
    assert decision == Decision("e1_first", 16, (0.1, 0.4), float(np.float32(0.3)))
    assert reverse_and_decide(lambda _: 0.5, lambda b, j: range(b), [8.0], np.int64(2), np.array(0.3)).budget == 8


@pytest.mark.parametrize("value", [v for v in NO_NUMBERS if not isinstance(v, list)])
def test_evidence_that_is_no_number(value):
    with pytest.raises(ValueError, match=r"^evidence at budget 8 is (?s:.*): .*give a number from -1 to 1"):
        decide([value], (8,), 0.3)
    with pytest.raises(ValueError, match="evidence"):
        decide(value, (8,), 0.3)


@pytest.mark.parametrize("frames", [None, 8, 0.5, np.zeros(()), object()])
def test_a_sampler_that_gives_no_frames_is_an_error(frames):
    with pytest.raises(ValueError, match=r"^frames_at\(8, 0\) gave .*: give a list of 8 frames"):
        reverse_and_decide(lambda _: 0.5, lambda b, j: frames, (8,))


def test_functions_are_functions_and_their_own_errors_stay():
    with pytest.raises(ValueError, match=r"^score None: give a function"):
        reverse_and_decide(None, lambda b, j: range(b))
    with pytest.raises(ValueError, match=r"^frames_at 3: give a function"):
        reverse_and_decide(lambda _: 0.5, 3)
    with pytest.raises(TypeError, match="NoneType"):
        reverse_and_decide(lambda _: 0.5, lambda b, j: (len(None) for _ in range(b)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forward": np.full((2, 3, 1), 1.5)}, r"forward readings outside \[0, 1\]"),
        ({"reversed": np.full((2, 3, 1), -math.inf)}, "reversed readings outside"),
        ({"reversed": np.zeros((2, 3, 2))}, "both must be"),
        ({"forward": np.zeros((2, 3)), "reversed": np.zeros((2, 3))}, "both must be"),
        ({"budgets": (8, 16)}, "do not fit"),
        ({"truth": np.array([1])}, "do not fit"),
        ({"truth": np.array([1, 0])}, "truth must be"),
        ({"probe": ["a", None]}, "probes must be named"),
        ({"probe": ["a"]}, "do not fit"),
    ],
)
def test_bad_readings(change, message):
    zeros = np.zeros((2, 3, 1))
    good = {"forward": zeros, "reversed": zeros, "truth": np.array([1, -1]), "probe": ["a", "a"], "budgets": BUDGETS}
    with pytest.raises(ValueError, match=message):
        ReversalReadings(**{**good, **change})


# ---------------------------------------------------------------- sampling


def test_offsets_of_a_budget_spread_evenly_over_the_video():
    sampler = uniform_frames(range(1000), offsets=4, length_s=64.0)
    for budget in BUDGETS:
        instants = np.sort(np.concatenate([sampler.instants_s(budget, j) for j in range(4)]))
        assert instants == pytest.approx((np.arange(4 * budget) + 0.5) * 64 / (4 * budget))
        assert np.diff(sampler.instants_s(budget, 1)) == pytest.approx(64 / budget)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=30),
    st.integers(1, 40),
    st.sampled_from(BUDGETS),
    st.integers(0, 3),
)
def test_the_frame_on_screen_is_taken(gaps, last, budget, offset):
    times = [0, *itertools.accumulate(gaps)]
    length = times[-1] + last
    found = uniform_frames(range(len(times)), 4, times, length)(budget, offset)
    for i, frame in enumerate(found):
        instant = (i + (offset + 0.5) / 4) * length / budget
        on_screen = max(n for n, t in enumerate(times) if t <= instant + 1e-9)
        assert frame == on_screen or abs(times[on_screen] - instant) < 1e-6  # an instant on the edge may go either way


def test_a_video_without_times_has_equal_frames():
    assert uniform_frames(list("abcd"), offsets=1)(2, 0) == ["b", "d"]
    assert uniform_frames(list("ab"), offsets=1)(8, 0) == list("aaaabbbb")  # too short: frames repeat
    assert uniform_frames(["a", "b", "c"], 1, [0.0, 1.0, 2.0]).length_s == 3.0
    assert uniform_frames(["a", "b"], 1, [5.0, 6.0])(2, 0) == ["a", "a"]  # the first is on screen until the second


@pytest.mark.parametrize(
    ("frames", "arguments", "message"),
    [
        ([], {}, "without frames"), ([1, 2], {"times_s": [0.0]}, "one time for each"),
        ([1, 2], {"times_s": [1.0, 1.0]}, "strictly ascending"), ([1, 2], {"times_s": [-1.0, 1.0]}, "from the start"),
        ([1, 2], {"times_s": [0.0, math.nan]}, "strictly ascending"), ([1], {"times_s": [0.0]}, "give length_s"),
        ([1, 2], {"times_s": [0.0, 5.0], "length_s": 4.0}, "before the last frame"), ([1], {"offsets": 0}, "whole"),
        ([1, 2], {"length_s": math.inf}, "the whole video"),
    ],
)  # fmt: skip
def test_bad_footage(frames, arguments, message):
    with pytest.raises(ValueError, match=message):
        uniform_frames(frames, **arguments)
    with pytest.raises(ValueError, match="offsets 0 to 3"):
        uniform_frames([1, 2])(8, 4)


# ---------------------------------------------------------------- the page


def test_the_page_runs_and_prints_what_it_says(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.S):
        exec(compile(block, str(DOCS), "exec"), names)
    assert names["decision"] == Decision("e2_first", 16, names["decision"].evidence, 0.3)
    assert names["nothing"].order is None and names["nothing"].evidence == (0.0, 0.0, 0.0)
    assert names["result"].at(0.3).accuracy.value == 1.0 and names["tuned"].evaluation is not None
    assert "e2_first 16" in capsys.readouterr().out


@pytest.mark.slow
def test_the_score_of_the_page_works_on_a_real_model(tmp_path):
    """A tiny checkpoint of a real architecture; its probabilities mean nothing, but must be those of the letters."""
    torch = pytest.importorskip("torch")
    from tiny_qwen import write_tiny_qwen
    from transformers import AutoModelForImageTextToText, AutoProcessor

    block = next(b for b in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.S) if "make_score" in b)
    names = {}
    exec(compile(block, str(DOCS), "exec"), names)
    folder = write_tiny_qwen(tmp_path / "tiny")
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder)
    rng = np.random.default_rng(0)
    video = [Image.fromarray(rng.integers(0, 256, (56, 56, 3), dtype=np.uint8)) for _ in range(40)]
    score = names["make_score"](model, processor, "Which came first?", "red, then blue", "blue, then red")
    swapped = names["make_score"](model, processor, "Which came first?", "blue, then red", "red, then blue")
    frames = uniform_frames(video)(8, 0)
    assert 0 < score(frames) < 1 and score(frames) + swapped(frames) == pytest.approx(1)
    assert score(frames) != score(frames[::-1])
    decision = reverse_and_decide(score, uniform_frames(video, offsets=2), (4, 8), offsets=2, threshold=0.0)
    assert decision.answered and any(decision.evidence)
