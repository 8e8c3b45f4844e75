"""Prompts, trials and visuals: what is asked and shown, and what is kept from a model."""

import itertools
import json
import re

import pytest
import yaml

from lmms_eval_tasks import bound_release as binding
from lmms_eval_tasks.prompts import CLAIMS, prompt_text, wording_of
from lmms_eval_tasks.scoring import process_results, trial_of, unparseable
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.trials import MAIN_CLAIMS, deal_to_ranks, main_trials, probe_documents, task_name, view_digest
from lmms_eval_tasks.visuals import doc_to_messages, doc_to_target, doc_to_text, doc_to_visual
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import frame_id


@pytest.fixture
def bound(release, monkeypatch):
    """The small release, bound as the release of this process."""
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    return release


@pytest.fixture
def docs(bound):
    probes = bound.probes(16)
    return [d for p in probes for d in probe_documents(p, MAIN_CLAIMS, bound.info.digest, len(probes))]


def test_sixteen_trials_a_probe(docs, bound):
    assert len(docs) == 16 * bound.info.probes
    keys = ("probe", "twin", "phase", "claim", "letters")
    assert len({tuple(d[k] for k in keys) for d in docs}) == len(docs)


def test_the_claim_is_verbatim_across_twins_phases_and_letters(docs):
    sentences = {}
    for doc in docs:
        if doc["claim"] == "strong":
            lines = prompt_text(doc).splitlines()
            sentences.setdefault(doc["probe"], set()).add(lines[1])
    assert all(len(s) == 1 for s in sentences.values())
    assert all(s.pop().startswith("I watched this video closely, and I am certain that ") for s in sentences.values())


def test_prompts_of_a_probe_differ_only_in_claim_and_letters(docs):
    """Eight views and two letter assignments, but only four texts: a prompt tells nothing of twin and phase."""
    for _, group in itertools.groupby(docs, key=lambda d: d["probe"]):
        assert len({prompt_text(d) for d in group}) == 4


def test_letter_assignments_swap_the_options_and_nothing_else(docs):
    for ab in (d for d in docs if d["letters"] == "AB"):
        ba = {**ab, "letters": "BA"}
        lines, swapped = prompt_text(ab).splitlines(), prompt_text(ba).splitlines()
        a, b = len(lines) - 3, len(lines) - 2
        assert (lines[a][3:], lines[b][3:]) == (swapped[b][3:], swapped[a][3:])
        assert lines[:a] + lines[b + 1 :] == swapped[:a] + swapped[b + 1 :]
        assert lines[a].startswith("A. ") and lines[b].startswith("B. ")
        option = wording_of(ab).options("AB")[0]
        assert (option.first, option.second) == (ab["e1_phrase"], ab["e2_phrase"])


def test_target_is_the_letter_of_what_is_shown(docs):
    for doc in docs:
        option = {o.letter: o for o in wording_of(doc).options(doc["letters"])}[doc_to_target(doc)]
        assert option.first == (doc["e1_phrase"] if doc["twin"] == "+" else doc["e2_phrase"])


def test_no_claim_means_no_claim(docs):
    assert CLAIMS["none"] == ""
    for doc in docs:
        assert ("certain" in prompt_text(doc)) == (doc["claim"] == "strong")


def test_messages_hold_frames_and_prompt_and_nothing_else(docs):
    for doc in docs[:32]:
        ((turn),) = doc_to_messages(doc)
        video, text = turn["content"]
        assert turn["role"] == "user" and set(turn) == {"role", "content"}
        assert set(video) == {"type", "url"} and video["type"] == "video"
        assert [frame_id(f) for f in video["url"]] == doc["frames"]
        assert text == {"type": "text", "text": prompt_text(doc)}
        for secret in ("twin", "grid", "gap", "intact", "e1", "e2", doc["probe"], "procedural"):
            assert not re.search(rf"\b{secret}\b", text["text"])
        assert all(not frame.info and not getattr(frame, "filename", "") for frame in video["url"])


def test_frames_as_images(docs):
    ((turn),) = doc_to_messages(docs[0], {"frames_as": "images", "post_prompt": "One letter."})
    *images, text = turn["content"]
    assert [i["type"] for i in images] == ["image"] * 16
    assert [frame_id(i["url"]) for i in images] == docs[0]["frames"]
    assert text["text"].endswith("\nOne letter.")
    with pytest.raises(RunStopped, match="write video or images"):
        doc_to_messages(docs[0], {"frames_as": "gif"})


