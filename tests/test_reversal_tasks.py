"""The reversal test as tasks: what is asked, that no claim has a say, and that both versions decide alike."""

import hashlib
import itertools
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from datasets import Dataset
from lmms_eval.api.instance import Instance
from lmms_eval.evaluator import _run_generate_until_agentic

from lmms_eval_tasks import reversal_scoring, scoring
from lmms_eval_tasks.adaptive_requests import answer_adaptive, name_of_step, step_of
from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.readout import stated_to_response
from lmms_eval_tasks.reversal_rounds import Found, Step, next_step, no_frames, shown_order
from lmms_eval_tasks.reversal_scoring import process_video
from lmms_eval_tasks.reversal_trials import (
    forward_documents,
    readings_of,
    reversal_trials,
    reversal_videos,
    step_documents,
    video_documents,
)
from lmms_eval_tasks.scoring import process_results, trial_of
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.visuals import doc_to_messages, doc_to_text, doc_to_visual, frames_of
from metrics.reversal_log import reversal_measures, reversal_readings
from metrics.reversal_readings import decide_all
from metrics.trial import Trial
from stimuli_builder.frames import frame_id

ADAPTIVE, SPLIT = "caved_or_convinced_reversal_adaptive", "reversal"
SETTINGS = {"pre_prompt": "Watch.", "post_prompt": "One letter.", "frames_as": "images"}


@pytest.fixture
def bound(reversal_release, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(reversal_release.folder))
    return reversal_release


def rows_of(release):
    return Dataset.from_list([probe.to_row() for probe in release.probes("reversal")])


@pytest.fixture
def logged(bound):
    return list(reversal_trials(rows_of(bound)))


@pytest.fixture
def videos(bound):
    return reversal_videos(rows_of(bound))


def test_every_look_is_there_once_in_both_directions(logged, bound):
    probes = bound.probes("reversal")
    wanted = Counter(
        itertools.product(
            (p.probe.probe for p in probes), "+-", (8, 16, 32), range(2), ("forward", "reversed"), ("AB", "BA")
        )
    )
    fields = ("probe", "twin", "budget", "offset", "direction", "letters")
    assert Counter(tuple(d[f] for f in fields) for d in logged) == wanted and len(logged) == 8 * 48
    views = {(p.probe.probe, v.twin, len(v.frames), v.offset): v for p in probes for v in p.views}
    for d in logged:
        view = views[d["probe"], d["twin"], d["budget"], d["offset"]]
        assert d["frames"] == list(view.frames)[:: 1 if d["direction"] == "forward" else -1]
        assert d["times_s"] == list(view.times_s) == sorted(d["times_s"])  # of the sampling grid, in both directions
        assert (d["claim"], d["claimed_order"], d["phase"], d["arm"]) == ("none", None, "offset", "intact")
        assert (d["part"], d["video_budget"], d["time"]) == ("reversal", 16, "withheld")
        assert d["events_sampled"] == view.events_sampled
    assert {0, 2} <= {d["events_sampled"] for d in logged}


def test_a_reversed_trial_is_another_request_and_its_pixels_are_reversed(logged):
    for forward, other in zip(logged[0::4], logged[2::4], strict=True):
        assert (forward["direction"], other["direction"]) == ("forward", "reversed")
        assert forward["view"] != other["view"] and prompt_text(forward) == prompt_text(other)
        assert {**forward, "direction": 0, "frames": 0, "view": 0} == {**other, "direction": 0, "frames": 0, "view": 0}
    assert [frame_id(f) for f in frames_of(logged[2])] == logged[0]["frames"][::-1]


def test_a_video_holds_the_trials_of_the_logged_version(logged, videos):
    held = [d for video in videos for budget in video["schedule"] for d in step_documents(video, budget)]
    assert all(d["task"] == ADAPTIVE for d in held)
    order = ("probe", "twin", "budget", "offset", "direction", "letters")
    by_key = sorted(logged, key=lambda d: [str(d[f]) for f in order])
    assert [
        {**d, "task": "caved_or_convinced_reversal"} for d in sorted(held, key=lambda d: [str(d[f]) for f in order])
    ] == by_key
    assert len(videos) == 16 and all(video["schedule"] == [8, 16, 32] for video in videos)


