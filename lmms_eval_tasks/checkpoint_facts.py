"""What tells one model in one environment from another: weights, files, texts that shape prompts, versions.

Used to name finished answers, so the rule is: whatever may change a number belongs here, even if that means that an
answer is computed again without need.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch

from lmms_eval_tasks.masking import names_a_secret

_SAMPLED = 256  # values of each weight that go into a fingerprint, at places drawn with a fixed seed
_READ_WHOLE = 32 * 2**20  # bytes; larger files of a checkpoint count by name, size and time of change
_VOLATILE = (
    "rank",
    "world_size",
    "caved_arguments",
    "caved_readout",
)  # attributes of a wrapper that no answer depends on
_DEVICE = re.compile(r"\b(cuda|xpu|npu|mps):\d+")


def digest(value: Any) -> str:
    """SHA-256 of anything that JSON can hold, or turn into text."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def weights_digest(model: Any) -> str | None:
    """SHA-256 over some values of every weight and buffer of a model, spread over the whole of it.

    None if it has no weights, or some that are kept elsewhere (offloaded), which cannot be looked at.
    """
    if not callable(getattr(model, "named_parameters", None)):
        return None
    sha = hashlib.sha256()
    sampled: dict[torch.device, list[torch.Tensor]] = {}
    for name, weight in (*model.named_parameters(), *model.named_buffers()):
        if weight.is_meta:
            return None
        sha.update(f"{name} {tuple(weight.shape)} {weight.dtype}\n".encode())
        values = weight.detach().reshape(-1)
        if values.numel():
            places = torch.randint(values.numel(), (_SAMPLED,), generator=torch.Generator().manual_seed(0))
            sampled.setdefault(values.device, []).append(values[places.to(values.device)].double())
    for values in sampled.values():  # brought here at once for each device, in the order of the weights
        sha.update(torch.cat(values).cpu().numpy().tobytes())
    return sha.hexdigest()


def files_digest(folder: Path) -> str:
    """SHA-256 over the files of a checkpoint: small ones as they are, others by name, size and time of change."""
    sha = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        status = path.stat()
        sha.update(f"{path.relative_to(folder)} {status.st_size}\n".encode())
        sha.update(path.read_bytes() if status.st_size <= _READ_WHOLE else str(status.st_mtime_ns).encode())
    return sha.hexdigest()


_vocabularies: WeakKeyDictionary[Any, tuple[int, str]] = WeakKeyDictionary()  # sizes and digests, by tokenizer


def _vocabulary_digest(tokenizer: Any) -> str | None:
    """SHA-256 of a vocabulary, computed anew when its size changes; None for what has no vocabulary."""
    if not callable(getattr(tokenizer, "get_vocab", None)):
        return None
    try:
        size = len(tokenizer)
        known = _vocabularies.get(tokenizer)
        if known is None or known[0] != size:
            _vocabularies[tokenizer] = known = (size, digest(tokenizer.get_vocab()))
        return known[1]
    except TypeError:  # without a length, or nothing that can be kept by
        return digest(tokenizer.get_vocab())


def _texts(wrapper: Any) -> list[Any]:
    """What shapes a prompt: chat templates, vocabulary, and settings of tokenizer and processor."""
    found: list[Any] = []
    for name in ("processor", "_image_processor", "image_processor", "tokenizer", "_tokenizer"):
        part = getattr(wrapper, name, None)
        for owner in (part, getattr(part, "tokenizer", None)):
            found.append([name, str(getattr(owner, "chat_template", None)), _vocabulary_digest(owner)])
        for owner in (part, getattr(part, "image_processor", None), getattr(part, "video_processor", None)):
            settings = getattr(owner, "to_dict", None)
            found.append([name, str(settings()) if callable(settings) else None])
    return found


def checkpoint_facts(wrapper: Any) -> dict[str, Any] | None:
    """What tells the wrapper's model from others; None if it cannot be told, so that nothing may be kept of it."""
    model = getattr(wrapper, "model", None)
    weights = weights_digest(model)
    config = getattr(model, "config", None)
    named = str(getattr(config, "_name_or_path", "") or "")
    local = Path(named).expanduser() if named else None
    files = files_digest(local) if local is not None and local.is_dir() else None
    commit = getattr(config, "_commit_hash", None)
    if hasattr(model, "named_parameters") and weights is None and files is None and commit is None:
        return None
    return {
        "weights": weights,
        "files": files,
        "commit": commit,
        "config": digest(config.to_dict()) if config is not None and hasattr(config, "to_dict") else None,
        "texts": digest(_texts(wrapper)),
        "served_at": str(getattr(getattr(wrapper, "client", None), "base_url", "")),
    }


def settings_of(wrapper: Any) -> dict[str, Any]:
    """The simple attributes of a wrapper, but for keys, ranks, and which of several equal devices it uses."""
    simple = (str, int, float, bool, type(None))
    return {
        name.lstrip("_"): _DEVICE.sub(r"\1", value) if isinstance(value, str) else value
        for name, value in vars(wrapper).items()
        if isinstance(value, simple) and name.lstrip("_") not in _VOLATILE and not names_a_secret(name)
    }


@cache
def _installed() -> tuple[str, str]:
    """Digests of the versions of all that is installed and of this package's own files, as this process found them."""
    installed = sorted(f"{d.metadata['Name']}=={d.version}" for d in distributions())
    own = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(p for p in folder.rglob("*") if p.suffix == ".py" or p.name.endswith("yaml")):
        own.update(path.read_bytes())
    return digest(installed), own.hexdigest()


def environment_facts() -> dict[str, Any]:
    """Versions of all that is installed, this package's own files, and variables by which the harness is steered."""
    steering = {n: v for n, v in os.environ.items() if n.startswith("LMMS_") and not names_a_secret(n)}
    installed, code = _installed()
    return {"installed": installed, "code": code, "variables": steering}