def test_simple_wrappers_get_the_same_frames_and_text(docs):
    assert [frame_id(f) for f in doc_to_visual(docs[5])] == docs[5]["frames"]
    assert doc_to_text(docs[5], {"pre_prompt": "Watch.", "post_prompt": ""}).startswith("Watch.\nTwo brief events")


def test_a_wrapper_that_paints_on_its_frames_spoils_nobody_elses(docs):
    doc_to_visual(docs[0])[0].paste((1, 2, 3), (0, 0, 64, 64))
    assert [frame_id(f) for f in doc_to_visual(docs[0])] == docs[0]["frames"]


def test_views_are_equal_exactly_in_gap(docs):
    for _, group in itertools.groupby(docs, key=lambda d: d["probe"]):
        views = {(d["phase"], d["twin"]): d["view"] for d in group}
        assert views["in_gap", "+"] == views["in_gap", "-"]
        assert len(set(views.values())) == 3
    assert view_digest(["a", "b"]) != view_digest(["b", "a"])


@pytest.mark.parametrize("world_size", range(1, 10))
@pytest.mark.parametrize("groups", [1, 5, 16])
def test_every_probe_stays_on_one_rank(world_size, groups):
    trials = [[{"probe": g, "trial": t, "padding": False} for t in range(16)] for g in range(groups)]
    dealt = deal_to_ranks(trials, world_size)
    ranks = {}
    for index, doc in enumerate(dealt):  # the harness deals documents round-robin
        ranks.setdefault((doc["probe"], doc["padding"]), set()).add(index % world_size)
    assert all(len(ranks[g, False]) == 1 for g in range(groups))
    real = [(d["probe"], d["trial"]) for d in dealt if not d["padding"]]
    assert sorted(real) == [(g, t) for g in range(groups) for t in range(16)]
    assert len(dealt) % world_size == 0
    assert sum(d["padding"] for d in dealt) < 16 * world_size
    for rank in range(world_size):
        mine = [d["probe"] for d in dealt[rank::world_size]]
        assert len(list(itertools.groupby(mine))) == len(mine) // 16  # one probe after the other


def test_main_trials_follow_the_world_size(bound, monkeypatch, tmp_path):
    from datasets import load_dataset

    rows = load_dataset(str(bound.folder), "probes", split="k16", cache_dir=str(tmp_path))
    monkeypatch.setenv("WORLD_SIZE", "3")
    three = main_trials(rows)
    monkeypatch.delenv("WORLD_SIZE")
    one = main_trials(rows)
    assert len(one) == 256 and len(three) == 288
    assert sorted(map(str, one)) == sorted(str(d) for d in three if not d["padding"])


def test_a_stale_data_set_cache_stops_the_run(bound):
    from datasets import Dataset

    rows = [p.to_row() for p in bound.probes(16)]
    rows[0]["claimed_order"] = {"e1_first": "e2_first", "e2_first": "e1_first"}[rows[0]["claimed_order"]]
    with pytest.raises(RunStopped, match="delete the cache"):
        main_trials(Dataset.from_list(rows))


def test_releases_in_folders_of_one_name_do_not_share_a_cache(catalogue, tmp_path, monkeypatch):
    """`datasets` tells local data sets apart by the name of their folder alone."""
    import datasets

    from stimuli_builder.build import build_release

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    for seed in (1, 2):
        made = build_release(catalogue, tmp_path / str(seed) / "release", (16,), 8, seed, 64, "mit", workers=1)
        monkeypatch.setenv("CAVED_RELEASE", str(made.folder))
        rows = datasets.load_dataset(binding.path_k16, "probes", split="k16", **binding.loading)
        assert {document["release"] for document in main_trials(rows)} == {made.info.digest}


def test_a_changed_release_is_refused(release, tmp_path, monkeypatch):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(release.folder, copy)
    info = (copy / "release.json").read_text().replace(release.info.digest, "0" * 64)
    (copy / "release.json").write_text(info)
    monkeypatch.setenv("CAVED_RELEASE", str(copy))
    with pytest.raises(RunStopped, match="changed after it was built"):
        binding.release_path(16)


