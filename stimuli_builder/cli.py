"""The `caved` command: build, verify and look at releases, report on runs."""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Optional

import typer
from tqdm import tqdm

from metrics.sample_log import LogError
from stimuli_builder.cli_build import build_app, contents, say_standing
from stimuli_builder.cli_push import push
from stimuli_builder.cli_report import report
from stimuli_builder.contact_sheet import SHOWS, contact_sheet
from stimuli_builder.errors import CavedError
from stimuli_builder.image.cli_image import draw_preview, verify_images
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.kind import find_any_release, open_any_release
from stimuli_builder.release import Release
from stimuli_builder.verify import verify_release

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Does a multimodal model's answer track the evidence or the user? Stimuli and reports.",
)
app.add_typer(build_app, name="build")

ReleaseArgument = Annotated[
    Optional[Path],  # noqa: UP045 (typer on Python 3.10 reads Optional)
    typer.Argument(help="folder of a release; left out: CAVED_RELEASE, else the embedded default"),
]


def _release(folder: Path | None) -> Release | ImageRelease:
    return find_any_release() if folder is None else open_any_release(folder)


def _verify_videos(release: Release) -> tuple[list[str], str]:
    """(findings, what holds where there are none), with a progress bar."""
    total = sum(len(release.frames(part).ids()) for part in release.info.parts)
    with tqdm(total=total, desc="verifying", unit=" frame") as bar:
        findings = verify_release(release, bar.update)
    if not findings:
        say_standing(release)
    offsets = "; the offsets' times are those of the seed" if release.info.reversal_offsets else ""
    return findings, (
        f"{release.folder} holds: digest {release.info.digest[:16]}..., {contents(release)}, {total} frames; in-gap "
        "twins identical, on-grid twins the same frames in another order, one frame per event, each arm replaces "
        f"what it says and nothing else{offsets}; claims balanced, coverage below 0.7. What no release can prove of "
        "itself is that a frame shows what its label says: look at it with caved preview"
    )


@app.command()
def verify(folder: ReleaseArgument = None) -> None:
    """Prove from a release alone that it is what it says; exit status 1 and every finding if it is not."""
    release = _release(folder)
    findings, holds = verify_images(release) if isinstance(release, ImageRelease) else _verify_videos(release)
    if findings:
        typer.echo(f"{release.folder}: {len(findings)} thing(s) wrong", err=True)
        for finding in findings:
            typer.echo(f"  - {finding}", err=True)
        typer.echo("  build the release again, or fetch it again from where it came from", err=True)
        raise typer.Exit(1)
    typer.echo(holds)


def _check_options(release: Release | ImageRelease, given: Mapping[str, object], meant: tuple[str, ...]) -> None:
    """Raise a CavedError for options of `preview` that belong to the other benchmark."""
    foreign = [name for name, value in given.items() if value is not None and name not in meant]
    if foreign:
        raise CavedError(
            f"{foreign[0]}: {release.folder} is a release of {release.info.benchmark}, whose options are {', '.join(meant)}"
        )


@app.command()
def preview(
    folder: ReleaseArgument = None,
    out: Annotated[Optional[Path], typer.Option(help="PNG; default: contact_sheet.png, or strip.png of images")] = None,  # noqa: UP045
    probe: Annotated[Optional[str], typer.Option(help="videos: such as p00003; default: the first")] = None,  # noqa: UP045
    budget: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="videos: frames per view; default: the smallest, or all of the reversal test's"),
    ] = None,
    show: Annotated[Optional[str], typer.Option(help="videos: intact, on_grid, arms or reversal")] = None,  # noqa: UP045
    item: Annotated[Optional[str], typer.Option(help="images: such as i00003; default: the first")] = None,  # noqa: UP045
    question: Annotated[Optional[str], typer.Option(help="images: a category; default: the first")] = None,  # noqa: UP045
    anchors: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="images: accuracies to put under the levels, as JSON or as logs of a reader"),
    ] = None,
) -> None:
    """Draw what a release shows: the contact sheet of a probe, or the strip of levels of an image.

    Of a release of videos, with the frames of events and replaced ones outlined: `--show intact` (the default) has both
    twins in both phases, `on_grid` both twins in that one, `arms` both twins on-grid in every arm, and `reversal` twin + at
    every offset of the reversal test. Of a release of images, every level in both modes, and the accuracy at each where
    --anchors tells it.
    """
    release = _release(folder)
    of_videos = {"--probe": probe, "--budget": budget, "--show": show}
    of_images = {"--item": item, "--question": question, "--anchors": anchors}
    if isinstance(release, ImageRelease):
        _check_options(release, of_videos, tuple(of_images))
        draw_preview(release, out, item, question, anchors)
        return
    _check_options(release, of_images, tuple(of_videos))
    chosen = next((name for name in SHOWS if name == (show or SHOWS[0])), None)
    if chosen is None:
        raise CavedError(f"--show {show}: choose from {', '.join(SHOWS)}")
    sheet = contact_sheet(release, budget, probe, chosen)
    out = Path("contact_sheet.png") if out is None else out
    if out.suffix.lower() != ".png":
        raise CavedError(f"--out {out}: the contact sheet is a PNG, give a name that ends in .png")
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out)
    typer.echo(f"{out}: {sheet.width} x {sheet.height} px")


app.command()(report)
app.command()(push)


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


def _print_anything() -> None:
    """A character that the terminal's encoding lacks, such as a θ, is printed as a question mark."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # what stands in for a stream may have none
        if reconfigure is not None:
            reconfigure(errors="replace")


def main() -> None:
    """Run `caved`; a user's mistake ends in one message on standard error and status 1."""
    _print_anything()
    try:
        _add_commands()
        app()
    except (CavedError, LogError) as error:
        sys.exit(f"caved: {error}")
    except OSError as error:
        sys.exit(f"caved: {_system_error(error)}")


if __name__ == "__main__":
    main()
