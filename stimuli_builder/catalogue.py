"""What a build can draw from: event classes with their clips, and background videos."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stimuli_builder.errors import CavedError


@dataclass(frozen=True)
class Source:
    """One file, or one procedural scene, that frames are taken from.

    `name` is what the release records: a path relative to its data set, with forward slashes, the same on
    every machine. `location` is where it lies on this one; `procedural:` locations need no file.
    """

    name: str
    location: str


@dataclass(frozen=True)
class EventClass:
    """A category of action clips; the order question names it by its phrase."""

    label: str
    phrase: str
    clips: tuple[Source, ...]


@dataclass(frozen=True)
class Catalogue:
    """The event classes and backgrounds of one build.

    `confusable_groups` are sets of labels that a viewer could mistake for one another on a single frame;
    two events of one probe never come from the same group (paper, "Construction").
    """

    name: str
    classes: tuple[EventClass, ...]
    backgrounds: tuple[Source, ...]
    confusable_groups: tuple[frozenset[str], ...] = ()
    notes: tuple[str, ...] = field(default=())  # what the user should know about these sources

    def confusable(self, first: str, second: str) -> bool:
        """Whether two labels must not meet in one probe."""
        return first == second or any({first, second} <= group for group in self.confusable_groups)

    def fingerprint(self) -> str:
        """SHA-256 over labels, phrases, names and sizes of files: changes when other sources are named."""

        def line(kind: str, source: Source) -> str:
            path = Path(source.location)
            return f"{kind}\t{source.name}\t{path.stat().st_size if path.is_file() else source.location}"

        lines = [f"class\t{c.label}\t{c.phrase}" for c in self.classes]
        lines += [line(c.label, clip) for c in self.classes for clip in c.clips]
        lines += [line("background", background) for background in self.backgrounds]
        lines += [f"confusable\t{' '.join(sorted(group))}" for group in self.confusable_groups]
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()

    def check(self) -> None:
        """Raise a CavedError unless two classes can be told apart and there is a background."""
        if not self.backgrounds:
            raise CavedError(f"no background video in {self.name}: give a folder that holds at least one")
        if len(self.classes) < 2:
            found = ", ".join(c.label for c in self.classes) or "none"
            raise CavedError(
                f"an order needs two classes of events, {self.name} has {len(self.classes)} ({found}): "
                "give a folder with one sub-folder of clips for each class"
            )
        by_phrase: dict[str, str] = {}
        for c in self.classes:
            earlier = by_phrase.setdefault(c.phrase.strip().lower(), c.label)
            if earlier != c.label:
                raise CavedError(
                    f"the classes {earlier} and {c.label} of {self.name} have the same phrase, {c.phrase!r}: "
                    "word them apart in phrases.json, or rename a folder"
                )
        labels = [c.label for c in self.classes]
        if all(self.confusable(a, b) for i, a in enumerate(labels) for b in labels[i + 1 :]):
            raise CavedError(
                f"all classes of {self.name} ({', '.join(labels)}) look alike to the list of confusable "
                "groups: add a class that cannot be mistaken for them"
            )


def join_notes(notes: Sequence[str]) -> str:
    """Notes as the lines that a command prints before it starts."""
    return "\n".join(f"note: {note}" for note in notes)
