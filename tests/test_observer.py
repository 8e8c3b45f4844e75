"""The control model: it sees frames and prompt alone, and has the tendencies that it was given."""

import json
import math
from dataclasses import fields, replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval.api.instance import Instance
from lmms_eval.utils import simple_parse_args_string
from observer_runs import documents_of, tasks_of
from PIL import Image

from lmms_eval_tasks.expected_deference import expected_deference, sight_of
from lmms_eval_tasks.observer_policy import ObserverPolicy, Sight
from lmms_eval_tasks.prompts import prompt_text, wording_of
from lmms_eval_tasks.reversal_trials import LOGGED
from lmms_eval_tasks.scoring import trial_of
from lmms_eval_tasks.scripted_observer import ScriptedObserver, _sight
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.trials import TASK
from lmms_eval_tasks.visuals import doc_to_messages, frames_in_memory
from stimuli_builder.build import build_release
from stimuli_builder.release import open_release

SEEN = Sight("view", "question", 16, ("second", "first"))


@pytest.fixture(scope="module")
def docs(release):
    return documents_of(release, TASK)


@pytest.fixture(scope="module")
def paper_release(tmp_path_factory, catalogue):
    out = tmp_path_factory.mktemp("paper") / "release"
    return build_release(catalogue, out, (16,), 8, 11, 28, "mit", workers=1, reversal_offsets=4)


@cache
def opened(folder, part):
    return open_release(folder).frames(part)


def frames(release, doc):
    return [opened(release.folder, doc["part"]).image(f) for f in doc["frames"]]


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


def test_it_sees_in_pixels_what_the_release_says_of_every_view(paper_release):
    """All arms, phases, offsets and directions, on the smallest canvas; two frames of one event at 32 of k = 16."""
    kinds = set()
    for task in tasks_of(paper_release):
        stored = {p.probe.probe: p for p in paper_release.probes("reversal" if task == LOGGED else 16)}
        hashes: dict[str, str] = {}
        for doc in documents_of(paper_release, task):
            if doc["letters"] == "BA" or doc["time"] == "native":
                continue
            probe = stored[doc["probe"]]
            (view,) = [
                v
                for v in probe.views
                if (v.arm, v.twin, v.phase, v.offset) == tuple(doc[n] for n in ("arm", "twin", "phase", "offset"))
                and len(v.frames) == doc["budget"]
            ]
            wanted = sight_of(probe.probe, view, doc["claim"], doc["time"], doc["direction"])
            named = (probe.probe.e1.phrase, probe.probe.e2.phrase)
            named = named if doc["named_order"] == "e1_first" else named[::-1]
            seen = _sight(frames(paper_release, doc), prompt_text(doc), wording_of(doc).question(), named)
            assert replace(seen, view=wanted.view) == wanted, doc
            # equal frames look equal to it, and only they
            assert hashes.setdefault(doc["view"], seen.view) == seen.view
            several = any(view.kinds.count(kind) > 1 for kind in ("e1", "e2"))
            kinds.add((doc["arm"], doc["budget"], len(seen.events), several))
        assert len(set(hashes.values())) == len(hashes)
    assert {("early_only", 16, 1, False), ("late_only", 16, 1, False), ("no_events", 16, 0, False)} <= kinds
    assert ("intact", 32, 2, True) in kinds and ("intact", 8, 1, False) in kinds


def test_two_events_in_one_frame_have_no_order():
    red, blue = (214, 32, 38), (34, 76, 222)
    both = Image.new("RGB", (64, 64), red)
    both.paste(blue, (0, 0, 64, 32))
    plain = {"red": Image.new("RGB", (64, 64), red), "blue": Image.new("RGB", (64, 64), blue)}
    named = ("a red circle", "a blue star")
    assert _sight([both, plain["red"]], "", "", named).events == ()
    assert _sight([plain["blue"], both], "", "", named).events == ("second", "first")
    assert _sight([plain["blue"], plain["red"], plain["blue"]], "", "", named).events == ("second", "first")
    assert _sight([plain["blue"], plain["blue"]], "", "", named).events == ("second",)


