"""The tasks behind the other tables: what each asks, what it counts, and what it must not give away."""

import hashlib
import importlib
import itertools
import re
from collections import Counter
from types import SimpleNamespace

import pytest
import yaml
from datasets import Dataset

from lmms_eval_tasks import bound_release as binding
from lmms_eval_tasks import paper_trials, reversal_trials, scoring
from lmms_eval_tasks.counted import counts_for, numbers_of
from lmms_eval_tasks.plugin import TASK_FOLDER, _is_ours, _task_names
from lmms_eval_tasks.prompts import CLAIMS, prompt_text
from lmms_eval_tasks.readout import stated_to_response, unavailable_response
from lmms_eval_tasks.requests import document_of, parts, sampling_of
from lmms_eval_tasks.scoring import process_results, trial_of
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.trials import main_trials
from lmms_eval_tasks.visuals import frames_of
from metrics.paper_measures import paper_measures
from stimuli_builder.frames import frame_id

TASK = "caved_or_convinced"
ON, GAP = "on_grid", "in_gap"
# Arms, phases, claims and times of each task, written down here once more.
ASKED = {
    "attribution": (("intact", "no_events", "placebo"), (ON,), ("none", "strong"), ("withheld",)),
    "mild": (("intact",), (ON, GAP), ("none", "mild", "strong"), ("withheld",)),
    "time": (("intact",), (ON, GAP), ("none", "strong"), ("withheld", "native", "text")),
    "single_event": (("intact", "early_only", "late_only"), (ON,), ("none",), ("withheld",)),
}
PER_PROBE = {"attribution": 24, "mild": 24, "time": 48, "single_event": 12}
NUMBERS = {
    "attribution": "J0 J0_no_events J0_placebo b C_minus_b S_minus_b",
    "mild": "J_strong J_mild S_strong C_strong S_mild C_mild in_gap_J_strong in_gap_J_mild",
    "time": "J0_withheld J0_native J0_text J_withheld J_native J_text in_gap_J0_withheld in_gap_J0_native in_gap_J0_text "
    "in_gap_J_withheld in_gap_J_native in_gap_J_text",
    "single_event": "J0_on_grid J0_early J0_late J0_mean",
    "reversal": "accuracy coverage mean_k_answered mean_k_all accuracy_one_offset accuracy_k32",
}


@pytest.fixture
def bound(reversal_release, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(reversal_release.folder))
    return reversal_release


def rows_of(release, part):
    return Dataset.from_list([probe.to_row() for probe in release.probes(part)])


def documents_of(release, name):
    if name == "main":
        return list(main_trials(rows_of(release, 16)))
    if name == "reversal":
        return list(reversal_trials.reversal_trials(rows_of(release, "reversal")))
    return list(getattr(paper_trials, f"{name}_trials")(rows_of(release, 16)))


@pytest.mark.parametrize("name", ASKED)
def test_every_trial_is_there_once(bound, name):
    """Against the product of all that is asked, view by view from the release itself."""
    documents = documents_of(bound, name)
    views = {(p.probe.probe, v.arm, v.phase, v.twin): v for p in bound.probes(16) for v in p.views}
    arms, phases, claims, times = ASKED[name]
    wanted = Counter(
        itertools.product((p.probe.probe for p in bound.probes(16)), arms, phases, claims, times, "+-", ("AB", "BA"))
    )
    fields = ("probe", "arm", "phase", "claim", "time", "twin", "letters")
    assert Counter(tuple(d[f] for f in fields) for d in documents) == wanted
    assert len(documents) == PER_PROBE[name] * 8 == paper_trials.PAPER_TASKS[f"{TASK}_{name}"].trials_per_probe * 8
    for d in documents:
        view = views[d["probe"], d["arm"], d["phase"], d["twin"]]
        assert (d["frames"], d["times_s"]) == (list(view.frames), list(view.times_s))
        assert (d["task"], d["part"], d["video_budget"], d["budget"]) == (f"{TASK}_{name}", 16, 16, 16)
        assert (d["offset"], d["direction"], d["padding"]) == (None, "forward", False)
        assert d["events_sampled"] == sum(kind in view.kinds for kind in ("e1", "e2"))
        assert (d["release"], d["release_probes"]) == (bound.info.digest, 8)


