"""Procedural scenes: answers that can be seen, in their regions alone, and that nothing else gives away."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from scipy.ndimage import binary_fill_holes, label
from scipy.stats import chisquare

from stimuli_builder.errors import CavedError
from stimuli_builder.frames import frame_id
from stimuli_builder.image.answers import CYCLE, OPTION_SETS, balanced_choice, code_choice
from stimuli_builder.image.blur import blurred
from stimuli_builder.image.codes import DIGIT_CLASSES, LETTER_CLASSES, PLAIN_DIGITS, PLAIN_LETTERS, code_options
from stimuli_builder.image.item import CATEGORIES
from stimuli_builder.image.layouts import KINDS
from stimuli_builder.image.levels import MARGIN, strengths_for
from stimuli_builder.image.painting import drawn_setting, painted, print_regions
from stimuli_builder.image.perspective import Pose, view_of
from stimuli_builder.image.prints import FIELD_MARGIN, FONTS, INKS, MARKS, SYMBOL_INK, Prints, print_font
from stimuli_builder.image.scenes import procedural_scene
from stimuli_builder.image.symbols import SHAPES, shape_hole, shape_outline
from stimuli_builder.procedural import COLOURS

GOLDEN = {
    (1, 0, 448): "9755a44c4d816cc6096ec6d18c2703e81207ae9c07ca03f32e09b8f6528d657f",
    (1, 1, 448): "91533c024f1cb680100a4d189cd3988019be0006649da452f34171530d29ee8c",
    (1, 2, 448): "77682cedc420aa62cc2c5e71fd8afec3f28ffa7cbff6cd1eaa321d8059045bc8",
    (1, 3, 448): "46c6462b6e9a11f9144634e60637872ba0cb14932b1a430f3da70de94b406a22",
    (2, 5, 224): "715912f1cbf6e7964faf0d6b856fff0022779f8a05a519f088318f2a3682a9ec",
    (5, 2, 1024): "6610c61b3e299b079a58b19cc64fad76b6d856cae85d66e4df793b963e5cac85",
}

scene = lru_cache(maxsize=None)(procedural_scene)


def photo(size=(320, 240)):
    across = np.linspace(0, 255, size[0], dtype=np.uint8)
    return Image.fromarray(np.broadcast_to(across[None, :, None], (size[1], size[0], 3)).copy())


def right(question):
    return question.options[question.answer]


def region_of(item, category):
    name = next(q.region for q in item.questions if q.category == category)
    return next(r for r in item.regions if r.name == name)


def crop(item, category):
    return np.asarray(item.image.crop(region_of(item, category).box)).astype(int)


def grown(box, by):
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def disjoint(a, b):
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


# --- the same scene everywhere and always


@pytest.mark.parametrize("seed, index, canvas_px", GOLDEN)
def test_golden_scenes(seed, index, canvas_px):
    assert frame_id(scene(seed, index, canvas_px).image) == GOLDEN[seed, index, canvas_px]


def test_an_item_depends_on_its_seed_and_index_alone():
    again = procedural_scene(0, 7, 224)
    for other in (3, 8, 39):
        procedural_scene(0, other, 224)
    assert procedural_scene(0, 7, 224) == again
    ids = {frame_id(scene(seed, index, 224).image) for seed in (0, 1) for index in (7, 11)}
    assert len(ids) == 4


def test_questions_and_layout_do_not_depend_on_the_canvas():
    small, large = scene(5, 2, 224), scene(5, 2, 1024)
    assert small.questions == large.questions and small.source == large.source
    for a, b in zip(small.regions, large.regions, strict=True):
        assert np.allclose(np.array(a.box) * 1024 / 224, b.box, atol=2 * 1024 / 224)


@pytest.mark.parametrize("canvas_px", [-5, 0, 1, 223, 2049, 10**9])
def test_absurd_canvases_are_refused(canvas_px):
    with pytest.raises(CavedError, match="224 to 2048"):
        procedural_scene(0, 0, canvas_px)


# --- what a scene is


@given(seed=st.integers(-(2**40), 2**63), index=st.integers(0, 10**6), canvas_px=st.sampled_from([224, 300, 448]))
@settings(max_examples=30, deadline=None)
def test_scenes_keep_their_promises(seed, index, canvas_px):
    item = procedural_scene(seed, index, canvas_px)
    assert item.item == f"i{index:05d}" and item.kind == KINDS[index % 4]
    assert item.image.mode == "RGB" and item.image.size == (canvas_px, canvas_px)
    assert tuple(q.category for q in item.questions) == CATEGORIES
    assert [r.name for r in item.regions] == ["code", "marks", "symbol"]
    assert [q.region for q in item.questions] == ["code", "code", "marks", "symbol"]
    for question in item.questions:
        assert len(set(question.options)) == 4 and question.answer in range(4)
        assert question.text.endswith("?") and item.kind in question.text
        assert not any(option in question.text.split() for option in question.options)
    for region in item.regions:
        left, top, right_, bottom = region.box
        assert region.mask(item.image.size).sum() == (right_ - left) * (bottom - top) >= 400
    for a, b in combinations(item.regions, 2):
        assert disjoint(grown(a.box, a.height_px / 2), grown(b.box, b.height_px / 2))


@given(seed=st.integers(0, 2**63), index=st.integers(0, 10**6), font=st.sampled_from(sorted(FONTS)))
@settings(max_examples=60, deadline=None)
def test_regions_are_apart_and_as_high_as_the_print(seed, index, font):
    setting = drawn_setting(seed, index, 448)
    code, marks, symbol = print_regions(setting, font)
    for a, b in combinations((code, marks, symbol), 2):
        assert disjoint(grown(a.box, a.height_px / 2), grown(b.box, b.height_px / 2))
    x, y = setting.layout.code
    half = setting.layout.capital / 2
    capital_px = setting.view.at(x, y + half)[1] - setting.view.at(x, y - half)[1]
    assert 29 <= capital_px <= 50
    assert 1.15 <= code.height_px / capital_px <= 1.4  # the field's margins, and the slant of the line


# --- the options tell nothing


@pytest.mark.parametrize("category", OPTION_SETS)
def test_each_option_of_each_set_is_right_once_in_a_cycle(category):
    """So a guess from the options alone is right in a quarter of the cases, whatever the strategy."""
    for seed, start in ((0, 0), (0, CYCLE), (9, 7 * CYCLE)):
        choices = [balanced_choice(seed, start + i, category) for i in range(CYCLE)]
        cells = Counter((frozenset(c.options), c.right) for c in choices)
        assert cells == {(frozenset(s), value): 1 for s in OPTION_SETS[category] for value in s}


def test_right_answers_are_balanced_over_400_items():
    for category in OPTION_SETS:
        values = Counter(balanced_choice(4, i, category).right for i in range(400))
        assert len(values) == 8 and max(values.values()) - min(values.values()) <= 4
    for place in (lambda i: balanced_choice(4, i, "count").answer, lambda i: code_choice(4, i).answer):
        assert chisquare([Counter(map(place, range(400)))[i] for i in range(4)]).pvalue > 1e-3


def test_answers_of_an_item_are_unrelated():
    pairs = Counter((balanced_choice(0, i, "colour").right, balanced_choice(0, i, "shape").right) for i in range(3200))
    assert chisquare([pairs[c, s] for c in COLOURS for s in SHAPES]).pvalue > 1e-3


def distance(a, b):
    return sum(x != y for x, y in zip(a, b, strict=True))


LOOK_ALIKE = DIGIT_CLASSES + LETTER_CLASSES


def look_alike(a, b):
    return any(a + b in alike or b + a in alike for alike in LOOK_ALIKE)


@given(seed=st.integers(0, 2**63), index=st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_no_code_is_the_centre_of_its_options(seed, index):
    code, distractors = code_options(seed, index)
    codes = [code, *distractors]
    assert len(set(codes)) == 4
    for a, b in combinations(codes, 2):
        differing = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
        assert len(differing) in (1, 2) and all(look_alike(x, y) for x, y in differing)
    assert len({tuple(sorted(distance(a, b) for b in codes)) for a in codes}) == 1
    for column in zip(*codes, strict=True):
        assert sorted(Counter(column).values()) in ([4], [2, 2])
    assert len({i for other in distractors for i in range(4) if other[i] != code[i]}) >= 2
    for each in codes:
        assert any(c.isdigit() for c in each) and any(c.isalpha() for c in each)
        assert not any(look_alike(a, b) for a, b in combinations(each, 2))


def test_no_rule_over_the_letters_finds_the_right_code():
    """Ranks of the right code by several orders are even: the alphabet, digits, straight strokes, the commonest characters."""
    drawn = [code_options(0, i) for i in range(4000)]
    commonest = Counter("".join(c for code, rest in drawn for c in (code, *rest)))
    rules = {
        "alphabet": lambda code: code,
        "backwards": lambda code: code[::-1],
        "digits": lambda code: (sum(c.isdigit() for c in code), code),
        "common": lambda code: (sum(commonest[c] for c in code), code),
    }
    for rule in rules.values():
        ranks = Counter(sorted((code, *rest), key=rule).index(code) for code, rest in drawn)
        assert chisquare([ranks[i] for i in range(4)]).pvalue > 1e-3


# --- the regions decide


def other_prints(prints, item):
    fields = {"code": "code", "colour": "colour", "count": "count", "shape": "shape"}
    for question in item.questions:
        for option in question.options:
            value = int(option) if question.category == "count" else option
            if value != getattr(prints, fields[question.category]):
                yield question, replace(prints, **{fields[question.category]: value})


@pytest.mark.parametrize("index", range(8))
def test_an_answer_is_nowhere_but_in_its_region(index):
    """With any other option printed, regions stay what they are and no pixel outside of the question's own one changes."""
    item = scene(2, index, 224)
    answers = {q.category: right(q) for q in item.questions}
    setting = drawn_setting(2, index, 224)
    font = sorted(FONTS)[index % 2]
    prints = Prints(answers["code"], answers["colour"], int(answers["count"]), answers["shape"], font, "dots", INKS[0])
    image = np.asarray(painted(setting, prints)).astype(int)
    regions = {region.name: region for region in print_regions(setting, font)}
    for question, other in other_prints(prints, item):
        changed = (np.asarray(painted(setting, other)).astype(int) != image).any(-1)
        inside = regions[question.region].mask((224, 224))
        assert not (changed & ~inside).any() and (changed & inside).any()


