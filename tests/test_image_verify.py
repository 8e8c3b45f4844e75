"""`caved verify` finds each fault of an image release by name, also where whoever made it recomputed the digest."""

import copy
import dataclasses
import shutil

import numpy as np
import pytest
from image_forging import forged_images, forged_items, redo_image_digest, repainted
from PIL import Image

from stimuli_builder.errors import CavedError
from stimuli_builder.frames import encode
from stimuli_builder.image.build import build_image_release
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.release import COVERED, ImageRelease, open_image_release
from stimuli_builder.image.slots import draw_slots
from stimuli_builder.image.sources import procedural_source
from stimuli_builder.image.verify import verify_image_release


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> ImageRelease:
    """Two items, so that looking at all pixels is quick."""
    strengths = {"subtractive": (0.4, 1.0), "corruptive": (0.15, 0.4)}
    out = tmp_path_factory.mktemp("pair") / "r"
    return build_image_release(procedural_source(2, 7, 224), out, 7, strengths, MARGIN, "mit", workers=1)


def test_a_fresh_release_holds(image_release):
    seen = []
    assert verify_image_release(image_release, seen.append) == []
    assert sum(seen) == len(image_release.images().ids())


def view(row: dict, mode: str, level: int) -> dict:
    return next(v for v in row["views"] if (v["mode"], v["level"]) == (mode, level))


def swap_levels(rows):
    for row in rows[:2]:  # code and colour share a region
        one, two = view(row, "subtractive", 1), view(row, "subtractive", 2)
        one["image"], two["image"] = two["image"], one["image"]


def swap_blurs(rows):
    for row in rows[:2]:
        one, two = view(row, "corruptive", 1), view(row, "corruptive", 2)
        one["image"], two["image"] = two["image"], one["image"]


def swap_modes(rows):
    for row in rows[:2]:
        one, two = view(row, "subtractive", 1), view(row, "corruptive", 1)
        one["image"], two["image"] = two["image"], one["image"]


def another_region(rows):
    view(rows[2], "subtractive", 1)["image"] = view(rows[3], "subtractive", 1)["image"]


def another_item(rows):
    view(rows[2], "corruptive", 2)["image"] = view(rows[6], "corruptive", 2)["image"]


def intact_for_degraded(rows):
    view(rows[2], "subtractive", 1)["image"] = view(rows[2], "intact", 0)["image"]


def intact_for_blurred(rows):
    view(rows[2], "corruptive", 2)["image"] = view(rows[2], "intact", 0)["image"]


def other_strength(rows):
    for row in rows:
        view(row, "corruptive", 1)["strength"] = 0.2


def other_achieved(rows):
    for row in rows[:2]:
        view(row, "subtractive", 1)["achieved"] -= 0.01


def far_achieved(rows):
    for row in rows[:2]:
        view(row, "subtractive", 1)["achieved"] = 0.3


def lose_a_level(rows):
    for row in rows[:2]:
        row["views"].pop()


def lose_an_item(rows):
    del rows[:4]


def lose_a_question(rows):
    del rows[1]


def repeat_a_question(rows):
    rows[1] = copy.deepcopy(rows[0])


def renumber(rows):
    for row in rows[:4]:
        row["item_index"] = 7


def mix_items(rows):
    rows[3], rows[4] = rows[4], rows[3]


def other_answer(rows):
    rows[0]["answer"] = 1


def other_answer_put_right(rows):
    """By someone who knows how slots are drawn."""
    rows[0]["answer"] = 1
    rows[0]["slots"] = [{**vars(s), "order": list(s.order)} for s in draw_slots(7, 0, "code", 1)]


def same_answer_twice(rows):
    rows[0]["options"][1] = rows[0]["options"][0].lower()


def other_words(rows):
    rows[3]["text"] = "What shape is it?"


def other_category(rows):
    rows[0]["category"] = "letters"


def always_assert_the_right_one(rows):
    for slot in rows[0]["slots"]:
        slot["asserted"] = rows[0]["answer"]


def exchange_the_slots(rows):
    rows[0]["slots"].reverse()


def answers_first(rows):
    for row in rows:
        order = row["slots"][0]["order"]
        order.remove(row["answer"])
        order.insert(0, row["answer"])


def show_an_option_twice(rows):
    rows[0]["slots"][0]["order"] = [0, 0, 1, 2]


def no_such_paraphrase(rows):
    rows[0]["slots"][0]["paraphrase"] = 3


def no_such_place(rows):
    rows[0]["slots"][1]["cannot_place"] = 5


