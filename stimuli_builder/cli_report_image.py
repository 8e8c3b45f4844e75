"""The image benchmark's part of `caved report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from metrics.image.describe import describe_image_run
from metrics.image.logged_image_run import read_image_run, read_image_runs
from metrics.image.recoverability import Recoverability
from metrics.image.report_assemble import build_image_report
from metrics.image.report_study import ImageStudy, collect_image_study
from metrics.logged_run import LoggedRun
from metrics.report.contents import Report
from stimuli_builder.errors import CavedError
from stimuli_builder.image.anchors import anchors_of

OPTION = "--recoverability"


def known_recoverability(place: Path | None, release: str) -> Recoverability | None:
    """What images still give, from a JSON file or the logs of a reader on the release; None if no place is given.

    Raises:
        CavedError: if the place does not exist, or its logs are of another release or of several models.
        LogError: if nothing there can be read.
    """
    if place is None:
        return None
    if not place.exists():
        raise CavedError(f"{OPTION} {place} does not exist: give a JSON file of anchors, or the logs of a reader")
    return anchors_of(place, release, OPTION)


def image_text(path: Path, recoverability: Path | None) -> str:
    """The tables of one log as text.

    Raises:
        LogError: if it cannot be read, or contradicts itself.
        CavedError: as `known_recoverability`.
    """
    run = read_image_run(path)
    return describe_image_run(run, known_recoverability(recoverability, str(run.table["release"].iloc[0])))


def read_image_study(
    files: Sequence[Path],
    named: Callable[[LoggedRun], LoggedRun],
    workers: int,
    progress: Callable[[int], object],
) -> ImageStudy:
    """The runs of the image benchmark among some logs.

    Args:
        files: its logs.
        named: gives a run the name that the user chose for it.
        workers: processes that read.
        progress: called with the number of bytes of each file that was read.

    Raises:
        LogError: if a log cannot be read, or the runs do not belong together.
    """
    return collect_image_study([named(run) for run in read_image_runs(files, workers, progress)])


def image_report(
    study: ImageStudy,
    recoverability: Path | None,
    resamples: int,
    workers: int,
    progress: Callable[[int], object],
) -> Report:
    """The report of an image study; H3 and the table of levels take `recoverability`.

    Raises:
        LogError: if a run contradicts itself.
        CavedError: as `known_recoverability`.
    """
    known = known_recoverability(recoverability, study.release)
    return build_image_report(study, known, resamples, workers, progress)
