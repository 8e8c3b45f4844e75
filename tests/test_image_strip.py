"""The strip shows the images of the release, says how strong each level is, and never passes a reader off as people."""

import numpy as np
import pytest
from PIL import Image

from metrics.image.recoverability import Recoverability
from metrics.image.trial import DEGRADED, INTACT
from stimuli_builder.errors import CavedError
from stimuli_builder.image import strip, strip_drawing
from stimuli_builder.image.reach import margin_px, window
from stimuli_builder.image.strip import preview_strip
from stimuli_builder.image.strip_drawing import GAP_PX, LINE_PX, TILE_PX, wrapped


@pytest.fixture
def drawn(monkeypatch):
    """What is handed over to be drawn: (whole image, header, rows)."""
    seen = []
    real = strip_drawing.drawn_strip

    def watched(whole, header, rows):
        seen.append((whole, header, rows))
        return real(whole, header, rows)

    monkeypatch.setattr(strip, "drawn_strip", watched)
    return seen


def anchors(category: str, by_people: bool) -> Recoverability:
    known = {(category, INTACT, 0): 0.98, (category, "subtractive", 1): 0.61, (category, "corruptive", 2): 0.25}
    return Recoverability("80 people" if by_people else "PP-OCR", by_people, known)


def test_every_level_of_both_modes_is_shown_around_the_region(image_release, drawn):
    stored = next(s for s in image_release.questions() if s.name == "i00002_count")
    store, region = image_release.images(), stored.region
    sheet = preview_strip(image_release, "i00002", "count", None, "")
    (_, header, rows), intact = drawn[0], store.image(stored.views[0].image)
    assert header[0] == f"i00002_count: {stored.question.text}"
    assert header[1].startswith(f"options: {'; '.join(stored.question.options)} ")
    assert header[1].endswith(f"right: {stored.question.options[stored.question.answer]}")
    part = window(
        region, intact.size, margin_px(region, image_release.info.margin) + max(2, round(region.height_px / 4))
    )
    for mode, row in zip(DEGRADED, rows, strict=True):
        views = [v for v in stored.views if v.mode in (INTACT, mode)]
        assert [v.level for v in views] == [0, 1, 2]
        for view, tile in zip(views, row.tiles, strict=True):
            assert (np.asarray(tile.picture) == np.asarray(store.image(view.image))[part]).all()
            assert tile.accuracy == "not calibrated by people"
    assert [tile.strength for tile in rows[1].tiles] == [
        "L0: intact",
        *(f"L{i}: sigma {s:g} of its height" for i, s in ((1, 0.15), (2, 0.4))),
    ]
    hidden = stored.views[1]
    assert rows[0].tiles[1].strength == f"L1: 0.4 hidden (here {hidden.achieved:.2f})"
    assert sheet.width == GAP_PX + 3 * (TILE_PX[0] + GAP_PX)


def test_pictures_stand_where_the_sheet_shows_them(image_release, drawn):
    sheet = preview_strip(image_release, None, "shape", None, "")
    whole, _, rows = drawn[0]
    assert (
        np.abs(
            np.asarray(sheet.crop((GAP_PX, GAP_PX, GAP_PX + whole.width, GAP_PX + whole.height))).astype(int) - whole
        ).max()
        == 0
    )
    bottom = sheet.height
    for row in reversed(rows):
        for i, tile in enumerate(row.tiles):
            scale = min(TILE_PX[0] / tile.picture.width, TILE_PX[1] / tile.picture.height)
            size = (round(tile.picture.width * scale), round(tile.picture.height * scale))
            left, top = GAP_PX + i * (TILE_PX[0] + GAP_PX), bottom - GAP_PX - 2 * LINE_PX - size[1]
            shown = sheet.crop((left, top, left + size[0], top + size[1])).resize(
                tile.picture.size, Image.Resampling.BOX
            )
            assert (
                np.abs(np.asarray(shown).astype(int) - np.asarray(tile.picture)).mean() < 12
            )  # patches are checkered finely
        bottom = top - LINE_PX - 4


@pytest.mark.parametrize("by_people", [True, False])
def test_accuracies_say_whose_they_are(image_release, drawn, by_people):
    known = anchors("code", by_people)
    preview_strip(image_release, None, None, known.accuracy, known.standing)  # the first question is that of the code
    _, header, (subtractive, corruptive) = drawn[0]
    text = "people {}" if by_people else "reader {}, not people"
    unknown = "not calibrated by people"
    assert [t.accuracy for t in subtractive.tiles] == [text.format("0.98"), text.format("0.61"), unknown]
    assert [t.accuracy for t in corruptive.tiles] == [text.format("0.98"), unknown, text.format("0.25")]
    assert header[-1] == f"accuracy (chance 0.25): {known.standing}"
    assert ("calibrated by people (80 people)" in header[-1]) == by_people


def test_accuracies_of_another_category_are_not_shown(image_release, drawn):
    known = anchors("code", True)
    preview_strip(image_release, "i00001", "colour", known.accuracy, known.standing)
    _, header, rows = drawn[0]
    assert {tile.accuracy for row in rows for tile in row.tiles} == {"not calibrated by people"}
    assert header[-1] == "accuracy (chance 0.25): not calibrated by people"


def test_items_and_questions_that_are_not_there(image_release):
    with pytest.raises(CavedError, match="no item i99999: the release has i00000 to i00007"):
        preview_strip(image_release, "i99999", None, None, "")
    with pytest.raises(
        CavedError, match="item i00001 has no question 'weight': choose from code, colour, count, shape"
    ):
        preview_strip(image_release, "i00001", "weight", None, "")


def test_long_texts_are_wrapped_and_long_words_cut():
    lines = wrapped("What is printed on the small label below the second handle? " + "W" * 90, 300, 15)
    assert len(lines) > 2 and lines[-1].endswith("W…")
    assert all(strip_drawing._font(15).getlength(line) <= 300 for line in lines)
    assert wrapped("short", 300, 15) == ["short"]
