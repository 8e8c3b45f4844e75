"""The paper's numbers: every cell as it is printed, and never beside another model."""

import pytest

from metrics.report.published import (
    paper_model,
    paper_models,
    published,
    published_dilution,
    published_sweep,
)

MODELS = (
    "LLaVA-OneVision-7B", "LLaVA-Video-7B", "InternVL3-8B", "InternVL3.5-8B", "Molmo2-8B", "LLaVA-NeXT-Video-7B",
    "LLaVA-NeXT-Video-7B-DPO", "Qwen2.5-VL-7B", "Qwen3-VL-8B",
)  # fmt: skip

# The tables of arXiv:2608.03160 v2, copied by hand; a row for each model above.
TABLE_1 = """
.51 .93 .98 .05  0 .95 .95 0  .03 .98 .98 .01  0 .98 .98 0
.56 .95 .99 .05  0 .98 .98 0  .52 .95 .99 .04  0 .97 .97 0
.52 .26 .77 .51  0 .59 .59 0  .45 .28 .68 .41  0 .55 .55 0
.46 .82 .95 .12  0 .92 .92 0  .37 .85 .94 .09  0 .91 .91 0
.65 .87 .99 .12  0 .96 .96 0  .60 .90 .97 .08  0 .94 .94 0
.00 .84 .84 .00  0 .83 .83 0  .00 .83 .83 .00  0 .83 .83 0
.00 .88 .88 .00  0 .87 .87 0  .00 .89 .89 .00  0 .88 .88 0
.04 .93 .95 .02  0 .92 .92 0  .02 .90 .92 .02  0 .91 .91 0
.02 .97 .97 .00  0 .97 .97 0  .00 .98 .98 .00  0 .98 .98 0
"""
TABLE_2 = """
.51 0 .52 .94 .04 .00
.56 0 .62 .98 .01 -.01
.52 0 .54 .62 .16 -.36
.46 0 .49 .92 .04 -.06
.65 0 .65 .96 .04 -.07
.00 0 .00 .83 .01 .01
.00 0 .00 .87 .02 .01
.04 0 .07 .93 .02 -.02
.02 0 .07 .97 .00 .01
"""
TABLE_3 = """
.05 .07 .08 .10
.05 .08 .07 .09
.51 .29 .43 .25
.12 .15 .10 .12
.12 .11 .13 .12
0 0 0 0
0 0 0 0
.02 .03 .03 .04
0 0 0 0
"""
TABLE_4 = """
.51 .59 .05 .09
.56 .50 .05 .10
.52 .57 .51 .53
.46 .73 .12 .17
.65 .73 .12 .12
0 0 0 0
0 0 0 .01
.04 .05 .02 .03
.02 .01 0 0
"""
TABLE_5 = """
.52 .51 15.2 .47 .92
.53 .75 21.4 .74 .97
.53 .71 20.6 .70 .97
.52 .65 21.2 .63 1.00
.55 .78 16.9 .85 .95
.50 .49 28.4 .06 .33
.50 .50 20.8 .06 .20
.50 .52 21.1 .13 .82
.51 .50 15.1 .09 .43
"""
TABLE_6 = """
.51 .95 .05
.56 .98 .05
.52 .59 .51
.46 .92 .12
.65 .96 .12
.00 .83 .00
.00 .87 .00
.04 .92 .02
.02 .97 .00
"""
TABLE_7 = """
.50 .50 -.44 .03
.55 .08 -.06 .01
.52 .04 0 .02
.47 0 .04 .02
.66 .26 -.17 .05
0 .01 -.01 0
0 .03 -.03 0
.04 .03 -.03 0
.02 .03 -.03 0
"""
NATIVE = {"LLaVA-Video-7B", "Molmo2-8B", "Qwen2.5-VL-7B", "Qwen3-VL-8B"}
MAIN = [f"{k}_{phase}_{m}" for k in ("k16", "k32") for phase in ("on_grid", "in_gap") for m in ("J0", "S", "C", "J")]
TABLES = {
    "main": (MAIN, TABLE_1),
    "attribution": (["J0", "J0_no_events", "J0_placebo", "b", "C_minus_b", "S_minus_b"], TABLE_2),
    "claim_strength": (["hard_strong", "hard_mild", "confidence_strong", "confidence_mild"], TABLE_3),
    "reversal": (["accuracy_one_offset", "accuracy_k32", "mean_k_answered", "coverage", "accuracy"], TABLE_5),
    "availability": (["on_grid_J0", "in_gap_S", "on_grid_J"], TABLE_6),
    "single_event": (["on_grid", "early", "late", "mean"], TABLE_7),
}


def rows(text):
    return [[float(x) for x in line.split()] for line in text.strip().splitlines()]


@pytest.mark.parametrize("table", TABLES)
def test_every_cell_is_as_printed(table):
    keys, text = TABLES[table]
    printed = rows(text)
    assert len(printed) == len(MODELS)
    for model, row in zip(MODELS, printed, strict=True):
        assert [published(table, model, key) for key in keys] == row, model


def test_with_time_means_the_own_channel_where_there_is_one():
    for model, row in zip(MODELS, rows(TABLE_4), strict=True):
        own, other = ("native", "text") if model in NATIVE else ("text", "native")
        found = [published("time", model, f"{m}_{time}") for m in ("J0", "J") for time in ("withheld", own)]
        assert found == row, model
        assert published("time", model, f"J0_{other}") is None and published("time", model, f"J_{other}") is None


