"""Is every number right that this benchmark reports? Observers with known answers, through the real command.

    python scripts/validate.py                       # builds a procedural release of 256 probes
    python scripts/validate.py --release releases/x  # or runs on one of your own, of procedural scenes

Each observer runs once, on all tasks of the paper; a run that is there is not repeated, so the command can be
stopped and started again. Writes docs/validation.md, and all cells as a table beside the logs.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from lmms_eval_tasks.cell_check import CheckedCell
from lmms_eval_tasks.expected_cells import TASKS
from lmms_eval_tasks.harness_run import HarnessRun
from lmms_eval_tasks.observer_policy import ObserverPolicy
from lmms_eval_tasks.page_parts import write_part
from lmms_eval_tasks.validation import OBSERVERS, check_run, count_cells, expected_of, log_faults, results_that_differ
from lmms_eval_tasks.validation_page import validation_page
from metrics.logged_run import read_logged_runs
from stimuli_builder.atomic import write_whole
from stimuli_builder.build import already_built, build_release
from stimuli_builder.errors import CavedError
from stimuli_builder.procedural import procedural_catalogue
from stimuli_builder.release import Release, open_release
from stimuli_builder.timing import BUDGETS

ROOT = Path(__file__).resolve().parent.parent
TASK_ARGUMENT = "caved_or_convinced_paper,caved_or_convinced_reversal_adaptive"
CANVAS_PX = 64  # events are still told apart, and frames cost little
OFFSETS = 4
PART = "video"  # of the page
PACKAGES = ("caved-or-convinced", "lmms-eval", "datasets", "numpy", "pandas", "scipy", "torch")


def release_for(arguments: argparse.Namespace) -> Release:
    """The release that was named, or a procedural one, built unless it is there."""
    if arguments.release is not None:
        return open_release(arguments.release)
    out, catalogue = arguments.out / f"release_{arguments.probes}", procedural_catalogue()
    what = (BUDGETS, arguments.probes, arguments.seed, CANVAS_PX)
    if already_built(out, catalogue, *what, reversal_offsets=OFFSETS):
        return open_release(out)
    return build_release(catalogue, out, *what, "mit", reversal_offsets=OFFSETS)


def run_of(folder: Path, policy: ObserverPolicy, release: Release) -> HarnessRun:
    """The run of an observer on all tasks."""
    return HarnessRun(
        folder, TASKS, "scripted_observer", policy.model_args(), release.folder, release.info.digest, TASK_ARGUMENT
    )


def check_observer(
    folder: Path, policy: ObserverPolicy, release: Release, cells: int
) -> tuple[list[CheckedCell], list[str]]:
    """All cells of an observer that has run, and what else is wrong with its run."""
    runs = read_logged_runs([folder])
    checked = check_run(expected_of(policy, release), {run.task: run.table for run in runs}, cells)
    results = run_of(folder, policy, release).results()
    faults = results_that_differ(results or {"results": {}}, checked)
    for run in runs:
        faults += [*run.problems, *log_faults(run.task, run.table)]
    return checked, faults


def as_table(checked: Mapping[str, Sequence[CheckedCell]]) -> pd.DataFrame:
    """All cells, one a row, with full precision."""
    return pd.DataFrame(
        [
            {
                "observer": observer,
                "task": cell.task,
                "cell": cell.name,
                "observed": cell.observed.value,
                "low_95": cell.observed.low,
                "high_95": cell.observed.high,
                "interval": cell.observed.method,
                "expected": cell.expected.value,
                "exact": cell.expected.certain,
                "chance_at_most": cell.chance,
                "fault": cell.fault,
            }
            for observer, cells in checked.items()
            for cell in cells
        ]
    )


def command_of(arguments: argparse.Namespace) -> str:
    """The command as far as numbers depend on it."""
    source = (
        ["--release", arguments.release.name]
        if arguments.release
        else ["--probes", arguments.probes, "--seed", arguments.seed]
    )
    chosen = [] if arguments.observers == list(OBSERVERS) else ["--observers", *arguments.observers]
    return shlex.join(map(str, ["python", "scripts/validate.py", *source, *chosen]))


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", type=Path, help="a release of procedural scenes, built with --paper")
    parser.add_argument("--probes", type=int, default=256, help="of the release that is built without --release")
    parser.add_argument("--seed", type=int, default=0, help="of the release that is built")
    parser.add_argument("--observers", nargs="+", choices=OBSERVERS, default=list(OBSERVERS), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="observers that run at the same time")
    parser.add_argument("--out", type=Path, default=ROOT / "validation_output", help="logs and the release")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "validation.md")
    return parser.parse_args(arguments)


def main(given: Sequence[str]) -> int:
    """Run the validation; 0 if every cell is right."""
    arguments = parsed(given)
    release = release_for(arguments)
    observers = {name: OBSERVERS[name] for name in arguments.observers}
    folders = {name: arguments.out / re.sub(r"\W+", "_", name) for name in observers}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        running = [pool.submit(run_of(folders[name], policy, release).once) for name, policy in observers.items()]
        try:
            for done in tqdm(as_completed(running), "running observers", len(running), unit=" observer"):
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)
    cells = sum(count_cells(expected_of(policy, release)) for policy in observers.values())
    checked: dict[str, list[CheckedCell]] = {}
    faults: list[str] = []
    for name, policy in tqdm(observers.items(), "checking cells", unit=" observer"):
        checked[name], wrong = check_observer(folders[name], policy, release, cells)
        faults += [f"{name}: {fault}" for fault in wrong]
    table = as_table(checked)
    write_whole(arguments.out / "cells.csv", table.to_csv(index=False).encode())
    versions = {name: version(name) for name in PACKAGES}
    page = validation_page(checked, observers, release.info, versions, command_of(arguments), faults)
    write_part(arguments.page, PART, page)
    print(page.split("## ")[0])
    wrong_cells = table[table["fault"] != ""]
    if len(wrong_cells):
        print(wrong_cells.to_string(index=False))
    print(f"all cells: {arguments.out / 'cells.csv'}; the page: {arguments.page}")
    return int(bool(len(wrong_cells) or faults))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CavedError as error:
        sys.exit(f"validate: {error}")
