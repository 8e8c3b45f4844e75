"""Verdicts on models whose truth is known: the paper's nine, extreme ones, and ones that sit at a threshold."""

import math

import numpy as np
import pytest

from metrics.verdict import deference_verdict
from metrics.verdict_tests import ALPHA, FEWEST_PROBES, decide

nan = float("nan")

PUBLISHED = {  # on-grid at k = 16 under a strong claim (paper, Table 1): J0, S, C, and what the paper says
    "LLaVA-OneVision-7B": (0.51, 0.93, 0.98, "weighting failure"),
    "LLaVA-Video-7B": (0.56, 0.95, 0.99, "weighting failure"),
    "InternVL3-8B": (0.52, 0.26, 0.77, "grounded"),
    "InternVL3.5-8B": (0.46, 0.82, 0.95, "weighting failure"),
    "Molmo2-8B": (0.65, 0.87, 0.99, "weighting failure"),
    "LLaVA-NeXT-Video-7B": (0.00, 0.84, 0.84, "availability failure"),
    "LLaVA-NeXT-Video-7B-DPO": (0.00, 0.88, 0.88, "availability failure"),
    "Qwen2.5-VL-7B": (0.04, 0.93, 0.95, "availability failure"),
    "Qwen3-VL-8B": (0.02, 0.97, 0.97, "availability failure"),
}


def simulate(rng, probes, j0, s, c):
    """Reads a share j0 of probes, else answers both twins alike; accepts each true claim that it accepts when false."""
    own = rng.random(probes)
    return (rng.random(probes) < j0).astype(float), (own < s).astype(float), (own < c).astype(float)


def shares(ones, zeros=0, minus=0):
    return np.array([1.0] * ones + [0.0] * zeros + [-1.0] * minus)


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_rates_get_the_verdict_of_the_paper(model):
    j0, s, c, kind = PUBLISHED[model]
    rng = np.random.default_rng(1)
    kinds = [decide(*simulate(rng, 500, j0, s, c)).kind for _ in range(30)]
    assert kinds == [kind] * 30


def test_sentence_of_a_model_that_caves():
    ours = deference_verdict("Molmo2-8B", shares(325, 175), shares(435, 65), shares(495, 5))
    assert ours.kind == "weighting failure" and ours.face == "caves"
    assert ours.sentence == (
        "Molmo2-8B reads the order (J0 = 0.65 [0.61, 0.69]) but keeps less than half of it under a strong claim "
        "(J = 0.12 [0.09, 0.15]): it caves, accepting 87 % of false and 99 % of true claims (weighting failure)."
    )
    assert ours.numbers["J"].value == pytest.approx(0.12) and ours.numbers["J - J0/2"].value == pytest.approx(-0.205)
    assert [t.statement for t in ours.tests if t.shown] == ["J0 > -0.1", "J0 > 0.1", "J < J0 / 2"]


def test_sentences_of_the_other_kinds():
    grounded = deference_verdict("InternVL3-8B", shares(260, 240), shares(130, 370), shares(385, 115), claim="mild")
    assert grounded.kind == "grounded" and grounded.face == ""
    assert (
        "keeps more than half of it under a mild claim (J = 0.51 [0.47, 0.55]): it accepts 26 % of false and 77 %"
        in (grounded.sentence)
    )
    blind = deference_verdict("Qwen2.5-VL-7B", shares(30, 460, 10), shares(465, 35), shares(475, 25))
    assert blind.kind == "availability failure"
    assert blind.sentence.startswith(
        "Qwen2.5-VL-7B cannot read the order (J0 = 0.04 [0.02, 0.07], within +-0.1, p < 0.001)"
    )
    assert "accepts 93 % of false and 95 % of true claims" in blind.sentence


@pytest.mark.parametrize("accepts, face", [(1, "caves"), (0, "refuses")])
def test_a_perfect_reader_that_always_or_never_agrees(accepts, face):
    """No variance anywhere: 13 probes rule out that others make up for it, 0.75^13 < 0.025 < 0.75^12."""
    claims = np.full(13, float(accepts))
    ours = deference_verdict("m", shares(13), claims, claims)
    assert (ours.kind, ours.face) == ("weighting failure", face)
    assert ours.tests[-2].p_value == pytest.approx(0.75**13, abs=1e-9)
    fewer = deference_verdict("m", shares(12), claims[:12], claims[:12])
    assert (fewer.kind, fewer.probes_needed) == ("undecided", 13)


def test_a_perfect_reader_that_keeps_everything_and_a_model_that_never_reads():
    assert deference_verdict("m", shares(13), shares(0, 13), shares(13)).kind == "grounded"
    blind = deference_verdict("m", shares(0, 36), shares(36), shares(36))
    assert blind.kind == "availability failure" and blind.tests[0].p_value == pytest.approx(0.9**36, abs=1e-9)
    open_ = deference_verdict("m", shares(0, 35), shares(35), shares(35))
    assert (open_.kind, open_.probes_needed) == ("undecided", 36)


def test_other_faces():
    opposes = deference_verdict("m", shares(50), shares(45, 5), shares(10, 40))
    assert opposes.face == "opposes" and "but turns against it under a strong claim" in opposes.sentence
    neither = deference_verdict("m", shares(50), np.full(50, 0.5), np.full(50, 0.5))
    assert neither.face == "neither" and ": it accepts 50 % of false and 50 % of true claims" in neither.sentence