def same_place_twice(rows):
    rows[0]["slots"][1]["cannot_place"] = rows[0]["slots"][0]["cannot_place"]


def move_the_box(rows):
    for row in rows[:2]:
        row["box"] = [x + 4 for x in row["box"]]


def box_outside(rows):
    for row in rows[:2]:
        row["box"] = [x + 200 for x in row["box"]]


def flat_box(rows):
    for row in rows[:2]:
        row["box"][3] = row["box"][1] + 3


def one_box_of_two(rows):
    rows[1]["box"][0] -= 1


def path_of_a_machine(rows):
    rows[0]["source"] = "/home/me/photo.jpg"


def same_image_twice(rows):
    for mine, other in zip(rows[:4], rows[4:8], strict=True):
        mine["views"] = copy.deepcopy(other["views"])


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (intact_for_degraded, "or one and L0, show the same image"),
        (other_strength, "its images are not L0 and 2 levels of each mode with the release's strengths"),
        (far_achieved, "subtractive L1 achieves 0.300, 0.4 is asked for"),
        (lose_a_level, "corruptive L2 missing"),
        (lose_an_item, "7 items, the release says 8"),
        (lose_a_question, "31 questions, the release says 32"),
        (repeat_a_question, "questions listed twice: i00000_code"),
        (renumber, "has the number 7, it is item 0"),
        (mix_items, "do not follow one another"),
        (other_answer, "its slots are not those of seed 7"),
        (same_answer_twice, "are the same but for case"),
        (other_category, "the release says code, colour, count, shape"),
        (always_assert_the_right_one, "asserted in one slot and a wrong one in the other"),
        (exchange_the_slots, "its slots are not those of seed 7"),
        (answers_first, "times in the four places, not equally often"),
        (show_an_option_twice, "does not show each option once"),
        (no_such_paraphrase, "paraphrase 3 does not exist"),
        (no_such_place, "stands in place 5"),
        (same_place_twice, "both slots have the same cannot place"),
        (flat_box, "3 px high, at least 8"),
        (one_box_of_two, "share the region code, but not its box and images"),
        (path_of_a_machine, "is a path on some machine"),
        (same_image_twice, "it shows the same image as i00000"),
    ],
)
def test_each_fault_of_the_tables_is_named_although_the_digest_fits(image_release, tmp_path, change, finding):
    findings = verify_image_release(forged_items(image_release, tmp_path / "forged", change), pixels=False)
    assert any(finding in text for text in findings), findings
    assert not any(text.startswith("digest") for text in findings)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (swap_levels, "subtractive L2 shows again what the level before hides"),
        (swap_blurs, "corruptive L2 is no more blurred than the level before"),
        (swap_modes, "hides nothing, or not under patches of the greys 72 and 184"),
        (another_region, "pixels outside of the region and its margin"),
        (another_item, "pixels outside of the region and its margin"),
        (intact_for_blurred, "corruptive L2 is no more blurred"),
        (other_achieved, "of the region, it says 0."),
        (other_answer_put_right, "its questions, options or answers are not those of seed 7"),
        (other_words, "its questions, options or answers are not those of seed 7"),
        (move_the_box, "is not that of seed 7"),
        (box_outside, "outside of the image"),
    ],
)
def test_each_fault_that_pixels_show_is_named_although_the_digest_fits(pair, tmp_path, change, finding):
    findings = verify_image_release(forged_items(pair, tmp_path / "forged", change))
    assert any(finding in text for text in findings), findings
    assert not any(text.startswith("digest") for text in findings)


@pytest.mark.parametrize(
    ("fields", "finding"),
    [
        ({"seed": 8}, "its slots are not those of seed 8"),
        ({"margin": 0.1}, "pixels outside of the region and its margin"),
        ({"margin": 9.0}, "a margin of 9.0"),
        ({"canvas_px": 448}, "its images are 224 x 224, the canvas is 448 x 448"),
        ({"levels": 3}, "has 2 levels, the release says 3"),
        ({"categories": ("code", "colour", "count")}, "the release says code, colour, count"),
        ({"strengths": {}}, "give them for subtractive and corruptive"),
        (
            {
                "strengths": {
                    c: {"subtractive": (0.4, 1.0), "corruptive": (0.15, 0.4)}
                    for c in ("code", "colour", "count", "shape")
                }
            },
            "there are levels of code, colour, count, shape, the categories that have any are code, count, shape",
        ),
    ],
)
def test_what_the_description_says_is_compared_with_what_is_there(pair, tmp_path, fields, finding):
    shutil.copytree(pair.folder, tmp_path / "f")
    findings = verify_image_release(redo_image_digest(tmp_path / "f", **fields))
    assert any(finding in text for text in findings), findings


