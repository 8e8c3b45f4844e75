"""Accuracies that stand under the levels of a preview: of people, or of a reader whose logs are given."""

from __future__ import annotations

from pathlib import Path

from metrics.controls import control_kind, marked_name
from metrics.image.logged_image_run import identity, read_image_runs
from metrics.image.recoverability import Recoverability, read_recoverability, recoverability_of_reader
from stimuli_builder.errors import CavedError


def anchors_of(path: Path, digest: str, option: str = "--anchors") -> Recoverability:
    """The anchors of a JSON file, or of a reader's logs on one release: those of its newest run, open before closed.

    Args:
        path: of the file, or of a file or folder of logs.
        digest: of the release.
        option: of the command line that names the path, for messages.

    Raises:
        CavedError: if the logs are of other releases or of several readers, one of them is of several models, or they
            read no category.
        LogError: if nothing there can be read.
    """
    if path.suffix.lower() == ".json" and path.is_file():
        return read_recoverability(path)
    runs = [run for run in read_image_runs([path]) if set(run.table["release"].astype(str)) == {digest}]
    if not runs:
        raise CavedError(f"{option} {path}: none of its runs is on the release {digest[:16]}: run the reader on it")
    if len({identity(run) for run in runs}) > 1:
        names = ", ".join(sorted({run.model for run in runs}))
        raise CavedError(f"{option} {path} holds runs of several models ({names}): give the logs of one reader")
    run = max(runs, key=lambda run: (not run.task.endswith("_closed"), run.date))
    try:
        name = marked_name(run.model, control_kind(run.model_id, run.table))
        return recoverability_of_reader(run.table, name, identity(run))
    except ValueError as error:
        raise CavedError(f"{option} {path}: {error}") from error
