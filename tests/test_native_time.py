"""A model with or without a channel of its own for times: all of its native trials are answered, or none."""

import json
from types import SimpleNamespace

import pytest
from test_next_token import PROMPTS, WORDS, make_model
from test_next_token import tokenizer as tokenizer  # a fixture

from lmms_eval_tasks import wrapped_models
from lmms_eval_tasks.checkpoint_facts import settings_of
from lmms_eval_tasks.readout import unavailable_of
from lmms_eval_tasks.scoring import trial_of
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.time_channel import SeenTime

TIMES_S = [1.0, 8.5, 16.0, 23.5]
TOLD, UNTOLD = SeenTime((), 15.0), SeenTime((), 1.0)
TIME, MAIN = "caved_or_convinced_time", "caved_or_convinced"


def document(number, time, task):
    return {
        "task": task, "part": 4, "release": "r", "release_probes": 1, "release_offsets": 0, "probe": f"p{number % 3}",
        "video_budget": 4, "budget": 4, "arm": "intact", "twin": "+", "phase": "on_grid", "offset": None, "direction": "forward",
        "events_sampled": 2, "claim": "none", "claimed_order": None, "named_order": "e1_first", "letters": "AB",
        "time": time, "times_s": TIMES_S, "e1_phrase": "a red circle", "e2_phrase": "a blue star",
        "frames": [f"{number}-{i}" for i in range(4)], "view": f"v{number}", "padding": False,
    }  # fmt: skip


class Wrapper:
    """One request after the other; `tells` says what the model sees of times in its n-th native request."""

    batch_size = 1

    def __init__(self, words, documents, tells):
        self.tokenizer, self.model, self.tells = words, make_model(), tells
        self.task_dict = {"t": {"s": documents}}
        self.native = self.others = 0
        self.seen = UNTOLD

    def generate_until(self, requests):
        import torch

        answers = []
        for request in requests:
            if self.task_dict["t"]["s"][request.args[3]]["time"] == "native":
                self.native += 1
                self.seen = self.tells(self.native)
            else:
                self.others += 1
                self.seen = UNTOLD
            out = self.model.generate(input_ids=torch.tensor([PROMPTS[request.args[3] % 4]]), max_new_tokens=2)
            answers.append("".join(WORDS[i] for i in out[0, 4:].tolist()))
        return answers


@pytest.fixture
def ask(tokenizer, monkeypatch):
    monkeypatch.setattr("lmms_eval_tasks.checked_answers.check_prompt", lambda *_: None)
    monkeypatch.setenv("CAVED_SHARE", "off")

    def run(times, tells=lambda n: TOLD, task=TIME, kind=Wrapper):
        """What a wrapper of some kind responds to documents of these times, and the wrapper."""
        wrapper = kind(tokenizer, [document(i, time, task) for i, time in enumerate(times)], tells)
        monkeypatch.setattr("lmms_eval_tasks.next_token.seen_time", lambda *_: wrapper.seen)
        mark = {"benchmark": "caved_or_convinced"}
        requests = [
            SimpleNamespace(args=(f"prompt {time}", None, {}, i, "t", "s"), metadata=mark)
            for i, time in enumerate(times)
        ]
        return wrapped_models._generate_until(kind, wrapper, requests), wrapper

    return run


TIMES = ("withheld", "native", "text") * 4


def test_a_model_with_a_channel_answers_all(ask):
    responses, wrapper = ask(TIMES)
    assert (wrapper.native, wrapper.others) == (4, 8) and not any(map(unavailable_of, responses))
    channels = [json.loads(r)["receipt"]["time"]["channel"] for r in responses]
    assert channels == list(TIMES)


def test_a_model_without_one_is_asked_once_and_answers_the_rest(ask):
    """The first native request decides, before anything else is computed; the others are never put to the model."""
    order = []

    def tells(n):
        order.append("native")
        return UNTOLD

    responses, wrapper = ask(TIMES, tells)
    assert (wrapper.native, wrapper.others, order) == (1, 8, ["native"])
    for time, response in zip(TIMES, responses, strict=True):
        assert bool(unavailable_of(response)) == (time == "native")
        trial = trial_of(document(0, time, TIME), response)
        assert trial.unavailable == unavailable_of(response)
        assert (trial.answer.outcome == "unparseable") == (time == "native") == (trial.receipt is None)
    assert "it has no channel of its own" in unavailable_of(responses[1])


def test_the_request_that_decides_comes_first(ask):
    """Whoever has to know that a model fails there learns it at once, not after hours."""

    class Failing(Wrapper):
        def generate_until(self, requests):
            documents = [self.task_dict["t"]["s"][r.args[3]] for r in requests]
            if any(d["time"] == "native" for d in documents):
                assert self.others == 0
                raise RuntimeError("this processor takes no times")
            return super().generate_until(requests)

    with pytest.raises(RuntimeError, match="takes no times"):
        ask(TIMES, kind=Failing)


def test_false_stamps_are_no_channel(ask):
    made_up = SeenTime(("0.0", "0.5", "1.0", "1.5"))
    responses, wrapper = ask(TIMES, lambda n: made_up)
    assert wrapper.native == 1 and "are not their times" in unavailable_of(responses[1])


