"""What a training leaves behind: the checkpoint, and what was checked on the way to it."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from transformers import Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor

from lmms_eval_tasks.small_reader.older_transformers import serve_older_transformers
from stimuli_builder.atomic import write_whole


def save_reader(model: Qwen2_5_VLForConditionalGeneration, processor: Qwen2_5_VLProcessor, folder: Path) -> None:
    """Write a reader as a checkpoint in bfloat16, which is how lmms-eval loads it; the folder appears whole."""
    fresh = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(fresh, ignore_errors=True)
    kept = copy.deepcopy(model).cpu().bfloat16()
    kept.save_pretrained(fresh)
    processor.save_pretrained(fresh)
    serve_older_transformers(fresh)
    for path in fresh.iterdir():
        path.chmod(0o644)  # weights are written for their owner alone
    fresh.rename(folder)


def note_check(folder: Path, found: Mapping[str, float]) -> None:
    """Note what was found after a stage in its folder, and print it."""
    rounded = {name: round(value, 4) for name, value in found.items()}
    write_whole(folder / "check.json", f"{json.dumps(rounded)}\n".encode())
    print(f"after {folder.name}: {', '.join(f'{name} {value:.3f}' for name, value in rounded.items())}", flush=True)
