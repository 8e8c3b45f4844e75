"""Train the small readers that come with the package, from nothing, and measure them on data that no choice was made on.

    python scripts/train_small_reader.py                       # both readers, seed 0
    python scripts/train_small_reader.py --seeds 0 1 2 --package --page docs/validation.md

Everything lies under --out: for each reader and seed the states of its training, the checkpoint, the logs of the whole suite and what it
measured. The command goes on where it was stopped. At the end each checkpoint gets its card; with --package those of the
first seed are copied into the package, and with --page all numbers go onto that page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from safetensors import safe_open

from lmms_eval_tasks.page_parts import write_part
from lmms_eval_tasks.small_reader.card import Subject, image_card, video_card
from lmms_eval_tasks.small_reader.packaged import CHECKPOINTS, arguments_for
from lmms_eval_tasks.small_reader.pairs import events_in_the_dark, held_out_catalogue
from lmms_eval_tasks.small_reader.suite import Measured, keep, run_image_suite, run_video_suite
from lmms_eval_tasks.small_reader.validation_part import CARD_MEASURES, small_reader_part
from stimuli_builder.atomic import write_whole
from stimuli_builder.build import already_built, build_release
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import CANVAS_PX
from stimuli_builder.image.build import build_image_release
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import ImageRelease, open_image_release
from stimuli_builder.image.sources import procedural_source
from stimuli_builder.release import Release, open_release
from stimuli_builder.timing import BUDGETS

ROOT = Path(__file__).resolve().parent.parent
READERS = {"video": "small-reader", "image": "small-image-reader"}
EVALUATION_SEED = 50_000_017  # of the releases; no choice was made on them
OFFSETS = 4
PACKAGES = ("caved-or-convinced", "lmms-eval", "transformers", "accelerate", "torch")


def video_release(out: Path, probes: int) -> Release:
    """Held-out pairs over held-out backgrounds, at all budgets and with the reversal test."""
    what = (BUDGETS, probes, EVALUATION_SEED, CANVAS_PX)
    folder = out / f"video_release_{probes}"
    if already_built(folder, held_out_catalogue(), *what, reversal_offsets=OFFSETS):
        return open_release(folder)
    return build_release(held_out_catalogue(), folder, *what, "mit", reversal_offsets=OFFSETS)


def image_release(out: Path, items: int) -> ImageRelease:
    """Items of a seed that was never learnt from."""
    folder = out / f"image_release_{items}_of_seed_{EVALUATION_SEED}"
    if (folder / "release.json").is_file():
        return open_image_release(folder)
    source = procedural_source(items, EVALUATION_SEED, CANVAS_PX)
    return build_image_release(source, folder, EVALUATION_SEED, {}, MARGIN, "mit")


def train_and_measure(reader: str, seed: int, out: Path, release: Path, digest: str, units: int, threads: int) -> Path:
    """One reader of one seed, from nothing to its numbers; gives the file that holds them. Runs in a process of its own."""
    import torch
    from accelerate import Accelerator

    from lmms_eval_tasks.small_reader.stages import seconds_learnt

    torch.set_num_threads(threads)
    folder = out / f"{reader}-seed-{seed}"
    if reader == "video":
        from lmms_eval_tasks.small_reader.video_training import train_video_reader as train

        run_suite = run_video_suite
    else:
        from lmms_eval_tasks.small_reader.image_training import train_image_reader as train

        run_suite = run_image_suite
    checkpoint = train(Accelerator(), folder, seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    suite = run_suite(folder / "logs", arguments_for(checkpoint, READERS[reader], device), release, digest)
    path = folder / "measured.json"
    keep(Measured(seed, digest, units, seconds_learnt(folder), suite), path)
    return path


def parameters_of(checkpoint: Path) -> int:
    """How many weights a checkpoint holds."""
    with safe_open(checkpoint / "model.safetensors", "pt") as weights:
        shapes = [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118 (it is no mapping)
    count = 0
    for shape in shapes:
        size = 1
        for side in shape:
            size *= side
        count += size
    return count


def write_card(reader: str, out: Path, measured: Sequence[Measured]) -> Path:
    """The card of the first seed's checkpoint; gives the checkpoint."""
    first = measured[0].seed
    checkpoint = out / f"{reader}-seed-{first}" / READERS[reader]
    versions = {name: version(name) for name in PACKAGES}
    subject = Subject(READERS[reader], parameters_of(checkpoint), first, versions)
    card = video_card if reader == "video" else image_card
    write_whole(checkpoint / "README.md", card(subject, measured, CARD_MEASURES[reader]).encode())
    return checkpoint


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--probes", type=int, default=32, help="of the evaluation of the video reader")
    parser.add_argument("--items", type=int, default=8, help="of the evaluation of the image reader")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at the same time")
    parser.add_argument("--threads", type=int, help="of each training; default: the cores, shared between the jobs")
    parser.add_argument("--out", type=Path, default=ROOT / "small_reader_output")
    parser.add_argument(
        "--package", action="store_true", help="copy the checkpoints of the first seed into the package"
    )
    parser.add_argument("--page", type=Path, help="write all numbers onto this page")
    return parser.parse_args(arguments)


def main(given: Sequence[str]) -> None:
    """Train, measure, and write what was measured."""
    arguments = parsed(given)
    arguments.out.mkdir(parents=True, exist_ok=True)
    releases: dict[str, tuple[Path, str, int]] = {}
    if "video" in arguments.readers:
        video = video_release(arguments.out, arguments.probes)
        releases["video"] = (video.folder, video.info.digest, arguments.probes)
    if "image" in arguments.readers:
        image = image_release(arguments.out, arguments.items)
        releases["image"] = (image.folder, image.info.digest, arguments.items)
    threads = arguments.threads or max(1, (os.cpu_count() or 1) // arguments.jobs)
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        running = [
            pool.submit(train_and_measure, reader, seed, arguments.out, *releases[reader], threads)
            for seed in arguments.seeds
            for reader in arguments.readers
        ]
        for done in as_completed(running):
            print(f"measured: {done.result()}", flush=True)
    found = {
        reader: [
            Measured.from_json((arguments.out / f"{reader}-seed-{seed}" / "measured.json").read_text())
            for seed in arguments.seeds
        ]
        for reader in arguments.readers
    }
    for reader, measured in found.items():
        checkpoint = write_card(reader, arguments.out, measured)
        print(f"card: {checkpoint / 'README.md'}")
        if arguments.package:
            packaged = CHECKPOINTS / READERS[reader]
            shutil.rmtree(packaged, ignore_errors=True)
            shutil.copytree(checkpoint, packaged)
            print(f"packaged: {packaged}")
    if arguments.page is not None:
        dark = events_in_the_dark(video).values() if "video" in arguments.readers else ()
        both_dark = [count == 2 for count in dark]
        part = small_reader_part(found, {n: version(n) for n in PACKAGES}, both_dark)
        write_part(arguments.page, "small readers", part)
    summary = {reader: [one.seconds for one in measured] for reader, measured in found.items()}
    print(f"seconds of training: {json.dumps(summary)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except CavedError as error:
        sys.exit(f"train_small_reader: {error}")