def test_times_in_the_prompt_must_be_those_of_the_frames(release):
    doc = {**documents_of(release, TASK)[0], "time": "text"}
    shown = frames(release, doc)
    assert ScriptedObserver().respond(shown, prompt_text(doc)) in "AB"
    with pytest.raises(RunStopped, match="16 times of 16 frames, and there are 15"):
        ScriptedObserver().respond(shown[:-1], prompt_text(doc))


def test_tendencies_apply_where_they_are_documented_to():
    """Each with certainty, so that nothing but the order of the steps decides."""

    def first(sight, **tendencies):
        return ObserverPolicy(**{"reading": 0.0, "order_prior": 1.0, **tendencies}).order(sight)

    claim = {"claim": "strong", "claimed_first": "second"}
    none, one = replace(SEEN, events=()), replace(SEEN, events=("second",))
    assert first(SEEN) == first(one) == first(none) == "first"
    assert first(SEEN, reading=1.0) == "second" and first(one, reading=1.0) == first(none, reading=1.0) == "first"
    assert first(one, visible_first=1.0) == "second" and first(SEEN, visible_first=1.0) == "first"
    assert first(replace(none, **claim), deference=1.0) == "second"
    assert first(replace(none, **claim | {"claim": "mild"}), deference=1.0) == "second"
    assert first(replace(none, **claim | {"claim": "mild"}), deference=1.0, mild_deference=0.0) == "first"
    assert first(replace(none, **claim), mild_deference=1.0) == "first"
    assert first(replace(SEEN, times_told=True), reading=1.0) == "second"
    assert first(replace(SEEN, times_told=True), reading=1.0, reading_with_time=0.0) == "first"
    assert first(replace(SEEN, times_told=True), reading_with_time=1.0) == "second"


def test_what_each_draw_is_made_for():
    """The prior by view differs between views, by question it does not; other draws never see what is asked."""
    sights = [replace(SEEN, events=(), view=f"view {i}") for i in range(40)]
    by_view, by_question = (ObserverPolicy(prior_by=by) for by in ("view", "question"))
    assert {by_view.order(s) for s in sights} == {"first", "second"} and len(
        {by_question.order(s) for s in sights}
    ) == 1
    questions = [replace(sights[0], question=f"question {i}") for i in range(40)]
    assert {by_question.order(s) for s in questions} == {"first", "second"}
    policy = ObserverPolicy(deference=0.3, mild_deference=0.6)
    claimed = [replace(s, claimed_first="first") for s in sights]
    strong = {s.view for s in claimed if policy._happens(policy.deference_to("strong"), "defers", s.view, s.question)}
    mild = {s.view for s in claimed if policy._happens(policy.deference_to("mild"), "defers", s.view, s.question)}
    assert strong < mild  # who follows a strong claim with less probability than a mild one follows it on fewer views


def test_reading_dilutes_above_sixteen_frames_only():
    policy = ObserverPolicy(reading=0.8, dilution=1.0, reading_with_time=0.6)
    assert [policy.reading_of(k, False) for k in (8, 16, 32, 64)] == pytest.approx([0.8, 0.8, 0.4, 0.2])
    assert policy.reading_of(32, True) == pytest.approx(0.3)
    assert ObserverPolicy(reading=0.8).reading_of(64, False) == 0.8


def test_stated_confidence_goes_through_the_readout(release, docs):
    sure, silent = ScriptedObserver(reading=0.7, confidence=0.8, seed=4), ScriptedObserver(reading=0.7, seed=4)
    for doc in docs[:24]:
        shown, prompt = frames(release, doc), prompt_text(doc)
        stated, letter = sure.respond(shown, prompt), silent.respond(shown, prompt)
        trial = trial_of(doc, stated)
        assert trial.answer.option == letter
        assert trial.answer.option_probabilities == pytest.approx({letter: 0.8, "B" if letter == "A" else "A": 0.2})
        assert (trial.answer.rule, trial.answer.option_mass) == ("stated probabilities", 1.0)
        assert trial.receipt == {"frames": 16, "size_px": [64, 64]}
        assert trial_of(doc, letter).answer.option_probabilities is None
    assert json.loads(stated)["caved_readout"] == "stated"


