"""The numbers of the paper, beside which a measured number is shown.

Source: arXiv:2608.03160 v2, Tables 1 to 8 and the text on budget dilution, in `published_results.json`. They are
rounded to two digits, and hold for its own videos; a release of other videos need not give them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

SOURCE = "arXiv:2608.03160 v2"

PaperTable = Literal["main", "attribution", "claim_strength", "time", "reversal", "single_event", "availability"]

_SECTIONS: Mapping[str, str] = {
    "attribution": "attribution_k16",
    "claim_strength": "claim_strength_J_k16_on_grid",
    "time": "time_escape_k16_on_grid",
    "reversal": "reversal_theta_0.3",
    "single_event": "single_event_k16_J0",
}

# Checkpoints of the paper's models, each as its publishers name it. A name that is not here has no published
# numbers: a quantised, further trained or larger checkpoint is another model.
_CHECKPOINTS: Mapping[str, tuple[str, ...]] = {
    "LLaVA-OneVision-7B": ("llava-hf/llava-onevision-qwen2-7b-ov-hf", "lmms-lab/llava-onevision-qwen2-7b-ov"),
    "LLaVA-Video-7B": ("lmms-lab/LLaVA-Video-7B-Qwen2",),
    "InternVL3-8B": ("OpenGVLab/InternVL3-8B", "OpenGVLab/InternVL3-8B-hf"),
    "InternVL3.5-8B": ("OpenGVLab/InternVL3_5-8B", "OpenGVLab/InternVL3_5-8B-HF"),
    "Molmo2-8B": ("allenai/Molmo2-8B",),
    "LLaVA-NeXT-Video-7B": ("llava-hf/LLaVA-NeXT-Video-7B-hf", "lmms-lab/LLaVA-NeXT-Video-7B"),
    "LLaVA-NeXT-Video-7B-DPO": ("llava-hf/LLaVA-NeXT-Video-7B-DPO-hf", "lmms-lab/LLaVA-NeXT-Video-7B-DPO"),
    "Qwen2.5-VL-7B": ("Qwen/Qwen2.5-VL-7B-Instruct",),
    "Qwen3-VL-8B": ("Qwen/Qwen3-VL-8B-Instruct",),
}
_BY_CHECKPOINT = {name.lower(): model for model, names in _CHECKPOINTS.items() for name in names}
_BY_NAME = {name.split("/")[1]: model for name, model in _BY_CHECKPOINT.items()} | {m.lower(): m for m in _CHECKPOINTS}

# "With time" in the paper's Table 4 is a model's own channel where it has one, else a text.
_NATIVE_TIME = frozenset({"LLaVA-Video-7B", "Molmo2-8B", "Qwen2.5-VL-7B", "Qwen3-VL-8B"})
_OF_HUB_CACHE = re.compile(r"models--([^/]+?)--([^/]+?)(?:/|$)")


@cache
def _results() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(files("metrics.report").joinpath("published_results.json").read_bytes())
    return results


def paper_models() -> tuple[str, ...]:
    """The nine models in the order of the paper's tables."""
    return tuple(_results()["models"])


def paper_model(model: str) -> str | None:
    """The paper's name for a model, or None if the paper does not have it.

    Args:
        model: the paper's name, a name on the Hub, or a folder that ends in the checkpoint's name (also one of
            the Hub's cache). Upper and lower case are the same. A name on the Hub needs the publisher's own
            account, since a copy elsewhere may be another model.
    """
    name = model.strip().replace("\\", "/").rstrip("/").lower()
    if cached := _OF_HUB_CACHE.search(name):
        return _BY_CHECKPOINT.get(f"{cached[1]}/{cached[2]}")
    parts = name.split("/")
    if len(parts) == 2 and parts[0] not in ("", ".", "..", "~"):
        return _BY_CHECKPOINT.get(name)
    return _BY_NAME.get(parts[-1])


def published(table: str, model: str, column: str) -> float | None:
    """What the paper prints in a cell, or None where it prints nothing.

    Args:
        table: one of `PaperTable`.
        model: as for `paper_model`.
        column: key of the column in our table, such as `k16_on_grid_J0` (main), `J0_native` (time) or
            `mean_k_answered` (reversal).
    """
    name = paper_model(model)
    if name is None:
        return None
    if table == "main":
        return _main(name, *column.split("_", 1)) if "_" in column else None
    if table == "availability":
        return _main(name, "k16", column) if column in ("on_grid_J0", "in_gap_S", "on_grid_J") else None
    if table not in _SECTIONS:
        return None
    if table == "time":
        column = _time_column(name, column)
    elif table == "reversal":
        column = {"mean_k_answered": "mean_k", "mean_k": ""}.get(column, column)
    value = _results()[_SECTIONS[table]][name].get(column)
    return None if value is None else float(value)


def _main(name: str, budget: str, where: str) -> float | None:
    phase, _, measure = where.rpartition("_")
    value = _results()["main"][name].get(budget, {}).get(phase, {}).get(measure)
    return None if value is None else float(value)


def _time_column(name: str, column: str) -> str:
    measure, _, time = column.rpartition("_")
    if time == "withheld":
        return f"{measure}_no_time"
    return f"{measure}_with_time" if time == ("native" if name in _NATIVE_TIME else "text") else ""


def published_dilution(model: str, measure: Literal["J0", "J"]) -> dict[int, float]:
    """On-grid J0 or J by budget, where the paper states it (Table 1; text on Figure 2)."""
    name = paper_model(model)
    if name is None:
        return {}
    values = {k: _main(name, f"k{k}", f"on_grid_{measure}") for k in (16, 32)}
    if measure == "J0":
        stated = _results()["dilution_on_grid_J0_mentioned"].get(name, {})
        ends = stated.get("lowest_k_to_highest_k")
        if ends:
            values |= {8: ends[0], 64: ends[1]}
        values |= {int(k[1:]): v for k, v in stated.items() if re.fullmatch(r"k\d+", k)}
    return {k: float(v) for k, v in sorted(values.items()) if v is not None}


def paper_readers(can_read: bool) -> frozenset[str]:
    """The models of the paper that read the order, or that cannot (Table 1, on-grid J0 at k = 16)."""
    rows = _results()["main"]
    return frozenset(m for m in paper_models() if (rows[m]["k16"]["on_grid"]["J0"] > 0.1) == can_read)


def published_sweep(group: Literal["can_read_order", "cannot_read_order"]) -> dict[float, dict[str, float]]:
    """The reversal test by threshold θ: coverage, accuracy and, for readers, mean k (Table 8)."""
    sweep = _results()["reversal_theta_sweep"][group]
    return {float(theta): {key: float(v) for key, v in values.items()} for theta, values in sweep.items()}