@pytest.mark.parametrize("index", range(4))
def test_boxes_are_tight(index):
    """What a change of the field's colour or of the shape reaches is the region's box, to a pixel."""
    setting = drawn_setting(6, index, 448)
    font = sorted(FONTS)[0]
    prints = Prints("8A41", "blue", 4, "square", font, "dots", INKS[0])
    image = np.asarray(painted(setting, prints)).astype(int)
    regions = {region.name: region for region in print_regions(setting, font)}
    shapes = [replace(prints, shape=shape) for shape in ("diamond", "heart")]
    for name, others in {"code": [replace(prints, colour="yellow")], "symbol": shapes}.items():
        changed = np.zeros(image.shape[:2], dtype=bool)
        for other in others:
            changed |= (np.asarray(painted(setting, other)).astype(int) != image).any(-1)
        rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
        found = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
        assert np.abs(np.array(found) - regions[name].box).max() <= 1


def test_a_photo_stands_behind_the_carrier_and_nowhere_else():
    drawn, before = scene(0, 1, 448), procedural_scene(0, 1, 448, photo())
    assert before.regions == drawn.regions and before.questions == drawn.questions
    assert "photo" in before.source and "photo" not in drawn.source
    changed = np.asarray(before.image) != np.asarray(drawn.image)
    assert changed[:10].mean() > 0.8
    for region in drawn.regions:
        assert not changed[region.mask((448, 448))].any()


