"""The image benchmark in the `caved` command: `build image`, and what `verify` and `preview` do with its releases."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Optional

import typer
from tqdm import tqdm

from metrics.image.trial import Mode
from stimuli_builder.atomic import check_target, write_whole
from stimuli_builder.catalogue import join_notes
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import CANVAS_PX
from stimuli_builder.image.anchors import anchors_of
from stimuli_builder.image.annotated import LONGEST_SIDE_PX, annotated_source
from stimuli_builder.image.build import (
    build_image_release,
    check_image_numbers,
    check_levels,
    remove_leftovers,
    standing_release,
)
from stimuli_builder.image.info import IMAGE_BENCHMARK
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.photos import photos_of
from stimuli_builder.image.release import ImageRelease
from stimuli_builder.image.remarks import remarks
from stimuli_builder.image.sources import SceneSource, procedural_source
from stimuli_builder.image.strip import preview_strip
from stimuli_builder.image.verify import verify_image_release

DEFAULT_ITEMS = 100


def _levels(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise CavedError(f"{option} {text}: write numbers separated by commas, such as 0.2,0.4,0.6") from error


def _strengths(occlusion: str | None, blur: str | None) -> dict[Mode, tuple[float, ...]]:
    given: dict[Mode, tuple[float, ...] | None] = {
        "subtractive": _levels("--occlusion", occlusion),
        "corruptive": _levels("--blur", blur),
    }
    strengths = {mode: values for mode, values in given.items() if values is not None}
    if strengths:
        check_levels(strengths)
    return strengths


def _counting(what: str) -> Callable[[int], Callable[[int], object]]:
    def begin(total: int) -> Callable[[int], object]:
        bar = tqdm(total=total, desc=what, unit=" image", disable=total == 0)

        def update(n: int) -> None:
            bar.update(n)
            if bar.n >= total:
                bar.close()

        return update

    return begin


def _check_together(annotations: Path | None, options: Mapping[str, object]) -> None:
    """Raise a CavedError for options that mean nothing beside, or without, --annotations."""
    of_annotated = ("--images", "--longest-side")
    for name, value in options.items():
        if value is not None and (name in of_annotated) == (annotations is None):
            where = "with" if name in of_annotated else "without"
            raise CavedError(f"{name} means something {where} --annotations only: leave one of the two out")


def contents(release: ImageRelease) -> str:
    """What a release holds, in a few words."""
    info = release.info
    return (
        f"{info.items} items, {info.questions} questions ({', '.join(info.categories)}), L0 and {info.levels} levels in each "
        f"of two modes, {info.calibrated_by}"
    )


def _say_remarks(release: ImageRelease) -> None:
    for remark in remarks(release):
        typer.echo(f"note: {remark}", err=True)


def build_image(
    out: Annotated[Path, typer.Option(help="new folder for the release")],
    items: Annotated[
        Optional[int],  # noqa: UP045 (typer on Python 3.10 reads Optional)
        typer.Option(help=f"procedural items, each with four questions; default: {DEFAULT_ITEMS}"),
    ] = None,
    seed: Annotated[int, typer.Option(help="of every draw")] = 0,
    canvas: Annotated[Optional[int], typer.Option(help=f"side of procedural images; default: {CANVAS_PX}")] = None,  # noqa: UP045
    photos: Annotated[Optional[Path], typer.Option(help="folder of photos to put procedural items on")] = None,  # noqa: UP045
    annotations: Annotated[Optional[Path], typer.Option(help="CSV or COCO-style JSON; see below")] = None,  # noqa: UP045
    images: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="folder that paths in the annotations are relative to; default: that of the file"),
    ] = None,
    longest_side: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            help=f"larger annotated images are shrunk, with their boxes; 0: never; default: {LONGEST_SIDE_PX}"
        ),
    ] = None,
    occlusion: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="own levels: shares of the region to hide, such as 0.2,0.4,0.6; default: by category"),
    ] = None,
    blur: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="own levels: sigmas over the region's height, as many as shares; default: by category"),
    ] = None,
    margin: Annotated[float, typer.Option(min=0, max=1, help="reach beyond the region, over its height")] = MARGIN,
    workers: Annotated[Optional[int], typer.Option(help="processes that draw; default: all cores")] = None,  # noqa: UP045
    licence: Annotated[str, typer.Option(help="what the card says of the images' licence")] = "",
) -> None:
    """Build a release of `cant_tell_or_wont_say` from procedural scenes, or from annotated images.

    The folder appears whole or not at all; a build that was interrupted goes on when the same command is run again. One
    seed and the same sources give the same digest.

    --annotations takes a CSV file in UTF-8 with a row for each question and the columns path, box, category, question,
    options, answer. path is relative to --images. box is "x,y,w,h" in pixels of the upright image, that is after its EXIF
    rotation, with x,y its left upper corner. category is a word such as code or house_number. options are four,
    separated by |, and answer repeats the right one. Two more columns may be there: item, a name for the image, and
    mask, the path of an image of the same size whose bright pixels are the region (box may then be empty). Several
    rows of one path are several questions about that image, each of a category of its own; equal boxes share a region.

    A file that ends in .json is COCO-style. It has a list `images` of objects with id and file_name, and if you like width,
    height and item; and a list `annotations` of objects with image_id, bbox (a list x, y, w, h as above), attributes (an
    object with category, question, options as a list of four, and answer) and if you like segmentation: a list of
    polygons, or an object with counts (run lengths, not compressed) and size (height, width).

    All problems of annotations and images are listed at once, and nothing is built until there are none. Transparent
    pixels are put on white, 16 bits are scaled to 8, CMYK and animated files are refused. Regions need a height of 8 pixels.
    """
    source_options = {"--items": items, "--canvas": canvas, "--photos": photos}
    _check_together(annotations, {**source_options, "--images": images, "--longest-side": longest_side})
    count, canvas_px = DEFAULT_ITEMS if items is None else items, CANVAS_PX if canvas is None else canvas
    check_image_numbers(count, canvas_px, workers)
    strengths = _strengths(occlusion, blur)
    side_px = LONGEST_SIDE_PX if longest_side is None else longest_side
    if side_px < 0:
        raise CavedError(f"--longest-side {side_px}: give a number of pixels, or 0 to shrink no image")
    try:
        source: SceneSource
        if annotations is not None:
            source = annotated_source(annotations, images, side_px, _counting("reading images"))
        else:
            behind = photos_of(photos, _counting("reading photos")) if photos is not None else None
            source = procedural_source(count, seed, canvas_px, behind)
        named = licence or source.licence
        standing = standing_release(out, source, seed, strengths, margin, named) if out.is_dir() else None
        if standing is not None:
            remove_leftovers(out)
            typer.echo(
                f"{out} is already built from these sources and arguments, its tables give the digest "
                f"{standing.info.digest}; nothing to do"
            )
            return
        check_target(out)
        if source.notes:
            typer.echo(join_notes(source.notes), err=True)
        release = build_image_release(source, out, seed, strengths, margin, named, workers)
    except KeyboardInterrupt as error:  # typer would end with a bare "Aborted."
        raise CavedError("interrupted; the same command goes on from here") from error
    _say_remarks(release)
    typer.echo(f"{release.folder}: {contents(release)}")
    typer.echo(f"digest {release.info.digest}")
    typer.echo(
        f"next:  caved verify {release.folder}\n"
        f"       caved preview {release.folder} --out strip.png\n"
        f"       CAVED_RELEASE={release.folder} lmms-eval --tasks {IMAGE_BENCHMARK} --model qwen2_5_vl ..."
    )


def verify_images(release: ImageRelease) -> tuple[list[str], str]:
    """(findings, what holds where there are none) of an image release, with a progress bar."""
    total = len(release.images().ids())
    with tqdm(total=total, desc="verifying", unit=" image") as bar:
        findings = verify_image_release(release, bar.update)
    if not findings:
        _say_remarks(release)
    drawn = "procedural items ask and show what the seed draws; " if release.info.canvas_px else ""
    return findings, (
        f"{release.folder} holds: digest {release.info.digest[:16]}..., {contents(release)}, {total} images; degraded "
        "images differ from the intact one within the region and its margin alone, what one level hides the next hides "
        "too, shares and sigmas are those that the release says; each question asserts the right option in one slot and a "
        f"wrong one in the other, places of options are balanced; {drawn}what no release can prove of itself is that an "
        "image shows what its answer says: look at it with caved preview"
    )


def draw_preview(
    release: ImageRelease, out: Path | None, item: str | None, question: str | None, anchors: Path | None
) -> None:
    """Write the strip of one question: every level in both modes, with accuracies under it where they are known."""
    out = Path("strip.png") if out is None else out
    if out.suffix.lower() != ".png":
        raise CavedError(f"--out {out}: the strip is a PNG, give a name that ends in .png")
    known = None if anchors is None else anchors_of(anchors, release.info.digest)
    cells = {(q.question.category, view.mode, view.level) for q in release.questions() for view in q.views}
    accuracy, standing = (None, "") if known is None else (known.accuracy, known.standing_over(cells))
    strip = preview_strip(release, item, question, accuracy, standing)
    drawn = io.BytesIO()
    strip.save(drawn, format="PNG")
    write_whole(out, drawn.getvalue())
    typer.echo(f"{out}: {strip.width} x {strip.height} px")