def test_arms_sample_as_many_events_as_they_keep(bound):
    sampled = {
        (d["arm"], d["phase"]): d["events_sampled"]
        for name in ASKED
        for d in documents_of(bound, name)
    }  # fmt: skip
    assert sampled == {
        ("intact", ON): 2, ("intact", GAP): 0, ("no_events", ON): 0, ("placebo", ON): 2, ("early_only", ON): 1,
        ("late_only", ON): 1,
    }  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_half_of_all_claims_are_true(bound, name):
    claimed = [trial_of(d, "A") for d in documents_of(bound, name) if d["claim"] != "none"]
    for _, cell in itertools.groupby(
        sorted(claimed, key=lambda t: (t.arm, t.phase, t.claim, t.time)), lambda t: (t.arm, t.phase, t.claim, t.time)
    ):
        truths = [t.claim_is_true for t in cell]
        assert sum(truths) * 2 == len(truths) == 32


@pytest.mark.parametrize("name", [*ASKED, "reversal"])
def test_prompts_tell_nothing_of_arm_phase_twin_or_direction(bound, name):
    """The prompts of a probe depend on claim, letters and told times alone, and no secret word is in them."""
    documents = documents_of(bound, name)
    texts = {}
    for d in documents:
        told = tuple(d["times_s"]) if d["time"] == "text" else ()
        texts.setdefault((d["probe"], d["claim"], d["letters"], told), set()).add(prompt_text(d))
    assert all(len(told) == 1 for told in texts.values())
    for d in documents:
        secrets = ("twin", "grid", "gap", "e1", "e2", "placebo", "reversed", "offset", "native", "withheld", d["probe"])
        assert not any(re.search(rf"\b{secret}\b", prompt_text(d)) for secret in (*secrets, d["arm"]))


def test_a_mild_claim_names_the_order_of_the_strong_one_and_doubts(bound):
    by_claim = {}
    for d in documents_of(bound, "mild"):
        by_claim.setdefault((d["probe"], d["letters"]), {})[d["claim"]] = prompt_text(d).splitlines()
    for prompts in by_claim.values():
        mild, strong = prompts["mild"], prompts["strong"]
        assert [line for line in mild if line not in strong] == [mild[1]] and mild[1].endswith("but I am not sure.")
        pattern = re.compile(r"that (.+) comes before ([^,.]+)")
        assert pattern.search(mild[1]).groups() == pattern.search(strong[1]).groups()
        assert len(prompts["none"]) == len(mild) - 1
    assert set(CLAIMS) == {"none", "mild", "strong"}


def test_times_stand_in_the_prompt_only_where_they_are_told_as_text(bound):
    for d in documents_of(bound, "time"):
        told = prompt_text(d).startswith("The 16 frames of this video were taken at ")
        assert told == (d["time"] == "text")
        assert not told or f" {d['times_s'][3]:.2f} s," in prompt_text(d)


def test_the_time_task_asks_for_all_channels_whatever_the_variable_says(bound, monkeypatch):
    before = documents_of(bound, "time")
    monkeypatch.setenv("CAVED_TIME", "text")
    assert documents_of(bound, "time") == before
    assert {d["time"] for name in ("attribution", "mild", "single_event") for d in documents_of(bound, name)} == {
        "text"
    }


def test_frames_come_from_the_part_of_the_document(bound):
    for name in (*ASKED, "reversal"):
        for d in documents_of(bound, name)[::37]:
            assert [frame_id(frame) for frame in frames_of(d)] == d["frames"]


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_a_probe_stays_on_one_rank_in_all_tasks(bound, monkeypatch, world_size):
    """Work that tasks share is shared within a process, so one probe's trials of all tasks meet in it."""
    monkeypatch.setenv("WORLD_SIZE", str(world_size))
    ranks = {}
    for name in ("main", *ASKED, "reversal"):
        for i, d in enumerate(documents_of(bound, name)):
            if not d["padding"]:
                ranks.setdefault(d["probe"], set()).add(i % world_size)
    assert len(ranks) == 8 and all(len(found) == 1 for found in ranks.values())


def answered(document, confident=True):
    """Some answer that depends on all that a model sees."""
    text = "/".join((document["view"], prompt_text(document), document["time"]))
    share = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32
    letter = "A" if share > 0.5 else "B"
    return stated_to_response(letter, {"A": share, "B": 1 - share}, {"frames": 16}) if confident else letter


