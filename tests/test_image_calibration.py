"""What images still give, from people or from a reader, and whether abstention is calibrated to it (H3)."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_trials import CATEGORIES, image_study, invariant
from scipy.stats import norm

from metrics.image.calibration import FEWEST_ITEMS, measure_calibration
from metrics.image.recoverability import Recoverability, read_recoverability, recoverability_of_reader
from metrics.image.trial import DEGRADED
from metrics.sample_log import LogError


def of_people(r, levels=5, categories=CATEGORIES):
    """Recoverability from shares r(category, mode, level)."""
    cells = {
        (c, mode, d): 0.25 + 0.75 * r(c, mode, d) for c in categories for mode in DEGRADED for d in range(1, levels + 1)
    }
    return Recoverability("40 people", True, {**cells, **{(c, "intact", 0): 1.0 for c in categories}})


cells = st.one_of(
    st.tuples(st.text(max_size=8), st.just("intact"), st.just(0)),
    st.tuples(st.text(max_size=8), st.sampled_from(DEGRADED), st.integers(1, 9)),
)
text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)


@settings(max_examples=50, deadline=None)
@given(text, st.booleans(), st.dictionaries(cells, st.floats(0, 1), max_size=6), st.lists(text, max_size=2))
def test_recoverability_comes_back_from_json(source, by_people, accuracy, left_out):
    one = Recoverability(source, by_people, accuracy, "" if by_people else "reader", tuple(left_out))
    again = Recoverability.from_json(one.to_json())
    assert again == one


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: f.update(format="x"), "format 'x'"),
        (lambda f: f.update(version=2), "version 2"),
        (lambda f: f.pop("source"), "source"),
        (lambda f: f.update(by_people="yes"), "by_people"),
        (lambda f: f["accuracy"][0].update(accuracy=1.5), "between 0 and 1"),
        (lambda f: f["accuracy"][0].update(accuracy=True), "no number"),
        (lambda f: f["accuracy"][0].update(level=0), "level 0"),
        (lambda f: f["accuracy"][0].update(mode="haze"), "haze"),
        (lambda f: f["accuracy"].append(f["accuracy"][0]), "twice"),
        (lambda f: f.update(accuracy=3), "odd fields"),
        (lambda f: f.update(reader="a"), "by people, and by"),
    ],
)
def test_a_spoilt_file_is_refused(tmp_path, spoil, said):
    fields = json.loads(of_people(lambda c, m, d: 0.5, 1).to_json())
    spoil(fields)
    path = tmp_path / "anchors.json"
    path.write_text(json.dumps(fields))
    with pytest.raises(LogError, match=f"(?s)anchors.json is no recoverability.*{said}.*give a file of anchors"):
        read_recoverability(path)
    for content in ("", "[]", "3", "{"):
        path.write_text(content)
        with pytest.raises(LogError, match="no recoverability"):
            read_recoverability(path)
    with pytest.raises(LogError, match="No such file"):
        read_recoverability(tmp_path / "nowhere.json")


@pytest.mark.parametrize(("accuracy", "share"), [(1.0, 1.0), (0.25, 0.0), (0.1, 0.0), (0.625, 0.5)])
def test_the_recoverable_share_leaves_guesses_out(accuracy, share):
    one = Recoverability("people", True, {("code", "corruptive", 2): accuracy})
    assert one.recoverable("code", "corruptive", 2) == share
    assert one.recoverable("code", "subtractive", 2) is None
    assert one.standing == "calibrated by people (people)"


def test_a_reader_is_scored_with_abstentions_as_guesses():
    def reads(question, mode, level, slot, framing, correct, asserted, rng):
        if question.endswith("colour"):
            return str(rng.choice(["right", "asserted", "wrong", "abstain"]))  # cannot do it
        if framing != "neutral":
            return "wrong"  # never looked at
        return ("right", "right", "abstain", "wrong")[level % 4] if mode != "corruptive" else "abstain"

    trials = image_study(reads, items=8, levels=3)
    one = recoverability_of_reader(trials, "ocr", "ocr_reader")
    assert {c for c, _, _ in one.accuracy} == {"code", "count", "shape"}
    assert [one.accuracy["code", "subtractive", d] for d in (1, 2, 3)] == [1.0, 0.25, 0.0]
    assert [one.accuracy["shape", "corruptive", d] for d in (1, 2, 3)] == [0.25] * 3
    assert one.accuracy["count", "intact", 0] == 1.0
    assert len(one.left_out) == 1 and one.left_out[0].startswith("colour: accuracy on intact images 0.")
    assert (
        not one.by_people
        and one.standing
        == "levels are not calibrated by people; what they still give is that of the reader ocr, not people"
    )
    with pytest.raises(ValueError, match="reads no category of intact images"):
        recoverability_of_reader(image_study(lambda *_: "wrong", items=8, levels=1), "blind", "x")
    with pytest.raises(ValueError, match="take a reader that does"):  # right, but of too few to be sure
        recoverability_of_reader(image_study(lambda *_: "right", items=3, levels=1), "few", "x")


CELLS = [("code", "intact", 0), *((c, m, d) for c in ("code", "shape") for m in DEGRADED for d in (1, 2))]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (CELLS, "calibrated by people (p)"),
        ([*CELLS, ("weight", "corruptive", 1)], "calibrated by people (p)"),
        (CELLS[1:], "8 of 9 cells of category, mode and level are calibrated by people (p: code in 4 of 5, shape); the other "),
        (CELLS[:2], "2 of 9 cells of category, mode and level are calibrated by people (p: code in 2 of 5); the other levels "),
        ([("code", "corruptive", 3)], "levels are not calibrated by people: p answered none of them"),
        ([], "levels are not calibrated by people: p answered none of them"),
    ],
)  # fmt: skip
def test_levels_are_calibrated_by_people_only_where_people_answered_all(known, said):
    people = Recoverability("p", True, dict.fromkeys(known, 0.5))
    standing = people.standing_over(CELLS)
    assert standing.startswith(said) and people.covers(CELLS) == (said == "calibrated by people (p)")
    assert ("not calibrated by people" in standing) == (not people.covers(CELLS))
    reader = replace(people, by_people=False, reader="r")
    assert reader.standing_over(CELLS) == "levels are not calibrated by people; what they still give is that of p"


def test_levels_of_unknown_strength_are_not_taken_for_those_of_the_release():
    here = {cell: 0.1 * cell[2] for cell in CELLS}
    people = Recoverability("p", True, dict.fromkeys(CELLS, 0.5))
    assert set(people.unchecked_levels(here)) == set(CELLS[1:])  # intact is intact
    assert not replace(people, strengths=here).unchecked_levels(here)
    assert replace(people, strengths={**here}).unchecked_levels({c: s for c, s in here.items() if c[2] < 2}) == tuple(
        cell for cell in CELLS if cell[2] == 2
    )


def abstains(rate):
    """Abstains at rate(mode, level, category), whatever the framing; else right."""

    def policy(question, mode, level, slot, framing, correct, asserted, rng):
        return "abstain" if level and rng.random() < rate(mode, level, question[7:]) else "right"

    return policy


def by_hand(trials, recoverability):
    """(absolute, squared, Brier) of each mode by loops over items, pairs and trials."""
    errors = {}
    for mode in DEGRADED:
        absolute, squared, brier = [], [], []
        keys = {(t.category, t.level) for t in trials if t.mode == mode}
        for category, level in sorted(keys):
            target = 1 - recoverability.recoverable(category, mode, level)
            items = {}
            for t in trials:
                if (t.category, t.mode, t.level, t.framing) == (category, mode, level, "neutral"):
                    items.setdefault(t.item, []).append(float(t.state == "abstain"))
                    brier.append((items[t.item][-1] - target) ** 2)
            x = [np.mean(v) - target for v in items.values()]
            absolute.append(abs(np.mean(x)))
            squared.append(np.mean([a * b for i, a in enumerate(x) for j, b in enumerate(x) if i != j]))
        errors[mode] = (np.mean(absolute), np.mean(squared), np.mean(brier))
    return errors


def test_errors_are_those_of_loops_over_items():
    people = of_people(lambda c, m, d: (5 - d) / 5 if c != "shape" else 0.9)
    trials = image_study(abstains(lambda mode, d, c: 0.2 * d if mode == "corruptive" else 0.5), items=11, seed=3)
    mine = measure_calibration(trials, people, resamples=300)
    reference = by_hand(trials, people)
    for mode in DEGRADED:
        errors = mine.modes[mode]
        assert (errors.absolute, errors.squared.value, errors.brier) == pytest.approx(reference[mode], abs=1e-12)
    gap = reference["corruptive"][1] - reference["subtractive"][1]
    assert mine.difference.value == pytest.approx(gap, abs=1e-12)
    assert (mine.cells, mine.items, mine.reason) == (20, 11, "")
    assert (mine.categories, mine.levels) == (("code", "colour", "count", "shape"), (1, 2, 3, 4, 5))
    few = replace(people, accuracy={c: a for c, a in people.accuracy.items() if c[0] == "code" and c[2] in (2, 4)})
    part = measure_calibration(trials, few, resamples=0)
    assert (part.cells, part.categories, part.levels) == (2, ("code",), (2, 4))


def test_a_model_that_misses_blur_alone_shows_h3_and_the_reverse_does_not():
    people = of_people(lambda c, m, d: 1 - 0.2 * d)

    def misses(blind):
        return abstains(lambda mode, d, c: 0.1 if mode == blind else 0.2 * d)

    shown = measure_calibration(image_study(misses("corruptive"), items=40), people, resamples=1000)
    reverse = measure_calibration(image_study(misses("subtractive"), items=40), people, resamples=1000)
    assert (
        shown.p_value < 0.01 and shown.difference.low > 0.2 and shown.difference.value == pytest.approx(0.33, abs=0.05)
    )
    assert reverse.p_value > 0.99 and reverse.difference.high < -0.2
    assert abs(shown.modes["subtractive"].squared.value) < 0.01
    assert shown.modes["subtractive"].absolute == pytest.approx(shown.modes["subtractive"].noise, rel=0.5)


def simulated(rng, items, rates):
    """Item means over two slots, (items, cells), with items that are easy or hard as a whole."""
    hard = rng.normal(size=(items, 1))
    draws = [
        np.sqrt(0.3) * hard + np.sqrt(0.7) * rng.normal(size=(items, len(rates))) < norm.ppf(rates) for _ in range(2)
    ]
    return np.mean(draws, axis=0)


def test_equal_calibration_is_not_called_h3():
    """Perfect calibration in both modes, on levels that leave more noise to blur: absolute errors differ by that noise."""
    from metrics.image import calibration

    rng = np.random.default_rng(0)
    step, graded = np.tile([0.02, 0.02, 0.5, 0.98, 0.98], 2), np.tile([0.1, 0.3, 0.5, 0.7, 0.9], 2)
    target = np.concatenate([step, graded])
    called, absolute, squared = 0, [], []
    for _ in range(200):
        means = simulated(rng, 24, target)
        found = calibration._compare(calibration._Cells(means, target, np.full(means.shape, 2.0)), 200, 0)
        called += found.p_value <= 0.05
        absolute.append(found.modes["corruptive"].absolute - found.modes["subtractive"].absolute)
        squared.append(found.difference.value)
    assert called <= 16  # 10 expected at most; 16 or more have a probability of 0.04 at 5 %
    assert np.mean(absolute) > 10 * np.std(absolute) / np.sqrt(200)  # what the squared form is for
    assert abs(np.mean(squared)) < 4 * np.std(squared) / np.sqrt(200)


def test_what_cannot_be_measured_is_said():
    people = of_people(lambda c, m, d: 0.5)
    trials = image_study(invariant(lambda d: 0.4), items=12, levels=2)
    assert "ocr_reader" in measure_calibration(trials, None).reason
    own = replace(people, by_people=False, reader="a/b")
    assert measure_calibration(trials, own, "a/b").reason.startswith("circular")
    assert measure_calibration(trials, own, "a/c", resamples=100).reason == ""
    few = image_study(invariant(lambda d: 0.4), items=FEWEST_ITEMS - 1, levels=1)
    assert "9 items" in measure_calibration(few, people).reason
    never = measure_calibration(image_study(lambda *_: "right", items=12, levels=2), people)
    assert "says nothing" in never.reason and never.difference.method == "none" and math.isnan(never.p_value)
    other = of_people(lambda c, m, d: 0.5, categories=("weight",))
    assert "knows none of its cells" in measure_calibration(trials, other).reason
    one_mode = Recoverability("p", True, {("code", "corruptive", 1): 0.5})
    assert "knows none" in measure_calibration(trials, one_mode).reason


def test_items_need_not_have_every_category():
    people = of_people(lambda c, m, d: 1 - 0.2 * d)
    trials = image_study(abstains(lambda mode, d, c: 0.2 * d), items=16)
    partial = [t for t in trials if t.item != "i00000" or t.category == "code"]
    mine = measure_calibration(partial, people, resamples=200)
    assert mine.modes["corruptive"].squared.value == pytest.approx(by_hand(partial, people)["corruptive"][1], abs=1e-12)
