"""What a release must be, proved from the release alone; each finding says what is wrong and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

from stimuli_builder.edit_list import TWINS, background_source_time_s, event_source_time_s
from stimuli_builder.errors import CavedError
from stimuli_builder.frames import decode, frame_id
from stimuli_builder.probes import BLOCK, ORDERS, balance_cell
from stimuli_builder.release import FrameStore, Release
from stimuli_builder.release_schema import StoredProbe, StoredView, release_digest
from stimuli_builder.timing import PHASES, SLOT_GAPS, draw_timing


def verify_release(
    release: Release, progress: Callable[[int], object] = lambda _: None, pixels: bool = True
) -> list[str]:
    """Everything that is wrong with a release, as sentences; an empty list means that it holds.

    Every frame is decoded and hashed again, every view is compared with the timing of its probe.

    Args:
        release: an opened release.
        pixels: whether to look at the images themselves; without, only at the tables.
        progress: called with 1 after each frame.

    Raises:
        CavedError: if a table cannot be read at all.
    """
    findings: list[str] = []
    rows, frames, everything = [], {}, []
    for budget in release.info.budgets:
        store = release.frames(budget)
        probes = release.probes(budget)
        rows += [probe.to_row() for probe in probes]
        frames[budget] = store.ids()
        everything += probes
        findings += _check_count(release, budget, probes)
        findings += _check_balance(budget, probes)
        for probe in probes:
            texts = [*_check_draws(release, probe), *_check_probe(probe, store)]
            findings += [f"k={budget} {probe.probe.probe}: {text}" for text in texts]
        findings += [f"k={budget}: {text}" for text in _check_use(store, probes)]
        if pixels:
            findings += [f"k={budget}: {text}" for text in _check_pixels(release, store, progress)]
    findings += _check_sources(everything)
    findings += _check_wording(release, everything)
    digest = release_digest(frames, rows, release.info.canvas_px)
    if digest != release.info.digest:
        findings.append(f"digest: the content gives {digest}, the release says {release.info.digest}")
    return findings


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


def _check_count(release: Release, budget: int, probes: list[StoredProbe]) -> Iterator[str]:
    if len(probes) != release.info.probes:
        yield f"k={budget}: {len(probes)} probes, the release says {release.info.probes}"
    doubled = [name for name, n in Counter(p.probe.probe for p in probes).items() if n > 1]
    if doubled:
        yield f"k={budget}: probes listed twice: {', '.join(doubled[:5])}"
    wrong = [p.probe.probe for p in probes if p.probe.timing.budget != budget]
    if wrong:
        yield f"k={budget}: probes of another budget: {', '.join(wrong[:5])}"


def _check_balance(budget: int, probes: list[StoredProbe]) -> Iterator[str]:
    """Claims and namings may be off balance by the last, incomplete block only."""
    slack = len(probes) % BLOCK
    cells = Counter((p.probe.claimed_order, p.probe.named_order) for p in probes)
    counts = [cells[cell] for cell in product(ORDERS, ORDERS)]
    if max(counts) - min(counts) > min(slack, BLOCK // 4):
        yield f"k={budget}: claimed order x named order is not balanced: {dict(cells)}"
    swapped = sum(p.probe.e1.label > p.probe.e2.label for p in probes)
    if abs(2 * swapped - len(probes)) > slack:
        yield f"k={budget}: e1 is the later label in {swapped} of {len(probes)} probes, not in half of them"
    for phase, twin in product(PHASES, TWINS):
        having = sum(any((v.phase, v.twin, v.arm) == (phase, twin, "intact") for v in p.views) for p in probes)
        if having != len(probes):
            yield f"k={budget}: {having} of {len(probes)} probes have an intact {phase} view of twin {twin}"


def _check_probe(stored: StoredProbe, store: FrameStore) -> Iterator[str]:
    probe = stored.probe
    if probe.e1.label == probe.e2.label:
        yield f"both events are {probe.e1.label}"
    if probe.timing.slot_gap not in SLOT_GAPS:
        yield f"slot gap {probe.timing.slot_gap} is none of {SLOT_GAPS}"
    views = {(v.arm, v.phase, v.twin): v for v in stored.views}
    if len(views) != len(stored.views):
        yield "a view is listed twice"
    for view in stored.views:
        name = f"{view.arm} {view.phase} {view.twin}"
        yield from (f"{name}: {text}" for text in _check_view(stored, view, store))
    for arm, phase in sorted({(v.arm, v.phase) for v in stored.views}):
        plus, minus = views.get((arm, phase, "+")), views.get((arm, phase, "-"))
        if plus is None or minus is None:
            yield f"{arm} {phase} lacks a twin"
        else:
            yield from (f"{arm} {phase}: {text}" for text in _check_twins(plus, minus))


def _check_view(stored: StoredProbe, view: StoredView, store: FrameStore) -> Iterator[str]:
    probe, timing = stored.probe, stored.probe.timing
    lengths = {len(view.frames), len(view.times_s), len(view.kinds), len(view.source_times_s)}
    if lengths != {timing.budget}:
        yield f"lists of {sorted(lengths)} entries, not of k = {timing.budget}"
        return
    if list(view.times_s) != timing.frame_times_s(view.phase):
        yield "its times are not the grid of its phase"
        return
    missing = [f[:16] for f in view.frames if f not in store]
    if missing:
        yield f"frames are missing: {', '.join(missing[:3])}"
    for time_s, kind, source_time_s in zip(view.times_s, view.kinds, view.source_times_s, strict=True):
        slot = timing.slot_at(time_s)
        if slot is None:
            expected, expected_time_s = (
                "background",
                background_source_time_s(probe.background_duration_s, time_s),
            )
        else:
            which = slot if view.twin == "+" else 1 - slot
            expected = ("e1", "e2")[which]
            in_slot_s = timing.time_in_slot_s(time_s)
            expected_time_s = event_source_time_s(probe.events[which], timing.event_s, in_slot_s)
        if kind != expected:
            yield f"at {time_s} s it shows {kind} where the timing puts {expected}"
        elif source_time_s != expected_time_s:
            yield f"at {time_s} s it shows {kind} at {source_time_s} s of its source, not at {expected_time_s} s"
    counts = Counter(view.kinds)
    per_event = 1 if view.phase == "on_grid" else 0
    if (counts["e1"], counts["e2"]) != (per_event, per_event):
        yield f"{counts['e1']} and {counts['e2']} event frames, {view.phase} has {per_event} of each"
    events = {f for f, kind in zip(view.frames, view.kinds, strict=True) if kind != "background"}
    if events & {f for f, kind in zip(view.frames, view.kinds, strict=True) if kind == "background"}:
        yield "an event frame is also used as background"
    if len(events) != counts["e1"] + counts["e2"]:
        yield "both events show the same frame"


def _check_twins(plus: StoredView, minus: StoredView) -> Iterator[str]:
    if plus.phase == "in_gap":
        if plus.frames != minus.frames:
            differing = sum(a != b for a, b in zip(plus.frames, minus.frames, strict=False))
            yield f"the twins differ in {differing} frames, in-gap they must be identical"
        return
    if sorted(plus.frames) != sorted(minus.frames):
        yield "the twins do not show the same set of frames"
    swapped = [i for i, (a, b) in enumerate(zip(plus.frames, minus.frames, strict=False)) if a != b]
    slots = [i for i, kind in enumerate(plus.kinds) if kind != "background"]
    if swapped != slots:
        yield f"the twins differ at frames {swapped}, their events lie at {slots}"


def _check_use(store: FrameStore, probes: list[StoredProbe]) -> Iterator[str]:
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
