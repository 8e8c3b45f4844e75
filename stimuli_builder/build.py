"""From sources to a finished release: draw, list, cut, write, publish."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tqdm import tqdm

from stimuli_builder.arms import placebo_instants_s, placebo_views, removal_views
from stimuli_builder.atomic import check_target, publish_folder, remove_folder, sole_owner
from stimuli_builder.catalogue import Catalogue, Source
from stimuli_builder.edit_list import View, intact_views
from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.offsets import VIDEO_BUDGET, check_offsets, reversal_views
from stimuli_builder.parts import REVERSAL, Part
from stimuli_builder.probes import Draw, Probe, draw_probes
from stimuli_builder.release import Release, frames_of, open_release, write_release
from stimuli_builder.release_info import BENCHMARK, FORMAT_VERSION, INFO_FILE, ReleaseInfo
from stimuli_builder.release_schema import StoredProbe, StoredView, release_digest
from stimuli_builder.staging import Staging, cut_frames, source_duration_s
from stimuli_builder.timing import BUDGETS
from stimuli_builder.verify import verify_release


def _progress(total: int, what: str, unit: str) -> tuple[tqdm, Callable[[int], object]]:
    bar = tqdm(total=total, desc=what, unit=f" {unit}", disable=total == 0)
    return bar, bar.update


def check_budgets(budgets: Sequence[int]) -> tuple[int, ...]:
    """Budgets in ascending order, each once.

    Raises:
        CavedError: for one that the benchmark does not define; odd ones lose or repeat a frame in wrappers.
    """
    wrong = [str(b) for b in budgets if b not in BUDGETS]
    if wrong or not budgets:
        allowed = ", ".join(map(str, BUDGETS))
        raise CavedError(f"--budgets {','.join(wrong) or '(none)'}: choose from {allowed}, separated by commas")
    return tuple(sorted(set(budgets)))


def check_numbers(probes: int, canvas_px: int, workers: int | None) -> None:
    """Raise a CavedError for numbers that no release can be built with."""
    if probes < 1:
        raise CavedError(f"--probes {probes}: ask for at least one probe")
    if not 28 <= canvas_px <= 4096:
        raise CavedError(f"--canvas {canvas_px}: frames need 28 to 4096 pixels a side")
    if workers is not None and workers < 1:
        raise CavedError(f"--workers {workers}: at least one process has to decode")


@dataclass(frozen=True)
class _Listed:
    """The edit lists of one probe in one part; those of the placebo wait until the frames are known."""

    probe: Probe
    views: tuple[View, ...]
    with_placebo: bool


def _listed(draw: Draw, seed: int, reversal_offsets: int) -> dict[Part, list[_Listed]]:
    parts: dict[Part, list[_Listed]] = {
        budget: [_Listed(probe, (*intact_views(probe), *removal_views(probe)), True) for probe in probes]
        for budget, probes in draw.probes.items()
    }
    if reversal_offsets:
        parts[REVERSAL] = [
            _Listed(probe, tuple(reversal_views(probe, seed, reversal_offsets)), False)
            for probe in draw.probes[VIDEO_BUDGET]
        ]
    return parts


def _wanted(listed: Iterable[_Listed], seed: int) -> dict[Source, set[float]]:
    wanted: dict[Source, set[float]] = {}
    for row in listed:
        for view in row.views:
            for shot in view.shots:
                wanted.setdefault(shot.source, set()).add(shot.source_time_s)
        if row.with_placebo:
            for instants_s in placebo_instants_s(row.probe, seed).values():
                wanted.setdefault(row.probe.background, set()).update(instants_s)
    return dict(sorted(wanted.items(), key=lambda item: item[0].name))


def _stored(listed: _Listed, seed: int, cut: Mapping[Source, Mapping[float, str]]) -> StoredProbe:
    probe, views = listed.probe, listed.views
    if listed.with_placebo:
        views = (*views, *placebo_views(probe, seed, cut[probe.background].__getitem__))
    return StoredProbe(
        probe,
        tuple(
            StoredView(
                arm=view.arm,
                twin=view.twin,
                phase=view.phase,
                offset=view.offset,
                times_s=tuple(shot.time_s for shot in view.shots),
                kinds=tuple(shot.kind for shot in view.shots),
                source_times_s=tuple(shot.source_time_s for shot in view.shots),
                frames=tuple(cut[shot.source][shot.source_time_s] for shot in view.shots),
            )
            for view in views
        ),
    )


def build_release(
    catalogue: Catalogue,
    out: Path,
    budgets: Sequence[int],
    probes: int,
    seed: int,
    canvas_px: int,
    licence: str,
    workers: int | None = None,
    reversal_offsets: int = 0,
) -> Release:
    """Build a video release at `out`.

    The folder appears whole or not at all. Work in progress lies in a hidden neighbour, `.<name>.partial`;
    the same command goes on from there, and it is removed at the end.

    Raises:
        CavedError: for arguments, sources or a target that cannot be used; nothing is then left at `out`.
    """
    check_numbers(probes, canvas_px, workers)
    budgets = check_budgets(budgets)
    check_offsets(reversal_offsets, budgets)
    out = check_target(out)
    catalogue.check()
    workshop = out.absolute().parent / f".{out.name}.partial"
    with sole_owner(workshop.with_name(f".{out.name}.lock"), timeout_s=0):
        release = _build(catalogue, out, workshop, budgets, probes, seed, canvas_px, licence, workers, reversal_offsets)
    workshop.with_name(f".{out.name}.lock").unlink(missing_ok=True)
    return release


def _build(
    catalogue: Catalogue,
    out: Path,
    workshop: Path,
    budgets: tuple[int, ...],
    probes: int,
    seed: int,
    canvas_px: int,
    licence: str,
    workers: int | None,
    reversal_offsets: int,
) -> Release:
    bar, update = _progress(probes, "drawing probes", "probe")
    with bar:
        draw = draw_probes(catalogue, probes, budgets, seed, source_duration_s, update)
    listed: dict[Part, list[_Listed]] = {}
    if draw.problems:
        # The build will fail; reading everything else to its end names all bad files in one go.
        wanted = {source: {duration_s * 0.999} for source, duration_s in draw.durations_s.items()}
    else:
        listed = _listed(draw, seed, reversal_offsets)
        wanted = _wanted((row for rows in listed.values() for row in rows), seed)

    staging = Staging(workshop / "cut", canvas_px)
    bar, update = _progress(len(wanted), "cutting frames", "source")
    with bar:
        cut = cut_frames(staging, wanted, workers or os.cpu_count() or 1, update, draw.problems)
    stored = {part: [_stored(row, seed, cut) for row in rows] for part, rows in listed.items()}

    frames = {part: frames_of(rows) for part, rows in stored.items()}
    rows_of = {part: [probe.to_row() for probe in rows] for part, rows in stored.items()}
    info = ReleaseInfo(
        benchmark=BENCHMARK,
        format_version=FORMAT_VERSION,
        made_by=f"caved-or-convinced {version('caved-or-convinced')}",
        digest=release_digest(frames, rows_of, canvas_px),
        seed=seed,
        probes=probes,
        budgets=budgets,
        reversal_offsets=reversal_offsets,
        canvas_px=canvas_px,
        sources=catalogue.name,
        sources_fingerprint=catalogue.fingerprint(),
        classes=tuple(c.label for c in catalogue.classes),
        clips=sum(len(c.clips) for c in catalogue.classes),
        backgrounds=len(catalogue.backgrounds),
        licence=licence,
        libraries={name: version(name) for name in ("av", "pillow", "numpy")},
    )
    finished = workshop / "finished"
    remove_folder(finished)
    finished.mkdir(parents=True)
    bar, update = _progress(sum(map(len, frames.values())), "writing release", "frame")
    with bar:
        write_release(finished, info, stored, lambda f: staging.frame_path(f).read_bytes(), update)
    findings = verify_release(open_release(finished), pixels=False)
    if findings:
        raise BadInputs(
            "these sources do not give a valid release",
            findings[:20],
            "most often two clips, or a clip and a background, are copies of one another: remove one of them",
        )
    publish_folder(finished, out)
    remove_folder(workshop)
    return open_release(out)


def already_built(
    out: Path,
    catalogue: Catalogue,
    budgets: Sequence[int],
    probes: int,
    seed: int,
    canvas_px: int,
    reversal_offsets: int = 0,
) -> bool:
    """Whether `out` is the finished release of these arguments, so that a repeated command has nothing to do."""
    if not (out / INFO_FILE).is_file():
        return False
    info = open_release(out).info
    asked = (catalogue.name, catalogue.fingerprint(), tuple(budgets), probes, seed, canvas_px, reversal_offsets)
    built = (
        *(info.sources, info.sources_fingerprint, info.budgets, info.probes, info.seed, info.canvas_px),
        info.reversal_offsets,
    )
    return asked == built