@pytest.mark.parametrize("confident", [True, False])
@pytest.mark.parametrize("name", ["main", *ASKED, "reversal"])
def test_each_number_from_its_own_trials_is_that_from_all(bound, name, confident):
    """The harness aggregates a number over the trials that were filed under it; the report has all of them."""
    documents = documents_of(bound, name)
    filed = {}
    for d in documents:
        for number, value in process_results(d, [answered(d, confident)]).items():
            filed.setdefault(number, []).append(value)
    assert scoring.trial(filed.pop("trial")) == len(documents)
    assert scoring.unparseable(filed.pop("unparseable")) == 0
    trials = [trial_of(d, answered(d, confident)) for d in documents]
    whole = paper_measures(trials[0].task, trials)
    wanted = {n for n in numbers_of(trials[0].task) if confident or not n.endswith("_confidence")}
    assert set(filed) == wanted <= set(whole)
    for number, its_own in filed.items():
        assert getattr(scoring, number)(its_own) == pytest.approx(whole[number].value, abs=1e-12), number


def test_numbers_without_a_value_say_so(bound):
    """Two letter assignments that cancel everywhere answer no video: its accuracy is a share of nothing."""
    documents = documents_of(bound, "reversal")
    trials = [trial_of(d, "A") for d in documents]
    assert scoring.accuracy(trials) == "N/A" and scoring.coverage(trials) == 0.0
    assert scoring.J0([]) == "N/A" and scoring.unparseable([]) == "N/A"
    with pytest.raises(AttributeError):
        _ = scoring.J0_of_nothing


def test_what_could_not_be_asked_counts_nowhere(bound):
    documents = [d for d in documents_of(bound, "time") if d["probe"] == "p00000"]
    filed = {}
    for d in documents:
        response = unavailable_response("no channel") if d["time"] == "native" else answered(d)
        entry = process_results(d, [response])
        if d["time"] == "native":
            assert set(entry) == {"trial"} and entry["trial"]["unavailable"] == "no channel"
            assert entry["trial"]["receipt"] is None and counts_for(trial_of(d, response)) == []
        for number, value in entry.items():
            filed.setdefault(number, []).append(value)
    assert scoring.trial(filed["trial"]) == 32 == len(filed["unparseable"])
    assert scoring.unparseable(filed["unparseable"]) == 0
    assert not any("native" in number for number in filed)


def test_a_channel_for_some_trials_only_is_no_result(bound):
    """Whatever went wrong, a mean over the trials that happened to be answered must not be printed."""
    documents = [d for d in documents_of(bound, "time") if d["time"] == "native"]
    entries = [
        process_results(d, [unavailable_response("gone") if i else answered(d)])["trial"]
        for i, d in enumerate(documents)
    ]
    with pytest.raises(RunStopped, match="some trials with time native were answered and others not"):
        scoring.trial(entries)


def configuration(name):
    yaml.add_constructor("!function", lambda loader, node: loader.construct_scalar(node), Loader=yaml.SafeLoader)
    config = yaml.safe_load((TASK_FOLDER / name).read_text())
    included = config.pop("include", None)
    return {**(configuration(included) if included else {}), **config}


@pytest.mark.parametrize("name", [*NUMBERS, "reversal_adaptive"])
def test_task_files_name_what_is_there(name, bound):
    """Every `!function` is an attribute of a module, and the numbers are those of the paper's tables."""
    config = configuration(f"{TASK}_{name}.yaml")
    own = yaml.safe_load((TASK_FOLDER / f"{TASK}_{name}.yaml").read_text())
    adaptive = name == "reversal_adaptive"
    assert own["output_type"] == ("generate_until_agentic" if adaptive else "generate_until")
    part = "reversal" if name.startswith("reversal") else "k16"
    assert (config["task"], config["test_split"]) == (f"{TASK}_{name}", part)
    assert config["metadata"].endswith(f".metadata_{part}") and config["dataset_path"].endswith(f".path_{part}")
    names = NUMBERS["reversal" if adaptive else name].split()
    if part != "reversal":
        names += [f"{n}_confidence" for n in names]
    listed = [metric["metric"] for metric in config["metric_list"]]
    assert sorted(listed) == sorted([*names, "unparseable", *(["trials", "threshold"] if adaptive else ["trial"])])
    for metric in config["metric_list"]:
        assert metric["aggregation"].rpartition(".")[2] == metric["metric"]
    functions = [v for v in config.values() if isinstance(v, str) and v.startswith("lmms_eval_tasks.")]
    functions += [metric["aggregation"] for metric in config["metric_list"]]
    for function in functions:
        module, _, attribute = function.rpartition(".")
        assert getattr(importlib.import_module(module), attribute) is not None
    assert config["num_fewshot"] == 0 and config["generation_kwargs"]["until"] == []