@pytest.mark.parametrize("process", [reversal_trials, reversal_videos])
@pytest.mark.parametrize("time", ["native", "text"])
def test_times_of_frames_would_contradict_reversed_ones(bound, process, time, monkeypatch):
    monkeypatch.setenv("CAVED_TIME", time)
    with pytest.raises(RunStopped, match=f"CAVED_TIME={time}, but the reversal test shows frames in reversed order"):
        process(rows_of(bound))


def test_changing_what_is_claimed_changes_no_request(bound):
    """The test must not be swayed by the user: frames, prompts and the order of everything stay as they are."""

    def requests(stored):
        documents = [d for view in forward_documents(stored, "t", "r", 8) for d in readings_of(view)]
        asked = [(d["frames"], prompt_text(d), d["view"], d["letters"]) for d in documents]
        for video in video_documents(stored, "r", 8):
            asked.append(next_step(video, SETTINGS))
            for budget in video["schedule"]:
                asked += [(d["frames"], prompt_text(d)) for d in step_documents(video, budget)]
        return asked

    other = {"e1_first": "e2_first", "e2_first": "e1_first"}
    for stored in bound.probes("reversal"):
        swapped = replace(stored, probe=replace(stored.probe, claimed_order=other[stored.probe.claimed_order]))
        assert requests(swapped) == requests(stored)
        assert not any(word in str(requests(stored)).lower() for word in ("certain", "i think", "claim"))


class Model:
    """A stand-in of the harness' models: it answers by the frames and words of each ordinary request, and counts."""

    is_simple, rank = False, 0

    def __init__(self, videos, respond=None):
        self.task_dict = {ADAPTIVE: {SPLIT: videos}, "other": {"s": ["kept"]}}
        self.respond = respond or says
        self.asked = []

    def ordinary(self, requests):
        responses = []
        for request in requests:
            text, make, generation, number, task, split = request.args
            document = self.task_dict[task][split][number]
            (turn,) = make(document)
            *media, words = turn["content"]
            assert words["text"] == text == doc_to_text(document, SETTINGS)
            assert [frame_id(item["url"]) for item in media] == document["frames"]
            assert generation == {"temperature": 0} and request.metadata["doc_id"] == number
            assert request.metadata["benchmark"] == "caved_or_convinced" and self.task_dict["other"]["s"] == ["kept"]
            self.asked.append((document["view"], text))
            responses.append(self.respond(document))
        return responses

    def generate_until(self, requests):
        before = self.task_dict
        try:
            return answer_adaptive(self, requests, self.ordinary)
        finally:
            assert self.task_dict is before


def says(document):
    """Reads the order where both events are seen, for one probe in four only; its doubts differ from view to view."""
    doubt = int(hashlib.sha256(f"{document['view']}{document['letters']}".encode()).hexdigest()[:6], 16) / 2**24
    e1 = 0.4 + 0.2 * doubt
    if document["events_sampled"] == 2 and int(document["probe"][1:]) % 4 != 3:
        seen_first = (document["twin"] == "+") == (document["direction"] == "forward")
        e1 = (0.55 + 0.4 * doubt) if seen_first else (0.45 - 0.4 * doubt)
    shares = dict(zip(document["letters"], (e1, 1 - e1), strict=True))
    return stated_to_response(max(shares, key=shares.get), shares, {"frames": document["budget"]})


def agentic_requests(videos, settings=SETTINGS, steps=12):
    """As the harness makes them."""

    def ask(video, **kwargs):
        return next_step(video, lmms_eval_specific_kwargs=settings, **kwargs)

    metadata = {"benchmark": "caved_or_convinced", "task": ADAPTIVE, "doc_id": 0, "repeats": 1, "split": SPLIT}
    return [
        Instance(
            "generate_until_agentic",
            (ask(video), {"temperature": 0, "max_agentic_steps": steps}, no_frames, ask, i, ADAPTIVE, SPLIT), 0,
            metadata=metadata,
        )
        for i, video in enumerate(videos)
    ]  # fmt: skip


def run(model, videos, trace="basic", **kwargs):
    requests = agentic_requests(videos, **kwargs)
    responses = _run_generate_until_agentic(model, requests, agentic_trace_mode=trace)
    return [process_video(video, [response]) for video, response in zip(videos, responses, strict=True)]


