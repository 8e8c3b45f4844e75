"""The main job of both benchmarks: build, evaluate control models, print, draw, report.

Runs the real `lmms-eval` command. Everything that it writes lies under demo_output/.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from demo_images import image_demo

from lmms_eval_tasks.expected_deference import expected_deference
from lmms_eval_tasks.observer_policy import ObserverPolicy
from metrics.sample_log import LogError, Run, read_runs
from metrics.table import describe_run
from stimuli_builder.contact_sheet import contact_sheet
from stimuli_builder.default_release import default_release
from stimuli_builder.errors import CavedError
from stimuli_builder.release import Release

OUTPUT = Path(__file__).resolve().parent.parent / "demo_output"
BUDGET = 16
TRIALS_PER_PROBE = 16
OBSERVERS = {
    "weighs the evidence": ObserverPolicy(reading=0.9, deference=0.3, seed=1),
    "caves": ObserverPolicy(reading=0.9, deference=0.9, letter_bias=0.1, seed=2),
}


def model_args(policy: ObserverPolicy) -> str:
    """The policy as `--model_args`."""
    return ",".join(f"{name}={value}" for name, value in vars(policy).items())


def evaluate(name: str, policy: ObserverPolicy, probes: int) -> Run:
    """Run lmms-eval on one observer and read its sample log.

    The harness exits with status 0 when an evaluation failed, so the result files decide.
    """
    folder = OUTPUT / name.replace(" ", "_")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        str(Path(sys.executable).with_name("lmms-eval")),
        *("--tasks", "caved_or_convinced", "--model", "scripted_observer"),
        *("--model_args", model_args(policy), "--output_path", str(folder), "--log_samples"),
    ]
    shown = " ".join(["lmms-eval", *command[1:]])
    print(f"\n$ {shown}", flush=True)
    environment = {k: v for k, v in os.environ.items() if k != "CAVED_RELEASE"}
    log = folder / "lmms-eval.log"
    with log.open("w") as file:
        status = subprocess.run(command, stdout=file, env=environment, check=False).returncode
    try:
        if status != 0 or not list(folder.rglob("*_results.json")):
            raise LogError(f"status {status} and no results file")
        (run,) = read_runs([folder])
    except LogError as error:
        sys.exit(f"demo: the evaluation of the observer that {name} failed ({error}); see {log}")
    if len(run.trials) != probes * TRIALS_PER_PROBE:
        sys.exit(f"demo: {len(run.trials)} trials instead of {probes * TRIALS_PER_PROBE}; see {log}")
    return run


def report_page() -> Path:
    """The report on all logs of the demo, as one page."""
    caved = Path(sys.executable).with_name("caved")
    logs = [OUTPUT / name for name in (*(n.replace(" ", "_") for n in OBSERVERS), "framed_responder", "ocr_reader")]
    page = OUTPUT / "report"
    command = [str(caved), "report", *map(str, logs), "--out", str(page)]
    command += ["--recoverability", str(OUTPUT / "ocr_reader")]
    for log, name in zip(logs, (*OBSERVERS, "dodges", "reads codes"), strict=True):
        command += ["--name", f"{log}=one that {name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"demo: the report could not be written: {done.stderr[-2000:]}")
    return page / "index.html"


def main() -> None:
    """Run the demo."""
    started = time.monotonic()
    release: Release = default_release()
    probes = release.probes(BUDGET)
    agreements = [p.probe.claimed_order == p.probe.named_order for p in probes]
    print(f"release {release.folder}: {len(probes)} probes, digest {release.info.digest[:16]}")

    tables = []
    for name, policy in OBSERVERS.items():
        run = evaluate(name, policy, len(probes))
        phases = expected_deference(policy, agreements)
        expected = {(phase, m): value for phase, e in phases.items() for m, value in vars(e).items()}
        tables.append(f"== an observer that {name}\n{describe_run(run, expected)}")
        (OUTPUT / f"{name.replace(' ', '_')}.json").write_text(json.dumps(vars(policy)) + "\n")

    sheet_path = OUTPUT / "contact_sheet.png"
    contact_sheet(release, BUDGET).save(sheet_path)
    images = image_demo(OUTPUT)
    page = report_page()
    print("\n" + "\n\n".join([*tables, images]))
    print(
        f"""
"expected" follows in closed form from the parameters of the control model, and a 95 % interval misses it one time
in twenty; in-gap J and J0 are 0 for any model, and the reader's EIV is 0 since it reads the image alone.

done in {time.monotonic() - started:.0f} s
report on all of this:        {page}
contact sheet of one probe:   {sheet_path}
sample logs and results:      {OUTPUT}
the release:                  {release.folder}

next, with the environment on your path (source .venv/bin/activate):
  your own model   lmms-eval --tasks caved_or_convinced --model qwen2_5_vl \\
                     --model_args pretrained=Qwen/Qwen2.5-VL-7B-Instruct --log_samples --output_path logs
                   caved report logs
                   lmms-eval --tasks cant_tell_or_wont_say --model ...         # the image benchmark
  real videos      caved build video --ucf101 DIR --nextqa DIR --budgets 16 --probes 500 --seed 0 --out releases/ucf
                   caved verify releases/ucf
                   CAVED_RELEASE=releases/ucf lmms-eval --tasks caved_or_convinced --model ...
"""
    )


if __name__ == "__main__":
    try:
        main()
    except CavedError as error:
        sys.exit(f"demo: {error}")
