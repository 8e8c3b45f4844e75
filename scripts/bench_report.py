"""How long `caved report` takes, and how much memory, for nine models and the whole paper.

Writes sample logs of the size and shape that the harness writes (about 1.5 million trials, 4 GB), with answers drawn
at random, runs the command on them and prints seconds and peak memory.

    python scripts/bench_report.py --folder bench_output [--probes 550] [--models 9]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from tqdm import tqdm

from metrics.trial import LOG_VERSION

TWINS, LETTERS = ("+", "-"), ("AB", "BA")
MODELS = ("one-7B", "two-7B", "three-8B", "four-8B", "five-8B", "six-7B", "seven-7B", "eight-7B", "nine-8B")
Setting = tuple[int, str, str, int | None, str, str, str]  # budget, arm, phase, offset, direction, claim, time


def settings_of(task: str) -> list[Setting]:
    """What each task asks of each twin, under each letter assignment."""
    both, claims = ("on_grid", "in_gap"), ("none", "strong")
    if task == "_attribution":
        return [
            (16, a, "on_grid", None, "forward", c, "withheld")
            for a in ("intact", "no_events", "placebo")
            for c in claims
        ]
    if task == "_mild":
        return [(16, "intact", p, None, "forward", c, "withheld") for p in both for c in (*claims, "mild")]
    if task == "_time":
        return [
            (16, "intact", p, None, "forward", c, t)
            for p, c, t in product(both, claims, ("withheld", "native", "text"))
        ]
    if task == "_single_event":
        return [(16, a, "on_grid", None, "forward", "none", "withheld") for a in ("intact", "early_only", "late_only")]
    if task == "_reversal":
        return [
            (k, "intact", "offset", j, d, "none", "withheld")
            for k, j, d in product((8, 16, 32), range(4), ("forward", "reversed"))
        ]
    budget = int(task[2:]) if task else 16
    return [(budget, "intact", p, None, "forward", c, "withheld") for p, c in product(both, claims)]


TASKS = ("", "_k8", "_k24", "_k32", "_k48", "_k64", "_attribution", "_mild", "_time", "_single_event", "_reversal")


def lines(task: str, probes: int, reading: float, deference: float, draw: random.Random) -> Iterator[str]:
    """Log lines of one model and task."""
    ids = [hashlib.sha256(str(i).encode()).hexdigest()[:16] for i in range(64)]
    for number, (probe, setting, twin) in enumerate(product(range(probes), settings_of(task), TWINS)):
        budget, arm, phase, offset, direction, claim, channel = setting
        visible = phase == "on_grid" and arm in ("intact", "placebo")
        view = hashlib.sha256(
            f"{probe}{arm}{phase}{offset}{direction}{budget}{twin if visible else ''}".encode()
        ).hexdigest()
        claimed = None if claim == "none" else ("e1_first", "e2_first")[probe % 2]
        shown_e1 = (twin == "+") == (direction == "forward")
        lean = random.Random(f"{view}{claim}").random()
        e1 = (0.9 if shown_e1 else 0.1) if visible and lean < reading else lean
        if claimed and lean < deference:
            e1 = 0.95 if claimed == "e1_first" else 0.05
        for letters in LETTERS:
            a = e1 if letters == "AB" else 1 - e1
            given = {"A": a, "B": 1 - a}
            receipt = {
                "frames": budget, "order": "as shown", "size_px": [448, 448], "digest": view[:16],
                "time": {"channel": channel, "beside_frames": None, "seconds_per_step": None, "frames_per_step": None}, "float32_head": True,
            }  # fmt: skip
            said = json.dumps({"caved_readout": "next_token", "text": "A", "option_probabilities": given, "option_mass": 0.99,
                               "receipt": receipt})  # fmt: skip
            trial = {
                "log_version": LOG_VERSION, "task": f"caved_or_convinced{task}", "release": "b7" * 32,
                "release_probes": probes, "probe": f"p{probe:05d}", "video_budget": 16 if phase == "offset" else budget,
                "budget": budget, "arm": arm, "twin": twin, "phase": phase, "offset": offset, "direction": direction,
                "events_sampled": 2 if visible else 0, "claim": claim, "claimed_order": claimed, "letters": letters,
                "time": channel, "view": view, "frames": ids[:budget],
                "answer": {"outcome": "answered", "option": "A" if a >= 0.5 else "B", "option_probabilities": given,
                           "option_mass": draw.uniform(0.9, 1), "rule": "next-token probabilities",
                           "option_probability_bound": None},
                "receipt": receipt, "padding": False, "unavailable": "",
            }  # fmt: skip
            yield json.dumps(
                {
                    "doc_id": number, "target": letters[0], "filtered_resps": said, "token_counts": [None],
                    "doc_hash": view, "trial": trial, "unparseable": "p/16/intact/+/on_grid/none/AB/withheld",
                    "input": "Two brief events appear in this video: an orange diamond, and a yellow cross. Which of them "
                    "comes first?\nA. an orange diamond, then a yellow cross\nB. a yellow cross, then an orange diamond\n"
                    "Answer with the letter of the correct option only.",
                }
            )  # fmt: skip


def write_logs(folder: Path, models: int, probes: int) -> int:
    """Write the logs, those that are there already left as they are; returns the number of trials."""
    trials = 0
    jobs = [(i, task) for i in range(models) for task in TASKS]
    for i, task in tqdm(jobs, desc="writing logs", unit=" log"):
        trials += probes * len(settings_of(task)) * len(TWINS) * len(LETTERS)
        place = folder / MODELS[i]
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"20260101_000000_samples_caved_or_convinced{task}.jsonl"
        if path.exists():
            continue
        draw = random.Random(f"{i}{task}")
        partial = path.with_suffix(".partial")
        with partial.open("w") as file:
            file.writelines(line + "\n" for line in lines(task, probes, 0.1 * i, 0.9 - 0.1 * i, draw))
        partial.rename(path)
        results = {"config": {"model": "some_wrapper", "model_args": f"pretrained=someone/{MODELS[i]}"}}
        (place / "20260101_000000_results.json").write_text(json.dumps(results))
    return trials


def main() -> None:
    """Write the logs, run the report, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--probes", type=int, default=550)
    parser.add_argument("--models", type=int, default=9)
    arguments = parser.parse_args()
    logs, out = arguments.folder / "logs", arguments.folder / "report"
    trials = write_logs(logs, arguments.models, arguments.probes)
    size = sum(path.stat().st_size for path in logs.rglob("*.jsonl"))
    command = [str(Path(sys.executable).with_name("caved")), "report", str(logs), "--out", str(out), "--published"]
    started = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    print(f"{trials} trials, {size / 1e9:.1f} GB of logs: {seconds:.0f} s, peak memory {peak:.2f} GiB, status {status}")


if __name__ == "__main__":
    main()
