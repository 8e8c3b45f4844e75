"""The main job of both benchmarks: build, evaluate control models and a small trained one, print, draw, report.

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
from lmms_eval_tasks.small_reader.packaged import model_args, packaged_folder
from metrics.sample_log import LogError, Run, read_runs
from metrics.table import describe_run
from stimuli_builder.contact_sheet import contact_sheet
from stimuli_builder.default_release import default_release
from stimuli_builder.errors import CavedError
from stimuli_builder.release import Release

OUTPUT = Path(__file__).resolve().parent.parent / "demo_output"
BUDGET = 16
TRIALS_PER_PROBE = 16
OBSERVER = "scripted_observer"
POLICY = ObserverPolicy(reading=0.9, deference=0.9, letter_bias=0.1, confidence=0.8, seed=2)
READER = "small-reader"


def evaluate(name: str, model: str, model_args: str, probes: int) -> tuple[Run, float]:
    """Run lmms-eval on one model; gives its sample log and the seconds it took.

    The harness exits with status 0 when an evaluation failed, so the result files decide.
    """
    folder = OUTPUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        str(Path(sys.executable).with_name("lmms-eval")),
        *("--tasks", "caved_or_convinced", "--model", model),
        *("--model_args", model_args, "--output_path", str(folder), "--log_samples"),
    ]
    shown = " ".join(["lmms-eval", *command[1:]])
    print(f"\n$ {shown}", flush=True)
    environment = {k: v for k, v in os.environ.items() if k != "CAVED_RELEASE"}
    log = folder / "lmms-eval.log"
    began = time.monotonic()
    with log.open("w") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False).returncode
    seconds = time.monotonic() - began
    try:
        if status != 0 or not list(folder.rglob("*_results.json")):
            raise LogError(f"status {status} and no results file")
        (run,) = read_runs([folder])
    except LogError as error:
        sys.exit(f"demo: the evaluation of {name} failed ({error}); see {log}")
    if len(run.trials) != probes * TRIALS_PER_PROBE:
        sys.exit(f"demo: {len(run.trials)} trials instead of {probes * TRIALS_PER_PROBE}; see {log}")
    return run, seconds


def report_page() -> Path:
    """The report on all logs of the demo, as one page."""
    caved = Path(sys.executable).with_name("caved")
    named = {
        OBSERVER: "one that caves", READER: READER,
        "framed_responder": "one that dodges", "ocr_reader": "one that reads codes",
    }  # fmt: skip
    page = OUTPUT / "report"
    command = [str(caved), "report", *(str(OUTPUT / folder) for folder in named), "--out", str(page)]
    command += ["--recoverability", str(OUTPUT / "ocr_reader")]
    for folder, name in named.items():
        command += ["--name", f"{OUTPUT / folder}={name}"]
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

    observed, _ = evaluate(OBSERVER, OBSERVER, ",".join(f"{k}={v}" for k, v in vars(POLICY).items()), len(probes))
    phases = expected_deference(POLICY, agreements)
    expected = {(phase, m): value for phase, e in phases.items() for m, value in vars(e).items()}
    (OUTPUT / f"{OBSERVER}.json").write_text(json.dumps(vars(POLICY)) + "\n")

    sheet_path = OUTPUT / "contact_sheet.png"
    contact_sheet(release, BUDGET).save(sheet_path)
    images = image_demo(OUTPUT)
    read, seconds = evaluate(READER, "qwen2_5_vl", model_args(READER), len(probes))
    page = report_page()
    print(
        f"""
== videos: a simulated observer that caves
{describe_run(observed, expected)}

{images}

== videos: a small network, trained from nothing on such scenes, through lmms-eval's own qwen2_5_vl ({seconds:.0f} s)
{describe_run(read)}

The network is no published model, and its numbers are no results: how far it defers was chosen by its lessons (see its card,
{packaged_folder(READER) / "README.md"}).
"expected" follows in closed form from the parameters of the control model, and a 95 % interval misses it one time
in twenty; in-gap J and J0 are 0 for any model, and the reader's EIV is 0 since it reads the image alone.

done in {time.monotonic() - started:.0f} s
report on all of this:        {page}
contact sheet of one probe:   {sheet_path}
sample logs and results:      {OUTPUT}
the release:                  {release.folder}

next, with the environment on your path (source .venv/bin/activate):
  the small one    lmms-eval --tasks caved_or_convinced --model qwen2_5_vl --model_args "$(caved model-args small-reader)" \\
                     --log_samples --output_path logs     # and small-image-reader for cant_tell_or_wont_say
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