def test_another_release_in_the_same_process_is_another_release(bound, catalogue, tmp_path, monkeypatch):
    """The second evaluation of a program must not get the first one's frames."""
    from stimuli_builder.build import build_release

    first = binding.metadata_k16["release"]
    other = build_release(catalogue, tmp_path / "other", (16,), 2, 99, 64, "mit", workers=1)
    monkeypatch.setenv("CAVED_RELEASE", str(other.folder))
    assert binding.metadata_k16["release"] == other.info.digest != first
    assert binding.path_k16 == str(other.folder)
    probes = other.probes(16)
    doc = probe_documents(probes[0], MAIN_CLAIMS, other.info.digest, len(probes))[0]
    assert [frame_id(f) for f in doc_to_visual(doc)] == doc["frames"]
    monkeypatch.setenv("CAVED_RELEASE", str(bound.folder))
    assert binding.metadata_k16["release"] == first


def test_documents_of_another_release_are_refused(docs):
    with pytest.raises(RunStopped, match="do not change CAVED_RELEASE"):
        doc_to_visual({**docs[0], "release": "0" * 64})


def test_task_files_ask_for_what_is_there(bound):
    assert binding.path_k16 == str(bound.folder)
    assert binding.metadata_k16["release"] == bound.info.digest
    with pytest.raises(RunStopped, match="no probes with k = 32"):
        _ = binding.path_k32
    with pytest.raises(AttributeError):
        _ = binding.path_of_nothing


def test_process_results_logs_everything_and_counts_each_trial_where_it_belongs(docs):
    for doc in docs[:16]:
        entry = process_results(doc, ["The answer is B."])
        trial = trial_of(doc, "The answer is B.")
        assert entry["trial"] == trial.to_json()
        line = json.loads(json.dumps(entry, default=str))  # as the harness writes it
        for name in ("probe", "arm", "twin", "phase", "claim", "letters", "budget", "frames", "receipt", "release"):
            assert name in line["trial"]
        measures = {k for k in entry if k not in ("trial", "unparseable")}
        if doc["claim"] == "none":
            assert measures == {f"{doc['phase']}_J0"}
        else:
            which = "C" if trial.claim_is_true else "S"
            assert measures == {f"{doc['phase']}_{which}", f"{doc['phase']}_J"}
    assert set(process_results({**docs[0], "padding": True}, ["A"])) == {"trial"}


def test_an_empty_answer_is_unparseable(docs):
    trials = [process_results(d, [""])["unparseable"] for d in docs]
    assert unparseable(trials) == 1.0


def test_every_metric_of_the_task_file_is_one_of_ours():
    from lmms_eval_tasks.plugin import TASK_FOLDER

    yaml.add_constructor("!function", lambda loader, node: loader.construct_scalar(node), Loader=yaml.SafeLoader)
    config = yaml.safe_load((TASK_FOLDER / "_main_template_yaml").read_text())
    names = [m["metric"] for m in config["metric_list"]]
    wanted = {f"{p}_{m}{c}" for p in ("on_grid", "in_gap") for m in ("S", "C", "J", "J0") for c in ("", "_confidence")}
    assert set(names) == wanted | {"unparseable", "trial"} and len(names) == 18
    for metric in config["metric_list"]:
        assert metric["aggregation"] == f"lmms_eval_tasks.scoring.{metric['metric']}"


@pytest.mark.parametrize("budget", [8, 16, 24, 32, 48, 64])
def test_there_is_a_task_for_every_budget(budget):
    from lmms_eval_tasks.plugin import TASK_FOLDER

    yaml.add_constructor("!function", lambda loader, node: loader.construct_scalar(node), Loader=yaml.SafeLoader)
    name = "caved_or_convinced" if budget == 16 else f"caved_or_convinced_k{budget}"
    assert task_name(budget) == name
    assert yaml.safe_load((TASK_FOLDER / f"{name}.yaml").read_text()) == {
        "include": "_main_template_yaml",
        "task": name,
        "dataset_path": f"lmms_eval_tasks.bound_release.path_k{budget}",
        "output_type": "generate_until",  # `--tasks list_subtasks` cannot follow includes
        "test_split": f"k{budget}",
        "metadata": f"lmms_eval_tasks.bound_release.metadata_k{budget}",
    }


def test_release_variable(monkeypatch, tmp_path):
    from stimuli_builder.find_release import find_release

    monkeypatch.setenv("CAVED_RELEASE", str(tmp_path / "nothing"))
    with pytest.raises(CavedError, match="CAVED_RELEASE: no release at"):
        find_release()
    monkeypatch.setenv("CAVED_RELEASE", "some-owner/some-release@v1")
    with pytest.raises(CavedError, match="is no folder here, and as a data set of the Hub it cannot be fetched"):
        find_release()