def test_dilution_has_what_the_text_states():
    assert published_dilution("LLaVA-OneVision-7B", "J0") == {16: 0.51, 24: 0.05, 32: 0.03}
    assert published_dilution("LLaVA-Video-7B", "J0") == {8: 0.66, 16: 0.56, 32: 0.52, 64: 0.49}
    assert published_dilution("allenai/Molmo2-8B", "J0") == {8: 0.79, 16: 0.65, 32: 0.60, 64: 0.57}
    assert published_dilution("InternVL3-8B", "J") == {16: 0.51, 32: 0.41}
    assert published_dilution("unknown", "J") == {}


def test_the_sweep_over_thresholds_is_as_printed():
    readers, others = published_sweep("can_read_order"), published_sweep("cannot_read_order")
    printed = {0.1: (0.90, 0.88, 14.5), 0.2: (0.77, 0.94, 16.5), 0.3: (0.67, 0.96, 19.3),
               0.4: (0.54, 0.98, 21.5), 0.5: (0.44, 0.99, 23.4)}  # fmt: skip
    assert {t: (v["coverage"], v["accuracy"], v["mean_k"]) for t, v in readers.items()} == printed
    printed_others = {0.1: (0.43, 0.56), 0.2: (0.23, 0.60), 0.3: (0.09, 0.57), 0.4: (0.05, 0.67), 0.5: (0.03, 0.78)}
    assert {t: (v["coverage"], v["accuracy"]) for t, v in others.items()} == printed_others


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("main", "k24_on_grid_J0"), ("main", "k16_on_grid_S_confidence"), ("main", "k16"), ("main", ""), ("nothing", "J0"),
        ("attribution", "J"), ("reversal", "mean_k"), ("reversal", "mean_k_all"), ("time", "in_gap_J0_withheld"),
        ("time", "J0"), ("time", ""), ("availability", "on_grid_S"), ("single_event", ""), ("claim_strength", "hard"),
    ],
)  # fmt: skip
def test_what_the_paper_does_not_print_is_nothing(table, column):
    assert [published(table, model, column) for model in MODELS] == [None] * 9


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2.5-VL-7B"),
        ("Qwen/Qwen3-VL-8B-Instruct", "Qwen3-VL-8B"),
        ("OpenGVLab/InternVL3-8B-hf", "InternVL3-8B"),
        ("OpenGVLab/InternVL3-8B", "InternVL3-8B"),
        ("OpenGVLab/InternVL3_5-8B-HF", "InternVL3.5-8B"),
        ("llava-hf/llava-onevision-qwen2-7b-ov-hf", "LLaVA-OneVision-7B"),
        ("lmms-lab/llava-onevision-qwen2-7b-ov", "LLaVA-OneVision-7B"),
        ("lmms-lab/LLaVA-Video-7B-Qwen2", "LLaVA-Video-7B"),
        ("allenai/Molmo2-8B", "Molmo2-8B"),
        ("llava-hf/LLaVA-NeXT-Video-7B-hf", "LLaVA-NeXT-Video-7B"),
        ("llava-hf/LLaVA-NeXT-Video-7B-DPO-hf", "LLaVA-NeXT-Video-7B-DPO"),
        ("qwen/qwen2.5-vl-7b-instruct", "Qwen2.5-VL-7B"),
        ("/data/models/Qwen2.5-VL-7B-Instruct/", "Qwen2.5-VL-7B"),
        ("./Molmo2-8B", "Molmo2-8B"),
        ("C:\\models\\InternVL3-8B-hf", "InternVL3-8B"),
        ("/home/someone/.cache/hub/models--OpenGVLab--InternVL3_5-8B-HF/snapshots/0a1b", "InternVL3.5-8B"),
        *((model, model) for model in MODELS),
    ],
)
def test_a_model_is_known_by_its_names(name, model):
    assert paper_model(name) == model


@pytest.mark.parametrize(
    "name",
    [
        "Qwen/Qwen2.5-VL-72B-Instruct", "Qwen/Qwen2.5-VL-3B-Instruct", "Qwen/Qwen2-VL-7B-Instruct",
        "Qwen/Qwen2.5-VL-7B-Instruct-AWQ", "Qwen/Qwen3-VL-8B-Thinking", "Qwen/Qwen3-VL-8B-Instruct-FP8",
        "Qwen/Qwen3-VL-30B-A3B-Instruct", "OpenGVLab/InternVL3-78B-hf", "OpenGVLab/InternVL3-8B-Instruct",
        "OpenGVLab/InternVL3_5-38B-HF", "OpenGVLab/InternVL3_5-8B-Pretrained", "OpenGVLab/InternVL2_5-8B",
        "llava-hf/llava-onevision-qwen2-72b-ov-hf", "llava-hf/llava-onevision-qwen2-7b-si-hf",
        "lmms-lab/llava-onevision-qwen2-7b-ov-chat", "lmms-lab/LLaVA-Video-72B-Qwen2",
        "lmms-lab/LLaVA-Video-7B-Qwen2-Video-Only", "llava-hf/LLaVA-NeXT-Video-34B-hf", "allenai/Molmo2-4B",
        "allenai/Molmo2-O-7B", "someone/Qwen2.5-VL-7B-Instruct", "llava-hf/Qwen2.5-VL-7B-Instruct",
        "/runs/Qwen2.5-VL-7B-Instruct/checkpoint-500", "/hub/models--someone--Molmo2-8B/snapshots/0a1b",
        "qwen2_5_vl", "scripted_observer", "7B", "", "/", "Qwen2.5-VL-7B and more",
    ],
)  # fmt: skip
def test_another_model_is_never_taken_for_one_of_the_paper(name):
    assert paper_model(name) is None
    assert all(published(table, name, key) is None for table, (keys, _) in TABLES.items() for key in keys)


def test_the_models_come_in_the_order_of_the_paper():
    assert paper_models() == MODELS
