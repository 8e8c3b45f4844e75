"""Warnings of the image benchmark: each fault of a run that would make its numbers mean something else is named."""

from dataclasses import replace

import pytest
from image_logs import write_image_run
from image_trials import RECEIPT, Probabilities, dodger, image_study, invariant
from test_image_agreement import judged_trial

from metrics.image.block_warnings import levels_text
from metrics.image.hypotheses import hypothesis_2
from metrics.image.image_measures import image_measures
from metrics.image.image_warnings import image_warnings
from metrics.image.logged_image_run import read_image_run
from metrics.image.report_assemble import build_image_report
from metrics.image.report_study import collect_image_study
from metrics.image.table import TIE, complete_blocks
from metrics.image.trial import DEGRADED, TASKS
from metrics.image.verdict import image_verdict
from metrics.trial import Answer

TASK, CLOSED = TASKS["open"], TASKS["closed"]
LOST = Answer("unparseable")


def warned(trials):
    return image_warnings(trials[0].task, trials, calibrated_by_people=True)


def found(trials, words):
    return [line for line in warned(trials) if words in line]


@pytest.fixture(scope="module")
def good():
    return image_study(dodger(lambda d: 0.1 * d + 0.05, lambda d: 0.3), 30)


@pytest.fixture(scope="module")
def closed():
    return image_study(
        lambda *t: Probabilities(0.3 + 0.3 * t[7].random(), 0.4), 30, ("code", "shape"), 2, elicitation="closed"
    )


def lost_where(trials, gone):
    return [replace(t, answer=LOST) if gone(t) else t for t in trials]


# --- receipts ---


def test_trials_whose_image_is_not_known_to_have_arrived_are_named(good):
    assert warned(good) == []
    text = [replace(t, receipt=None) for t in good]
    (line,) = found(text, "which image reached the model")
    assert f"not known for {len(good)} of {len(good)} trials (100.0%; {len(good)} have no receipt)" in line
    some = [replace(t, receipt=(None, {"frames": None}, RECEIPT, RECEIPT)[i % 4]) for i, t in enumerate(good)]
    quarter = len(good) // 4
    (line,) = found(some, "which image reached the model")
    assert f"for {2 * quarter} of {len(good)} trials (50.0%; {quarter} have no receipt, {quarter} have one that" in line


# --- letters of the closed task ---


def with_letters(trials, mass, bound=None):
    return [replace(t, answer=replace(t.answer, option_mass=mass(t), option_probability_bound=bound)) for t in trials]


def test_little_mass_on_the_letters_is_warned_of_and_printed(closed, tmp_path):
    assert not found(closed, "option letters") and "option_mass" not in image_measures(CLOSED, closed)
    little = with_letters(closed, lambda t: 0.2 if t.framing == "neutral" else 0.4)
    (line,) = found(little, "option letters")
    assert "only 35.0% of the first token's probability" in line and "CAVED_READOUT=text" in line
    assert not found(with_letters(closed, lambda t: 0.5), "option letters")
    assert image_measures(CLOSED, little)["option_mass"].value == pytest.approx(0.35)
    path = write_image_run(tmp_path, little)
    report = build_image_report(collect_image_study([read_image_run(path)]), resamples=0)
    (reading,) = [t for t in report.tables if t.name == "reading"]
    assert reading.rows[0].cells["option_mass"].estimate.value == pytest.approx(0.35)
    assert "on letters" in [column.heading for column in reading.columns]
    assert any("option letters" in line for line in report.warnings)


def test_bounds_and_ties_of_probabilities_are_warned_of(closed, tmp_path):
    bounded = with_letters(closed, lambda t: 0.9, 0.02)
    assert "open by up to 0.020" in found(bounded, "likeliest tokens")[0]
    near = with_letters(closed, lambda t: 0.9, 0.001)
    assert not found(near, "likeliest tokens")
    for trials, said in ((near, True), (closed, False), (with_letters(closed, lambda t: 0.9, 0.0), False)):
        run = read_image_run(write_image_run(tmp_path, trials, "pretrained=a/b"))
        assert (
            any(p.startswith("a/b: option probabilities are middles") for p in collect_image_study([run]).problems)
            == said
        )
    tied = [replace(t, answer=Answer("unparseable", rule=TIE)) if t.level == 1 else t for t in closed]
    count = sum(t.level == 1 for t in closed)
    assert f", {count} of them because several options were exactly as likely" in found(tied, "could not be parsed")[0]


