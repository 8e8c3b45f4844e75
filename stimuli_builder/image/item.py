"""Items of the image benchmark: an image, questions about it, and the region that decides each answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from datasets import Features, Value
from numpy.typing import NDArray
from PIL import Image

from metrics.image.trial import OPTIONS, Mode

CATEGORIES = ("code", "colour", "count", "shape")  # of procedural items; annotated ones may have others
CATEGORY = re.compile(r"[a-z][a-z0-9_]*")
Box = tuple[int, int, int, int]  # left, top, right, bottom in pixels; right and bottom are outside


@dataclass(frozen=True)
class Region:
    """A diagnostic region: the area that determines an answer (paper, "Approach"), a box or a mask within it.

    `runs` are the mask's run lengths over the box, row by row, pixels outside the mask first (0 if the first pixel is
    inside); empty where the whole box is the region.
    """

    name: str  # unique within its item
    box: Box
    runs: tuple[int, ...] = ()

    @property
    def height_px(self) -> int:
        """Height of the box, by which blur is normalised."""
        return self.box[3] - self.box[1]

    def mask(self, size: tuple[int, int]) -> NDArray[np.bool_]:
        """The region's pixels in an image of `size` (width, height), shape (height, width).

        Raises:
            ValueError: if it is empty, lies outside of the image, or its runs do not fill the box.
        """
        left, top, right, bottom = self.box
        width, height = size
        if not (0 <= left < right <= width and 0 <= top < bottom <= height):
            raise ValueError(
                f"the box {self.box} of {self.name} is empty or outside of the image of {width} x {height} px"
            )
        shape = (bottom - top, right - left)
        inside: NDArray[np.bool_] = np.ones(shape, dtype=bool)
        if self.runs:
            if min(self.runs) < 0 or sum(self.runs) != inside.size:
                raise ValueError(f"the mask of {self.name} covers {sum(self.runs)} pixels, its box has {inside.size}")
            values = np.arange(len(self.runs)) % 2 == 1
            inside = np.repeat(values, self.runs).reshape(shape)
        if not inside.any():
            raise ValueError(f"the mask of {self.name} is empty")
        mask = np.zeros((height, width), dtype=bool)
        mask[top:bottom, left:right] = inside
        return mask


def region_of_mask(name: str, mask: NDArray[np.bool_]) -> Region:
    """The region of a mask of shape (height, width); its box is the smallest one.

    Raises:
        ValueError: if the mask is empty.
    """
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        raise ValueError(f"the mask of {name} is empty")
    box = (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    inside = mask[box[1] : box[3], box[0] : box[2]].ravel()
    if inside.all():
        return Region(name, box)
    edges = np.flatnonzero(np.diff(inside)) + 1
    lengths = np.diff([0, *edges, inside.size]).tolist()
    return Region(name, box, tuple(lengths if not inside[0] else [0, *lengths]))


@dataclass(frozen=True)
class Question:
    """A question with four options of which one is right."""

    category: str
    text: str  # such as "What code is printed on the parcel?"
    options: tuple[str, ...]  # four, distinct
    answer: int  # place of the right one
    region: str  # name of the region that decides it

    def __post_init__(self) -> None:
        if len(self.options) != OPTIONS or len(set(self.options)) != OPTIONS or not all(self.options):
            raise ValueError(f"a question needs {OPTIONS} distinct options: {self.options}")
        if self.answer not in range(OPTIONS):
            raise ValueError(f"the answer is option {self.answer}, of {OPTIONS}")
        if not CATEGORY.fullmatch(self.category) or not self.text.strip():
            raise ValueError(f"a question without a text, or of the category {self.category!r}")


@dataclass(frozen=True)
class Scene:
    """An intact image with its regions and questions, before anything is degraded."""

    item: str  # `i00003`
    image: Image.Image  # RGB
    regions: tuple[Region, ...]
    questions: tuple[Question, ...]  # of distinct categories
    kind: str  # parcel, badge, plate, tag, or photo
    source: str  # background and layout of a procedural item, or the path of an annotated image


@dataclass(frozen=True)
class Slot:
    """One of the two ways in which a question is put: option order, paraphrase, and which option is asserted."""

    order: tuple[int, ...]  # places in `Question.options` as they are displayed
    cannot_place: int  # 0 to 4: where "cannot be determined" stands among five
    paraphrase: int
    asserted: int  # place in `Question.options`


@dataclass(frozen=True)
class ItemView:
    """An image of one mode and level."""

    mode: Mode
    level: int
    strength: float  # asked for: share of the region hidden, or blur sigma over its height
    achieved: float  # of it, as pixels allow: the share really hidden, or the same as asked for
    image: str  # id


@dataclass(frozen=True)
class StoredQuestion:
    """One row of the `items` config: a question of an item, how it is put, and its images by mode and level."""

    item: str
    index: int  # of the item
    kind: str
    source: str
    question: Question
    region: Region
    slots: tuple[Slot, Slot]
    views: tuple[ItemView, ...]  # L0 first, then each mode by rising level

    @property
    def name(self) -> str:
        """Unique in a release."""
        return f"{self.item}_{self.question.category}"

    def to_row(self) -> dict[str, Any]:
        """The row, keyed as `ITEM_FEATURES`."""
        return {
            "question": self.name,
            "item": self.item,
            "item_index": self.index,
            "kind": self.kind,
            "source": self.source,
            "category": self.question.category,
            "text": self.question.text,
            "options": list(self.question.options),
            "answer": self.question.answer,
            "region": self.region.name,
            "box": list(self.region.box),
            "runs": list(self.region.runs),
            "slots": [{**vars(slot), "order": list(slot.order)} for slot in self.slots],
            "views": [dict(vars(view)) for view in self.views],
        }

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> StoredQuestion:
        """The question of a row.

        Raises:
            KeyError: if a column is missing.
            ValueError: if what stands there is no question.
        """
        left, top, right, bottom = row["box"]
        slots = [Slot(tuple(s["order"]), s["cannot_place"], s["paraphrase"], s["asserted"]) for s in row["slots"]]
        if len(slots) != 2:
            raise ValueError(f"{len(slots)} slots, a question has 2")
        return StoredQuestion(
            item=row["item"],
            index=row["item_index"],
            kind=row["kind"],
            source=row["source"],
            question=Question(row["category"], row["text"], tuple(row["options"]), row["answer"], row["region"]),
            region=Region(row["region"], (left, top, right, bottom), tuple(row["runs"])),
            slots=(slots[0], slots[1]),
            views=tuple(
                ItemView(v["mode"], v["level"], v["strength"], v["achieved"], v["image"]) for v in row["views"]
            ),
        )


ITEM_FEATURES = Features(
    {
        "question": Value("string"),
        "item": Value("string"),
        "item_index": Value("int32"),
        "kind": Value("string"),
        "source": Value("string"),
        "category": Value("string"),
        "text": Value("string"),
        "options": [Value("string")],
        "answer": Value("int32"),
        "region": Value("string"),
        "box": [Value("int32")],
        "runs": [Value("int32")],
        "slots": [
            {
                "order": [Value("int32")],
                "cannot_place": Value("int32"),
                "paraphrase": Value("int32"),
                "asserted": Value("int32"),
            }
        ],
        "views": [
            {
                "mode": Value("string"),
                "level": Value("int32"),
                "strength": Value("float64"),
                "achieved": Value("float64"),
                "image": Value("string"),
            }
        ],
    }
)
