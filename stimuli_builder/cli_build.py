"""`caved build`: from options to a release, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from stimuli_builder.atomic import check_target
from stimuli_builder.build import already_built, build_release, check_budgets, check_numbers
from stimuli_builder.catalogue import join_notes
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import CANVAS_PX
from stimuli_builder.image.cli_image import build_image
from stimuli_builder.offsets import PAPER_OFFSETS, check_offsets
from stimuli_builder.release import Release
from stimuli_builder.sources import video_catalogue
from stimuli_builder.timing import BUDGETS

build_app = typer.Typer(no_args_is_help=True, help="Build a release: stimuli with everything that is known of them.")
DEFAULT_BUDGETS = (16,)


def _parse_budgets(text: str) -> tuple[int, ...]:
    try:
        return check_budgets([int(part) for part in text.split(",") if part.strip()])
    except ValueError as error:
        raise CavedError(f"--budgets {text}: write numbers separated by commas, such as 8,16,32") from error


def _parts_to_build(budgets: str | None, reversal_offsets: int | None, paper: bool) -> tuple[tuple[int, ...], int]:
    """(budgets, offsets of the reversal test) that the options ask for."""
    chosen = None if budgets is None else _parse_budgets(budgets)
    if paper:
        if chosen not in (None, BUDGETS):
            raise CavedError(f"--paper builds all budgets, --budgets {budgets} fewer: leave one of the two out")
        if reversal_offsets not in (None, PAPER_OFFSETS):
            raise CavedError(
                f"--paper builds {PAPER_OFFSETS} offsets, --reversal-offsets asks for {reversal_offsets}: leave one of "
                "the two out"
            )
        return BUDGETS, PAPER_OFFSETS
    chosen, offsets = chosen or DEFAULT_BUDGETS, reversal_offsets or 0
    check_offsets(offsets, chosen)
    return chosen, offsets


def contents(release: Release) -> str:
    """What a release holds, in a few words."""
    info = release.info
    offsets = f", {info.reversal_offsets} offsets of the reversal test" if info.reversal_offsets else ""
    return f"{info.probes} probes at k = {', '.join(map(str, info.budgets))}{offsets}"


def say_standing(release: Release) -> None:
    """Say how many placebos replace frames by the same picture, and over which backgrounds."""
    still = [
        stored.probe.background.name
        for budget in release.info.budgets
        for stored in release.probes(budget)
        if not stored.placebo_changes
    ]
    if still:
        names = sorted(set(still))
        typer.echo(
            f"note: in {len(still)} of {release.info.probes * len(release.info.budgets)} rows the placebo changes no "
            f"pixel of a frame that it replaces, because the background shows nothing else ({', '.join(names[:5])}"
            f"{', ...' if len(names) > 5 else ''}): it is no control there; leave out backgrounds that stand still",
            err=True,
        )


def _say_built(release: Release) -> None:
    info = release.info
    task = "caved_or_convinced_paper" if info.reversal_offsets and info.budgets == BUDGETS else "caved_or_convinced"
    say_standing(release)
    typer.echo(f"{release.folder}: {contents(release)}")
    typer.echo(f"digest {info.digest}")
    typer.echo(
        f"next:  caved verify {release.folder}\n"
        f"       caved preview {release.folder} --out sheet.png\n"
        f"       CAVED_RELEASE={release.folder} lmms-eval --tasks {task} --model qwen2_5_vl ..."
    )


@build_app.command("video")
def build_video(
    out: Annotated[Path, typer.Option(help="new folder for the release")],
    ucf101: Annotated[Optional[Path], typer.Option(help="events: UCF-101 as it unpacks")] = None,  # noqa: UP045
    nextqa: Annotated[Optional[Path], typer.Option(help="backgrounds: NExT-QA as it unpacks")] = None,  # noqa: UP045
    events: Annotated[Optional[Path], typer.Option(help="events: any folder of <label>/<clip>")] = None,  # noqa: UP045
    backgrounds: Annotated[Optional[Path], typer.Option(help="backgrounds: any folder of videos")] = None,  # noqa: UP045
    budgets: Annotated[Optional[str], typer.Option(help="frames per view, from 8,16,24,32,48,64; default: 16")] = None,  # noqa: UP045
    reversal_offsets: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="offsets of the reversal test, on the videos of k = 16; default: 0, without that part"),
    ] = None,
    paper: Annotated[bool, typer.Option("--paper", help=f"all six budgets and {PAPER_OFFSETS} offsets")] = False,
    probes: Annotated[int, typer.Option(help="probes per budget")] = 500,
    seed: Annotated[int, typer.Option(help="of every draw")] = 0,
    canvas: Annotated[int, typer.Option(help="side of the square frames, in pixels")] = CANVAS_PX,
    workers: Annotated[Optional[int], typer.Option(help="processes that decode; default: all cores")] = None,  # noqa: UP045
    licence: Annotated[str, typer.Option(help="what the card says of the frames' licence")] = "",
) -> None:
    """Build a release of `caved_or_convinced` from videos, or from procedural scenes if no folder is given.

    The folder appears whole or not at all; a build that was interrupted goes on when the same command is
    run again. One seed and the same sources give the same digest. Every budget has the views of all arms;
    --paper builds what all tasks of the paper need.
    """
    check_numbers(probes, canvas, workers)
    chosen, offsets = _parts_to_build(budgets, reversal_offsets, paper)
    catalogue, default_licence = video_catalogue(ucf101, nextqa, events, backgrounds)
    if out.is_dir() and already_built(out, catalogue, chosen, probes, seed, canvas, offsets):
        typer.echo(f"{out} is already built from these sources and arguments; nothing to do")
        return
    check_target(out)
    if catalogue.notes:
        typer.echo(join_notes(catalogue.notes), err=True)
    try:
        release = build_release(
            catalogue, out, chosen, probes, seed, canvas, licence or default_licence, workers, offsets
        )
    except KeyboardInterrupt as error:  # typer would end with a bare "Aborted."
        raise CavedError("interrupted; the same command goes on from here") from error
    _say_built(release)


build_app.command("image")(build_image)
