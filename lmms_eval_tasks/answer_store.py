"""Answers that are finished, kept on disk, so that an interrupted run goes on where it stopped.

An answer is found again only if everything that it depends on is the same: model, arguments, weights, versions,
this package's own code, release, prompt, frames and times. Its text is given back as it was, so the run that goes on
writes the file that an uninterrupted one writes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from lmms_eval_tasks.masking import masked, names_a_secret
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import ANSWERS
from stimuli_builder.atomic import write_whole

_SAMPLED = 64  # values of each weight that go into a model's fingerprint
_LIBRARIES = ("lmms-eval", "torch", "transformers", "caved-or-convinced")
_VOLATILE = ("rank", "world_size")  # attributes of a wrapper that no answer depends on


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def weights_digest(model: Any) -> str | None:
    """SHA-256 over some values of every weight of a model, spread over the whole of it; None if it has none.

    Training changes nearly every weight, so another checkpoint at the same path is noticed.
    """
    parameters = getattr(model, "named_parameters", None)
    if parameters is None:
        return None
    digest = hashlib.sha256()
    for name, weight in parameters():
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}\n".encode())
        if not weight.is_meta:
            values = weight.detach().reshape(-1)
            chosen = values[:: max(1, values.numel() // _SAMPLED)][: 2 * _SAMPLED]
            digest.update(json.dumps(chosen.double().cpu().tolist()).encode())
    return digest.hexdigest()


def _own_code() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def run_facts(wrapper: Any, switches: Mapping[str, Any]) -> dict[str, Any]:
    """Everything about a wrapper that its answers depend on.

    Args:
        wrapper: an instance of the subclass that the harness made, with what it was made from in `_caved_arguments`.
        switches: settings of ours that change numbers, if only in the last digits.
    """
    simple = (str, int, float, bool, type(None))
    settings = {
        name.lstrip("_"): value
        for name, value in vars(wrapper).items()
        if isinstance(value, simple)
        and name.lstrip("_") not in (*_VOLATILE, "caved_arguments")
        and not names_a_secret(name)
    }
    return {
        "model": f"{type(wrapper).__module__}.{type(wrapper).__name__}",
        "arguments": masked(str(vars(wrapper).get("_caved_arguments", ""))),
        "settings": settings,
        "weights": weights_digest(getattr(wrapper, "model", None)),
        "versions": {name: _installed(name) for name in _LIBRARIES},
        "code": _own_code(),
        "switches": dict(switches),
    }


@dataclass
class AnswerStore:
    """Finished answers of one model in one setting; every process appends to a file of its own."""

    folder: Path | None  # None: nothing is kept
    rank: int = 0
    answers: dict[str, str] = field(default_factory=dict)  # by key

    def get(self, key: Sequence[str]) -> str | None:
        """The answer to a request, if it is finished."""
        return self.answers.get(_digest(list(key)))

    def add(self, finished: Sequence[tuple[Sequence[str], str]]) -> None:
        """Keep finished answers, on disk before this returns.

        Raises:
            RunStopped: if they cannot be written.
        """
        lines = []
        for key, answer in finished:
            name = _digest(list(key))
            self.answers[name] = answer
            lines.append(json.dumps({"key": name, "answer": answer}) + "\n")
        if self.folder is None or not lines:
            return
        path = self.folder / f"answers_{self.rank}.jsonl"
        try:
            with path.open("ab") as file:
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunStopped(
                f"finished answers cannot be kept in {path} ({error}): make room there, name another folder in "
                f"{ANSWERS}, or set {ANSWERS}=off"
            ) from None

    def discard(self) -> None:
        """Forget what is on disk."""
        for path in self.folder.glob("answers_*.jsonl") if self.folder is not None else ():
            path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, str]:
    answers = {}
    for line in path.read_bytes().split(b"\n")[:-1]:  # what no line break ends was being written
        try:
            entry = json.loads(line)
            answers[str(entry["key"])] = str(entry["answer"])
        except (ValueError, KeyError, TypeError):
            continue
    return answers


def answers_folder() -> Path | None:
    """Where answers are kept: `CAVED_ANSWERS`, else the user's cache; None if it says `off`."""
    named = os.environ.get(ANSWERS, "").strip()
    if named.lower() == "off":
        return None
    return Path(named).expanduser() if named else user_cache_path("caved-or-convinced") / "answers"


def open_store(facts: Mapping[str, Any], rank: int = 0) -> AnswerStore:
    """The answers that were finished with these facts, by whatever process.

    Raises:
        RunStopped: if the folder cannot be used.
    """
    base = answers_folder()
    if base is None:
        return AnswerStore(None, rank)
    folder = base / _digest(facts)[:32]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "facts.json", (json.dumps(facts, indent=2, default=str) + "\n").encode())
        answers: dict[str, str] = {}
        for path in sorted(folder.glob("answers_*.jsonl")):
            answers.update(_read(path))
            text = path.read_bytes()
            if text and not text.endswith(b"\n") and path.name == f"answers_{rank}.jsonl":
                write_whole(path, text[: text.rfind(b"\n") + 1])  # a killed run left half a line
    except OSError as error:
        raise RunStopped(
            f"finished answers cannot be kept in {folder} ({error}): name another folder in {ANSWERS}, or set "
            f"{ANSWERS}=off"
        ) from None
    return AnswerStore(folder, rank, answers)