def test_a_channel_that_fails_after_it_worked_stops_the_run(ask):
    with pytest.raises(RunStopped, match="time: native, but no true time reached this model"):
        ask(TIMES, lambda n: TOLD if n < 3 else UNTOLD)


def test_other_tasks_stop_without_a_channel(ask):
    with pytest.raises(RunStopped, match=r"no true time reached this model.*use time: text"):
        ask(TIMES, lambda n: UNTOLD, task=MAIN)


def test_a_trial_of_the_main_task_makes_it_a_must_for_all(ask):
    """With CAVED_TIME=native and both tasks in one run, the main task's trials would be missing."""

    class Both(Wrapper):
        def __init__(self, words, documents, tells):
            super().__init__(words, [{**d, "task": MAIN if i == 7 else TIME} for i, d in enumerate(documents)], tells)

    with pytest.raises(RunStopped, match="no true time reached this model"):
        ask(TIMES, lambda n: UNTOLD, kind=Both)


def test_answers_of_an_earlier_run_prove_the_channel(ask, tmp_path, monkeypatch):
    """A run that is taken up must not find half of its native trials unavailable."""
    monkeypatch.setenv("CAVED_ANSWERS", str(tmp_path))
    monkeypatch.setenv("CAVED_SHARE", "on")  # views are handed on one by one
    times = ("withheld", "native", "native", "native")

    class Stops(Wrapper):
        def generate_until(self, requests):
            if self.native == 2:
                raise KeyboardInterrupt
            return super().generate_until(requests)

    Stops.__name__ = Stops.__qualname__ = "Wrapper"
    with pytest.raises(KeyboardInterrupt):
        ask(times, kind=Stops)
    assert len(list(tmp_path.rglob("answers_0.jsonl"))) == 1
    with pytest.raises(RunStopped, match="no true time reached this model"):
        ask(times, lambda n: UNTOLD)
    responses, wrapper = ask(times)
    assert not any(map(unavailable_of, responses)) and wrapper.native < 3
    assert "unavailable" not in "".join(path.read_text() for path in tmp_path.rglob("answers_*.jsonl"))


@pytest.mark.parametrize("why", ["switch", "no generate"])
def test_text_does_not_show_whether_times_arrived(ask, why, monkeypatch):
    class Says(Wrapper):
        def generate_until(self, requests):
            if why == "switch":
                assert not any(self.task_dict["t"]["s"][r.args[3]]["time"] == "native" for r in requests)
            return ["B" for _ in requests]

    if why == "switch":
        monkeypatch.setenv("CAVED_READOUT", "text")
    responses, _ = ask(TIMES, kind=Says)
    assert responses[::3] == responses[2::3] == ["B"] * 4
    assert all("read from its text" in unavailable_of(r) for r in responses[1::3])
    with pytest.raises(RunStopped, match=r"time: native, but a model that is read from its text.*use time: text"):
        ask(TIMES, kind=Says, task=MAIN)


def test_served_models_have_none(ask, monkeypatch):
    from lmms_eval_tasks import answering
    from lmms_eval_tasks.readout import stated_to_response

    asked = []

    def read_served(wrapper, base, requests, finished):
        asked.extend(wrapper.task_dict["t"]["s"][r.args[3]]["time"] for r in requests)
        finished([(r, stated_to_response("A", {"A": 0.9, "B": 0.1}, {"frames": 4})) for r in requests])

    monkeypatch.setattr(answering, "serves", lambda _: True)
    monkeypatch.setattr(answering, "read_served", read_served)
    responses, _ = ask(TIMES)
    assert sorted(asked) == ["text"] * 4 + ["withheld"] * 4
    assert all("a served model gets its frames as images" in unavailable_of(r) for r in responses[1::3])
    with pytest.raises(RunStopped, match=r"a served model gets its frames as images.*use time: text"):
        ask(TIMES, task=MAIN)


def test_shared_work_changes_nothing_of_it(ask, monkeypatch):
    monkeypatch.setenv("CAVED_SHARE", "on")
    responses, wrapper = ask(TIMES, lambda n: UNTOLD)
    assert wrapper.native == 1 and sum(bool(unavailable_of(r)) for r in responses) == 4


def test_rounds_of_a_run_are_read_in_one_way(ask, monkeypatch):
    """Probabilities for some videos and letters for others would be two measures in one number."""
    from lmms_eval_tasks import answering

    class Changing(Wrapper):
        def generate_until(self, requests):
            if self.others:
                return ["B" for _ in requests]
            return super().generate_until(requests)

    _, wrapper = ask(("withheld",), kind=Changing)
    mark = {"benchmark": "caved_or_convinced"}
    wrapper.others = 0
    before = settings_of(wrapper)
    for number in range(2):
        request = SimpleNamespace(args=(f"prompt {number}", None, {}, 0, "t", "s"), metadata=mark)
        if number:
            with pytest.raises(
                RunStopped, match="was read from probabilities in earlier rounds, and is now read from its"
            ):
                answering.answer(wrapper, Changing, [request], "round 2")
        else:
            answering.answer(wrapper, Changing, [request], "round 1")
    assert {**settings_of(wrapper), "others": 0} == before  # nothing that answers are kept by
