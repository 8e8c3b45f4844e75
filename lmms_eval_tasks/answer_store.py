"""Answers that are finished, kept on disk, so that an interrupted run goes on where it stopped.

An answer is found again only if everything that it depends on is the same: model, arguments, checkpoint, versions, this
package's own code, release, prompt, frames and times. Its text is given back as it was, so the run that goes on
writes the file that an uninterrupted one writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from lmms_eval_tasks.checkpoint_facts import checkpoint_facts, digest, environment_facts, settings_of
from lmms_eval_tasks.masking import masked
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import ANSWERS
from stimuli_builder.atomic import write_whole


def run_facts(wrapper: Any, switches: Mapping[str, Any]) -> dict[str, Any] | None:
    """Everything about a wrapper that its answers depend on; None if its weights cannot be told from others.

    Args:
        wrapper: an instance of the subclass that the harness made, with what it was made from in `_caved_arguments`.
        switches: settings of ours that change numbers, if only in the last digits.
    """
    checkpoint = checkpoint_facts(wrapper)
    if checkpoint is None:
        return None
    return {
        "model": f"{type(wrapper).__module__}.{type(wrapper).__name__}",
        "arguments": masked(str(vars(wrapper).get("_caved_arguments", ""))),
        "settings": settings_of(wrapper),
        "checkpoint": checkpoint,
        "environment": environment_facts(),
        "switches": dict(switches),
    }


@dataclass
class AnswerStore:
    """Finished answers of one model in one setting; every process appends to a file of its own."""

    folder: Path | None  # None: nothing is kept
    rank: int = 0
    answers: dict[str, str] = field(default_factory=dict)  # by key
    _read_until: dict[Path, int] = field(default_factory=dict)  # bytes of each file
    _added: list[str] = field(default_factory=list)  # keys of answers that were not read back yet

    def get(self, key: Sequence[str]) -> str | None:
        """The answer to a request, if it is finished."""
        return self.answers.get(digest(list(key)))

    def add(self, finished: Sequence[tuple[Sequence[str], str]]) -> None:
        """Keep finished answers, on disk before this returns.

        Raises:
            RunStopped: if they cannot be written.
        """
        lines = []
        for key, answer in finished:
            name = digest(list(key))
            self.answers[name] = answer
            self._added.append(name)
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

    def refresh(self) -> None:
        """Take up what any process has added to the files since they were read: what is on disk is what is kept."""
        for name in self._added:
            self.answers.pop(name, None)
        self._added.clear()
        paths = sorted(self.folder.glob("answers_*.jsonl")) if self.folder is not None else []
        sizes = {}
        for path in paths:
            with suppress(FileNotFoundError):  # another process has discarded it just now
                sizes[path] = path.stat().st_size
        if any(sizes.get(path, 0) < read for path, read in self._read_until.items()):  # removed, or written anew
            self.forget()
        for path, size in sizes.items():
            start = self._read_until.get(path, 0)
            if size > start:
                with suppress(FileNotFoundError):
                    self._read_until[path] = start + self._read(path, start)

    def _read(self, path: Path, start: int) -> int:
        with path.open("rb") as file:
            file.seek(start)
            whole, _, rest = file.read().rpartition(b"\n")  # what no line break ends is, or was, being written
        if rest and path.name == f"answers_{self.rank}.jsonl":
            with path.open("rb+") as file:  # a killed run of this rank left half a line
                file.truncate(path.stat().st_size - len(rest))
        for line in whole.split(b"\n"):
            try:
                entry = json.loads(line)
                self.answers[str(entry["key"])] = str(entry["answer"])
            except (ValueError, KeyError, TypeError):
                continue
        return len(whole) + 1 if whole else 0

    def forget(self) -> None:
        """Forget what was read or added, but for what is on disk."""
        self.answers.clear()
        self._read_until.clear()
        self._added.clear()

    def discard(self) -> None:
        """Forget all answers, those on disk too."""
        for path in self.folder.glob("answers_*.jsonl") if self.folder is not None else ():
            path.unlink(missing_ok=True)
        self.forget()


def answers_folder() -> Path | None:
    """Where answers are kept: `CAVED_ANSWERS`, else the user's cache; None if it says `off`."""
    named = os.environ.get(ANSWERS, "").strip()
    if named.lower() == "off":
        return None
    return Path(named).expanduser() if named else user_cache_path("caved-or-convinced") / "answers"


_last_opened: AnswerStore | None = None  # the steps of a run open the same one again and again


def open_store(facts: Mapping[str, Any] | None, rank: int = 0) -> AnswerStore:
    """The answers that were finished with these facts, by whatever process; an empty store that keeps nothing if None.

    Raises:
        RunStopped: if the folder cannot be used.
    """
    global _last_opened
    base = answers_folder()
    if base is None or facts is None:
        return AnswerStore(None, rank)
    folder = base / digest(facts)[:32]
    store = _last_opened
    if store is None or (store.folder, store.rank) != (folder, rank):
        store = AnswerStore(folder, rank)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "facts.json").is_file():
            write_whole(folder / "facts.json", (json.dumps(facts, indent=2, default=str) + "\n").encode())
        store.refresh()
    except OSError as error:
        raise RunStopped(
            f"finished answers cannot be kept in {folder} ({error}): name another folder in {ANSWERS}, or set "
            f"{ANSWERS}=off"
        ) from None
    _last_opened = store
    return store
