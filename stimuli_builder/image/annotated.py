"""Annotated real images as items; everything that is wrong with annotations and images is said at once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.frames import frame_id
from stimuli_builder.image.annotation import Annotation
from stimuli_builder.image.annotation_coco import annotations_of_coco
from stimuli_builder.image.annotation_csv import annotations_of_csv
from stimuli_builder.image.annotation_regions import region_of
from stimuli_builder.image.image_files import (
    TURNED,
    UnreadableImage,
    absent,
    collected_notes,
    read_upright,
    shrunk,
    side_by_side,
)
from stimuli_builder.image.item import Question, Region, Scene
from stimuli_builder.image.sources import SceneSource

LONGEST_SIDE_PX = 1024
_LICENCE = "that of the annotated images"


@dataclass(frozen=True)
class AnnotatedPlan:
    """An annotated image whose file, regions and questions were found to be sound."""

    index: int
    item: str
    folder: Path
    path: str  # relative to the folder
    longest_side_px: int
    image: str  # id of its pixels as the release shows them
    regions: tuple[Region, ...]
    questions: tuple[Question, ...]
    numbers: Mapping[str, int]  # of each question, among those of its category

    def scene(self) -> Scene:
        """As `Plan.scene`."""
        try:
            image = shrunk(read_upright(self.folder / self.path).image, self.longest_side_px)
        except UnreadableImage as error:
            raise CavedError(f"{self.path} {error}") from error
        if frame_id(image) != self.image:
            raise CavedError(f"{self.path} was changed while the release was built: run the same command again")
        return Scene(self.item, image, self.regions, self.questions, "photo", self.path)

    def number_of(self, category: str) -> int:
        """As `Plan.number_of`."""
        return self.numbers[category]

    def content(self) -> object:
        """What the item is made of, for the fingerprint of its source."""
        regions = [(region.name, region.box, region.runs) for region in self.regions]
        questions = [(q.category, q.text, q.options, q.answer, q.region) for q in self.questions]
        return self.item, self.path, self.image, regions, questions


@dataclass(frozen=True)
class _LookedAt:
    """One image file with all annotations of it; its plan is None where something is wrong."""

    plan: AnnotatedPlan | None
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def _look_at(listed: Sequence[Annotation], folder: Path, longest_side_px: int) -> _LookedAt:
    path = listed[0].path
    try:
        upright = read_upright(folder / path)
    except UnreadableImage as error:
        return _LookedAt(None, (f"{listed[0].where}: {path} {error}",), ())
    image = shrunk(upright.image, longest_side_px)
    problems: list[str] = []
    regions: dict[tuple[object, ...], Region] = {}
    questions = []
    for annotation in listed:
        if annotation.box is None and annotation.outline is None:
            continue
        try:
            region = region_of(annotation, upright, image.size, folder, f"r{len(regions)}")
        except ValueError as error:
            problems.append(f"{annotation.where}: {path}: {error}")
            continue
        region = regions.setdefault((region.box, region.runs), region)
        if not annotation.problems:
            words = annotation.category, annotation.question, annotation.options, annotation.answer
            questions.append(Question(*words, region.name))
    boxes = "; boxes are taken for pixels of the upright image"
    notes = tuple(note + boxes if note == TURNED else note for note in upright.notes)
    if len(questions) < len(listed):
        return _LookedAt(None, tuple(problems), notes)
    plan = AnnotatedPlan(
        index=0,
        item=listed[0].item,
        folder=folder,
        path=path,
        longest_side_px=longest_side_px,
        image=frame_id(image),
        regions=tuple(regions.values()),
        questions=tuple(questions),
        numbers={},
    )
    return _LookedAt(plan, (), notes)


def _grouped(annotations: Sequence[Annotation]) -> tuple[dict[str, list[Annotation]], list[str]]:
    """{path: its annotations} in order of appearance, and what does not fit together."""
    by_path: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        if annotation.path:
            by_path.setdefault(annotation.path, []).append(annotation)
    problems = []
    paths: dict[str, str] = {}
    for path, listed in by_path.items():
        first: dict[str, Annotation] = {}
        for annotation in listed:
            earlier = first.setdefault(annotation.category, annotation)
            if annotation.category and earlier is not annotation:
                problems.append(
                    f"{annotation.where}: {path} has a question of the category {annotation.category} already "
                    f"({earlier.where}): name the category otherwise"
                )
        named = {annotation.item for annotation in listed if annotation.item}
        if len(named) > 1:
            problems.append(f"{listed[0].where}: {path} is called {' and '.join(sorted(named))}: one image is one item")
        for item in sorted(named):
            if paths.setdefault(item, path) != path:
                problems.append(f"{listed[0].where}: the item {item} is {paths[item]} already: one item is one image")
    return by_path, problems


def _numbered(plans: Sequence[AnnotatedPlan], problems: list[str]) -> tuple[AnnotatedPlan, ...]:
    """The plans with their numbers and names; adds what is not unique to `problems`."""
    taken: Counter[str] = Counter()
    numbered = []
    for index, plan in enumerate(plans):
        numbers = {question.category: taken[question.category] for question in plan.questions}
        taken.update(numbers.keys())
        numbered.append(replace(plan, index=index, item=plan.item or f"i{index:05d}", numbers=numbers))
    images: dict[str, str] = {}
    names: dict[str, str] = {}
    for plan in numbered:
        if images.setdefault(plan.image, plan.path) != plan.path:
            problems.append(
                f"{plan.path} shows the same pixels as {images[plan.image]}: put all questions under one path, since "
                "intervals take images for independent"
            )
        for question in plan.questions:
            name = f"{plan.item}_{question.category}"
            if names.setdefault(name, plan.path) != plan.path:
                problems.append(f"{plan.path} and {names[name]} have a question {name} each: rename an item")
    return tuple(numbered)


def annotated_source(
    annotations: Path,
    images: Path | None = None,
    longest_side_px: int = LONGEST_SIDE_PX,
    progress: Callable[[int], Callable[[int], object]] = lambda _: lambda _: None,
) -> SceneSource:
    """The items of an annotation file: CSV, or COCO-style JSON if its name ends in .json.

    Args:
        annotations: the file; see `annotation_csv` and `annotation_coco` for what it holds.
        images: folder that its paths are relative to; default: that of the file.
        longest_side_px: larger images are shrunk to it, boxes and masks with them; 0 keeps all sizes.
        progress: called once with the number of images; what it gives is called with 1 after each.

    Raises:
        CavedError: if the file or the folder is missing.
        BadInputs: naming everything that is wrong, with file and row.
    """
    if not annotations.is_file():
        found = "is a folder" if annotations.is_dir() else absent(annotations)
        raise CavedError(f"--annotations {annotations} {found}: give a CSV or JSON file")
    folder = images or annotations.parent
    if not folder.is_dir():
        found = "is no folder" if folder.exists() else f"is no folder, it {absent(folder)}"
        raise CavedError(f"--images {folder} {found}: give the one that paths of images are relative to")
    read = annotations_of_coco if annotations.suffix.lower() == ".json" else annotations_of_csv
    listed, problems, notes = read(annotations)
    by_path, more = _grouped(listed)
    problems = [*problems, *(problem for annotation in listed for problem in annotation.problems), *more]
    looked_at = side_by_side(
        lambda of_one: _look_at(of_one, folder, longest_side_px), by_path.values(), progress(len(by_path))
    )
    problems += [problem for seen in looked_at for problem in seen.problems]
    plans = _numbered([seen.plan for seen in looked_at if seen.plan is not None], problems)
    if problems:
        raise BadInputs(
            f"{len(problems)} thing(s) wrong with {annotations}",
            problems,
            "mend the file and the images, then run the same command again; nothing was written",
        )
    notes += collected_notes(zip(by_path, (seen.notes for seen in looked_at), strict=True))
    name = f"annotated images of {annotations.name}"
    if longest_side_px:
        name += f", longest side {longest_side_px} px"
    content = json.dumps([plan.content() for plan in plans], ensure_ascii=False)
    fingerprint = hashlib.sha256(content.encode()).hexdigest()
    return SceneSource(name, fingerprint, 0, plans, _LICENCE, tuple(notes))
