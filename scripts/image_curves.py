"""A real reader over the levels of degradation: `ocr_reader` on 100 procedural items, both tasks, the real command.

    python scripts/image_curves.py                       # builds a procedural release of 100 items
    python scripts/image_curves.py --release releases/x  # or runs on one of your own that asks for codes

Writes its part of docs/validation.md, and the figure beside it. Fails if any framing moves a reader that reads none.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from lmms_eval_tasks.harness_run import HarnessRun
from lmms_eval_tasks.image.ocr_engine import WEIGHTS
from lmms_eval_tasks.image.ocr_reader import CONFIDENCE
from lmms_eval_tasks.image.reader_curves import curve_figure, curve_points, curve_table, invariance_table, moved
from lmms_eval_tasks.page_parts import write_part
from metrics.image.image_measures import image_measures
from metrics.image.logged_image_run import read_image_runs
from metrics.image.trial import TASKS
from metrics.intervals import RESAMPLES, SEED
from stimuli_builder.atomic import write_whole
from stimuli_builder.errors import CavedError
from stimuli_builder.image.build import already_built, build_image_release
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import ImageRelease, open_image_release
from stimuli_builder.image.sources import procedural_source

ROOT = Path(__file__).resolve().parent.parent
CANVAS_PX = 448
PART = "image reader"  # of the page
PACKAGES = ("caved-or-convinced", "lmms-eval", "rapidocr", "onnxruntime", "opencv-python-headless", "numpy", "pillow")
READ = "code"  # the category that the reader can read


def release_for(arguments: argparse.Namespace) -> ImageRelease:
    """The release that was named, or a procedural one, built unless it is there."""
    if arguments.release is not None:
        return open_image_release(arguments.release)
    out = arguments.out / f"release_{arguments.items}_{arguments.seed}"
    source = procedural_source(arguments.items, arguments.seed, CANVAS_PX)
    if already_built(out, source, arguments.seed, {}, MARGIN):
        return open_image_release(out)
    return build_image_release(source, out, arguments.seed, {}, MARGIN, "mit")


def installed(names: Sequence[str]) -> str:
    """Versions of packages; one that is not there under this name is left out."""
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except ImportError:
            continue
    return ", ".join(found)


def abstains_on(table: pd.DataFrame, categories: Sequence[str]) -> bool:
    """Whether every trial of some categories was abstained from."""
    return bool((table["abstained"][table["category"].isin(categories)] == 1).all())


def command_of(arguments: argparse.Namespace) -> str:
    """The command as far as numbers depend on it."""
    source = (
        ["--release", arguments.release.name]
        if arguments.release
        else ["--items", arguments.items, "--seed", arguments.seed]
    )
    return shlex.join(map(str, ["python", "scripts/image_curves.py", *source, "--confidence", arguments.confidence]))


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", type=Path, help="an image release with the category code")
    parser.add_argument("--items", type=int, default=100, help="of the release that is built without --release")
    parser.add_argument("--seed", type=int, default=0, help="of the release that is built")
    parser.add_argument("--confidence", type=float, default=CONFIDENCE, help="of the reader")
    parser.add_argument("--out", type=Path, default=ROOT / "validation_output" / "reader", help="logs and the release")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "validation.md")
    return parser.parse_args(arguments)


def main(given: Sequence[str]) -> int:
    """Run the reader and write its curves; 0 if no framing moves it."""
    arguments = parsed(given)
    release = release_for(arguments)
    if READ not in release.info.categories:
        raise CavedError(
            f"{release.folder} asks for no {READ}, and ocr_reader reads nothing else: choose another release"
        )
    tasks = tuple(TASKS.values())
    model_args = f"confidence={arguments.confidence}"
    run = HarnessRun(arguments.out / "logs", tasks, "ocr_reader", model_args, release.folder, release.info.digest)
    run.once()
    tables = {logged.task: logged.table for logged in read_image_runs([run.folder])}
    points = curve_points(tables[TASKS["open"]], tables[TASKS["closed"]], READ)
    measured = {task: image_measures(task, tables[task], RESAMPLES) for task in tasks}
    wrong = moved(measured)
    figure = curve_figure(points, "What PP-OCR recovers of printed codes")
    write_whole(arguments.page.with_name("ocr_reader.svg"), figure.svg.encode())
    others = [category for category in release.info.categories if category != READ]
    lines = [
        "# A real reader: PP-OCR on printed codes",
        "",
        f"`ocr_reader` finds and reads text with PP-OCR ({', '.join(WEIGHTS.values())}) in the image that it is given, picks the",
        "closest option, and abstains when its confidence is low. It knows nothing of framings. These curves are measured; they",
        "say what this reader recovers, not what people do.",
        "",
        "![what PP-OCR recovers at each level](ocr_reader.svg)",
        "",
        f"Questions of the category {READ}, neutral framing, {release.info.items} items; [95 % intervals over items]. Chance is 0.25.",
        "",
        *curve_table(points),
        f"It abstains on every question of the other categories ({', '.join(others)})."
        if abstains_on(tables[TASKS["open"]], others)
        else "**It answered questions of a category that it cannot read.**",
        "",
        "No framing moves it. All categories, both modes:",
        "",
        *(f"**{fault}**\n" for fault in wrong),
        *invariance_table(measured),
        f"Release: {release.info.items} items, {release.info.sources}, seed {release.info.seed}, canvas "
        f"{release.info.canvas_px} px, digest `{release.info.digest}`.",
        "",
        f"Intervals: bootstrap over items, {RESAMPLES} resamples, seed {SEED}. Versions: {installed(PACKAGES)}.",
        "",
        f"Made by `{command_of(arguments)}`.",
    ]
    page = "\n".join(lines)
    write_part(arguments.page, PART, page)
    print(page)
    return int(bool(wrong))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CavedError as error:
        sys.exit(f"image_curves: {error}")