def _requests(documents):
    return [
        Instance(
            request_type="generate_until",
            arguments=(prompt_text(d), doc_to_messages, {}, i, d["task"], "k16"),
            idx=0,
            metadata={"task": d["task"], "doc_id": i, "repeats": 1, "benchmark": "caved_or_convinced"},
        )
        for i, d in enumerate(documents)
    ]


def test_native_times_are_unavailable_to_it(release):
    """In the task that compares time channels; in any other the run stops, since nothing would be left."""
    documents = [d for d in documents_of(release, f"{TASK}_time") if d["probe"] == "p00000"]
    pixels = {f: opened(release.folder, 16).image(f) for d in documents for f in d["frames"]}
    observer = ScriptedObserver()
    with frames_in_memory(release.info.digest, pixels):
        observer.task_dict = {f"{TASK}_time": {"k16": documents}}
        trials = [trial_of(d, r) for d, r in zip(documents, observer.generate_until(_requests(documents)), strict=True)]
        assert {(t.time, bool(t.unavailable)) for t in trials} == {
            ("withheld", False),
            ("native", True),
            ("text", False),
        }
        other = [{**documents[0], "task": TASK, "time": "native"}]
        observer.task_dict = {TASK: {"k16": other}}
        with pytest.raises(RunStopped, match="time: native, but scripted_observer sees frames and prompt alone"):
            observer.generate_until(_requests(other))


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
    wrong = [{"reading": 1.5}, {"deference": -0.1}, {"defernce": 0.5}, {"reading": math.nan}, {"dilution": -1.0}]
    wrong += [{"confidence": 0.5}, {"confidence": 0.2}, {"confidence": 1.1}, {"prior_by": "frame"}, {"reading": "high"}]
    wrong += [{"mild_deference": 2.0}, {"reading_with_time": -1.0}, {"visible_first": 1.01}, {"dilution": math.inf}]
    for arguments in wrong:
        with pytest.raises(RunStopped, match="scripted_observer"):
            ScriptedObserver(**arguments)


def test_parameters_left_out_change_nothing():
    """Those of a claim's strength and of told times follow the others, so today's numbers stay what they are."""
    policy = ObserverPolicy(reading=0.7, deference=0.4)
    assert (policy.mild_deference, policy.reading_with_time) == (0.4, 0.7)
    assert ObserverPolicy(**vars(policy)) == policy
    assert (policy.visible_first, policy.dilution, policy.confidence, policy.prior_by) == (0, 0, 0, "view")


@settings(max_examples=50, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 4), st.integers(0, 10**9), st.sampled_from(("view", "question")))
def test_model_args_carry_a_policy_through_the_command(reading, mild, dilution, seed, prior_by):
    policy = ObserverPolicy(reading=reading, mild_deference=mild, dilution=dilution, seed=seed, prior_by=prior_by)
    arguments = simple_parse_args_string(policy.model_args())
    assert set(arguments) == {field.name for field in fields(policy)}
    back = ObserverPolicy(**arguments)
    assert back == policy and type(back.seed) is int


def test_real_clips_and_other_tasks_are_refused():
    observer = ScriptedObserver()
    real = (
        "Two brief events appear in this video: a person bowling at pins, and a golf swing. Which of them comes first?\n"
        "A. a person bowling at pins, then a golf swing\nB. a golf swing, then a person bowling at pins"
    )
    with pytest.raises(RunStopped, match="recognises procedural events only"):
        observer.respond([Image.new("RGB", (64, 64))], real)
    with pytest.raises(RunStopped, match="questions of caved_or_convinced only"):
        observer.respond([], "What is shown? A. a cat B. a dog")