def test_a_photo_of_any_size_and_mode_fills_the_canvas():
    for picture in (photo((90, 700)), photo((500, 60)).convert("L"), photo((1200, 1200)).convert("RGBA")):
        assert procedural_scene(0, 3, 224, picture).image.size == (224, 224)


# --- intact answers can be read, by readers that know nothing of how they were drawn


def read_colour(item):
    pixels = crop(item, "colour").reshape(-1, 3)
    field = np.median(pixels[np.ptp(pixels, axis=1) > 60], axis=0)
    field = field / field.max()
    return min(COLOURS, key=lambda name: np.abs(np.array(COLOURS[name]) / max(COLOURS[name]) - field).sum())


def read_count(item):
    parts, found = label(crop(item, "count").mean(-1) < 95)
    frame = set(np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]])) - {0}
    return str(found - len(frame))


def read_shape(item):
    ink = binary_fill_holes(crop(item, "shape").mean(-1) < 95)
    height, width = ink.shape

    def overlap(shape):
        model = Image.new("1", (width, height))
        ImageDraw.Draw(model).polygon([(x * (width - 1), y * (height - 1)) for x, y in shape_outline(shape)], fill=1)
        return (ink & np.asarray(model)).sum() / (ink | np.asarray(model)).sum()

    return max(SHAPES, key=overlap)


@pytest.mark.parametrize("category, reader", [("colour", read_colour), ("count", read_count), ("shape", read_shape)])
def test_intact_answers_can_be_read(category, reader):
    items = [scene(1, index, 448) for index in range(CYCLE)]
    wanted = [right(q) for item in items for q in item.questions if q.category == category]
    assert [reader(item) for item in items] == wanted


@pytest.mark.parametrize("font", FONTS)
def test_characters_are_as_high_as_capitals_and_fit_their_places(font):
    capital = 200
    drawn = print_font(font, round(capital / 0.729))
    for character in set("".join(LOOK_ALIKE) + PLAIN_DIGITS + PLAIN_LETTERS):
        _, top, _, bottom = drawn.getbbox(character, anchor="ls")
        ink = drawn.getmask(character).getbbox()
        assert ink[2] - ink[0] <= FONTS[font] * capital
        assert abs(-top - capital) <= FIELD_MARGIN / 2 * capital and 0 <= bottom <= FIELD_MARGIN / 2 * capital


