"""Is every number of the image benchmark right? Responders with known answers, through the real command.

    python scripts/validate_image.py                       # builds a procedural release of 64 items
    python scripts/validate_image.py --release releases/x  # or runs on one of your own

Each responder runs once, on both tasks; a run that is there is not repeated, so the command can be stopped and started
again. Writes its part of docs/validation.md, and all numbers as a table beside the logs.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from lmms_eval_tasks.harness_run import HarnessRun
from lmms_eval_tasks.image.responder_check import (
    RESPONDERS,
    check_numbers,
    expected_of,
    measures_of,
    results_that_differ,
    run_faults,
    trials_of,
    verdict_faults,
)
from lmms_eval_tasks.image.responder_page import CheckedRun, responder_page
from lmms_eval_tasks.image.responder_policy import ResponderPolicy
from lmms_eval_tasks.page_parts import write_part
from metrics.image.logged_image_run import read_image_runs
from metrics.image.trial import TASKS
from metrics.image.verdict import image_verdict
from stimuli_builder.atomic import write_whole
from stimuli_builder.errors import CavedError
from stimuli_builder.image.build import already_built, build_image_release
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import ImageRelease, open_image_release
from stimuli_builder.image.sources import procedural_source

ROOT = Path(__file__).resolve().parent.parent
CANVAS_PX = 224  # the smallest: responders know images by their bytes
PART = "image responders"  # of the page
PACKAGES = ("caved-or-convinced", "lmms-eval", "datasets", "numpy", "pandas", "pillow", "scipy")


def release_for(arguments: argparse.Namespace) -> ImageRelease:
    """The release that was named, or a procedural one, built unless it is there."""
    if arguments.release is not None:
        return open_image_release(arguments.release)
    out = arguments.out / f"release_{arguments.items}_{arguments.seed}"
    source = procedural_source(arguments.items, arguments.seed, CANVAS_PX)
    if already_built(out, source, arguments.seed, {}, MARGIN):
        return open_image_release(out)
    return build_image_release(source, out, arguments.seed, {}, MARGIN, "mit")


def run_of(folder: Path, policy: ResponderPolicy, release: ImageRelease) -> HarnessRun:
    """The run of a responder on both tasks."""
    tasks = tuple(TASKS.values())
    return HarnessRun(folder, tasks, "framed_responder", policy.model_args(), release.folder, release.info.digest)


def check_responder(
    name: str, run: HarnessRun, policy: ResponderPolicy, release: ImageRelease, cells: int
) -> list[CheckedRun]:
    """All numbers of a responder that has run on both tasks, and what else is wrong with its runs."""
    questions, results = release.questions(), run.results() or {"results": {}}
    logged = {logged.task: logged for logged in read_image_runs([run.folder])}
    checked = []
    for elicitation, task in TASKS.items():
        table = logged[task].table
        try:
            observed, verdict = measures_of(task, table), image_verdict(name, table)
        except ValueError as error:
            raise CavedError(
                f"the log of {name} cannot be measured ({error}): delete {run.folder} and run again"
            ) from error
        faults = [
            *logged[task].problems,
            *run_faults(policy, table, observed, trials_of(questions)),
            *verdict_faults(policy, verdict),
            *results_that_differ(results, task, observed),
        ]
        numbers = check_numbers(task, observed, expected_of(policy, questions, elicitation), cells)
        checked.append(CheckedRun(name, policy, task, numbers, observed, verdict.kind, faults))
    return checked


def as_table(runs: Sequence[CheckedRun]) -> pd.DataFrame:
    """All numbers, one a row, with full precision."""
    return pd.DataFrame(
        [
            {
                "responder": run.responder,
                "task": run.task,
                "number": cell.name,
                "observed": cell.observed.value,
                "low_95": cell.observed.low,
                "high_95": cell.observed.high,
                "interval": cell.observed.method,
                "expected": cell.expected.value,
                "exact": cell.expected.certain,
                "chance_at_most": cell.chance,
                "fault": cell.fault,
            }
            for run in runs
            for cell in run.cells
        ]
    )


def command_of(arguments: argparse.Namespace) -> str:
    """The command as far as numbers depend on it."""
    source = (
        ["--release", arguments.release.name]
        if arguments.release
        else ["--items", arguments.items, "--seed", arguments.seed]
    )
    chosen = [] if arguments.responders == list(RESPONDERS) else ["--responders", *arguments.responders]
    return shlex.join(map(str, ["python", "scripts/validate_image.py", *source, *chosen]))


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", type=Path, help="an image release")
    parser.add_argument("--items", type=int, default=64, help="of the release that is built without --release")
    parser.add_argument("--seed", type=int, default=0, help="of the release that is built")
    parser.add_argument("--responders", nargs="+", choices=RESPONDERS, default=list(RESPONDERS), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="responders that run at the same time")
    parser.add_argument("--out", type=Path, default=ROOT / "validation_output" / "image", help="logs and the release")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "validation.md")
    return parser.parse_args(arguments)


def main(given: Sequence[str]) -> int:
    """Run the validation; 0 if every number is right."""
    arguments = parsed(given)
    release = release_for(arguments)
    chosen = {name: RESPONDERS[name] for name in arguments.responders}
    runs = {name: run_of(arguments.out / re.sub(r"\W+", "_", name), policy, release) for name, policy in chosen.items()}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        running = [pool.submit(run.once) for run in runs.values()]
        try:
            for done in tqdm(as_completed(running), "running responders", len(running), unit=" responder"):
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)
    questions = release.questions()
    cells = sum(len(expected_of(policy, questions, e)) for policy in chosen.values() for e in TASKS)
    checked = [
        one
        for name, policy in tqdm(chosen.items(), "checking numbers", unit=" responder")
        for one in check_responder(name, runs[name], policy, release, cells)
    ]
    table = as_table(checked)
    write_whole(arguments.out / "numbers.csv", table.to_csv(index=False).encode())
    page = responder_page(checked, release.info, {name: version(name) for name in PACKAGES}, command_of(arguments))
    write_part(arguments.page, PART, page)
    print(page.split("## ")[0])
    wrong = table[table["fault"] != ""]
    if len(wrong):
        print(wrong.to_string(index=False))
    print(f"all numbers: {arguments.out / 'numbers.csv'}; the page: {arguments.page}")
    return int(bool(len(wrong) or any(run.faults for run in checked)))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CavedError as error:
        sys.exit(f"validate_image: {error}")
