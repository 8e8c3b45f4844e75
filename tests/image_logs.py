"""Logs of synthetic image studies, named as the harness names them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from metrics.image.trial import ImageTrial

STAMP = "20260101_000000"


def write_image_run(
    folder: Path,
    trials: Sequence[ImageTrial],
    model_args: str = "pretrained=someone/model-7B",
    model: str = "some_wrapper",
    stamp: str = STAMP,
    version: str = "0.3.0",
) -> Path:
    """The log and the results file of a run of the image benchmark."""
    folder.mkdir(parents=True, exist_ok=True)
    task = trials[0].task
    path = folder / f"{stamp}_samples_{task}.jsonl"
    path.write_text("".join(json.dumps({"doc_id": i, "image_trial": t.to_json()}) + "\n" for i, t in enumerate(trials)))
    results = folder / f"{stamp}_results.json"
    entry = json.loads(results.read_text()) if results.exists() else {"config": {}, "configs": {}}
    entry["config"] = {"model": model, "model_args": model_args}
    entry["configs"][task] = {"metadata": {"versions": {"caved-or-convinced": version}}}
    results.write_text(json.dumps(entry))
    return path
