"""The `caved` command: build, verify and look at releases, report on runs."""

from __future__ import annotations

import errno
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Optional

import typer
from tqdm import tqdm

from metrics.sample_log import LogError, read_runs
from metrics.table import describe_run
from stimuli_builder.atomic import check_target
from stimuli_builder.build import already_built, build_release, check_budgets, check_numbers
from stimuli_builder.catalogue import join_notes
from stimuli_builder.contact_sheet import contact_sheet
from stimuli_builder.errors import CavedError
from stimuli_builder.find_release import find_release
from stimuli_builder.frames import CANVAS_PX
from stimuli_builder.release import Release, open_release
from stimuli_builder.sources import video_catalogue
from stimuli_builder.verify import verify_release

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Does a multimodal model's answer track the evidence or the user? Stimuli and reports.",
)
build_app = typer.Typer(no_args_is_help=True, help="Build a release: stimuli with everything that is known of them.")
app.add_typer(build_app, name="build")

ReleaseArgument = Annotated[
    Optional[Path],  # noqa: UP045 (typer on Python 3.10 reads Optional)
    typer.Argument(help="folder of a release; left out: CAVED_RELEASE, else the embedded default"),
]


def _release(folder: Path | None) -> Release:
    return find_release() if folder is None else open_release(folder)


def _parse_budgets(text: str) -> tuple[int, ...]:
    try:
        return check_budgets([int(part) for part in text.split(",") if part.strip()])
    except ValueError as error:
        raise CavedError(f"--budgets {text}: write numbers separated by commas, such as 8,16,32") from error


@build_app.command("video")
def build_video(
    out: Annotated[Path, typer.Option(help="new folder for the release")],
    ucf101: Annotated[Optional[Path], typer.Option(help="events: UCF-101 as it unpacks")] = None,  # noqa: UP045
    nextqa: Annotated[Optional[Path], typer.Option(help="backgrounds: NExT-QA as it unpacks")] = None,  # noqa: UP045
    events: Annotated[Optional[Path], typer.Option(help="events: any folder of <label>/<clip>")] = None,  # noqa: UP045
    backgrounds: Annotated[Optional[Path], typer.Option(help="backgrounds: any folder of videos")] = None,  # noqa: UP045
    budgets: Annotated[str, typer.Option(help="frames per view, from 8,16,24,32,48,64")] = "16",
    probes: Annotated[int, typer.Option(help="probes per budget")] = 500,
    seed: Annotated[int, typer.Option(help="of every draw")] = 0,
    canvas: Annotated[int, typer.Option(help="side of the square frames, in pixels")] = CANVAS_PX,
    workers: Annotated[Optional[int], typer.Option(help="processes that decode; default: all cores")] = None,  # noqa: UP045
    licence: Annotated[str, typer.Option(help="what the card says of the frames' licence")] = "",
) -> None:
    """Build a release of `caved_or_convinced` from videos, or from procedural scenes if no folder is given.

    The folder appears whole or not at all; a build that was interrupted goes on when the same command is
    run again. One seed and the same sources give the same digest.
    """
    check_numbers(probes, canvas, workers)
    chosen = _parse_budgets(budgets)
    catalogue, default_licence = video_catalogue(ucf101, nextqa, events, backgrounds)
    if out.is_dir() and already_built(out, catalogue, chosen, probes, seed, canvas):
        typer.echo(f"{out} is already built from these sources and arguments; nothing to do")
        return
    check_target(out)
    if catalogue.notes:
        typer.echo(join_notes(catalogue.notes), err=True)
    try:
        release = build_release(catalogue, out, chosen, probes, seed, canvas, licence or default_licence, workers)
    except KeyboardInterrupt as error:  # typer would end with a bare "Aborted."
        raise CavedError("interrupted; the same command goes on from here") from error
    _say_built(release)