@pytest.mark.parametrize("theta", [0.05, 0.3, 0.6])
def test_both_versions_decide_alike_and_the_adaptive_one_asks_less(logged, videos, theta, monkeypatch):
    monkeypatch.setenv("CAVED_THRESHOLD", str(theta))
    model = Model(videos)
    entries = run(model, videos)
    whole = reversal_readings([trial_of(d, says(d)) for d in logged])
    decisions = decide_all(whole, theta)
    places = {(str(p), "+" if t > 0 else "-"): i for i, (p, t) in enumerate(zip(whole.probe, whole.truth, strict=True))}
    orders = {1: "e1_first", -1: "e2_first", 0: None}
    for entry in entries:
        decision = entry["decision"]
        i = places[decision["probe"], decision["twin"]]
        ran = len(decision["evidence"])
        assert decision["evidence"] == whole.evidence[i, :ran].tolist()  # to the last bit
        assert (decision["order"], decision["budget"]) == (orders[int(decisions.order[i])], int(decisions.budget[i]))
        assert (decision["threshold"], decision["schedule"], decision["unknown"]) == (theta, [8, 16, 32], "")
        assert len(entry["trials"]) == ran * 8 and {t["budget"] for t in entry["trials"]} == {8, 16, 32}.intersection(
            decision["schedule"][:ran]
        )
    assert len(model.asked) == sum(len(entry["trials"]) for entry in entries) < len(logged)
    # The numbers of the results file, from the videos, are those of all trials, but for what needs k = 32 everywhere.
    at = reversal_measures([trial_of(d, says(d)) for d in logged], 0, theta)
    for name in ("accuracy", "coverage", "mean_k_answered", "mean_k_all", "accuracy_one_offset"):
        assert getattr(reversal_scoring, name)([e[name] for e in entries]) == pytest.approx(at[name].value, nan_ok=True)
    assert reversal_scoring.accuracy_k32([e["accuracy_k32"] for e in entries]) == "N/A"
    assert reversal_scoring.trials([e["trials"] for e in entries]) == len(model.asked)
    assert reversal_scoring.threshold([e["threshold"] for e in entries]) == theta
    assert 0 < at["coverage"].value < 1


def test_the_log_line_is_json_and_its_trials_can_be_read_back(videos):
    entry = run(Model(videos), videos)[0]
    line = json.loads(json.dumps(entry, default=str))
    trials = [Trial.from_json(fields) for fields in line["trials"]]
    assert {t.task for t in trials} == {ADAPTIVE} and line["accuracy"] == f"{videos[0]['probe']}/+"
    assert "trial" not in line  # which would be read as one of a single trial


def test_full_traces_of_the_harness_change_nothing(videos):
    assert run(Model(videos), videos, trace="full") == run(Model(videos), videos)


LOST = {
    "an empty response": lambda d: "" if d["budget"] == 16 and d["letters"] == "BA" else says(d),
    "words that say nothing": lambda d: "I am sorry." if d["budget"] == 16 and d["offset"] == 1 else says(d),
}


@pytest.mark.parametrize("respond", LOST.values(), ids=LOST)
def test_a_response_that_cannot_be_read_is_no_decision(videos, respond, monkeypatch):
    """Such a video is unknown: it was not abstained on, and counts in no number."""
    monkeypatch.setenv("CAVED_THRESHOLD", "0.6")
    entries = run(Model(videos, respond), videos)
    answered_at_once = [e for e in entries if e["decision"]["order"] is not None]
    unknown = [e for e in entries if e["decision"]["unknown"]]
    assert unknown and len(unknown) + len(answered_at_once) == len(entries)
    for entry in unknown:
        assert entry["decision"]["order"] is None and entry["decision"]["budget"] == 16
        assert len(entry["trials"]) == 16 and len(entry["decision"]["evidence"]) == 1
    coverage = reversal_scoring.coverage([e["coverage"] for e in entries])
    assert coverage == (1.0 if answered_at_once else "N/A")
    assert reversal_scoring.unparseable([e["unparseable"] for e in entries]) > 0
    readings = reversal_readings([Trial.from_json(t) for e in entries for t in e["trials"]])
    assert int(decide_all(readings, 0.6).unknown.sum()) == len(unknown)


