"""One stage of a training: steps with a rate and a loss, kept every so often so that a run that was stopped goes on."""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from tqdm import tqdm

from stimuli_builder.atomic import write_whole

KEPT_EVERY = 100  # steps
LOGGED_EVERY = 10
_DECAY = 0.03  # of weights of two and more dimensions
_CLIP = 1.0


@dataclass(frozen=True)
class Learning:
    """What is done in the steps of a stage."""

    name: str
    steps: int
    rate_at: Callable[[int], float]  # learning rate of a step
    loss_at: Callable[[int], torch.Tensor]  # loss of a step, whose draws depend on nothing but the step
    enough: float = 0.0  # the stage ends early where the running mean of the loss falls below this


def optimizer_for(parts: Iterable[nn.Module]) -> torch.optim.AdamW:
    """AdamW on all weights that learn; only matrices decay."""
    weights = [weight for part in parts for weight in part.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.dim() >= 2], "weight_decay": _DECAY},
        {"params": [weight for weight in weights if weight.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=1e-3, betas=(0.9, 0.98))


def _states(folder: Path) -> list[tuple[int, Path]]:
    return sorted((int(path.name.removeprefix("step-")), path) for path in folder.glob("step-*[0-9]"))


def _keep(accelerator: Accelerator, folder: Path, step: int) -> None:
    """Write the state after `step` steps under another name first, and drop older ones after that."""
    fresh = folder / "unfinished"
    shutil.rmtree(fresh, ignore_errors=True)
    accelerator.save_state(str(fresh))
    fresh.rename(folder / f"step-{step:06d}")
    for _, old in _states(folder)[:-1]:
        shutil.rmtree(old)


def learn(accelerator: Accelerator, parts: dict[str, nn.Module], learning: Learning, folder: Path, seed: int) -> None:
    """Run a stage, or what is left of it, and leave the parts as they are at its end.

    Args:
        accelerator: decides on the device.
        parts: what learns; weights that ask for no gradient stay.
        learning: the steps.
        folder: of the stage: its states, and `losses.jsonl`.
        seed: of everything that is drawn outside of the losses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    set_seed(seed)
    prepared = accelerator.prepare(*parts.values(), optimizer_for(parts.values()))
    optimizer = prepared[-1]
    done = _states(folder)
    start = done[-1][0] if done else 0
    if done:
        accelerator.load_state(str(done[-1][1]))
    log, finished = folder / "losses.jsonl", folder / "finished"
    if finished.is_file():
        accelerator.free_memory()
        return
    lines = log.read_text().splitlines()[: start // LOGGED_EVERY] if log.is_file() else []
    last = json.loads(lines[-1]) if lines else {"loss": math.nan, "seconds": 0.0}
    mean, began = last["loss"], time.monotonic() - last["seconds"]
    for step in tqdm(range(start, learning.steps), learning.name, learning.steps, initial=start, unit=" step"):
        for group in optimizer.param_groups:
            group["lr"] = learning.rate_at(step)
        loss = learning.loss_at(step)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_([w for group in optimizer.param_groups for w in group["params"]], _CLIP)
        optimizer.step()
        optimizer.zero_grad()
        value = loss.item()
        mean = value if math.isnan(mean) else 0.95 * mean + 0.05 * value
        if (step + 1) % LOGGED_EVERY == 0:
            seconds = round(time.monotonic() - began, 1)
            lines.append(json.dumps({"step": step + 1, "loss": mean, "seconds": seconds}))
        ends = step + 1 == learning.steps or ((step + 1) % LOGGED_EVERY == 0 and mean < learning.enough)
        if (step + 1) % KEPT_EVERY == 0 or ends:
            write_whole(log, "".join(f"{line}\n" for line in lines).encode())
            _keep(accelerator, folder, step + 1)
        if ends:
            write_whole(finished, b"")
            if mean >= learning.enough > 0:
                tqdm.write(
                    f"WARNING {learning.name}: ended at its last step with a loss of {mean:.2f}, which should have come below {learning.enough:g}: "
                    f"what it teaches may not have been learnt. See {folder / 'check.json'}; train with another seed, or raise the stage's steps",
                    file=sys.stderr,
                )
            break
    accelerator.free_memory()


def seconds_learnt(folder: Path) -> float:
    """How long the stages below a folder took, over all runs that led to their ends."""
    logs = [log.read_text().splitlines() for log in sorted(folder.glob("*/losses.jsonl"))]
    return float(sum(json.loads(lines[-1])["seconds"] for lines in logs if lines))
