"""`caved report`: the tables of some runs as text, or one page with tables and figures of whichever benchmarks they are of."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer
from PIL import Image
from tqdm import tqdm

from metrics.flips import Flip, flipped_probes
from metrics.image.report_study import ImageStudy
from metrics.intervals import RESAMPLES
from metrics.logged_run import LoggedRun, read_logged_runs
from metrics.paper_measures import TASK
from metrics.report.assemble import build_report
from metrics.report.contents import Report, Sheet
from metrics.report.joined import join_reports
from metrics.report.notation import MINUS
from metrics.report.report import write_report
from metrics.report.report_folder import ReportError, check_target
from metrics.report.study import Study, collect_study
from metrics.sample_log import LogKind, logs_by_kind, read_run
from metrics.table import describe_run
from stimuli_builder.cli_report_image import image_report, image_text, read_image_study
from stimuli_builder.contact_sheet import contact_sheet
from stimuli_builder.default_release import built_default
from stimuli_builder.errors import CavedError
from stimuli_builder.find_release import VARIABLE, find_release
from stimuli_builder.release import Release, open_release

_SHEET_WIDTH_PX = 1200
_FEW_IMAGE_RUNS = 2  # each takes seconds to measure, whatever its size
_WORTH_PROCESSES_BYTES = 200e6  # below, starting them takes longer than they save


def report(
    logs: Annotated[list[Path], typer.Argument(help="folders or files that lmms-eval --log_samples wrote")],
    out: Annotated[
        Optional[Path],  # noqa: UP045 (typer on Python 3.10 reads Optional)
        typer.Option(help="new folder: index.html, tables (CSV, LaTeX), figures (PNG, SVG), report.json"),
    ] = None,
    published: Annotated[bool, typer.Option(help="set the paper's own numbers beside the measured ones")] = False,
    release: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="the video release that was evaluated, for contact sheets; default: CAVED_RELEASE"),
    ] = None,
    recoverability: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="what degraded images still give: a JSON file of people's accuracies, or the logs of a reader"
        ),
    ] = None,
    name: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="PATH=NAME: what to call the model whose logs lie there; may be given several times"),
    ] = None,
    sheets: Annotated[int, typer.Option(min=0, help="contact sheets of probes that flipped, for each model")] = 2,
    resamples: Annotated[int, typer.Option(min=100, help="of the bootstrap behind the intervals")] = RESAMPLES,
) -> None:
    """Report on runs from their sample logs alone: as text, or with --out as one page that needs no network.

    Logs of the video and of the image benchmark may lie in the same folders. Several models may stand in one report;
    runs of several releases of a benchmark, or of several readouts, may not. What a log does not hold is said, with
    the command that would give it.
    """
    kinds = logs_by_kind(logs)
    if out is None:
        _print_tables(kinds, recoverability)
        return
    try:
        target = check_target(out)
        given = None if release is None else open_release(release)
        if given is not None and not kinds["video"]:
            raise CavedError(
                f"--release {release} is for contact sheets of videos, and no log is of videos: leave it out"
            )
        studies = _read(kinds, _names(name or []))
        workers = _workers([*kinds["video"], *kinds["image"]])
        with tqdm(total=studies.steps, desc="measuring", unit=" run") as bar:
            reports = []
            if studies.video is not None:
                made = build_report(studies.video, published, resamples, workers, bar.update)
                reports.append(_with_sheets(made, studies.video, given, sheets))
            if studies.image is not None:
                several = (os.cpu_count() or 1) if len(studies.image.runs) > _FEW_IMAGE_RUNS else 1
                reports.append(
                    image_report(studies.image, recoverability, resamples, max(workers, several), bar.update)
                )
        finished = join_reports(reports)
        write_report(finished, target)
    except ReportError as error:
        raise CavedError(str(error)) from error
    for warning in finished.warnings[:20]:
        typer.echo(f"WARNING {warning}", err=True)
    if len(finished.warnings) > 20:
        typer.echo(f"... and {len(finished.warnings) - 20} more warnings on the page", err=True)
    for verdict in finished.verdicts:
        typer.echo(f"{verdict.kind}: {verdict.sentence}".replace(MINUS, "-"))  # a terminal may lack it
    typer.echo(f"{target / 'index.html'}: {len(finished.tables)} tables, {len(finished.figures)} figures")


@dataclass(frozen=True)
class _Studies:
    """What the logs hold of each benchmark."""

    video: Study | None
    image: ImageStudy | None

    @property
    def steps(self) -> int:
        """How often progress is reported while they are measured."""
        video = 0 if self.video is None else len(self.video.runs) + len(self.video.models)
        return video + (0 if self.image is None else len(self.image.runs))


def _print_tables(kinds: Mapping[LogKind, Sequence[Path]], recoverability: Path | None) -> None:
    texts = [partial(_video_text, path) for path in kinds["video"]]
    texts += [partial(image_text, path, recoverability) for path in kinds["image"]]
    for number, text in enumerate(texts):
        typer.echo(("\n" if number else "") + text())


def _video_text(path: Path) -> str:
    try:
        return describe_run(read_run(path))
    except ValueError as error:
        raise CavedError(f"{path}: {error}") from error


def _names(given: Sequence[str]) -> dict[Path, str]:
    names = {}
    for text in given:
        path, _, called = text.rpartition("=")
        if not path or not called.strip():
            raise CavedError(f"--name {text}: write PATH=NAME, such as logs/a=InternVL3-8B")
        if not Path(path).exists():
            raise CavedError(f"--name {text}: {path} does not exist; give a folder or file of logs")
        if Path(path).resolve() in names:
            raise CavedError(f"--name {text}: {path} has a name already; give each place one")
        names[Path(path).resolve()] = called.strip()
    return names


def _called(run: LoggedRun, names: Mapping[Path, str]) -> LoggedRun:
    """The run under the name that was given for the nearest place above it."""
    for place in (run.path.resolve(), *run.path.resolve().parents):
        if place in names:
            return replace(run, model=names[place], named=True)
    return run


def _read(kinds: Mapping[LogKind, Sequence[Path]], names: Mapping[Path, str]) -> _Studies:
    files = [*kinds["video"], *kinds["image"]]
    workers, size = _workers(files), sum(path.stat().st_size for path in files)
    video, image = None, None
    with tqdm(total=size, desc="reading logs", unit="B", unit_scale=True) as bar:
        if kinds["video"]:
            runs = read_logged_runs(kinds["video"], workers, bar.update)
            video = collect_study([_called(run, names) for run in runs])
        if kinds["image"]:
            image = read_image_study(kinds["image"], lambda run: _called(run, names), workers, bar.update)
    return _Studies(video, image)


def _workers(files: Sequence[Path]) -> int:
    """How many processes are worth starting."""
    size = sum(path.stat().st_size for path in files)
    return (os.cpu_count() or 1) if size > _WORTH_PROCESSES_BYTES else 1


def _release_of(study: Study, given: Release | None) -> tuple[Release | None, str]:
    """The release that was evaluated, if it is at hand, else why it is not."""
    if given is not None and given.info.digest != study.release:
        raise CavedError(
            f"--release {given.folder} has digest {given.info.digest[:16]}, the runs are of {study.release[:16]}: give the "
            "release that was evaluated, or leave it out"
        )
    found, why = given, "not at hand"
    if found is None:
        try:
            found = find_release() if os.environ.get(VARIABLE) else built_default()
        except CavedError as error:
            why = f"not at hand ({error})"
    if found is not None and found.info.digest == study.release:
        return found, ""
    return None, (
        f"no contact sheets of flipped probes: the release {study.release[:16]} is {why}: `caved report LOGS --out DIR "
        "--release FOLDER`"
    )


def _png(image: Image.Image) -> bytes:
    height = round(image.height * _SHEET_WIDTH_PX / image.width)
    small = image.resize((_SHEET_WIDTH_PX, height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.quantize(256, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _caption(flip: Flip) -> str:
    return (
        f"probe {flip.probe}, k = {flip.budget}, twin {flip.twin}: gives the shown order {flip.before:.2f} without a claim and "
        f"{flip.after:.2f} under a strong false claim"
    )


def _with_sheets(report: Report, study: Study, given: Release | None, count: int) -> Report:
    """The report with contact sheets of the probes on which each model flipped most."""
    if count == 0:
        return report
    release, reason = _release_of(study, given)
    if release is None:
        return replace(report, missing=(*report.missing, reason))
    chosen: list[tuple[str, Flip]] = []
    for model in study.models:
        run = study.run(model, TASK)
        if run is not None:
            chosen += [(model, flip) for flip in flipped_probes(run.table)[:count]]
    pictures: dict[tuple[int, str], bytes] = {}
    sheets = []
    for model, flip in tqdm(chosen, desc="contact sheets", unit=" sheet", disable=not chosen):
        key = (flip.budget, flip.probe)
        if key not in pictures:
            pictures[key] = _png(contact_sheet(release, flip.budget, flip.probe, show="on_grid"))
        sheets.append(Sheet(model, _caption(flip), pictures[key]))
    return replace(report, sheets=tuple(sheets))
