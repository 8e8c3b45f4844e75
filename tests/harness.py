"""Running the real `lmms-eval` command, and not believing its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from metrics.sample_log import Run, read_runs


@dataclass(frozen=True)
class Done:
    """A finished command with what it wrote."""

    status: int
    output: str
    folder: Path

    def results(self) -> dict:
        """The results file; fails with the command's output if there is none."""
        files = list(self.folder.rglob("*_results.json"))
        assert len(files) == 1, self.output[-4000:]
        return json.loads(files[0].read_text())

    def run(self) -> Run:
        """The one run that was logged."""
        self.results()
        (run,) = read_runs([self.folder])
        return run


def lmms_eval(
    folder: Path,
    *arguments: str,
    release: Path | None = None,
    environment: dict[str, str] | None = None,
    launcher: tuple[str, ...] = (),
    cwd: Path | None = None,
) -> Done:
    """`lmms-eval ...` in a fresh process, logging below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if k != "CAVED_RELEASE"}
    env["CAVED_ANSWERS"] = str(folder / "answers")
    env.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", HF_DATASETS_CACHE=str(folder / "datasets"))
    env.update({"CAVED_RELEASE": str(release)} if release else {}, **(environment or {}))
    command = [*launcher] or [str(Path(sys.executable).with_name("lmms-eval"))]
    command += [*arguments, "--output_path", str(folder / "logs"), "--log_samples"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=cwd or folder, timeout=900)
    return Done(done.returncode, done.stdout + done.stderr, folder / "logs")