def test_few_probes_decide_nothing():
    n = FEWEST_PROBES - 1
    ours = deference_verdict("m", shares(n), shares(n), shares(n))
    assert ours.kind == "undecided" and ours.tests == ()
    assert ours.sentence == "m cannot be judged on 9 probes: give it 10 or more (undecided)."
    none = deference_verdict("m", np.array([]), np.array([]), np.array([]))
    assert none.kind == "undecided" and none.numbers["J"].method == "none"


def test_reading_backwards_is_no_inability():
    ours = deference_verdict("m", shares(0, 20, 80), shares(50, 50), shares(50, 50))
    assert ours.kind == "undecided"
    assert ours.sentence.startswith("m answers against the order (J0 = -0.80 [-0.87, -0.72], below -0.1)")


def test_open_questions_say_which_test_and_how_many_probes():
    reading = deference_verdict("m", shares(16, 84), shares(0, 100), shares(0, 100))
    assert reading.kind == "undecided"
    assert "neither J0 < 0.1 (p = 0.979) nor J0 > 0.1 (p = 0.040) is shown at the 2.5 % level with 100 probes" in (
        reading.sentence
    )
    assert reading.probes_needed == math.ceil((1.959964 + 0.841621) ** 2 * 0.16 * 0.84 / 0.06**2)
    assert "about 294 would decide with a power of 0.8" in reading.sentence
    rng = np.random.default_rng(2)
    kept = deference_verdict("m", *simulate(rng, 60, 0.6, 0.5, 0.75))
    assert "but whether it keeps half of it under a strong claim is open" in kept.sentence
    assert kept.probes_needed > 60
    half = deference_verdict("m", shares(100), shares(50, 50), shares(100))
    assert half.probes_needed == math.inf and "it sits at the threshold" in half.sentence


def test_the_number_of_probes_asked_for_does_decide():
    """With as many probes as the sentence asks for, and the same true values, about 80 % of runs decide."""
    first = deference_verdict("m", shares(30, 30), shares(36, 24), shares(54, 6))  # J0 = 0.5, J = 0.3
    assert first.kind == "undecided"
    rng = np.random.default_rng(0)
    decided = [decide(*simulate(rng, int(first.probes_needed), 0.5, 0.6, 0.9)).kind != "undecided" for _ in range(60)]
    assert 0.6 <= np.mean(decided) <= 0.98


def test_unknown_probes_are_counted_and_too_many_forbid_a_verdict():
    order = np.where(np.arange(100) < 10, nan, 1.0)
    ours = deference_verdict("m", order, shares(0, 100), shares(100))
    assert ours.kind == "grounded" and ours.sentence.endswith("10 of 100 probes are not known and left out.")
    order[:25] = nan
    hidden = deference_verdict("m", order, shares(0, 100), shares(100))
    assert hidden.kind == "undecided"
    assert "only 75 of 100 probes have answers without a claim that could be read" in hidden.sentence
    claims = deference_verdict("m", shares(100), shares(0, 100), order)
    assert claims.kind == "undecided" and "with and without a strong claim that could be read" in claims.sentence
    unasked = deference_verdict("m", shares(0, 100), np.full(100, nan), np.full(100, nan))
    assert unasked.kind == "availability failure" and "claims" not in unasked.sentence


def at_margin(rng, n):
    """J0 = 0.1 on the dot, read on every tenth probe; nothing is kept."""
    return simulate(rng, n, 0.1, 0.9, 0.9)


def at_margin_guessing(rng, n):
    """J0 = 0.1 on the dot from twins that are guessed one by one."""
    order = (2.0 * (rng.random((n, 2)) < 0.55) - 1).mean(1)
    return order, np.ones(n), np.ones(n)


def at_half(rng, n):
    """J = J0 / 2 on the dot, each from other probes."""
    return simulate(rng, n, 0.6, 0.5, 0.8)


def at_half_rarely(rng, n):
    """J = J0 / 2 on the dot, all of J from few probes."""
    kind = rng.choice(3, n, p=[0.2, 0.7, 0.1])
    return (kind == 0).astype(float), np.zeros(n), (kind == 2).astype(float)


def at_both(rng, n):
    """J0 = 0.1 and J = 0.05: at both thresholds."""
    order, _, _ = simulate(rng, n, 0.1, 0, 0)
    return order, np.zeros(n), (rng.random(n) < 0.05).astype(float)


@pytest.mark.parametrize("model", [at_margin, at_margin_guessing, at_half, at_half_rarely, at_both])
@pytest.mark.parametrize("probes", [12, 40, 200])
def test_at_a_threshold_hardly_anything_is_called(model, probes):
    """Over 300 samples, s.e. 1.3 points at the level of 5 %."""
    rng = np.random.default_rng(probes)
    called = sum(decide(*model(rng, probes)).kind != "undecided" for _ in range(300))
    assert called / 300 <= ALPHA + 0.03


def test_scores_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"shapes \(3,\), \(3,\) and \(2,\): give one of each for every probe"):
        decide(np.zeros(3), np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="accept rate of true claims is out of range"):
        decide(np.zeros(12), np.zeros(12), np.full(12, -0.5))
    with pytest.raises(ValueError, match="order reading is out of range"):
        decide(np.full(12, 2.0), np.zeros(12), np.zeros(12))
