"""Finished answers are found again if everything that they depend on is the same, and only then."""

import json
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from lmms_eval_tasks.answer_store import AnswerStore, answers_folder, open_store, run_facts
from lmms_eval_tasks.checkpoint_facts import files_digest, weights_digest
from lmms_eval_tasks.stop import RunStopped

KEYS = [("release", "view", f"prompt {i}", "withheld") for i in range(5)]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("CAVED_ANSWERS", str(tmp_path / "answers"))
    return tmp_path / "answers"


def test_answers_come_back_as_they_were(folder):
    facts = {"model": "m", "settings": {"a": 1}}
    store = open_store(facts)
    store.add([(KEYS[0], '{"x": "ä\\n"}'), (KEYS[1], "B")])
    store.add([])
    again = open_store(facts)
    assert again.get(KEYS[0]) == '{"x": "ä\\n"}' and again.get(KEYS[1]) == "B" and again.get(KEYS[2]) is None
    for changed in ({**facts, "model": "n"}, {**facts, "settings": {"a": 2}}, {**facts, "more": 0}):
        assert open_store(changed).get(KEYS[0]) is None
    for part in range(4):
        other = tuple("other" if i == part else value for i, value in enumerate(KEYS[0]))
        assert again.get(other) is None
    again.discard()
    assert open_store(facts).get(KEYS[0]) is None


def test_every_rank_reads_what_others_finished(folder):
    for rank in range(3):
        open_store({"m": 1}, rank).add([(KEYS[rank], str(rank))])
    store = open_store({"m": 1}, 7)
    assert [store.get(key) for key in KEYS[:4]] == ["0", "1", "2", None]


def test_a_store_that_is_opened_again_takes_up_what_was_added_since(folder):
    """The steps of a run open it again and again, and read only what is new; what is gone from the disk is gone."""
    facts = {"m": 1}
    mine, other = open_store(facts), AnswerStore(next(iter(folder.iterdir())), 5)
    mine.add([(KEYS[0], "A")])
    other.add([(KEYS[1], "B")])
    assert open_store(facts) is mine and (mine.get(KEYS[0]), mine.get(KEYS[1])) == ("A", "B")
    other.add([(KEYS[2], "C")])
    path = folder / other.folder.name / "answers_5.jsonl"
    path.write_bytes(path.read_bytes() + b'{"key": "half')  # by a process that is writing
    assert open_store(facts).get(KEYS[2]) == "C"
    path.write_bytes(path.read_bytes()[: -len(b'{"key": "half')])
    other.add([(KEYS[3], "D")])
    assert [open_store(facts).get(key) for key in KEYS] == ["A", "B", "C", "D", None]
    other.discard()
    assert [open_store(facts).get(key) for key in KEYS] == [None] * 5
    mine.add([(KEYS[4], "E")])
    assert open_store(facts).get(KEYS[4]) == "E" and open_store({"m": 2}).get(KEYS[4]) is None


def test_a_vocabulary_that_grows_is_another_one():
    class Words:
        def __init__(self):
            self.words = {"a": 0, "b": 1}

        def __len__(self):
            return len(self.words)

        def get_vocab(self):
            return dict(self.words)

    wrapper = Wrapper(tokenizer=Words())
    before = run_facts(wrapper, {})
    assert run_facts(wrapper, {}) == before == run_facts(Wrapper(tokenizer=Words()), {})
    wrapper.tokenizer.words["c"] = 2
    assert run_facts(wrapper, {}) != before


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_half_a_line_is_no_answer_and_spoils_no_other(folder, cut):
    facts = {"m": 1}
    store = open_store(facts)
    store.add([(KEYS[0], "A"), (KEYS[1], "B")])
    (path,) = folder.rglob("answers_0.jsonl")
    path.write_bytes(path.read_bytes()[:-cut])
    again = open_store(facts)
    assert again.get(KEYS[0]) == "A" and again.get(KEYS[1]) is None
    again.add([(KEYS[2], "C"), (KEYS[1], "B")])
    final = open_store(facts)
    assert [final.get(key) for key in KEYS[:3]] == ["A", "B", "C"]
    assert len(path.read_text().splitlines()) == 3