def _say_built(release: Release) -> None:
    info = release.info
    typer.echo(f"{release.folder}: {info.probes} probes at k = {', '.join(map(str, info.budgets))}")
    typer.echo(f"digest {info.digest}")
    typer.echo(
        f"next:  caved verify {release.folder}\n"
        f"       caved preview {release.folder} --out sheet.png\n"
        f"       CAVED_RELEASE={release.folder} lmms-eval --tasks caved_or_convinced --model qwen2_5_vl ..."
    )


@app.command()
def verify(folder: ReleaseArgument = None) -> None:
    """Prove from a release alone that it is what it says; exit status 1 and every finding if it is not."""
    release = _release(folder)
    total = sum(len(release.frames(budget).ids()) for budget in release.info.budgets)
    with tqdm(total=total, desc="verifying", unit=" frame") as bar:
        findings = verify_release(release, bar.update)
    if findings:
        typer.echo(f"{release.folder}: {len(findings)} thing(s) wrong", err=True)
        for finding in findings:
            typer.echo(f"  - {finding}", err=True)
        typer.echo("  build the release again, or fetch it again from where it came from", err=True)
        raise typer.Exit(1)
    info = release.info
    typer.echo(
        f"{release.folder} holds: digest {info.digest[:16]}..., {info.probes} probes at k = "
        f"{', '.join(map(str, info.budgets))}, {total} frames; in-gap twins identical, on-grid twins the same "
        "frames in another order, one frame per event, claims balanced, coverage below 0.7. What no release can "
        "prove of itself is that a frame shows what its label says: look at it with caved preview"
    )


@app.command()
def preview(
    folder: ReleaseArgument = None,
    out: Annotated[Path, typer.Option(help="PNG to write")] = Path("contact_sheet.png"),
    probe: Annotated[Optional[str], typer.Option(help="such as p00003; default: the first")] = None,  # noqa: UP045
    budget: Annotated[Optional[int], typer.Option(help="frames per view; default: the smallest")] = None,  # noqa: UP045
) -> None:
    """Draw the contact sheet of one probe: both twins, both phases, event frames outlined."""
    release = _release(folder)
    sheet = contact_sheet(release, budget or release.info.budgets[0], probe)
    if out.suffix.lower() != ".png":
        raise CavedError(f"--out {out}: the contact sheet is a PNG, give a name that ends in .png")
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out)
    typer.echo(f"{out}: {sheet.width} x {sheet.height} px")


@app.command()
def report(
    logs: Annotated[list[Path], typer.Argument(help="folders or files that lmms-eval --log_samples wrote")],
) -> None:
    """Print the table of every run under some folders, rebuilt from its sample logs alone."""
    for number, run in enumerate(read_runs(logs)):
        try:
            table = describe_run(run)
        except ValueError as error:
            raise CavedError(f"{run.path}: {error}; report one run, and one release, at a time") from error
        typer.echo(("\n" if number else "") + table)


def _system_error(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    if error.errno == errno.ENOSPC:
        return f"the disk is full{where}: free some space and run the same command again; finished work is kept"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"no permission to write or read{where}: choose another folder, or change its owner"
    return f"{error.strerror or error}{where}: check the path and run the same command again"


def _add_commands() -> None:
    """Add what other packages contribute: entry points of the group `caved.commands`, called with the application."""
    there = {command.name for command in app.registered_commands}
    for point in entry_points(group="caved.commands"):
        if point.name in there:
            continue
        try:
            point.load()(app)
        except (Exception, SystemExit) as error:  # whatever is wrong with it, the other commands work
            typer.echo(f"note: without the command {point.name}, which cannot be loaded: {error}", err=True)


def main() -> None:
    """Run `caved`; a user's mistake ends in one message on standard error and status 1."""
    try:
        _add_commands()
        app()
    except (CavedError, LogError) as error:
        sys.exit(f"caved: {error}")
    except OSError as error:
        sys.exit(f"caved: {_system_error(error)}")


if __name__ == "__main__":
    main()
