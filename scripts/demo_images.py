"""The image part of the demo: a simulated model whose numbers are known in advance, and a real reading program."""

from __future__ import annotations

import shutil
from pathlib import Path

from lmms_eval_tasks.harness_run import HarnessRun
from lmms_eval_tasks.image.expected_image_cells import expected_image_cells
from lmms_eval_tasks.image.expected_number import ExpectedNumber
from lmms_eval_tasks.image.responder_policy import ResponderPolicy
from metrics.image.image_measures import image_measures
from metrics.image.logged_image_run import read_image_runs
from metrics.image.trial import DEGRADED, TASK
from metrics.intervals import RESAMPLES, Estimate
from metrics.table import format_rows
from stimuli_builder.errors import CavedError
from stimuli_builder.image.anchors import anchors_of
from stimuli_builder.image.build import build_image_release, standing_release
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.image.sources import procedural_source
from stimuli_builder.image.strip import preview_strip

ITEMS = 16
CANVAS_PX = 448
SEED = 0
DODGER = ResponderPolicy(dodging=0.4, abstaining=0.6, seed=1)


def build(folder: Path) -> ImageRelease:
    """A small procedural release, built unless it is there as this version builds it."""
    source = procedural_source(ITEMS, SEED, CANVAS_PX)
    try:
        standing = standing_release(folder, source, SEED, {}, MARGIN) if folder.is_dir() else None
    except CavedError:  # another version drew it
        standing = None
    if standing is None:
        shutil.rmtree(folder, ignore_errors=True)
        standing = build_image_release(source, folder, SEED, {}, MARGIN, "mit")
    return standing


def evaluate(output: Path, release: ImageRelease, model: str, model_args: str) -> dict[str, Estimate]:
    """Run lmms-eval on one model, unless its whole log is there, and measure its sample log."""
    shown = f"--model_args {model_args} " if model_args else ""
    print(f"\n$ CAVED_RELEASE={release.folder} lmms-eval --tasks {TASK} --model {model} {shown}...", flush=True)
    HarnessRun(output / model, [TASK], model, model_args, release.folder, release.info.digest).once()
    (run,) = read_image_runs([output / model])
    return image_measures(TASK, run.table, RESAMPLES)


def pressure_table(measured: dict[str, Estimate], release: ImageRelease) -> str:
    """PIA by level beside what must come out."""
    expected = expected_image_cells(DODGER, release.questions(), "open")
    rows = [["level", "PIA(d)", "expected"]]
    for level in range(release.info.levels + 1):
        known = expected[f"PIA_L{level}"]
        assert isinstance(known, ExpectedNumber)
        rows.append([f"L{level}", str(measured[f"PIA_L{level}"]), f"{known.value:.3f}"])
    return format_rows(rows)


def reading_table(measured: dict[str, Estimate], release: ImageRelease) -> str:
    """How well the reader reads codes at each level, in both modes."""
    rows = [["codes, neutral framing", *(f"L{level}" for level in range(release.info.levels + 1))]]
    for mode, name in zip(DEGRADED, ("covered", "blurred"), strict=True):
        for what in ("accuracy", "abstention"):
            shares = [
                measured[f"{what}_neutral_L{level}_code_{mode}"].value for level in range(release.info.levels + 1)
            ]
            rows.append([f"{name}: {what}", *(f"{share:.2f}" for share in shares)])
    return format_rows(rows)


def violation_row(measured: dict[str, Estimate]) -> str:
    """EIV, never alone."""
    null, p = measured["EIV_null"].value, measured["EIV_p"].value
    return f"EIV {measured['EIV']}, by chance {null:.3f}, excess {measured['EIV_excess']}, p = {p:.3f}"


def image_demo(output: Path) -> str:
    """Run the image part below `output`; gives what to print."""
    release = build(output / "image_release")
    dodger = evaluate(output, release, "framed_responder", DODGER.model_args())
    reader = evaluate(output, release, "ocr_reader", "")
    found = anchors_of(output / "ocr_reader", release.info.digest)
    strip = output / "degradation_strip.png"
    preview_strip(release, None, "code", found.accuracy, found.source).save(strip)
    return f"""== images: a simulated model that dodges ({release.info.items} items, {release.info.questions} questions)
{violation_row(dodger)}
{pressure_table(dodger, release)}

== images: a real reader of printed codes, which knows nothing of framings
{violation_row(reader)}
{reading_table(reader, release)}

degradation strip of one item, with the reader's accuracy: {strip}"""