def a_dot_far_away(image, rows):
    image.putpixel((0, 0), (255, 0, 0))
    return image


def inside(rows) -> tuple[int, int]:
    left, top, right, bottom = rows[0]["box"]
    return (left + right) // 2, (top + bottom) // 2


def a_dot_inside(image, rows):
    image.putpixel(inside(rows), (255, 0, 0))
    return image


def another_grey(image, rows):
    pixels = np.array(image)
    values, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    pixels[(pixels == values[counts.argmax()]).all(-1)] += (
        7  # one tone of the patches is the largest area of one colour
    )
    return Image.fromarray(pixels)


def slightly_sharper(image, rows):
    pixels = np.array(image)
    x, y = inside(rows)
    pixels[y, x] += np.where(pixels[y, x] > 128, -3, 3).astype(np.uint8)
    return Image.fromarray(pixels)


def another_print(image, rows):
    pixels = np.array(image)
    left, top, right, bottom = rows[0]["box"]
    pixels[top:bottom, left:right] = pixels[top:bottom, left:right][:, ::-1]
    return Image.fromarray(pixels)


@pytest.mark.parametrize(
    ("paint", "mode", "level", "finding"),
    [
        (a_dot_far_away, "subtractive", 1, "subtractive L1 changes 1 pixels outside of the region"),
        (a_dot_far_away, "corruptive", 2, "corruptive L2 changes 1 pixels outside of the region"),
        (a_dot_far_away, "intact", 0, "subtractive L1 changes 1 pixels outside of the region"),
        (a_dot_inside, "subtractive", 2, "hides nothing, or not under patches of the greys 72 and 184"),
        (another_grey, "subtractive", 1, "not under patches of the greys 72 and 184"),
        (another_grey, "subtractive", 2, "hides other pixels than seed, strength and margin say"),
        (slightly_sharper, "corruptive", 1, "is blurred otherwise than seed, strength and margin say"),
        (another_print, "intact", 0, "does not show what seed 7 draws"),
    ],
)
def test_pixels_of_an_image_with_an_id_of_its_own(pair, tmp_path, paint, mode, level, finding):
    findings = verify_image_release(repainted(pair, tmp_path / "f", paint, 1, mode, level))
    assert any(finding in text for text in findings), findings
    assert all(text.startswith("i00001") for text in findings)


def one_grey_brighter(image, rows):
    pixels = np.array(image)
    left, top, right, bottom = rows[0]["box"]
    pixels[top:bottom, left:right, 0] += pixels[top:bottom, left:right, 0] < 255
    return Image.fromarray(pixels)


def one_pixel_brighter(image, rows):
    x, y = inside(rows)
    pixels = np.array(image)
    pixels[y, x] = pixels[y, x].astype(int) + np.where(pixels[y, x] < 255, 1, -1)
    return Image.fromarray(pixels)


def test_a_blur_may_be_rounded_otherwise_here_and_there_and_not_everywhere(pair, tmp_path):
    findings = verify_image_release(repainted(pair, tmp_path / "f", one_grey_brighter, 1, "corruptive", 2))
    assert any("corruptive L2 is blurred otherwise" in text for text in findings), findings
    assert verify_image_release(repainted(pair, tmp_path / "g", one_pixel_brighter, 1, "corruptive", 2)) == []


