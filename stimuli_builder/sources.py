"""Which folders a user named, as one catalogue of events and backgrounds."""

from __future__ import annotations

from pathlib import Path

from stimuli_builder.catalogue import Catalogue, EventClass, Source
from stimuli_builder.errors import CavedError
from stimuli_builder.folders import backgrounds_of, classes_of
from stimuli_builder.procedural import procedural_catalogue
from stimuli_builder.ucf101 import CONFUSABLE_GROUPS, PHRASES, ucf101_classes

UCF101_NEXTQA_LICENCE = (
    "frames of UCF-101 and NExT-QA (VidOR / YFCC-100M): research use under the terms of those data sets"
)


def _notes(classes: list[EventClass], from_ucf101: bool) -> tuple[str, ...]:
    notes = []
    single = [c.label for c in classes if len(c.clips) == 1]
    if single:
        notes.append(
            f"{len(single)} of {len(classes)} classes have a single clip ({', '.join(single[:5])}"
            f"{', ...' if len(single) > 5 else ''}): all their probes show the same footage, so intervals over "
            "probes are too narrow for a claim about the class; add clips"
        )
    unknown = [c.label for c in classes if from_ucf101 and c.label not in PHRASES]
    if unknown:
        notes.append(
            f"no class of UCF-101, named by the words of their folder: {', '.join(unknown[:8])}; put a "
            'phrases.json ({"label": "a phrase"}) beside the class folders to word them yourself'
        )
    return tuple(notes)


def _check_disjoint(classes: list[EventClass], backgrounds: list[Source]) -> None:
    """Raise a CavedError if a file serves as event and as background: an in-gap frame could show an event."""
    events = {Path(clip.location).resolve(): c.label for c in classes for clip in c.clips}
    shared = [b.name for b in backgrounds if Path(b.location).resolve() in events]
    if shared:
        raise CavedError(
            f"{len(shared)} file(s) are events and backgrounds at once, such as {shared[0]}: keep the two in folders "
            "that do not contain one another"
        )


def video_catalogue(
    ucf101: Path | None, nextqa: Path | None, events: Path | None, backgrounds: Path | None
) -> tuple[Catalogue, str]:
    """The catalogue of the named folders, and what is known of its licence; procedural if none is named.

    Raises:
        CavedError: if folders are missing, empty, or named twice for the same purpose.
    """
    if not any((ucf101, nextqa, events, backgrounds)):
        return procedural_catalogue(), "mit"
    if ucf101 and events:
        raise CavedError("--ucf101 and --events both name events: give one of them")
    if nextqa and backgrounds:
        raise CavedError("--nextqa and --backgrounds both name backgrounds: give one of them")
    if not (ucf101 or events):
        raise CavedError("no events: add --ucf101 DIR, or --events DIR with clips as <label>/<clip>")
    if not (nextqa or backgrounds):
        raise CavedError("no backgrounds: add --nextqa DIR, or --backgrounds DIR with any videos")
    if ucf101:
        classes, groups = ucf101_classes(ucf101), CONFUSABLE_GROUPS
    else:
        assert events is not None
        classes, groups = classes_of(events, "--events"), ()
    found: list[Source]
    if nextqa:
        found = backgrounds_of(nextqa, "--nextqa")
    else:
        assert backgrounds is not None
        found = backgrounds_of(backgrounds, "--backgrounds")
    _check_disjoint(classes, found)
    name = f"{'UCF-101' if ucf101 else 'own clips'} over {'NExT-QA' if nextqa else 'own backgrounds'}"
    catalogue = Catalogue(name, tuple(classes), tuple(found), groups, _notes(classes, bool(ucf101)))
    catalogue.check()
    return catalogue, UCF101_NEXTQA_LICENCE if ucf101 and nextqa else "that of the source videos"