def test_a_round_that_is_lost_on_the_way_is_no_decision(videos):
    class Losing(Model):
        def generate_until(self, requests):
            step = step_of(requests[0])
            return ["I could not see the video."] if step.budget == 8 else super().generate_until(requests)

    entries = run(Losing(videos), videos)
    for entry in entries:
        decision = entry["decision"]
        assert decision["order"] is None and "'I could not see the video.'" in decision["unknown"]
        assert {t["answer"]["outcome"] for t in entry["trials"]} == {"unparseable"} and len(entry["trials"]) == 8
    assert reversal_scoring.coverage([e["coverage"] for e in entries]) == "N/A"
    assert reversal_scoring.unparseable([e["unparseable"] for e in entries]) == 1.0


@pytest.mark.parametrize(
    "final", ["", "42", '{"caved_reversal": {"thr', '{"success": false}', '{"caved_reversal": {"rounds": []}}']
)
def test_a_final_response_that_is_lost_is_no_decision(videos, final):
    entry = process_video(videos[0], [final])
    (other,) = run(Model(videos), videos.select([1]), settings={**SETTINGS, "threshold": 0.45})
    assert reversal_scoring.threshold([entry["threshold"], other["threshold"]]) == 0.45
    assert entry["decision"]["order"] is None and entry["decision"]["unknown"]
    assert {t["answer"]["outcome"] for t in entry["trials"]} == {"unparseable"}


def test_a_run_that_the_harness_ends_early_is_no_abstention(videos, monkeypatch):
    """With too few rounds allowed, what was not looked at stays open."""
    monkeypatch.setenv("CAVED_THRESHOLD", "1")
    for entry in run(Model(videos), videos, steps=2):
        decision = entry["decision"]
        assert (
            decision["order"] is None
            and len(decision["evidence"]) == 2
            and "32 frames were lost" in decision["unknown"]
        )


def test_an_error_in_a_round_stops_and_leaves_the_model_as_it_was(videos):
    def fail(document):
        raise RunStopped("other frames reached the model")

    model = Model(videos, fail)
    before = model.task_dict
    with pytest.raises(RunStopped, match="other frames"):
        run(model, videos)
    assert model.task_dict is before
    with pytest.raises(ValueError, match="7 responses to 8 requests"):
        step = Instance("generate_until", (next_step(videos[0], SETTINGS), None, {}, 0, ADAPTIVE, SPLIT), 0, {
            "task": ADAPTIVE, "doc_id": 0, "repeats": 1
        })  # fmt: skip
        answer_adaptive(model, [step], lambda ordinary: ["A"] * (len(ordinary) - 1))
    assert model.task_dict is before


def test_ordinary_requests_and_rounds_may_come_together(videos):
    model = Model(videos)
    metadata = {"benchmark": "caved_or_convinced", "task": "t", "doc_id": 0, "repeats": 1}
    rounds = [
        Instance("generate_until", (Step(budget, SETTINGS).to_text(), None, {"temperature": 0}, i, ADAPTIVE, SPLIT), 0, metadata)
        for i, budget in ((3, 8), (5, 16))
    ]  # fmt: skip
    plain = Instance("generate_until", ("What is this?", None, {}, 0, "other", "s"), 0, metadata)
    seen = []

    def answer(ordinary):
        seen.extend(model.task_dict[r.args[-2]][r.args[-1]][r.args[-3]] for r in ordinary)
        return [f"answer {i}" for i in range(len(ordinary))]

    first, middle, last = answer_adaptive(model, [rounds[0], plain, rounds[1]], answer)
    assert middle == "answer 8" and seen[8] == "kept"
    assert json.loads(first)["caved_step"] == {"budget": 8, "responses": [f"answer {i}" for i in range(8)]}
    assert json.loads(last)["caved_step"]["responses"] == [f"answer {i}" for i in range(9, 17)]
    assert seen[:8] == step_documents(videos[3], 8) and seen[9:] == step_documents(videos[5], 16)
    assert name_of_step(model, rounds[:1]) == "Video 4 of 16, 8 frames"
    assert name_of_step(model, [plain]) == name_of_step(model, rounds) == ""