def test_the_switch_and_folders_that_cannot_be_used(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("CAVED_ANSWERS", "off")
    assert answers_folder() is None
    store = open_store({})
    store.add([(KEYS[0], "A")])
    assert store.get(KEYS[0]) == "A" and not folder.exists()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CAVED_ANSWERS", str(tmp_path / "file"))
    with pytest.raises(RunStopped, match="CAVED_ANSWERS"):
        open_store({})
    monkeypatch.delenv("CAVED_ANSWERS")
    assert answers_folder().parts[-2:] == ("caved-or-convinced", "answers")


class Wrapper:
    def __init__(self, **settings):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(300, 40), torch.nn.Linear(40, 3))
        self._rank, self.max_pixels, self._caved_arguments, self.processor = 0, 100, "pretrained=x", object()
        vars(self).update(settings)


def test_facts_name_what_numbers_depend_on():
    facts = run_facts(Wrapper(), {"share": True})
    assert facts == run_facts(Wrapper(_rank=3), {"share": True}) and json.dumps(facts)
    assert facts["settings"] == {"max_pixels": 100} and facts["arguments"] == "pretrained=x"
    secret = run_facts(Wrapper(_caved_arguments="pretrained=x,api_key=s3cret,max_new_tokens=4", api_key="s3cret"), {})
    assert secret["arguments"] == "pretrained=x,api_key=...,max_new_tokens=4" and "s3cret" not in json.dumps(secret)
    for other in (Wrapper(max_pixels=101), Wrapper(_caved_arguments="pretrained=y"), Wrapper(fps=None)):
        assert run_facts(other, {"share": True}) != facts
    assert run_facts(Wrapper(), {"share": False}) != facts
    trained = Wrapper()
    with torch.no_grad():
        trained.model[1].weight += 1e-6
    assert run_facts(trained, {"share": True}) != facts
    assert run_facts(Wrapper(model="a name"), {"share": True})["checkpoint"]["weights"] is None
    served = [
        run_facts(Wrapper(model="n", client=SimpleNamespace(base_url=url)), {}) for url in ("http://a", "http://b")
    ]
    assert served[0] != served[1]
    spoken = [run_facts(Wrapper(tokenizer=SimpleNamespace(chat_template=t)), {}) for t in ("[{{x}}]", "<{{x}}>")]
    assert spoken[0] != spoken[1]
    ranks = [run_facts(Wrapper(device_map=f"cuda:{i}"), {}) for i in range(2)]
    assert ranks[0] == ranks[1] != run_facts(Wrapper(device_map="cpu"), {})


def test_a_digest_of_weights_sees_types_and_names():
    model = Wrapper().model
    assert weights_digest(model) != weights_digest(Wrapper().model.bfloat16())
    assert weights_digest(torch.nn.Linear(2, 2, device="meta")) is None  # kept elsewhere: it cannot be told
    buffered = torch.nn.Module()
    buffered.register_buffer("qweight", torch.arange(600, dtype=torch.int32).reshape(20, 30))
    before = weights_digest(buffered)
    buffered.qweight += 1
    assert weights_digest(buffered) != before


@pytest.mark.parametrize("shape", [(4096, 64), (64, 4096), (512, 512)])
def test_a_change_of_any_few_columns_or_rows_of_a_matrix_is_mostly_seen(shape):
    """A digest of samples wanders through rows and columns; a tenth of either is always touched."""
    layer = torch.nn.Linear(*reversed(shape), bias=False)
    before = weights_digest(layer)
    for axis in (0, 1):
        tenth = torch.arange(0, shape[axis]).chunk(10)
        for part in tenth:
            changed = torch.nn.Linear(*reversed(shape), bias=False)
            changed.load_state_dict(layer.state_dict())
            with torch.no_grad():
                (changed.weight if axis == 0 else changed.weight.T)[part] += 1
            assert weights_digest(changed) != before


