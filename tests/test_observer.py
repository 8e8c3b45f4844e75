"""The control model: sees frames and prompt, and measures as its closed form says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.observer_policy import ObserverPolicy, expected_deference
from lmms_eval_tasks.prompts import prompt_text, wording_of
from lmms_eval_tasks.scoring import trial_of
from lmms_eval_tasks.scripted_observer import ScriptedObserver
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from metrics import measure_deference

MEASURES = ("S", "C", "J", "J0")


@pytest.fixture(scope="module")
def docs(release):
    probes = release.probes(16)
    return [d for p in probes for d in probe_documents(p, MAIN_CLAIMS, release.info.digest, len(probes))]


def frames(release, doc):
    store = release.frames(16)
    return [store.image(f) for f in doc["frames"]]


def test_a_perfect_reader_reads_every_probe_from_its_frames(release, docs):
    observer = ScriptedObserver(reading=1.0, deference=0.0)
    for doc in (d for d in docs if d["phase"] == "on_grid"):
        trial = trial_of(doc, observer.respond(frames(release, doc), prompt_text(doc)))
        assert trial.answer.option == trial.letter_of(trial.shown_order)


def test_a_deferrer_follows_every_claim(release, docs):
    observer = ScriptedObserver(reading=1.0, deference=1.0)
    for doc in (d for d in docs if d["claim"] == "strong"):
        trial = trial_of(doc, observer.respond(frames(release, doc), prompt_text(doc)))
        assert trial.answer.option == trial.letter_of(trial.claimed_order)


def test_without_events_only_the_prior_is_left(release, docs):
    for prior, first in ((1.0, True), (0.0, False)):
        observer = ScriptedObserver(reading=1.0, order_prior=prior)
        for doc in (d for d in docs if d["phase"] == "in_gap" and d["claim"] == "none"):
            letter = observer.respond(frames(release, doc), prompt_text(doc))
            option = next(o for o in wording_of(doc).options(doc["letters"]) if o.letter == letter)
            named_first = doc["e1_phrase"] if doc["named_order"] == "e1_first" else doc["e2_phrase"]
            assert (option.first == named_first) == first


def simulate(policy, docs):
    """Trials of a policy that is told what the frames show, much faster than looking at them."""
    trials = []
    for doc in docs:
        wording = wording_of(doc)
        question = wording.question()
        shown = "e1_first" if doc["twin"] == "+" else "e2_first"
        named = doc["named_order"]
        other = {"e1_first": "e2_first", "e2_first": "e1_first"}[named]
        seen = None if doc["phase"] == "in_gap" else ("first" if shown == named else "second")
        claimed = None if doc["claimed_order"] is None else ("first" if doc["claimed_order"] == named else "second")
        if policy.insists_on_a(doc["view"], question):
            letter = "A"
        else:
            order = named if policy.order(doc["view"], question, seen, claimed) == "first" else other
            letter = doc["letters"][0 if order == "e1_first" else 1]
        trials.append(trial_of(doc, letter))
    return trials


@pytest.mark.parametrize(
    "policy",
    [
        ObserverPolicy(0.9, 0.3, 0.5, 0.0),
        ObserverPolicy(0.6, 0.7, 0.9, 0.2),
        ObserverPolicy(1.0, 0.0, 0.2, 0.5),
        ObserverPolicy(0.0, 0.5, 1.0, 0.1),
    ],
)
def test_closed_form_by_simulation(policy, docs, release):
    """The mean over 40 seeds lies within 4 standard errors of the closed form, for all eight numbers."""
    agreements = [p.probe.claimed_order == p.probe.named_order for p in release.probes(16)]
    expected = expected_deference(policy, agreements)
    for phase in ("on_grid", "in_gap"):
        rows = []
        for seed in range(40):
            trials = simulate(ObserverPolicy(**{**vars(policy), "seed": seed}), docs)
            result = measure_deference(trials, phase, resamples=0)
            rows.append([getattr(result, m).value for m in MEASURES])
        mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(40)
        for measure, m, e in zip(MEASURES, mean, error, strict=True):
            assert abs(m - getattr(expected[phase], measure)) <= 4 * e + 1e-9, (phase, measure, m)
        if phase == "in_gap":
            assert all(row[2:] == [0.0, 0.0] for row in rows)


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 8))
def test_closed_form_identities(reading, deference, prior, bias, agreeing):
    expected = expected_deference(ObserverPolicy(reading, deference, prior, bias), [i < agreeing for i in range(8)])
    for phase in expected.values():
        assert pytest.approx(phase.C - phase.S) == phase.J
        assert 0 <= phase.S <= phase.C <= 1
    assert pytest.approx((1 - bias) * (1 - deference) * reading) == expected["on_grid"].J
    assert expected["in_gap"].J == 0 and expected["in_gap"].J0 == 0


def test_parameters_are_checked():
    for wrong in ({"reading": 1.5}, {"deference": -0.1}, {"defernce": 0.5}):
        with pytest.raises(RunStopped, match="scripted_observer"):
            ScriptedObserver(**wrong)


def test_real_clips_and_other_tasks_are_refused():
    observer = ScriptedObserver()
    real = (
        "Two brief events appear in this video: a person bowling at pins, and a golf swing. Which of them comes first?\n"
        "A. a person bowling at pins, then a golf swing\nB. a golf swing, then a person bowling at pins"
    )
    from PIL import Image

    with pytest.raises(RunStopped, match="recognises procedural events only"):
        observer.respond([Image.new("RGB", (64, 64))], real)
    with pytest.raises(RunStopped, match="questions of caved_or_convinced only"):
        observer.respond([], "What is shown? A. a cat B. a dog")
