"""From a source of scenes to a finished image release: draw or read, degrade, write, publish."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from tqdm import tqdm

from metrics.image.trial import DEGRADED, Mode
from stimuli_builder.atomic import check_target, publish_folder, remove_folder, sole_owner
from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.image.info import IMAGE_BENCHMARK, IMAGE_FORMAT_VERSION, NOT_CALIBRATED, ImageReleaseInfo
from stimuli_builder.image.item import StoredQuestion
from stimuli_builder.image.levels import check_strengths, leading_categories, strengths_for
from stimuli_builder.image.release import (
    ImageRelease,
    image_release_digest,
    images_of,
    open_image_release,
    write_image_release,
)
from stimuli_builder.image.scenes import LARGEST_PX, SMALLEST_PX
from stimuli_builder.image.sources import SceneSource
from stimuli_builder.image.staging import Degradation, ImageStaging, finished_questions
from stimuli_builder.image.verify import verify_image_release
from stimuli_builder.release_info import INFO_FILE

_LIBRARIES = ("pillow", "numpy", "scipy")
# How the modules begin that decide nothing of a release without a user's files.
_DECIDES_NOTHING = (
    "anchors",
    "annotated",
    "annotation",
    "cli_",
    "find",
    "image_files",
    "photos",
    "remarks",
    "strip",
    "verify",
)


def deciding_files() -> list[Path]:
    """The modules and fonts that decide what a procedural release holds."""
    package = Path(__file__).parent.parent
    files = [path for path in (package / "image").glob("*.py") if not path.name.startswith(_DECIDES_NOTHING)]
    files += [package / f"{name}.py" for name in ("draws", "frames", "release", "release_schema")]
    return sorted([*files, *(package / "fonts").glob("*.ttf")])


def source_state() -> str:
    """SHA-256 that changes with any of them."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in deciding_files())).hexdigest()


def made_by() -> str:
    """Version of the package, with the state of what decides a release."""
    return f"caved-or-convinced {version('caved-or-convinced')}, sources {source_state()[:12]}"


def _libraries() -> dict[str, str]:
    return {name: version(name) for name in _LIBRARIES}


def check_image_numbers(items: int, canvas_px: int, workers: int | None) -> None:
    """Raise a CavedError for numbers that no procedural release can be built with."""
    if items < 1:
        raise CavedError(f"--items {items}: ask for at least one item")
    if not SMALLEST_PX <= canvas_px <= LARGEST_PX:
        raise CavedError(f"--canvas {canvas_px}: images need {SMALLEST_PX} to {LARGEST_PX} pixels a side")
    if workers is not None and workers < 1:
        raise CavedError(f"--workers {workers}: at least one process has to draw")


def check_levels(strengths: Mapping[Mode, Sequence[float]]) -> None:
    """Raise a CavedError unless the user's own levels, beside the default ones of the other mode, are levels."""
    try:
        check_strengths({**strengths_for("code"), **strengths})
    except CavedError as error:
        names = " and ".join({"subtractive": "--occlusion", "corruptive": "--blur"}[mode] for mode in strengths)
        raise CavedError(f"{names}: {error}") from error


def _as_floats(strengths: Mapping[Mode, Sequence[float]]) -> dict[Mode, tuple[float, ...]]:
    """As a table gives them back: a 1 would be written otherwise than the 1.0 that is read."""
    return {mode: tuple(map(float, values)) for mode, values in strengths.items()}


def _described(
    source: SceneSource, degradation: Degradation, licence: str, questions: Sequence[StoredQuestion]
) -> ImageReleaseInfo:
    categories = tuple(dict.fromkeys(question.question.category for question in questions))
    strengths: dict[str, dict[str, tuple[float, ...]]] = {
        category: {mode: tuple(degradation.strengths(category)[mode]) for mode in DEGRADED}
        for category, leaders in leading_categories(questions).items()
        if category in leaders
    }
    info = ImageReleaseInfo(
        benchmark=IMAGE_BENCHMARK,
        format_version=IMAGE_FORMAT_VERSION,
        made_by=made_by(),
        digest="",
        seed=degradation.seed,
        items=len(source.plans),
        questions=len(questions),
        categories=categories,
        levels=len(strengths[categories[0]]["subtractive"]),
        strengths=strengths,
        margin=degradation.margin,
        canvas_px=source.canvas_px,
        sources=source.name,
        sources_fingerprint=source.fingerprint,
        licence=licence,
        calibrated_by=NOT_CALIBRATED,
        libraries=_libraries(),
    )
    rows = (question.to_row() for question in questions)
    return replace(info, digest=image_release_digest(images_of(questions), rows, info))