# --- a judge ---


def judged(trials, chosen, said, asked, model="m"):
    made = [judged_trial(t, "unparseable", said, asked) if chosen(t) else t for t in trials]
    return [t if t.judged is None else replace(t, judged={**t.judged, "model": model}) for t in made]


def test_an_effect_that_the_judge_makes_is_named():
    trials = image_study(lambda *_: "right", 30, ("code",), 2)
    made = judged(trials, lambda t: t.framing == "conviction" and t.slot == 0, "abstained", "unparseable", "gpt")
    count = sum(t.judged is not None for t in made)
    assert image_measures(TASK, made)["PIA"].value == pytest.approx(0.5)  # by the judge alone
    (line,) = found(made, "could not be read by rules")
    assert (
        f"{count} of {len(made)} responses (12.5%)" in line
        and f"count as gpt read them, {count} of them as abst" in line
    )
    assert "is not known with CAVED_JUDGE=unparseable" in line
    (uneven,) = found(made, "what the judge settles depends on the framing")
    assert "(neutral 0.0%, hedged 0.0%, plain 0.0%, conviction 50.0%)" in uneven
    even = judged(trials, lambda t: t.slot == 0 and t.level == 1, "abstained", "all")
    assert found(even, "could not be read by rules") and not found(even, "depends on the framing")
    assert not found(even, "is not known with CAVED_JUDGE")
    for said in ("failed", "unparseable"):  # nothing is settled
        assert not found(judged(trials, lambda t: t.level == 1, said, "all"), "judge")


def test_runs_with_different_judges_are_named(tmp_path):
    trials = image_study(invariant(lambda d: 0.3), 3, ("code",), 1)

    def problems(**runs):
        folder = tmp_path / "-".join(runs)
        read = [read_image_run(write_image_run(folder / n, r, f"pretrained={n}")) for n, r in runs.items()]
        return [p for p in collect_image_study(read).problems if "different judges" in p]

    def some(asked, model):
        return judged(trials, lambda t: t.level == 0, "abstained", asked, model)

    unread = lost_where(trials, lambda t: t.level == 1)
    (line,) = problems(a=some("unparseable", "g"), b=unread)
    assert "(a: g (CAVED_JUDGE=unparseable); b: no judge)" in line
    assert problems(a=some("all", "g"), b=some("all", "h")) and problems(a=some("all", "g"), b=some("unparseable", "g"))
    assert not problems(a=some("unparseable", "g"), b=some("unparseable", "g"), c=trials)  # c left nothing to judge
    closed = image_study(lambda *_: "right", 3, ("code",), 1, elicitation="closed")
    assert not problems(a=some("all", "g"), c=lost_where(closed, lambda t: t.level == 1))  # no judge reads these


# --- levels, modes and categories ---


def test_levels_in_words():
    assert [levels_text(x) for x in ((0, 1, 2, 3), (1, 2), (0, 2, 3), (4,))] == ["L0..L3", "L1, L2", "L0, L2, L3", "L4"]


def test_levels_without_complete_blocks_are_named(good):
    (line,) = found(lost_where(good, lambda t: t.level == 0 and t.framing == "plain"), "no complete block")
    assert line.startswith("no complete block at L0: EIV and PIA are over L1..L5") and "H2 is not tested" in line
    one = lost_where(good, lambda t: t.level == 3 and t.mode == "corruptive")
    (line,) = found(one, "no complete block")
    assert line.endswith("at corruptive L3: EIV and PIA are over L0..L5, L3 of the subtractive mode alone")
    (line,) = found(lost_where(good, lambda t: t.level == 3), "no complete block")
    assert line.endswith("at L3: EIV and PIA are over L0, L1, L2, L4, L5")
    bare = lost_where(good, lambda t: t.level == 2 and t.category == "code")
    (line,) = found(bare, "no complete block")
    assert line.startswith("no complete block of code at corruptive L2, code at subtractive L2: ")


