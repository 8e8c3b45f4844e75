"""Whether the model behind a wrapper says of itself that it tests the benchmark: `caved_control` in its configuration.

Such a model is no model under test, and may lie in a folder of any name, behind a wrapper of any name. Every receipt of
its trials says what it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from loguru import logger

from lmms_eval_tasks.stop import RunStopped
from metrics.controls import KINDS

FIELD = "caved_control"  # of a model's configuration: one of `metrics.controls.KINDS`
_INSIDE = ("model", "_model", "module")  # where what a wrapper holds may keep its model
_TOLD = "_caved_told"  # attribute of a wrapper: kinds that were logged of it


def _modules(wrapper: Any) -> Iterator[torch.nn.Module]:
    """Every module that a wrapper holds, or that something holds which it holds."""
    for held in (wrapper, getattr(wrapper, "model", None), *vars(wrapper).values()):
        for part in (held, *(vars(held).get(name) for name in _INSIDE if hasattr(held, "__dict__"))):
            if isinstance(part, torch.nn.Module):
                yield from part.modules()


def _said_by_files(wrapper: Any) -> Iterator[Any]:
    """What configurations say in the folders that the wrapper's arguments name: an engine may keep its model elsewhere."""
    for argument in str(vars(wrapper).get("_caved_arguments", "")).split(","):
        path = Path(argument.partition("=")[2]).expanduser() / "config.json"
        try:
            fields = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(fields, dict):
            yield fields.get(FIELD)


def control_of(wrapper: Any) -> str:
    """What a wrapper's model says that it is, one of `metrics.controls.KINDS`; empty for a model under test.

    Raises:
        RunStopped: if its configuration says something else.
    """
    said = [getattr(getattr(module, "config", None), FIELD, None) for module in _modules(wrapper)]
    kinds = [value for value in (*said, *_said_by_files(wrapper)) if value is not None]
    for value in kinds:
        if value not in tuple(KINDS):
            raise RunStopped(
                f"the configuration of this model says {FIELD} = {value!r}: write {' or '.join(map(repr, KINDS))}, or take it "
                "out of its config.json"
            )
    if not kinds:
        return ""
    kind = str(kinds[0])
    told: set[str] = vars(wrapper).setdefault(_TOLD, set())
    if kind not in told:
        told.add(kind)
        logger.warning(f"this model is {KINDS[kind]}: its numbers are no results, and its logs are marked so")
    return kind