FIELDS = {
    "seed": 8,
    "levels": 1,
    "margin": 0.7500001,
    "canvas_px": 0,
    "calibrated_by": "300 people",
    "strengths": {
        category: {"subtractive": (0.3996, 0.999), "corruptive": (0.14985, 0.3996)}
        for category in ("code", "colour", "count", "shape")
    },
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_description_that_was_edited_breaks_the_digest(pair, tmp_path, field):
    assert set(FIELDS) == set(COVERED)
    shutil.copytree(pair.folder, tmp_path / "f")
    info = dataclasses.replace(pair.info, **{field: FIELDS[field]})
    (tmp_path / "f" / "release.json").write_text(info.to_json())
    findings = verify_image_release(open_image_release(tmp_path / "f"), pixels=False)
    assert findings[-1].startswith("digest: the content gives"), findings


def drop_the_last_level(rows):
    for row in rows:
        row["views"] = [v for v in row["views"] if v["level"] < 2]


def elsewhere(rows):
    for row in rows[:4]:
        row["source"] = "elsewhere.png"


def another_kind(rows):
    for row in rows[:4]:
        row["kind"] = "badge" if row["kind"] != "badge" else "plate"


def said_to_be_photos(rows):
    for row in rows:
        row["kind"] = "photo"


@pytest.mark.parametrize(
    ("change", "fields", "finding"),
    [
        (drop_the_last_level, {}, "subtractive L2, corruptive L2 missing"),
        (
            drop_the_last_level,
            {"strengths": {c: {"subtractive": (0.4,), "corruptive": (0.15,)} for c in FIELDS["strengths"]}},
            "has 1 levels, the release says 2",
        ),
        (lambda rows: None, {"canvas_px": 0}, "and the release says a canvas of 0 px"),
        (said_to_be_photos, {}, "is a photo, not drawn, and the release says a canvas of 224 px"),
        (lambda rows: None, {"calibrated_by": "300 people"}, "found by '300 people', this version can only build"),
        (elsewhere, {}, "is said to be 'elsewhere.png', seed 7 draws"),
        (another_kind, {}, "is said to be"),
    ],
)
def test_descriptions_that_contradict_the_items_are_named_although_the_digest_fits(
    pair, tmp_path, change, fields, finding
):
    findings = verify_image_release(forged_items(pair, tmp_path / "f", change, **fields))
    assert any(finding in text for text in findings), findings
    assert not any(text.startswith("digest") for text in findings)


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        (["K712", "K7I2", "X712", "It can\u2019t be determined."], "is an abstention"),
        (["red", "red.", "blue", "green"], "'red' and 'red.' are the same"),
        (["A1", "\u04101", "B1", "C1"], "are the same but for case"),
        (["A)", "B)", "C)", "D)"], "'B)' would be read as the letter of an option"),
    ],
)
def test_options_that_a_build_refuses_are_findings_of_any_release(image_release, tmp_path, options, finding):
    def spoil(rows):
        rows[0]["options"] = options

    findings = verify_image_release(forged_items(image_release, tmp_path / "f", spoil), pixels=False)
    assert any(text.startswith("i00000_code: ") and finding in text for text in findings), findings


def same_blur_twice(rows):
    for row in rows[:2]:
        view(row, "corruptive", 2)["image"] = view(row, "corruptive", 1)["image"]


def test_two_blurs_with_one_image_are_a_finding(pair, tmp_path):
    findings = verify_image_release(forged_items(pair, tmp_path / "f", same_blur_twice))
    assert any("region code: corruptive L2 and L1 show the same image" in text for text in findings), findings


def test_any_change_of_a_row_breaks_the_digest(pair, tmp_path):
    def rename(rows):
        rows[3]["source"] += "x"

    findings = verify_image_release(forged_items(pair, tmp_path / "f", rename, digest_fits=False))
    assert findings[-1].startswith("digest: the content gives")


def test_broken_missing_and_surplus_images_are_found(pair, tmp_path):
    def spoil(rows):
        rows[0]["image"]["bytes"] = b"not an image"
        rows[1]["image"]["bytes"] = encode(Image.new("RGB", (64, 64)))
        rows[2]["frame_id"] = "f" * 64
        rows.append(copy.deepcopy(rows[9]))

    findings = "\n".join(verify_image_release(forged_images(pair, tmp_path / "f", spoil)))
    for text in (
        "cannot be decoded",
        "holds other pixels",
        "1 images are missing",
        "1 images belong to no question, such as ffff",
        "some are stored twice",
        "digest",
    ):
        assert text in findings


def test_tables_that_only_datasets_would_load(image_release, tmp_path):
    shutil.copytree(image_release.folder, tmp_path / "f")
    shutil.copy(tmp_path / "f" / "items" / "items.parquet", tmp_path / "f" / "items" / "more.parquet")
    (finding,) = verify_image_release(redo_image_digest(tmp_path / "f"), pixels=False)
    assert "tables of items besides items.parquet: more.parquet" in finding


@pytest.mark.parametrize(
    ("field", "value"),
    [("options", ["a", "b", "c"]), ("options", ["a", "a", "b", "c"]), ("answer", 4), ("slots", []), ("box", [1, 2, 3])],
)
def test_what_is_no_question_is_refused(image_release, tmp_path, field, value):
    def spoil(rows):
        rows[0][field] = value

    with pytest.raises(CavedError, match="is damaged"):
        verify_image_release(forged_items(image_release, tmp_path / "f", spoil, digest_fits=False))
