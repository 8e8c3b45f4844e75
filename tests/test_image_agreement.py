"""Agreement of rules and judge: against statsmodels, and that settled and selected trials do not pass for agreement."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from image_logs import write_image_run
from image_trials import image_study
from statsmodels.stats.inter_rater import cohens_kappa

from metrics.image.agreement import OUTCOMES, judge_agreement
from metrics.image.logged_image_run import read_image_run
from metrics.trial import Answer


def random_reading(rng):
    """An option's letter or an outcome, in the words of the table."""
    return str(rng.choice([*"ABCD", "abstained", "unparseable", "refused"]))


def as_outcome(reading):
    return {"outcome": "unparseable" if reading == "refused" else reading if len(reading) > 1 else "answered",
            "option": reading if len(reading) == 1 else None, "refused": reading == "refused"}  # fmt: skip


def judged_trial(trial, ruled, said, asked="all"):
    """A trial that rules read as `ruled` and a judge as `said`; the judge's counts where rules could not read."""
    settled = ruled == "unparseable" and said not in ("failed", "unparseable")
    rules, judge = as_outcome(ruled), as_outcome(said)
    counts = judge if settled else rules
    fields = {**judge, "hedged": False, "model": "m", "asked": asked, "settled": settled}
    fields |= {f"rules_{name}": value for name, value in rules.items()}
    return replace(trial, answer=Answer(counts["outcome"], counts["option"]), refused=counts["refused"], judged=fields)


@pytest.fixture
def trials():
    return image_study(lambda *_: "right", items=6, levels=1)


def test_share_and_kappa_are_those_of_all_pairs(trials):
    rng = np.random.default_rng(0)
    pairs = [(random_reading(rng), random_reading(rng)) for _ in trials]
    pairs = [(one, one if rng.random() < 0.6 else other) for one, other in pairs]
    found = judge_agreement([judged_trial(t, *pair) for t, pair in zip(trials, pairs, strict=True)], resamples=300)
    outcomes = [tuple("answered" if len(x) == 1 else x for x in pair) for pair in pairs]
    table = pd.crosstab(*zip(*outcomes, strict=True)).reindex(index=OUTCOMES, columns=OUTCOMES, fill_value=0)
    assert found.same.value == pytest.approx(np.mean([one == other for one, other in pairs]))
    assert found.kappa.value == pytest.approx(cohens_kappa(table.to_numpy()).kappa)
    assert found.confusion == {(i, j): table.loc[i, j] for i in OUTCOMES for j in OUTCOMES if table.loc[i, j]}
    assert found.judged == found.compared == found.trials == len(trials) and found.failed == 0
    assert found.settled == sum(one == "unparseable" != other for one, other in pairs)
    for estimate in (found.same, found.kappa):
        assert estimate.low < estimate.value < estimate.high and estimate.probes == 6


def test_intervals_are_over_items(trials):
    """All trials of an item alike: the interval is as wide as six draws make it, however many trials there are."""
    alike = [judged_trial(t, "A", "A" if t.item in ("i00000", "i00001", "i00002") else "B") for t in trials]
    same = judge_agreement(alike, resamples=1000).same
    assert same.value == 0.5 and same.high - same.low > 0.6


def test_a_settled_trial_is_no_agreement(trials):
    found = judge_agreement([judged_trial(t, "unparseable", "B") for t in trials], resamples=0)
    assert found.settled == len(trials) and found.same.value == 0
    assert found.confusion == {("unparseable", "answered"): len(trials)}


def test_where_only_unparseable_ones_are_asked_about_there_is_nothing_to_compare(trials):
    found = judge_agreement([judged_trial(t, "unparseable", "B", asked="unparseable") for t in trials])
    assert (found.judged, found.settled, found.compared) == (len(trials), len(trials), 0)
    assert found.same.method == found.kappa.method == "none" and not found.confusion


def test_a_failed_judge_neither_agrees_nor_settles(trials):
    given = [
        judged_trial(t, "unparseable" if i % 2 else "A", "failed" if i % 4 < 2 else "A") for i, t in enumerate(trials)
    ]
    found = judge_agreement(given, resamples=0)
    assert found.failed == len(trials) // 2 == found.compared and found.settled == len(trials) // 4
    assert found.same.value == 0.5


def test_all_alike_and_one_outcome_alone(trials):
    rng = np.random.default_rng(1)
    readings = [random_reading(rng) for _ in trials]
    found = judge_agreement([judged_trial(t, x, x) for t, x in zip(trials, readings, strict=True)], resamples=200)
    assert found.same.value == found.kappa.value == 1 and found.same.low < 1
    one = judge_agreement([judged_trial(t, "A", "B") for t in trials])
    assert one.same.value == 0 and one.kappa.method == "none"  # answered is all that either says


def test_no_judge_no_agreement(trials):
    assert judge_agreement(trials) is None


def test_padding_does_not_count(trials):
    given = [replace(judged_trial(t, "A", "A"), padding=i % 8 > 3) for i, t in enumerate(trials)]
    assert judge_agreement(given, resamples=0).judged == len(trials) // 2


def test_the_log_keeps_what_agreement_needs(trials, tmp_path):
    rng = np.random.default_rng(2)
    given = [judged_trial(t, random_reading(rng), random_reading(rng)) for t in trials]
    run = read_image_run(write_image_run(tmp_path, given, "pretrained=a/b"))
    assert judge_agreement(run.table, resamples=50) == judge_agreement(given, resamples=50)
