"""Each native family of the paper through the real command, at k = 8, 16 and 32."""

import pytest
from harness import lmms_eval
from test_families import ROUTES

from metrics.sample_log import read_runs
from stimuli_builder.build import build_release

pytestmark = pytest.mark.slow

BUDGETS = (8, 16, 32)
PROBES = 2
TASKS = {8: "caved_or_convinced_k8", 16: "caved_or_convinced", 32: "caved_or_convinced_k32"}
SIZES = {"qwen2_5_vl": 112, "qwen3_vl": 128, "molmo2": 84}  # others 112


@pytest.fixture(scope="module")
def release_of_three(tmp_path_factory, catalogue):
    """Two probes for each budget."""
    return build_release(catalogue, tmp_path_factory.mktemp("three") / "release", BUDGETS, PROBES, 3, 112, "mit", 1)


@pytest.mark.parametrize("family", ROUTES)
def test_a_family_through_the_command(family, release_of_three, tmp_path):
    from tiny_families import write_tiny
    from tiny_qwen import write_tiny_qwen

    model_id, arguments = ROUTES[family]
    checkpoint = write_tiny_qwen(tmp_path / "tiny") if family == "qwen2_5_vl" else write_tiny(family, tmp_path / "tiny")
    done = lmms_eval(
        tmp_path,
        *("--tasks", ",".join(TASKS.values()), "--model", model_id),
        *("--model_args", f"pretrained={checkpoint},{arguments}"),
        release=release_of_three.folder,
    )
    assert done.status == 0, done.output[-3000:]
    results = done.results()["results"]
    runs = {run.task: run for run in read_runs([done.folder])}
    assert set(runs) == set(TASKS.values())
    for budget, task in TASKS.items():
        trials = runs[task].trials
        assert len(trials) == 16 * PROBES and not runs[task].problems
        for trial in trials:
            note = trial.receipt
            assert (trial.budget, note["frames"], note["order"]) == (budget, budget, "as shown")
            assert note["size_px"] == [SIZES.get(family, 112)] * 2 and note["time"]["channel"] == "withheld"
            assert trial.answer.option_probabilities is not None
            stamps = note["time"]["beside_frames"]
            assert stamps is None or not any("." in text for text in stamps)
        # The same frames in the same order have the same digest, and only they.
        digests = {(t.view, t.receipt["digest"]) for t in trials}
        assert len(digests) == len({view for view, _ in digests}) == len({digest for _, digest in digests})
        assert results[task]["in_gap_J_confidence,none"] == results[task]["in_gap_J0_confidence,none"] == 0.0
        # Order reaches the model: the same frames in another order give another distribution.
        answers = {t.key: t.answer.option_probabilities for t in trials if t.phase == "on_grid"}
        assert any(answers[k] != answers[(*k[:3], "-", *k[4:])] for k in answers if k[3] == "+")
