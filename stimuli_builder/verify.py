"""What a release must be, proved from the release alone; each finding says what is wrong and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from stimuli_builder.errors import CavedError
from stimuli_builder.frames import decode, frame_id
from stimuli_builder.offsets import VIDEO_BUDGET
from stimuli_builder.parts import REVERSAL, Part, part_name
from stimuli_builder.probes import BLOCK, ORDERS, balance_cell
from stimuli_builder.release import FrameStore, Release
from stimuli_builder.release_schema import StoredProbe, release_digest
from stimuli_builder.timing import SLOT_GAPS, draw_timing
from stimuli_builder.verify_views import check_views


def verify_release(
    release: Release, progress: Callable[[int], object] = lambda _: None, pixels: bool = True
) -> list[str]:
    """Everything that is wrong with a release, as sentences; an empty list means that it holds.

    Every frame is decoded and hashed again, every view is compared with the timing of its probe, and every
    draw is made again from the seed.

    Args:
        release: an opened release.
        pixels: whether to look at the images themselves; without, only at the tables.
        progress: called with 1 after each frame.

    Raises:
        CavedError: if a table cannot be read at all.
    """
    info = release.info
    findings = [*_check_files(release)]
    frames: dict[Part, list[str]] = {}
    probes: dict[Part, list[StoredProbe]] = {}
    for part in info.parts:
        where = part if isinstance(part, str) else f"k={part}"
        store = release.frames(part)
        probes[part], frames[part] = release.probes(part), store.ids()
        findings += [f"{where}: {text}" for text in _check_count(release, probes[part])]
        findings += [f"{where}: {text}" for text in _check_balance(probes[part])]
        for stored in probes[part]:
            texts = [*_check_draws(release, stored)]
            texts += check_views(stored, part, info.reversal_offsets, info.seed, store)
            findings += [f"{where} {stored.probe.probe}: {text}" for text in texts]
        findings += [f"{where}: {text}" for text in _check_use(store, probes[part])]
        if pixels:
            findings += [f"{where}: {text}" for text in _check_pixels(release, store, progress)]
    everything = [stored for listed in probes.values() for stored in listed]
    findings += _check_sources(everything)
    findings += _check_same_videos(probes)
    findings += _check_wording(release, everything)
    rows = {part: [stored.to_row() for stored in listed] for part, listed in probes.items()}
    digest = release_digest(frames, rows, info.canvas_px)
    if digest != info.digest:
        findings.append(f"digest: the content gives {digest}, the release says {info.digest}")
    return findings


def _check_files(release: Release) -> Iterator[str]:
    """No table or folder of frames belongs to a part that the release does not list."""
    names = {part_name(part) for part in release.info.parts}
    found = {path.stem for path in (release.folder / "probes").glob("*.parquet")}
    found |= {path.name.removeprefix("frames_") for path in release.folder.glob("frames_*")}
    if found - names:
        yield f"there are files of parts that the release does not list: {', '.join(sorted(found - names))}"


def _check_same_videos(probes: Mapping[Part, Sequence[StoredProbe]]) -> Iterator[str]:
    """The reversal test runs on the probes of k = 16, field by field."""
    if REVERSAL not in probes:
        return
    primary = {stored.probe.probe: stored.probe for stored in probes.get(VIDEO_BUDGET, ())}
    for stored in probes[REVERSAL]:
        if stored.probe != primary.get(stored.probe.probe):
            yield f"reversal {stored.probe.probe} is not the probe of k={VIDEO_BUDGET}"


def _check_draws(release: Release, stored: StoredProbe) -> Iterator[str]:
    """The seed and the number of a probe decide its timing, its claim and which event is called e1."""
    probe, seed = stored.probe, release.info.seed
    if probe.probe != f"p{probe.index:05d}":
        yield f"has the number {probe.index}"
    if probe.timing != draw_timing(seed, probe.index, probe.timing.budget):
        yield f"its timing is not the draw of seed {seed}"
    swap, claimed, named = balance_cell(seed, probe.index)
    if (probe.claimed_order, probe.named_order) != (claimed, named):
        yield f"its claimed and named orders are not those of seed {seed}"
    if (probe.e1.label > probe.e2.label) != bool(swap):
        yield f"e1 and e2 are exchanged against seed {seed}"
    if probe.e1.label == probe.e2.label:
        yield f"both events are {probe.e1.label}"
    if probe.timing.slot_gap not in SLOT_GAPS:
        yield f"slot gap {probe.timing.slot_gap} is none of {SLOT_GAPS}"


def _check_sources(probes: list[StoredProbe]) -> Iterator[str]:
    """One instant of one source is one frame, wherever it is used; no frame is both event and background."""
    frame_at: dict[tuple[str, float], str] = {}
    kinds: dict[str, set[bool]] = {}
    contents: dict[str, tuple[str, ...]] = {}
    for stored in probes:
        probe = stored.probe
        names = {"e1": probe.e1.clip.name, "e2": probe.e2.clip.name, "background": probe.background.name}
        earlier = contents.setdefault(probe.probe, tuple(names.values()))
        if earlier != tuple(names.values()):
            yield f"{probe.probe} has other sources at k={probe.timing.budget} than at another budget"
        for view in stored.views:
            for frame, kind, time_s in zip(view.frames, view.kinds, view.source_times_s, strict=False):
                if kind not in names:
                    yield f"{probe.probe} shows {kind!r}, which is neither an event nor background"
                elif frame_at.setdefault((names[kind], time_s), frame) != frame:
                    yield f"{probe.probe}: {names[kind]} at {time_s} s is another frame than elsewhere in the release"
                kinds.setdefault(frame, set()).add(kind == "background")
    both = [frame[:16] for frame, used in kinds.items() if len(used) > 1]
    if both:
        yield f"{len(both)} frames show an event in one view and background in another, such as {both[0]}"


def _check_wording(release: Release, probes: list[StoredProbe]) -> Iterator[str]:
    """Each label has one phrase of its own, and is one that the release says it has."""
    phrases: dict[str, str] = {}
    for stored in probes:
        for event in stored.probe.events:
            if phrases.setdefault(event.label, event.phrase) != event.phrase:
                yield f"{stored.probe.probe} calls {event.label} {event.phrase!r}, others {phrases[event.label]!r}"
            if event.label not in release.info.classes:
                yield f"{stored.probe.probe} shows {event.label}, which is none of the release's classes"
    if len({p.strip().lower() for p in phrases.values()} - {""}) != len(phrases):
        yield "two labels share a phrase, or one has none: the question could not tell the events apart"


def _check_count(release: Release, probes: Sequence[StoredProbe]) -> Iterator[str]:
    if len(probes) != release.info.probes:
        yield f"{len(probes)} probes, the release says {release.info.probes}"
    doubled = [name for name, n in Counter(p.probe.probe for p in probes).items() if n > 1]
    if doubled:
        yield f"probes listed twice: {', '.join(doubled[:5])}"


def _check_balance(probes: Sequence[StoredProbe]) -> Iterator[str]:
    """Claims and namings may be off balance by the last, incomplete block only."""
    slack = len(probes) % BLOCK
    cells = Counter((p.probe.claimed_order, p.probe.named_order) for p in probes)
    counts = [cells[cell] for cell in product(ORDERS, ORDERS)]
    if max(counts) - min(counts) > min(slack, BLOCK // 4):
        yield f"claimed order x named order is not balanced: {dict(cells)}"
    swapped = sum(p.probe.e1.label > p.probe.e2.label for p in probes)
    if abs(2 * swapped - len(probes)) > slack:
        yield f"e1 is the later label in {swapped} of {len(probes)} probes, not in half of them"


def _check_use(store: FrameStore, probes: Sequence[StoredProbe]) -> Iterator[str]:
    used = {f for p in probes for v in p.views for f in v.frames}
    unused = [f[:16] for f in store.ids() if f not in used]
    if unused:
        yield f"{len(unused)} frames belong to no view, such as {unused[0]}"


def _check_pixels(release: Release, store: FrameStore, progress: Callable[[int], object]) -> Iterator[str]:
    size = (release.info.canvas_px, release.info.canvas_px)
    for frame in store.ids():
        try:
            image = decode(store.encoded(frame))
        except (CavedError, OSError, SyntaxError, ValueError) as error:
            yield f"frame {frame[:16]} cannot be decoded ({error})"
        else:
            if frame_id(image) != frame:
                yield f"frame {frame[:16]} holds other pixels: they hash to {frame_id(image)[:16]}"
            if image.size != size:
                yield f"frame {frame[:16]} is {image.size[0]} x {image.size[1]}, the canvas is {size[0]} x {size[1]}"
        progress(1)
