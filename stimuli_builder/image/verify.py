"""What an image release must be, proved from the release alone; each finding says what is wrong and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from metrics.image.trial import OPTIONS, Mode
from stimuli_builder.errors import CavedError
from stimuli_builder.image.info import NOT_CALIBRATED, ImageReleaseInfo
from stimuli_builder.image.item import StoredQuestion
from stimuli_builder.image.levels import check_strengths, leading_categories
from stimuli_builder.image.release import ITEMS_FILE, ImageRelease
from stimuli_builder.image.verify_pixels import check_item_pixels
from stimuli_builder.image.verify_questions import check_item, check_question
from stimuli_builder.release import FrameStore


def verify_image_release(
    release: ImageRelease, progress: Callable[[int], object] = lambda _: None, pixels: bool = True
) -> list[str]:
    """Everything that is wrong with an image release, as sentences; an empty list means that it holds.

    Every image is decoded and hashed again, every draw is made again from the seed, and every degraded image is compared
    with the intact one: what may differ, what has to, and how much.

    Args:
        release: an opened release.
        pixels: whether to look at the images themselves; without, only at the tables.
        progress: called with the number of images after each item.

    Raises:
        CavedError: if a table cannot be read at all.
    """
    info = release.info
    questions, store = release.questions(), release.images()
    items: dict[str, list[StoredQuestion]] = {}
    for question in questions:
        items.setdefault(question.item, []).append(question)
    findings = [
        *_check_files(release, store),
        *_check_strengths(info, questions),
        *_check_counts(info, questions, items),
    ]
    numbers: Counter[str] = Counter()
    for question in questions:
        category = question.question.category
        findings += [f"{question.name}: {text}" for text in check_question(question, numbers[category], info)]
        numbers[category] += 1
    findings += _check_balance(questions)
    intact: dict[str, str] = {}
    seen: set[str] = set()
    for place, (item, listed) in enumerate(items.items()):
        findings += [f"{item}: {text}" for text in check_item(listed, place, info)]
        other = intact.setdefault(listed[0].views[0].image, item) if listed[0].views else item
        if other != item:
            findings.append(f"{item}: it shows the same image as {other}")
        if pixels:
            with threadpool_limits(1):  # as in staging
                findings += [f"{item}: {text}" for text in check_item_pixels(listed, info, store)]
            here = {view.image for question in listed for view in question.views} - seen
            seen |= here
            progress(len(here))
    findings += _check_use(store, questions)
    digest = release.content_digest()
    if digest != info.digest:
        findings.append(f"digest: the content gives {digest}, the release says {info.digest}")
    return findings


def _check_files(release: ImageRelease, store: FrameStore) -> Iterator[str]:
    """What `datasets` would load is what is looked at here, each row once."""
    surplus = [
        path.name for path in (release.folder / ITEMS_FILE).parent.glob("*.parquet") if path.name != ITEMS_FILE.name
    ]
    if surplus:
        yield f"there are tables of items besides {ITEMS_FILE.name}: {', '.join(sorted(surplus))}"
    rows = sum(pq.read_metadata(path).num_rows for path in store.folder.glob("*.parquet"))
    if rows != len(store.ids()):
        yield f"{rows} stored images have {len(store.ids())} ids: some are stored twice"


def _check_strengths(info: ImageReleaseInfo, questions: Sequence[StoredQuestion]) -> Iterator[str]:
    """Levels of the categories that stand first among the questions of a region, and of no others."""
    leading = [category for category, leaders in leading_categories(questions).items() if category in leaders]
    for category in leading:
        modes = info.strengths.get(category, {})
        try:
            check_strengths(cast("dict[Mode, tuple[float, ...]]", modes))
        except CavedError as error:
            yield f"the levels of {category} are none: {error}"
        else:
            counts = {len(values) for values in modes.values()}
            if counts != {info.levels}:
                yield f"{category} has {max(counts)} levels, the release says {info.levels}"
    if set(info.strengths) != set(leading):
        yield f"there are levels of {', '.join(info.strengths)}, the categories that have any are {', '.join(leading)}"
    if info.calibrated_by != NOT_CALIBRATED:
        yield f"its levels are said to be found by {info.calibrated_by!r}, this version can only build {NOT_CALIBRATED!r}"
    if not 0 <= info.margin <= 1:
        yield f"a margin of {info.margin} of the region's height"


def _check_counts(
    info: ImageReleaseInfo, questions: Sequence[StoredQuestion], items: dict[str, list[StoredQuestion]]
) -> Iterator[str]:
    if len(items) != info.items:
        yield f"{len(items)} items, the release says {info.items}"
    if len(questions) != info.questions:
        yield f"{len(questions)} questions, the release says {info.questions}"
    doubled = [name for name, n in Counter(question.name for question in questions).items() if n > 1]
    if doubled:
        yield f"questions listed twice: {', '.join(doubled[:5])}"
    categories = {question.question.category for question in questions}
    if categories != set(info.categories):
        yield f"the categories are {', '.join(sorted(categories))}, the release says {', '.join(info.categories)}"
    order = list(dict.fromkeys(question.item for question in questions))
    if [question.item for question in questions] != [item for item in order for _ in items[item]]:
        yield "the questions of an item do not follow one another"


def _check_balance(questions: Sequence[StoredQuestion]) -> Iterator[str]:
    """In slot 0 the right option stands in each place once in every four questions of a category."""
    places: dict[str, list[int]] = {}
    for question in questions:
        order, answer = question.slots[0].order, question.question.answer
        places.setdefault(question.question.category, []).append(order.index(answer) if answer in order else -1)
    for category, listed in places.items():
        whole = len(listed) - len(listed) % OPTIONS
        counts = [listed[:whole].count(place) for place in range(OPTIONS)]
        if len(set(counts)) > 1:
            yield f"{category}: the right option stands {counts} times in the four places, not equally often"


def _check_use(store: FrameStore, questions: Sequence[StoredQuestion]) -> Iterator[str]:
    used = {view.image for question in questions for view in question.views}
    missing = sorted(image[:16] for image in used if image not in store)
    if missing:
        yield f"{len(missing)} images are missing, such as {missing[0]}"
    unused = [image[:16] for image in store.ids() if image not in used]
    if unused:
        yield f"{len(unused)} images belong to no question, such as {unused[0]}"