# --- what is left when all detail is gone


@pytest.mark.parametrize("ink_share", SYMBOL_INK)
def test_all_shapes_have_the_same_ink(ink_share):
    def area(points):
        return sum(a * d - b * c for (a, b), (c, d) in zip(points, points[1:] + points[:1], strict=True)) / 2

    for shape in SHAPES:
        assert area(shape_outline(shape)) - area(shape_hole(shape, ink_share)) == pytest.approx(ink_share, abs=1e-4)
    with pytest.raises(ValueError, match=r"a star fills 0.36 of its square"):
        shape_hole("star", 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("category", ["count", "shape"])
def test_nothing_is_left_under_the_strongest_blur(category):
    """A nearest-neighbours guesser on tones, grain and kind of mark, taught by 350 other items, is at chance."""
    features, questions = [], []
    for index in range(400):
        item = procedural_scene(5, index, 224)
        question, region = next(q for q in item.questions if q.category == category), region_of(item, category)
        sigma = strengths_for(category)["corruptive"][-1]
        (view,) = blurred(item.image, region, [sigma], MARGIN, 5, item.item, region.name)
        left, top, right_, bottom = region.box
        seen = np.asarray(view).astype(float).mean(-1)
        inside = seen[top:bottom, left:right_]
        around = np.median(seen[max(top - 40, 0) : bottom + 40, max(left - 40, 0) : right_ + 40])
        kind = 10 * [*MARKS, "symbol"].index(next((m for m in MARKS if m in question.text), "symbol"))
        features.append([inside.mean(), inside.mean() - around, np.diff(inside).std(), inside.std(), kind])
        questions.append(question)
    values = np.array(features) / np.maximum(np.std(features, axis=0), 1e-9)
    hits = 0
    for i, question in enumerate(questions):
        distance = np.square(values - values[i]).sum(1)
        distance[i] = np.inf
        near = [right(questions[j]) for j in np.argsort(distance)[:40]]
        hits += max(question.options, key=near.count) == right(question)
    assert hits / 400 <= 0.25 + 2.5 * (0.1875 / 400) ** 0.5


# --- geometry


def test_all_shapes_fill_the_same_box():
    for shape in SHAPES:
        points = np.array(shape_outline(shape))
        assert points.min(0).tolist() == [0, 0] and points.max(0).tolist() == [1, 1]


@given(yaw=st.floats(-20, 20), pitch=st.floats(-20, 20), roll=st.floats(-3, 3), level=st.floats(0, 200))
@settings(max_examples=50, deadline=None)
def test_the_levelled_line_has_the_slope_of_its_roll(yaw, pitch, roll, level):
    view = view_of((300, 200), Pose(yaw, pitch, roll), level, 1.0, (224, 224))
    (x0, y0), (x1, y1) = view.at(0, level), view.at(300, level)
    assert np.degrees(np.arctan2(y1 - y0, x1 - x0)) == pytest.approx(roll, abs=0.02)
    corners = np.array([view.at(x, y) for x in (0, 300) for y in (0, 200)])
    assert np.allclose((corners.min(0) + corners.max(0)) / 2, 224, atol=0.02)


def test_a_view_is_the_homography_of_its_corners():
    view = view_of((300, 200), Pose(14, -11, 1), 60, 1.1, (230, 210))
    plane = [(0, 0), (300, 0), (300, 200), (0, 200)]
    rows, values = [], []
    for (x, y), (u, v) in zip(plane, [view.at(*p) for p in plane], strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    solved = np.append(np.linalg.solve(np.array(rows, float), np.array(values)), 1)
    assert np.allclose(solved, view.matrix, rtol=1e-6, atol=1e-9)


def test_a_warped_dot_lies_where_the_view_says():
    view = view_of((300, 200), Pose(14, -11, 1), 60, 1.1, (230, 210))
    for x, y in ((40, 30), (150, 100), (270, 180)):
        plane = Image.new("L", (2 * 312, 2 * 212))
        ImageDraw.Draw(plane).ellipse([2 * (x + 6) - 8, 2 * (y + 6) - 8, 2 * (x + 6) + 8, 2 * (y + 6) + 8], fill=255)
        rows, columns = np.nonzero(np.asarray(view.warp(plane, 2.0, 6.0, 448)) > 127)
        assert np.allclose((columns.mean() + 0.5, rows.mean() + 0.5), view.at(x, y), atol=0.5)
