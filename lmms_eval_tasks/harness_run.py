"""A run of the real `lmms-eval` command, which is not done again where its whole log is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.checkpoint_facts import environment_facts
from stimuli_builder.atomic import write_whole
from stimuli_builder.errors import CavedError

_FACTS_FILE = "facts.json"
_UNWANTED = ("CAVED_TIME", "CAVED_READOUT", "CAVED_THRESHOLD", "CAVED_JUDGE")  # that would change what is measured


@dataclass(frozen=True)
class HarnessRun:
    """What is run, and where its log goes."""

    folder: Path
    tasks: Sequence[str]  # whose logs there must be
    model: str
    model_args: str
    release: Path
    release_digest: str
    task_argument: str = ""  # `--tasks`, where a group stands for the tasks

    def facts(self) -> dict[str, Any]:
        """All that the log depends on, so that one of other code or another release is not taken for it."""
        return {
            "model": self.model,
            "policy": self.model_args,
            "release": self.release_digest,
            **environment_facts(),
        }

    def results(self) -> dict[str, Any] | None:
        """The results file of a whole run with these facts; None if there is none."""
        files = list(self.folder.rglob("*_results.json"))
        logs = {path.name.split("_samples_")[1] for path in self.folder.rglob("*_samples_*.jsonl")}
        noted = self.folder / _FACTS_FILE
        whole = len(files) == 1 and logs == {f"{task}.jsonl" for task in self.tasks} and noted.is_file()
        if not whole or json.loads(noted.read_text(encoding="utf-8")) != self.facts():
            return None
        results: dict[str, Any] = json.loads(files[0].read_text(encoding="utf-8"))
        return results

    def once(self) -> Mapping[str, Any]:
        """Run the command, unless that was done. It exits with 0 when it failed, so the files decide.

        Returns:
            The results file.

        Raises:
            CavedError: if there is no whole log in the end.
        """
        done = self.results()
        if done is not None:
            return done
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        command = [
            *(str(Path(sys.executable).with_name("lmms-eval")), "--tasks", self.task_argument or ",".join(self.tasks)),
            *("--model", self.model, "--model_args", self.model_args),
            *("--output_path", str(self.folder), "--log_samples"),
        ]
        environment = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
        environment["CAVED_RELEASE"] = str(self.release.absolute())
        log = self.folder / "lmms-eval.log"
        with log.open("w") as file:
            subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False)
        write_whole(self.folder / _FACTS_FILE, json.dumps(self.facts()).encode())
        done = self.results()
        if done is None:
            raise CavedError(f"the run of {self.model} {self.model_args} did not end well: see {log}")
        return done
