"""One annotated question about a user's image, and what can be wrong with its words."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from metrics.image.trial import OPTIONS
from stimuli_builder.image.annotation_options import option_problems
from stimuli_builder.image.item import CATEGORY

# Joiners belong to some scripts; all other invisible characters of this kind would make equal words differ.
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True)
class Outline:
    """A region that is no box: a mask file, polygons, or run lengths. Coordinates are pixels of the upright image."""

    file: str = ""  # path of a mask image, relative to the folder of images
    polygons: tuple[tuple[float, ...], ...] = ()  # each x1, y1, x2, y2, ...
    runs: tuple[int, ...] = ()  # column by column over the whole image, outside first
    runs_size: tuple[int, int] = (0, 0)  # (width, height) that the runs fill


@dataclass(frozen=True)
class Annotation:
    """A question about an image file, as annotated; the words are in NFC with single spaces.

    Where `problems` are named it is no question, but what could be read of it is kept, so that its image is looked at too.
    """

    where: str  # "labels.csv row 3"
    path: str  # relative to the folder of images, with forward slashes; empty if it cannot be used
    item: str  # the user's own name for the image; may be empty
    box: tuple[float, float, float, float] | None  # x, y, width, height in pixels of the upright image
    outline: Outline | None
    category: str
    question: str
    options: tuple[str, ...]
    answer: int  # place of the right option
    stated_size: tuple[int, int] | None  # (width, height) as the annotations give it
    problems: tuple[str, ...]  # each with file and row


def words(text: str) -> str:
    """`text` in NFC, without spaces at its ends and with single plain ones within."""
    plain = "".join(" " if unicodedata.category(c) == "Zs" else c for c in unicodedata.normalize("NFC", text))
    return " ".join(part for part in plain.split(" ") if part)


def _text_problem(name: str, text: str) -> str | None:
    if not text:
        return f"{name} is empty"
    for character in text:
        kind = unicodedata.category(character)
        if character == "\ufffd":
            return f"{name} {text!r} has a replacement character: its text was decoded wrongly once, write it anew"
        if kind in ("Cc", "Cs", "Co", "Zl", "Zp") or (kind == "Cf" and character not in _JOINERS):
            return f"{name} {text!r} has the control character U+{ord(character):04X}: take it out"
    return None


def _option_problems(options: Sequence[str]) -> list[str]:
    named = ((f"option {number}", option) for number, option in enumerate(options, 1))
    found = [problem for name, option in named if (problem := _text_problem(name, option)) is not None]
    return [*found, *option_problems(options)]


def path_problem(path: str) -> str | None:
    """What is wrong with a path that should lie within the folder of images; None if nothing is."""
    if not path:
        return "path is empty"
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or (len(path) > 1 and path[1] == ":"):
        return f"path {path!r} leads outside of the folder of images: give one relative to it"
    if _text_problem("path", path):
        return _text_problem("path", path)
    return None


def _box(value: object) -> tuple[tuple[float, float, float, float] | None, str | None]:
    """(box, problem) of four numbers in a list, or in a text with commas."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    try:
        if not isinstance(parts, (list, tuple)) or any(isinstance(part, bool) for part in parts):
            raise ValueError
        x, y, width, height = (float(part) for part in parts)
    except (TypeError, ValueError, OverflowError):
        return None, f"box {value!r}: give four numbers, x, y, width, height"
    if not all(map(math.isfinite, (x, y, width, height))):
        return None, f"box {value!r}: give finite numbers"
    if width <= 0 or height <= 0:
        return None, f"box {value!r} is empty: x, y, width and height are expected, not two corners"
    return (x, y, width, height), None


def _texts(fields: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Path, item, category, question and answer as texts, and what is wrong with each of them alone."""
    texts, problems = {}, []
    for name in ("path", "item", "category", "question", "answer"):
        value = fields.get(name)
        if not isinstance(value, str) and (name != "item" or value is not None):
            problems.append(f"{name} is {value!r}, no text")
            continue
        texts[name] = (value or "").strip() if name == "path" else words(value or "")
        if name == "path":
            problem = path_problem(texts[name])
        elif name == "category":
            problem = (
                None
                if CATEGORY.fullmatch(texts[name])
                else (
                    f"category {texts[name]!r}: write lower-case letters, digits and _, a letter first, such as house_number"
                )
            )
        else:
            problem = _text_problem(name, texts[name]) if name != "item" or texts[name] else None
        problems += [problem] if problem else []
    return texts, problems


def annotation_of(
    where: str,
    fields: Mapping[str, Any],
    outline: Outline | None,
    stated_size: tuple[int, int] | None,
    problems: Sequence[str] = (),
) -> Annotation:
    """The annotation of some fields, with everything that is wrong with them.

    Args:
        where: names file and row in every problem.
        fields: path, item, box, category, question and answer, and the list of options.
        outline: a region other than the box.
        stated_size: (width, height) of the image as the annotations give it.
        problems: what is known to be wrong already, such as an outline that could not be read.
    """
    texts, found = _texts(fields)
    found = [*problems, *found]
    path = "" if path_problem(texts.get("path", "")) else PurePosixPath(texts["path"]).as_posix()
    listed = fields.get("options")
    options: tuple[str, ...] = ()
    if isinstance(listed, (list, tuple)) and all(isinstance(option, str) for option in listed):
        options = tuple(words(option) for option in listed)
        found += _option_problems(options)
        if texts.get("answer") and texts["answer"] not in options:
            found.append(f"the answer {texts['answer']!r} is none of the options: repeat one of them letter for letter")
    else:
        found.append(f"options {listed!r}: give a list of {OPTIONS} texts")
    box = None
    if fields.get("box") not in (None, ""):
        box, wrong = _box(fields["box"])
        found += [wrong] if wrong else []
    elif outline is None and not problems:
        found.append("neither box nor mask: say which region decides the answer")
    return Annotation(
        where=where,
        path=path,
        item=texts.get("item", ""),
        box=box,
        outline=outline,
        category=texts.get("category", ""),
        question=texts.get("question", ""),
        options=options,
        answer=options.index(texts["answer"]) if texts.get("answer") in options else 0,
        stated_size=stated_size,
        problems=tuple(f"{where}: {problem}" for problem in found),
    )
