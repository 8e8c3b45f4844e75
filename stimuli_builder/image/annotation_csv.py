"""Annotations in a CSV file: a row for each question.

Columns `path,box,category,question,options,answer`, and optionally `item` and `mask`, in any order:

    path      of an image, relative to the folder of images
    box       x,y,w,h in pixels of the upright image, in quotes since it has commas: "120,40,200,60"
    category  such as code: lower-case letters, digits and _
    question  as the model is asked it
    options   four, separated by |
    answer    the right option, letter for letter
    item      a name for the image; default: i00000, i00001, ...
    mask      path of an image of the same size whose bright pixels are the region; box may then be empty

Several rows of one path are several questions about one image, each of a category of its own. Equal boxes share a region.
"""

from __future__ import annotations

import codecs
import csv
import io
from pathlib import Path

from stimuli_builder.image.annotation import Annotation, Outline, annotation_of, path_problem

_COLUMNS = ("path", "box", "category", "question", "options", "answer")
_OPTIONAL = ("item", "mask")


def text_of(path: Path) -> tuple[str, str | None]:
    """(text, problem) of a file in UTF-8, with or without a byte order mark."""
    data = path.read_bytes()
    if data.startswith(b"PK\x03\x04"):
        return "", f"{path.name} is a spreadsheet or an archive: export it as CSV in UTF-8"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:4]:
        return "", f"{path.name} is in UTF-16: save it as UTF-8"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return "", f"{path.name} line {line} is not UTF-8, perhaps Windows-1252: save the file as UTF-8"
    if "\0" in text:
        return "", f"{path.name} holds a NUL character: save it anew as text in UTF-8"
    if not text.strip():
        return "", f"{path.name} is empty: one row for each question is expected"
    return text, None


def _header_problems(name: str, header: list[str]) -> list[str]:
    missing = [column for column in _COLUMNS if column not in header and (column != "box" or "mask" not in header)]
    problems = []
    if missing:
        other = next((mark for mark in (";", "\t") if any(mark in column for column in header)), None)
        hint = (
            f"; its columns are separated by {other!r}, commas are expected"
            if other
            else f"; it has {', '.join(header)}"
        )
        problems.append(f"{name}: the first row lacks the columns {', '.join(missing)}{hint}")
    doubled = sorted({column for column in header if header.count(column) > 1 and column in _COLUMNS + _OPTIONAL})
    if doubled:
        problems.append(f"{name}: the first row has the columns {', '.join(doubled)} twice")
    return problems


def annotations_of_csv(path: Path) -> tuple[list[Annotation], list[str], list[str]]:
    """(annotations, problems of the file itself, notes) of a CSV file."""
    text, problem = text_of(path)
    if problem:
        return [], [problem], []
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        return (
            [],
            [f"{path.name} is no CSV file ({error}): mind quotes, which come in pairs and are doubled within"],
            [],
        )
    header = [column.strip().lower() for column in rows[0]]
    problems = _header_problems(path.name, header)
    if problems:
        return [], problems, []
    unknown = [column for column in header if column not in _COLUMNS + _OPTIONAL]
    notes = [f"{path.name}: columns that mean nothing here: {', '.join(unknown)}"] if unknown else []
    annotations = []
    for number, row in enumerate(rows[1:], start=2):
        where = f"{path.name} row {number}"
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            problems.append(
                f"{where}: {len(row)} cells, the first row has {len(header)}: put texts with commas in quotes"
            )
            continue
        cells = {name: cell.strip() for name, cell in zip(header, row, strict=True)}
        mask = cells.get("mask", "")
        wrong = path_problem(mask) if mask else None
        fields = {**cells, "options": cells["options"].split("|")}
        annotations.append(
            annotation_of(
                where,
                fields,
                Outline(file=mask) if mask and not wrong else None,
                None,
                [f"mask: {wrong}"] if wrong else [],
            )
        )
    if not annotations and not problems:
        problems.append(f"{path.name} has no row below the first: one row for each question is expected")
    return annotations, problems, notes
