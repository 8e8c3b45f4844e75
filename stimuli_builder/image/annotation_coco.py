"""Annotations in a JSON file of the COCO kind: `images` and `annotations`, an annotation for each question.

    {"images": [{"id": 1, "file_name": "street/a.jpg", "width": 640, "height": 480, "item": "a"}],
     "annotations": [{"image_id": 1, "bbox": [120, 40, 200, 60], "segmentation": [[120, 40, 320, 40, 320, 100]],
                      "attributes": {"category": "code", "question": "What number is on the door?",
                                     "options": ["12", "17", "72", "71"], "answer": "12"}}]}

`bbox` is [x, y, w, h] in pixels of the upright image. `width`, `height`, `item` and `segmentation` may be left out;
`segmentation` is a list of polygons [x1, y1, x2, y2, ...] or uncompressed run lengths {"counts": [...], "size": [h, w]}.
Several annotations of one image are several questions about it, each of a category of its own. Other keys mean nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stimuli_builder.image.annotation import Annotation, Outline, annotation_of
from stimuli_builder.image.annotation_csv import text_of


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _numbers(value: object) -> bool:
    """Whether it is a list of numbers that a coordinate or a length can be."""
    return isinstance(value, list) and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and -1e9 < v < 1e9 for v in value
    )


def _outline(value: Any) -> tuple[Outline | None, str | None]:
    """(outline, problem) of a `segmentation`; neither if there is none."""
    if value is None or value == []:
        return None, None
    if isinstance(value, Mapping):
        counts, size = value.get("counts"), value.get("size")
        if isinstance(counts, str):
            return None, "segmentation has compressed run lengths: decode them to a list of counts (pycocotools does)"
        if not (_numbers(counts) and all(map(_whole, counts or ())) and counts and min(counts) >= 0):
            return None, f"segmentation has the counts {str(counts)[:60]}: give a list of whole numbers from 0"
        if not (isinstance(size, list) and len(size) == 2 and all(map(_whole, size)) and min(size) > 0):
            return None, f"segmentation has the size {size!r}: give [height, width]"
        assert isinstance(counts, list)
        return Outline(runs=tuple(counts), runs_size=(size[1], size[0])), None
    polygons = value if isinstance(value, list) else []
    if not polygons or not all(
        _numbers(polygon) and len(polygon) >= 6 and len(polygon) % 2 == 0 for polygon in polygons
    ):
        return None, "segmentation: give a list of polygons [x1, y1, x2, y2, x3, y3, ...], or counts with their size"
    return Outline(polygons=tuple(tuple(map(float, polygon)) for polygon in polygons)), None


def _listed(name: str, content: Mapping[str, Any], key: str) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The objects of a list in the file, and what is wrong with it."""
    value = content.get(key)
    if not isinstance(value, list) or not value:
        return [], [f"{name}: {key} is no list, or empty: see `caved build image --help` for the keys"]
    wrong = [n for n, entry in enumerate(value) if not isinstance(entry, Mapping)]
    return [entry for entry in value if isinstance(entry, Mapping)], [f"{name} {key}[{n}] is no object" for n in wrong]


def _images(name: str, listed: Sequence[Mapping[str, Any]]) -> tuple[dict[Any, Mapping[str, Any]], list[str]]:
    images: dict[Any, Mapping[str, Any]] = {}
    problems = []
    for number, image in enumerate(listed):
        where, key = f"{name} images[{number}]", image.get("id")
        if not isinstance(key, (int, str)):
            problems.append(f"{where}: id is {key!r}, give a number")
        elif key in images:
            problems.append(f"{where}: the id {key!r} is that of another image, too")
        elif not isinstance(image.get("file_name"), str):
            problems.append(f"{where}: file_name is {image.get('file_name')!r}, no text")
        sides = [image.get(side) for side in ("width", "height")]
        if not all(side is None for side in sides) and not all(_whole(side) and side > 0 for side in sides):  # type: ignore[operator]
            problems.append(f"{where}: width and height are {sides}, give both as whole numbers or leave both out")
        if isinstance(key, (int, str)):
            images.setdefault(key, image)
    return images, problems


def annotations_of_coco(path: Path) -> tuple[list[Annotation], list[str], list[str]]:
    """(annotations, problems of the file itself, notes) of a COCO-style JSON file."""
    text, problem = text_of(path)
    if problem:
        return [], [problem], []
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [], [f"{path.name} is no JSON ({error})"], []
    if not isinstance(content, Mapping):
        return [], [f"{path.name} holds no object with images and annotations: see `caved build image --help`"], []
    listed, problems = _listed(path.name, content, "images")
    entries, more = _listed(path.name, content, "annotations")
    images, wrong = _images(path.name, listed)
    problems += more + wrong
    annotations: list[Annotation] = []
    for number, entry in enumerate(entries):
        where, key = f"{path.name} annotations[{number}]", entry.get("image_id")
        image = images.get(key) if isinstance(key, (int, str)) else None
        attributes = entry.get("attributes")
        if not isinstance(attributes, Mapping):
            problems.append(f"{where}: attributes is no object with category, question, options and answer")
        if image is None:
            problems.append(f"{where}: image_id {key!r} is none of the images")
        elif isinstance(attributes, Mapping) and isinstance(image.get("file_name"), str):
            width, height = image.get("width"), image.get("height")
            stated = (width, height) if isinstance(width, int) and isinstance(height, int) else None
            outline, odd = _outline(entry.get("segmentation"))
            fields = {**attributes, "path": image["file_name"], "item": image.get("item"), "box": entry.get("bbox")}
            annotations.append(annotation_of(where, fields, outline, stated, [odd] if odd else []))
    return annotations, problems, []