def test_a_digest_of_files_sees_every_small_file(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("config.json", "sub/chat_template.jinja", "model.safetensors"):
        (tmp_path / name).write_text("a")
    before = files_digest(tmp_path)
    assert files_digest(tmp_path) == before
    (tmp_path / "sub" / "chat_template.jinja").write_text("b")
    assert files_digest(tmp_path) != before
    (tmp_path / "sub" / "chat_template.jinja").write_text("a")
    assert files_digest(tmp_path) == before
    (tmp_path / "more.json").write_text("")
    assert files_digest(tmp_path) != before


@pytest.mark.slow
def test_a_killed_run_goes_on_and_writes_the_same_file(tmp_path, catalogue):
    """The command is killed while it answers; the second run computes the rest only, and logs what one run would."""
    from harness import lmms_eval
    from tiny_families import write_tiny

    from stimuli_builder.build import build_release

    release = build_release(catalogue, tmp_path / "release", (8,), 6, 5, 112, "mit", 1)
    checkpoint = write_tiny("llava_onevision", tmp_path / "tiny")
    spy = Path(__file__).parent / "spy"
    command = (
        *("--tasks", "caved_or_convinced_k8", "--model", "llava_hf"),
        *("--model_args", f"pretrained={checkpoint},device=cpu,device_map=cpu"),
    )
    # A sharing run checks itself on its first requests, so the numbers of all runs come out of the same steps.
    whole = lmms_eval(tmp_path / "whole", *command, release=release.folder)
    assert whole.status == 0, whole.output[-3000:]
    environment = {"PYTHONPATH": str(spy), "CAVED_TEST_KILL_AFTER": "30"}
    killed = lmms_eval(tmp_path / "again", *command, release=release.folder, environment=environment)
    assert killed.status == -signal.SIGKILL and not list(killed.folder.rglob("*results.json"))
    (path,) = (tmp_path / "again" / "answers").rglob("answers_0.jsonl")
    finished = len(path.read_text().splitlines())
    assert 0 < finished < 72
    resumed = lmms_eval(tmp_path / "again", *command, release=release.folder)
    assert resumed.status == 0, resumed.output[-3000:]
    assert f"{finished} of 72 requests were answered by an earlier run" in resumed.output
    assert len(path.read_text().splitlines()) == 72
    assert [t.to_json() for t in resumed.run().trials] == [t.to_json() for t in whole.run().trials]
    assert resumed.results()["results"] == whole.results()["results"]


@pytest.mark.slow
def test_two_processes_give_the_numbers_of_one(tmp_path, catalogue):
    """A real wrapper on two processes of a CPU, with a number of probes that does not divide; trial by trial."""
    from harness import lmms_eval
    from tiny_families import write_tiny

    from stimuli_builder.build import build_release

    release = build_release(catalogue, tmp_path / "release", (8,), 5, 5, 112, "mit", 1)
    checkpoint = write_tiny("llava_onevision", tmp_path / "tiny")
    command = (
        *("--tasks", "caved_or_convinced_k8", "--model", "llava_hf"),
        *("--model_args", f"pretrained={checkpoint},device=cpu,device_map=cpu"),
    )
    launcher = (sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", "29517")
    one = lmms_eval(tmp_path / "one", *command, release=release.folder)
    two = lmms_eval(
        tmp_path / "two", *command, release=release.folder, launcher=(*launcher, "-m", "lmms_eval"),
        environment={"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert one.status == two.status == 0, two.output[-3000:]
    alone = {t.key: t for t in one.run().trials}
    together = {t.key: t for t in two.run().trials if not t.padding}
    assert alone.keys() == together.keys() and len(alone) == 80
    assert len(list((tmp_path / "two" / "answers").rglob("answers_*.jsonl"))) == 2
    for key, trial in alone.items():
        other = together[key]
        assert trial.receipt == other.receipt
        for letter, p in trial.answer.option_probabilities.items():
            assert p == pytest.approx(other.answer.option_probabilities[letter], abs=1e-6)