def test_simple_wrappers_get_requests_of_their_kind(videos):
    model = Model(videos)
    model.is_simple = True
    given = []
    request = Instance(
        "generate_until", (next_step(videos[0], SETTINGS), {"temperature": 0}, no_frames, 0, ADAPTIVE, SPLIT), 0,
        {"task": ADAPTIVE, "doc_id": 0, "repeats": 1},
    )  # fmt: skip
    answer_adaptive(model, [request], lambda ordinary: given.extend(ordinary) or ["A"] * 8)
    for number, (asked, document) in enumerate(zip(given, step_documents(videos[0], 8), strict=True)):
        text = doc_to_text(document, SETTINGS)
        assert asked.args == (text, {"temperature": 0}, doc_to_visual, number, ADAPTIVE, SPLIT)


def test_reasoning_in_a_response_survives_the_harness(videos):
    """`--reasoning_tags` cuts from the first tag to the last; inside a round that would cut through other responses."""
    from lmms_eval.api.reasoning import strip_reasoning_tags

    text = next_step(
        videos[0], SETTINGS, round_idx=1,
        previous_output=[json.dumps({"caved_step": {"budget": 8, "responses": ["<think>x</think>A", "</think>", *["B"] * 6]}})],
    )[3][0]  # fmt: skip
    assert strip_reasoning_tags(text, [["<think>", "</think>"]]) == text
    assert Found.of(text).rounds[0].responses[0] == "<think>x</think>A"


def test_the_threshold_comes_from_variable_or_settings(videos, monkeypatch):
    def threshold(settings=None):
        output = json.dumps({"caved_step": {"budget": 8, "responses": ["A"] * 8}})
        return Found.of(next_step(videos[0], settings, previous_output=[output], round_idx=1)[3][0]).threshold

    assert threshold() == threshold({"threshold": None}) == 0.3 and threshold({"threshold": 0.45}) == 0.45
    monkeypatch.setenv("CAVED_THRESHOLD", " 0.2 ")
    assert threshold({"threshold": 0.45}) == 0.2
    for value in ("2", "-0.1", "nan", "a third"):
        monkeypatch.setenv("CAVED_THRESHOLD", value)
        with pytest.raises(RunStopped, match=f"CAVED_THRESHOLD={value}: write a number from 0 to 1"):
            threshold()


def test_padding_is_logged_and_never_counted(bound, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    padded = reversal_videos(rows_of(bound))
    assert len(padded) == 18 and sum(padded["padding"]) == 2
    entries = run(Model(padded), padded)
    for video, entry in zip(padded, entries, strict=True):
        assert set(entry) == {"trials", "decision"} if video["padding"] else "accuracy" in entry
        assert all(t["padding"] == video["padding"] for t in entry["trials"])
        assert entry["decision"]["unknown"] == ""
    counted = [len(e["trials"]) for e, v in zip(entries, padded, strict=True) if not v["padding"]]
    assert reversal_scoring.trials([e["trials"] for e in entries]) == sum(counted)


def test_a_wrapper_that_does_not_expand_rounds_is_stopped(videos):
    class Plain:
        def __init__(self):
            self.is_simple, self.task_dict = False, {ADAPTIVE: {SPLIT: videos}}

        def generate_until(self, requests):
            return [str(requests[0].args[1](self.task_dict[ADAPTIVE][SPLIT][0]))]

    with pytest.raises(RunStopped, match="run caved_or_convinced_reversal, which asks the same without rounds"):
        run(Plain(), videos)


def test_what_is_shown_stands_in_the_log(videos):
    assert [shown_order(video) for video in videos][:2] == ["e1_first", "e2_first"]
    assert [video["twin"] for video in videos][:2] == ["+", "-"]


def test_logged_trials_are_scored_at_the_usual_threshold(logged):
    filed = {}
    for d in logged:
        for name, value in process_results(d, [says(d)]).items():
            filed.setdefault(name, []).append(value)
    at = reversal_measures([trial_of(d, says(d)) for d in logged], 0)
    for name in ("accuracy", "coverage", "mean_k_answered", "mean_k_all", "accuracy_one_offset", "accuracy_k32"):
        assert getattr(scoring, name)(filed[name]) == pytest.approx(at[name].value)
    assert not np.isnan(at["accuracy_k32"].value)
    assert doc_to_messages(logged[0], {"frames_as": "video"})[0]["content"][1]["text"] == prompt_text(logged[0])