def test_the_group_holds_every_task_but_the_adaptive_one():
    group = configuration(f"{TASK}_paper.yaml")
    files = {path.stem for path in TASK_FOLDER.glob(f"{TASK}*.yaml")}
    assert group["group"] == f"{TASK}_paper"
    assert sorted(group["task"]) == sorted(files - {f"{TASK}_paper", f"{TASK}_reversal_adaptive"})


def test_tasks_that_ask_about_one_view_hand_it_on_once_after_the_other(bound):
    """Frames are prepared and encoded for a view, so all that is asked of it belongs together; tasks stay apart in a
    part, since some wrappers take a whole part for the first one's task."""
    documents = {name: documents_of(bound, name) for name in ("main", *ASKED, "reversal")}
    wrapper = SimpleNamespace(task_dict={name: {"s": listed} for name, listed in documents.items()})
    requests = [
        SimpleNamespace(args=(prompt_text(d), None, {}, i, name, "s"))
        for name, listed in documents.items()
        for i, d in enumerate(listed)
    ]
    handed = parts(wrapper, requests, by_view=True)
    assert sorted(map(id, (r for part in handed for r in part))) == sorted(map(id, requests))
    views, samplings = [], []
    for part in handed:
        shown = [document_of(wrapper, request) for request in part]
        assert len({request.args[4] for request in part}) == 1
        assert len({(tuple(d["frames"]), d["time"] == "native") for d in shown}) == 1
        assert [r.args[0] for r in part] == sorted(r.args[0] for r in part)
        views.append((sampling_of(shown[0]), shown[0]["view"], shown[0]["time"] == "native"))
        samplings.append(sampling_of(shown[0]))
    for sequence in (views, samplings):  # none is left and taken up again
        assert len(list(itertools.groupby(sequence))) == len(set(sequence))
    # The probe's k = 16 views of all tasks are one sampling; each budget of the reversal test is another.
    assert len(set(samplings)) == 8 * (1 + 3)
    for part in parts(wrapper, requests, by_view=False):
        assert len({request.args[4] for request in part}) == 1 and len(part) <= 64
        assert len({document_of(wrapper, request)["time"] == "native" for request in part}) == 1


def test_what_is_refused_for_a_task_is_refused_for_its_group():
    """The harness' response cache ignores frames; a group reaches it as a group object with its tasks below."""
    tasks = {object(): {f"{TASK}_mild": None, object(): {f"{TASK}_reversal_adaptive": None}}, "mme": None}
    assert sorted(filter(_is_ours, _task_names(tasks))) == [f"{TASK}_mild", f"{TASK}_reversal_adaptive"]


def test_a_release_without_offsets_stops_the_reversal_test_with_the_remedy(release, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
    with pytest.raises(RunStopped, match=r"no offsets for the reversal test: build one .* `caved build video --paper"):
        _ = binding.path_reversal


def test_the_configuration_names_the_release_and_its_offsets(bound):
    assert binding.path_reversal == str(bound.folder)
    described = binding.metadata_reversal
    assert described["release"] == bound.info.digest and described["offsets"] == 2
    assert (described["video_budget"], described["budgets"]) == (16, [8, 16, 32])
    assert described["version"] == binding.metadata_k16["version"] == 2
    assert {"caved-or-convinced", "lmms-eval", "torch", "transformers"} <= set(described["versions"])
    with pytest.raises(AttributeError):
        _ = binding.path_k


@pytest.mark.parametrize("name", [*ASKED, "reversal"])
def test_a_stale_data_set_cache_stops_every_task(bound, name):
    rows = [p.to_row() for p in bound.probes("reversal" if name == "reversal" else 16)]
    rows[-1]["views"][0]["times_s"][0] += 0.001
    process = reversal_trials.reversal_trials if name == "reversal" else getattr(paper_trials, f"{name}_trials")
    with pytest.raises(RunStopped, match="delete the cache"):
        process(Dataset.from_list(rows))