def build_image_release(
    source: SceneSource,
    out: Path,
    seed: int,
    strengths: Mapping[Mode, Sequence[float]],
    margin: float,
    licence: str,
    workers: int | None = None,
) -> ImageRelease:
    """Build an image release at `out`.

    The folder appears whole or not at all. Work in progress lies in a hidden neighbour, `.<name>.partial`;
    the same command goes on from there, and it is removed at the end.

    Args:
        source: the items.
        out: a new folder.
        seed: of all draws.
        strengths: of all categories instead of the default ones, for one mode, both or none.
        margin: how far degradation reaches beyond a region, over its height.
        licence: what the card says of the images' licence.
        workers: processes that draw and degrade; default: all cores.

    Raises:
        CavedError: for arguments, sources or a target that cannot be used; nothing is then left at `out`.
    """
    check_levels(strengths)
    out = check_target(out)
    degradation = Degradation(seed, margin, _as_floats(strengths))
    workshop, lock = _neighbours(out)
    with sole_owner(lock, timeout_s=0):
        release = _build(source, out, workshop, degradation, licence, workers or os.cpu_count() or 1)
    lock.unlink(missing_ok=True)
    return release


def _neighbours(out: Path) -> tuple[Path, Path]:
    """(workshop, lock) of a build at `out`."""
    return out.parent / f".{out.name}.partial", out.parent / f".{out.name}.lock"


def remove_leftovers(out: Path) -> None:
    """Remove what a build that was killed just behind publishing left beside `out`."""
    workshop, lock = _neighbours(Path(os.path.abspath(out)))  # noqa: PTH100 (as `check_target`)
    if workshop.exists() or lock.exists():
        with sole_owner(lock, timeout_s=0):
            remove_folder(workshop)
        lock.unlink(missing_ok=True)


def _build(
    source: SceneSource, out: Path, workshop: Path, degradation: Degradation, licence: str, workers: int
) -> ImageRelease:
    state = repr((source_state(), _libraries(), source.fingerprint, source.canvas_px, degradation))
    staging = ImageStaging(workshop / "finished_images", state)
    with tqdm(total=len(source.plans), desc="degrading items", unit=" item") as bar:
        questions = finished_questions(staging, degradation, source.plans, workers, bar.update)
    info = _described(source, degradation, licence, questions)
    finished = workshop / "finished"
    remove_folder(finished)
    finished.mkdir(parents=True)
    with tqdm(total=len(images_of(questions)), desc="writing release", unit=" image") as bar:
        write_image_release(finished, info, questions, lambda i: staging.image_path(i).read_bytes(), bar.update)
    findings = verify_image_release(open_image_release(finished), pixels=False)
    if findings:
        raise BadInputs(
            "these items do not give a valid release", findings[:20], "mend or remove the items that are named"
        )
    publish_folder(finished, out)
    remove_folder(workshop)
    return open_image_release(out)


def standing_release(
    out: Path,
    source: SceneSource,
    seed: int,
    strengths: Mapping[Mode, Sequence[float]],
    margin: float,
    licence: str | None = None,
) -> ImageRelease | None:
    """The finished release of these arguments at `out`, so that a repeated command has nothing to do; None if it is none.

    Raises:
        CavedError: if it is theirs, but damaged, of another licence (None: of any), or made by another version of the
            package or of its libraries, which may draw otherwise.
    """
    if not (out / INFO_FILE).is_file():
        return None
    release = open_image_release(out)
    info, degradation = release.info, Degradation(seed, margin, _as_floats(strengths))
    levels = {
        category: {m: tuple(v) for m, v in degradation.strengths(category).items()} for category in info.strengths
    }
    asked = (source.name, source.fingerprint, len(source.plans), source.canvas_px, seed, margin, levels)
    built = (info.sources, info.sources_fingerprint, info.items, info.canvas_px, info.seed, info.margin, info.strengths)
    if asked != built:
        return None
    anew = "to build it anew, give another --out, or delete this folder first"
    here, there = [
        f"{maker} with {', '.join(f'{name} {number}' for name, number in sorted(libraries.items()))}"
        for maker, libraries in ((made_by(), _libraries()), (info.made_by, info.libraries))
    ]
    if here != there:
        raise CavedError(
            f"{out} is of these sources and arguments, but it was made by {there}, and this is {here}, which may give other "
            f"images: {anew}"
        )
    if licence is not None and licence != info.licence:
        raise CavedError(
            f"{out} is of these sources and arguments, but of the licence {info.licence!r}, not {licence!r}: {anew}"
        )
    try:
        whole = release.content_digest() == info.digest
    except CavedError:
        whole = False
    if not whole:
        raise CavedError(
            f"{out} is of these sources and arguments, but damaged: its tables and images do not give its digest "
            f"{info.digest[:16]}...; {anew}"
        )
    return release


def already_built(
    out: Path, source: SceneSource, seed: int, strengths: Mapping[Mode, Sequence[float]], margin: float
) -> bool:
    """Whether there is a `standing_release` of these arguments at `out`, of any licence."""
    return standing_release(out, source, seed, strengths, margin) is not None