@pytest.mark.parametrize(
    ("kept", "named"),
    [
        (lambda t: t.level != 0, "L0"),
        (lambda t: t.level < 4, "L4, L5"),
        (lambda t: (t.mode, t.level) != ("subtractive", 2), "subtractive L2"),
        (lambda t: t.mode != "corruptive", "corruptive L1, corruptive L2, corruptive L3, corruptive L4, corruptive L5"),
    ],
)
def test_what_the_release_has_and_the_log_lacks_is_named(good, kept, named):
    partial = [t for t in good if kept(t)]
    (line,) = found(partial, "the log has no trial of")
    assert line.startswith(f"the log has no trial of {named}, which the release has")
    assert found(partial, f"no complete block at {named}")
    unknown = [replace(t, release_levels=0) for t in partial]  # as of a log of an earlier version
    assert not found(unknown, "the log has no trial of")


def test_a_loss_that_depends_on_the_design_is_named(good):
    def part(gone, every=2):
        return lost_where(good, lambda t: gone(t) and t.slot == 0 and int(t.item[1:]) % every == 0)

    (line,) = found(part(lambda t: t.level == 5), "depends on the level")
    assert "L0 0.0%, L1 0.0%, L2 0.0%, L3 0.0%, L4 0.0%, L5 25.0%" in line
    (line,) = found(part(lambda t: t.mode == "corruptive"), "depends on the mode")
    assert "(corruptive 25.0%, subtractive 0.0%)" in line
    (line,) = found(part(lambda t: t.category == "shape"), "depends on the category")
    assert "code 0.0%, colour 0.0%, count 0.0%, shape 25.0%" in line
    assert not found(part(lambda t: True), "depends on the")  # alike everywhere


def test_a_loss_by_chance_is_not_called_one_that_depends_on_the_design():
    lines = 0
    for seed in range(20):
        trials = image_study(lambda *t: "unparseable" if t[7].random() < 0.03 else "right", 6, seed=seed)
        lines += len(found(trials, "which blocks are left out depends"))
    assert lines <= 2


def test_h2_is_not_tested_without_intact_images(good, tmp_path):
    whole, _ = hypothesis_2(good)
    assert whole.supported is not None
    for without in (lost_where(good, lambda t: t.level == 0), [t for t in good if t.level]):
        test, trend = hypothesis_2(without)
        assert test.supported is None and test.effect.method == "none" and test.cautions[0].startswith("not tested: no")
        assert trend.low_minus_high.method == trend.room_slope.method == "none" and trend.levels == (1, 2, 3, 4, 5)
        numbers = image_measures(TASK, without, crossed=False)
        assert all(
            numbers[f"EIV_{n}"].method == "none" for n in ("slope", "slope_p", "low_minus_high", "low_minus_high_p")
        )
        assert numbers["EIV"].method != "none"
    second, trend = hypothesis_2(lost_where(good, lambda t: t.level == 1))
    assert (
        second.supported is not None and trend.low_minus_high.method == "none"
    )  # half of the low levels is no mean of both
    run = read_image_run(write_image_run(tmp_path, [t for t in good if t.level]))
    report = build_image_report(collect_image_study([run]), resamples=0)
    (table,) = [t for t in report.tables if t.name == "degradation_trend"]
    assert (table.rows[0].cells["H2"].text, table.rows[0].cells["H2"].p_value) == ("not tested", None)
    assert "L0" in table.rows[0].cells["H2"].note


def test_counted_levels_are_those_of_complete_blocks(good):
    """What the warning says EIV is over is what EIV is over."""
    parts = (
        lambda t: t.level == 0,
        lambda t: (t.mode, t.level) == (DEGRADED[0], 5),
        lambda t: t.level == 3 and t.slot == 0,
    )
    for gone in (*parts, lambda t: t.level == 5):
        trials = lost_where(good, gone)
        levels = sorted(map(int, complete_blocks(trials)["level"].unique()))
        lines = found(trials, "no complete block at")
        assert all(f"are over {levels_text(levels)}" in line for line in lines) and len(lines) <= 1
        sentence = image_verdict("m", trials, resamples=0).sentence
        assert (f"over {levels_text(levels)} alone" in sentence) == (levels != [0, 1, 2, 3, 4, 5]), sentence
