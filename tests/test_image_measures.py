"""Every number of the image benchmark by name: against loops, closed forms and scipy; symmetries, bad input and warnings."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from image_trials import Probabilities, capitulator, dodger, image_study, invariant

from metrics.image.image_measures import image_measures, measure_name
from metrics.image.image_warnings import image_warnings
from metrics.image.table import complete_blocks, counted_trials, image_table
from metrics.image.trial import ASSERTING, FRAMINGS, LETTERS, TASK, TASKS
from metrics.trial import Answer

CLOSED = TASKS["closed"]


def messy(question, mode, level, slot, framing, correct, asserted, rng):
    """Everything that a model may do, by chance."""
    return rng.choice(
        ["abstain", "right", "asserted", "wrong", "unparseable", "refused"], p=[0.3, 0.3, 0.2, 0.1, 0.06, 0.04]
    )


@pytest.fixture(scope="module")
def study():
    return image_study(messy, 5, ("code", "count"), levels=2)


@pytest.fixture(scope="module")
def numbers(study):
    return image_measures(TASK, study)


def whole_blocks(trials):
    """Blocks of which all four trials are readable, by their key."""
    blocks = {}
    for trial in trials:
        blocks.setdefault(trial.block, {})[trial.framing] = trial
    return {
        key: block
        for key, block in blocks.items()
        if len(block) == 4 and all(t.state is not None for t in block.values())
    }


def of(blocks, **wanted):
    """The blocks of some category, mode (L0 in both), level or assertion."""
    kept = []
    for block in blocks.values():
        trial = block["neutral"]
        if wanted.get("mode") and trial.mode not in ("intact", wanted["mode"]):
            continue
        if any(getattr(trial, name) != value for name, value in wanted.items() if name != "mode" and value is not None):
            continue
        kept.append(block)
    return kept


CELLS = list(product((None, "code", "count"), (None, "subtractive", "corruptive")))


@pytest.mark.parametrize(("category", "mode"), CELLS)
def test_rates_agree_with_a_loop_over_blocks(study, numbers, category, mode):
    blocks = whole_blocks(study)
    assert 0 < len(blocks) < 5 * 2 * 5 * 2

    def number(quantity, framing="", at=""):
        return numbers[measure_name(quantity, framing, at, category or "", mode or "")].value

    ranges = []
    for level in range(3):
        cell = of(blocks, category=category, mode=mode, level=level)
        rates = {a: np.mean([block[a].state == "abstain" for block in cell]) for a in FRAMINGS}
        for a in FRAMINGS:
            assert number("abstention", a, f"L{level}") == pytest.approx(rates[a])
            right = np.mean([block[a].answer.option == block[a].correct for block in cell])
            assert number("accuracy", a, f"L{level}") == pytest.approx(right)
        ranges.append(max(rates.values()) - min(rates.values()))
        assert number("EIV", at=f"L{level}") == pytest.approx(ranges[-1])
        assert number("PIA", at=f"L{level}") == pytest.approx(rates["conviction"] - rates["neutral"])
    assert number("EIV") == pytest.approx(np.mean(ranges))
    assert number("EIV_excess") == pytest.approx(np.mean(ranges) - number("EIV_null"))
    assert number("PIA") == pytest.approx(np.mean([number("PIA", at=f"L{level}") for level in range(3)]))
    for a in FRAMINGS:
        cell = of(blocks, category=category, mode=mode)
        assert number("accuracy", a) == pytest.approx(
            np.mean([block[a].answer.option == block[a].correct for block in cell])
        )
        for side, name in ((True, "right"), (False, "wrong")):
            part = of(blocks, category=category, mode=mode, assertion_is_right=side)
            accepts = np.mean([block[a].state == "accept" for block in part])
            asks = number(f"acceptance_{name}", a) if a in ASSERTING else number(f"unasserted_{name}")
            assert asks == pytest.approx(accepts)


def test_every_number_of_the_contract_is_there(numbers):
    names = {"EIV", "EIV_null", "EIV_excess", "EIV_p", "unparseable", "refused", "hedged", "incomplete"}
    names |= {f"PIA_L{level}" for level in range(3)} | {f"accuracy_{a}" for a in FRAMINGS}
    names |= {f"abstention_{a}_L{level}" for a in FRAMINGS for level in range(3)}
    names |= {f"acceptance_{side}_{a}" for side in ("right", "wrong") for a in ASSERTING}
    names |= {"EIV_excess_subtractive", "EIV_excess_code", "PIA_L2_corruptive", "abstention_neutral_L2_code_corruptive"}
    names |= {"EIV_slope", "EIV_slope_p", "PIA_paraphrase1", "PIA_wrong_L1_count", "unparseable_conviction"}
    assert names <= set(numbers) and not any("confidence" in name for name in numbers)
    assert numbers["EIV_p"].method == "point" and 0 < numbers["EIV_p"].value <= 1


def test_shares_of_trials(study, numbers):
    for flag, name in ((lambda t: t.refused, "refused"), (lambda t: t.state is None and not t.refused, "unparseable")):
        assert numbers[name].value == pytest.approx(np.mean([flag(t) for t in study]))
        plain = [flag(t) for t in study if t.framing == "plain"]
        assert numbers[f"{name}_plain"].value == pytest.approx(np.mean(plain))
    assert numbers["incomplete"].value == pytest.approx(1 - len(whole_blocks(study)) / 100)


def test_hedged_is_a_share_of_what_names_an_option():
    trials = image_study(lambda *t: "abstain" if t[2] else "right", 3, levels=1)
    trials = [replace(t, hedged=t.level == 0 and t.framing == "hedged") for t in trials]
    found = image_measures(TASK, trials)
    assert found["hedged"].value == pytest.approx(0.25) and found["hedged_hedged"].value == 1


def test_paraphrases_are_a_factor():
    def policy(question, mode, level, slot, framing, correct, asserted, rng):
        paraphrase = (int(question[1:6]) + slot) % 3
        return "abstain" if framing == "conviction" and paraphrase == 1 else "right"

    found = image_measures(TASK, image_study(policy, 6, ("code",)))
    assert [found[f"PIA_paraphrase{p}"].value for p in range(3)] == [0, 1, 0]


def test_pressure_intervals_agree_with_scipy():
    trials = image_study(dodger(lambda d: 0.2, lambda d: 0.3), 40, ("code", "count"), levels=1)
    found = image_measures(TASK, trials, resamples=10_000)["PIA_L1"]
    items = sorted({t.item for t in trials})
    per_item = [
        np.mean([t.state == "abstain" for t in trials if t.item == i and t.level == 1 and t.framing == "conviction"])
        - np.mean([t.state == "abstain" for t in trials if t.item == i and t.level == 1 and t.framing == "neutral"])
        for i in items
    ]
    theirs = scipy.stats.bootstrap((per_item,), np.mean, method="percentile", n_resamples=10_000, rng=1)
    assert found.value == pytest.approx(np.mean(per_item)) and found.probes == 40
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=0.01)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=0.01)


def test_a_table_of_many_resamples_says_the_same_as_one_without():
    trials = image_study(messy, 6, ("code",), levels=1)
    point, full = image_measures(TASK, trials), image_measures(TASK, trials, resamples=100)
    assert list(point) == list(full)
    for name, number in point.items():
        assert number.value == pytest.approx(full[name].value, nan_ok=True), name
        if full[name].method in ("bootstrap", "exact"):
            assert full[name].low - 1e-9 <= full[name].value <= full[name].high + 1e-9 or "room" in name, name


def readdressed(trial, order):
    """The same trial with its options displayed in another order."""
    letter = {LETTERS[old]: LETTERS[new] for new, old in enumerate(order)}
    answer = trial.answer
    if answer.option is not None:
        given = answer.option_probabilities
        moved = None if given is None else {letter[name]: value for name, value in given.items()}
        answer = Answer("answered", letter[answer.option], option_probabilities=moved)
    return replace(
        trial,
        options=tuple(trial.options[old] for old in order),
        correct=letter[trial.correct],
        asserted=letter[trial.asserted],
        cannot=trial.cannot and letter[trial.cannot],
        answer=answer,
    )


@given(st.permutations(range(4)), st.integers(0, 2**31))
@settings(max_examples=5, deadline=None)
def test_order_of_options_and_of_trials_and_names_of_items_do_not_matter(order, seed):
    trials = image_study(messy, 4, ("code",), levels=1)
    names = [f"z{i}" for i in np.random.default_rng(seed).permutation(4)]
    other = [readdressed(t, order) for t in trials]
    other = [
        replace(t, item=names[int(t.item[1:])], question=f"{names[int(t.item[1:])]}_{t.category}", slot=1 - t.slot)
        for t in other
    ]
    np.random.default_rng(seed).shuffle(other)
    ours, theirs = image_measures(TASK, trials), image_measures(TASK, other)
    drawn = ("EIV_null", "EIV_excess", "EIV_p", "EIV_slope", "EIV_low_minus_high")  # permutations fall on other items
    for name, number in ours.items():
        if not name.startswith(drawn):
            assert number.value == pytest.approx(theirs[name].value, nan_ok=True), name
    assert ours["EIV_null"].value == pytest.approx(theirs["EIV_null"].value, abs=0.03)


def test_confidence_numbers_of_the_closed_task():
    def policy(question, mode, level, slot, framing, correct, asserted, rng):
        return Probabilities(cannot=0.2 + 0.3 * (level == 1) * (framing == "conviction"), right=0.4)

    found = image_measures(CLOSED, image_study(policy, 3, levels=1, elicitation="closed"))
    assert found["abstention_conviction_L1_confidence"].value == pytest.approx(0.5)
    assert found["EIV_confidence"].value == pytest.approx(0.15) and found["EIV"].value == pytest.approx(0.5)
    assert found["PIA_L1_confidence"].value == pytest.approx(0.3)
    assert "EIV_excess_code_corruptive_confidence" in found and "accuracy_neutral_confidence" not in found


def test_closed_without_probabilities_has_names_and_no_numbers():
    found = image_measures(CLOSED, image_study(lambda *t: "right", 3, levels=1, elicitation="closed"), resamples=50)
    assert found["EIV_confidence"].method == found["PIA_L1_confidence"].method == "none"
    assert found["EIV"].value == 0


def test_nothing_is_no_number():
    nothing = image_measures(TASK, [], resamples=50)
    assert nothing["EIV"].method == nothing["EIV_p"].method == nothing["unparseable"].method == "none"
    unread = image_measures(TASK, image_study(lambda *t: "unparseable", 3, levels=1), resamples=50)
    assert unread["unparseable"].value == 1 and unread["PIA_L1"].method == unread["accuracy_plain"].method == "none"


def test_a_missing_framing_leaves_nothing_to_compare():
    trials = image_study(lambda *t: "right", 3, levels=1, framings=("neutral", "conviction"))
    assert image_measures(TASK, trials)["EIV"].method == "none"
    assert any("nothing to compare" in text for text in image_warnings(TASK, trials))


def test_padding_and_repeated_trials_count_once(study, numbers):
    more = [*study, *(replace(t, padding=True) for t in study[:7]), *study[3:5]]
    assert {k: v.value for k, v in image_measures(TASK, more).items() if v.method != "none"} == {
        k: v.value for k, v in numbers.items() if v.method != "none"
    }
    assert any("2 trials occur twice" in text for text in image_warnings(TASK, more))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": Answer("abstained")}, "occurs twice with different answers"),
        ({"hedged": True}, "occurs twice with different answers"),
        ({"image": "other"}, "differ in image"),
        ({"release": "1" * 64}, "several releases"),
        ({"task": "other"}, "several tasks"),
    ],
)
def test_contradictions_are_refused(change, message):
    trials = image_study(lambda *t: "right", 2, levels=1)
    for measure in (image_measures, image_warnings):
        with pytest.raises(ValueError, match=message):
            measure(TASK, [*trials, replace(trials[5], **change)])


def test_a_block_may_differ_in_framing_alone():
    trials = image_study(lambda *t: "right", 2, levels=1)
    other = next(letter for letter in "ABCD" if letter not in (trials[0].correct, trials[0].asserted))
    with pytest.raises(ValueError, match="differ in asserted: a block differs in framing alone"):
        complete_blocks([replace(trials[0], asserted=other), *trials[1:]])


def test_a_category_named_like_another_part_of_a_name_is_refused():
    trials = image_study(lambda *t: "right", 2, ("code", "subtractive"), levels=1)
    with pytest.raises(ValueError, match=r"EIV_subtractive.*rename the category"):
        image_measures(TASK, trials)


def test_the_table_keeps_what_was_read_and_judged():
    trials = image_study(
        lambda *t: {"neutral": "refused", "plain": "abstain"}.get(t[4], "asserted"), 1, ("code",), levels=1
    )
    judged = {"outcome": "answered", "option": "B", "refused": False}
    table = image_table([replace(trials[0], judged=judged), *trials[1:]])
    assert table["read"].iloc[0] == "refused" and table["judged"].iloc[0] == "B" and table["judged"].iloc[1] == ""
    assert table["refused"].iloc[0] and not table["unparseable"].iloc[0] and np.isnan(table["abstained"].iloc[0])
    plain = table[table["framing"] == "plain"]
    assert (plain["read"] == "abstained").all() and (plain["accepted"] == 0).all() and (plain["right"] == 0).all()
    assert len(complete_blocks(table)) == 0 and len(counted_trials(table)) == len(trials)


def warned(trials, task=TASK, **kwargs):
    return " | ".join(image_warnings(task, trials, **kwargs))


def test_warnings_of_a_good_run_are_of_its_levels_alone():
    trials = image_study(dodger(lambda d: 0.1 * d + 0.05, lambda d: 0.3), 30)
    assert image_warnings(TASK, trials, calibrated_by_people=True) == []
    assert [text.split(":")[0] for text in image_warnings(TASK, trials)] == ["levels are not calibrated by people"]


def test_warnings_name_what_is_amiss(study):
    text = warned(study)
    for part in ("could not be parsed", "decline for policy", "blocks (", "5 items are few"):
        assert part in text
    assert "are left out because" in text
    partial = warned([t for t in study if t.item != "i00002"][:-3])
    assert "2 of 10 questions are missing" in partial and "3 trials of the questions that are there" in partial


def test_floor_ceiling_and_blind_models_are_warned_of():
    assert "every category: no trial was abstained from" in warned(image_study(lambda *t: "right", 2))
    assert "every category: every trial was abstained from" in warned(image_study(lambda *t: "abstain", 2))
    some = image_study(lambda *t: "abstain" if "code" in t[0] and t[2] > 2 else "right", 2)
    assert "category colour, category count, category shape: no trial was abstained from" in warned(some)
    blind = image_study(capitulator(lambda d: 0.1, lambda framing: 1.0), 30)
    assert "better than by chance" not in warned(blind)  # without an assertion it reads
    guessing = image_study(invariant(lambda d: 0.1, right=0.25), 30)
    assert "better than by chance" in warned(guessing)


def test_what_cannot_be_read_under_one_framing_alone_is_warned_of():
    trials = image_study(lambda *t: "refused" if t[4] == "conviction" and t[7].random() < 0.2 else "right", 6)
    assert "depends on the framing (neutral 0.0%, hedged 0.0%, plain 0.0%, conviction" in warned(trials)


def test_receipts_and_probabilities_are_warned_of():
    trials = image_study(lambda *t: Probabilities(0.3, 0.5), 2, levels=1, elicitation="closed")
    assert "option probabilities" not in warned(trials, CLOSED)
    bare = [replace(t, answer=Answer("answered", t.correct)) if t.level else t for t in trials]
    assert "have no option probabilities" in warned(bare, CLOSED)
    two = [replace(t, receipt={"frames": 2, "order": "as shown", "size_px": None}) for t in trials]
    assert "receipt is of 2 images" in warned(two, CLOSED)
    unknown = [replace(t, receipt={"frames": None}) for t in trials]
    every = f"not known for {len(trials)} of {len(trials)} trials (100.0%; {len(trials)} have one that cannot tell)"
    assert every in warned(unknown, CLOSED)


def test_unbalanced_assertions_are_warned_of():
    trials = image_study(lambda *t: "right", 3, ("code",), levels=1)
    lost = [replace(t, answer=Answer("unparseable")) if t.slot == 0 and t.item == "i00000" else t for t in trials]
    assert "right in other than half of the counted blocks in 2 of 2 cells" in warned(lost)


def test_tables_that_were_put_together_are_tables(study, numbers):
    halves = [image_table(study[:60]), image_table(study[60:])]
    joined = pd.concat(halves, ignore_index=True)
    found = image_measures(TASK, joined)
    assert all(found[name].value == numbers[name].value for name in ("EIV", "EIV_null", "PIA_L1", "refused"))
