"""Served models through the real command: probabilities with bounds, the same as in memory, or an honest fallback."""

import pytest
from harness import lmms_eval
from openai_server import openai_server, write_soft_qwen

from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from metrics.table import describe_run
from stimuli_builder.build import build_release

pytestmark = pytest.mark.slow

TASK = ("--tasks", "caved_or_convinced_k8")
ENVIRONMENT = {"OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}


@pytest.fixture(scope="module")
def small_release(catalogue, tmp_path_factory):
    return build_release(catalogue, tmp_path_factory.mktemp("served") / "release", (8,), 1, 7, 112, "mit", workers=1)


@pytest.fixture(scope="module")
def checkpoint(small_release, tmp_path_factory):
    store = small_release.frames(8)
    docs = probe_documents(small_release.probes(8)[0], MAIN_CLAIMS, small_release.info.digest, 1)
    asked = [(prompt_text(doc), [store.image(f) for f in doc["frames"]]) for doc in docs]
    return write_soft_qwen(tmp_path_factory.mktemp("soft") / "tiny", asked)


def arguments(model_id, url):
    return f"model=tiny,base_url={url},api_key=none,max_retries=1,retry_backoff_s=0"


@pytest.mark.parametrize("model_id", ["openai", "async_openai"])
def test_a_served_model_answers_with_probabilities(model_id, checkpoint, small_release, tmp_path):
    command = (*TASK, "--model", model_id, "--model_args")
    with openai_server(checkpoint) as (url, behaviour):
        done = lmms_eval(
            tmp_path, *command, arguments(model_id, url), release=small_release.folder, environment=ENVIRONMENT
        )
        assert done.status == 0, done.output[-3000:]
        assert len(behaviour.requests) == 12  # in-gap twins are one request
        assert all(body["logprobs"] and body["top_logprobs"] == 20 for body in behaviour.requests)
    run = done.run()
    assert len(run.trials) == 16
    read = [t for t in run.trials if t.answer.outcome == "answered"]
    assert len(read) >= 8
    for trial in run.trials:
        assert (trial.receipt["frames"], trial.receipt["order"], trial.receipt["where"]) == (8, "as shown", "request")
        if trial in read:
            assert 0 < trial.answer.option_probability_bound < 0.5 and trial.answer.rule == "top log-probabilities"
            assert sum(trial.answer.option_probabilities.values()) == pytest.approx(1)
        else:
            assert "not decided" in trial.answer.rule
    largest = max(t.answer.option_probability_bound for t in read if t.phase == "on_grid")
    assert ("on-grid: the server tells the likeliest tokens only" in describe_run(run)) == (largest > 0.01)
    # The server may not be the same one tomorrow: nothing is kept of a run that was finished.
    assert not list((tmp_path / "answers").rglob("answers_*.jsonl"))


@pytest.mark.parametrize("model_id", ["openai", "async_openai"])
def test_a_server_that_tells_no_probabilities_is_read_from_text(model_id, small_release, tmp_path):
    with openai_server() as (url, behaviour):
        behaviour.ignores, behaviour.text = True, "B"
        done = lmms_eval(
            tmp_path, *TASK, "--model", model_id, "--model_args", arguments(model_id, url),
            release=small_release.folder, environment=ENVIRONMENT,
        )  # fmt: skip
    assert done.status == 0, done.output[-3000:]
    assert "is read, and there are no confidence rates: its response has no log-probabilities" in done.output
    trials = done.run().trials
    assert {t.answer.option for t in trials} == {"B"} and all(t.receipt is None for t in trials)
    assert "no confidence rates" in describe_run(done.run())


def test_a_failing_server_stops_the_run_and_finished_answers_are_kept(checkpoint, small_release, tmp_path):
    with openai_server() as (url, behaviour):
        behaviour.status = 500
        done = lmms_eval(
            tmp_path, *TASK, "--model", "openai", "--model_args", arguments("openai", url),
            release=small_release.folder, environment=ENVIRONMENT,
        )  # fmt: skip
    assert done.status == 1 and "the served model did not answer document" in done.output
    assert "the server is not well" in done.output and not list(done.folder.rglob("*results.json"))


def test_compressed_images_stop_the_run(checkpoint, small_release, tmp_path):
    with openai_server(checkpoint) as (url, _):
        done = lmms_eval(
            tmp_path, *TASK, "--model", "openai", "--model_args", arguments("openai", url),
            release=small_release.folder, environment={**ENVIRONMENT, "LMMS_IMAGE_ENCODE_FORMAT": "JPEG"},
        )  # fmt: skip
    assert done.status == 1 and "a request held 8 images for 8 frames, those at ? ? ?" in done.output


def test_native_times_are_refused(small_release, tmp_path):
    with openai_server() as (url, _):
        done = lmms_eval(
            tmp_path, *TASK, "--model", "openai", "--model_args", arguments("openai", url),
            release=small_release.folder, environment={**ENVIRONMENT, "CAVED_TIME": "native"},
        )  # fmt: skip
    assert done.status == 1 and "a served model gets its frames as images" in done.output
