"""The small image reader: its lessons are answered by other means, and it learns from what the wrapper will show it."""

import re
from collections import Counter
from random import Random

import numpy as np
import pytest
import torch
from PIL import Image

from lmms_eval_tasks.image.free_answer import read_free_answer
from lmms_eval_tasks.image.prompts import CANNOT, FRAMED, INSTRUCTIONS
from lmms_eval_tasks.small_reader.architecture import IMAGE_READER, new_reader, reader_processor, reader_tokenizer
from lmms_eval_tasks.small_reader.image_batches import first_tokens, image_batch, image_lesson_loss, image_states
from lmms_eval_tasks.small_reader.image_curriculum import IMAGE_STAGES, image_step
from lmms_eval_tasks.small_reader.image_lessons import NEEDED, abstains, image_lesson, told_lesson
from lmms_eval_tasks.small_reader.image_sight import (
    image_sight_loss,
    image_tokens,
    region_readings,
    rows_of,
    seen_views,
)
from lmms_eval_tasks.small_reader.image_sights import CLOSE_UP_PX, close_up, mosaic, patches_of, sights_of, whole_image
from lmms_eval_tasks.small_reader.image_views import (
    CANVAS_PX,
    HELD_OUT_BACKGROUND,
    LEARNT_FROM_SEED,
    clarity_of,
    image_views,
    view_bank,
)
from lmms_eval_tasks.small_reader.image_wordings import ABSTAINED, ANSWERED, READ, corpus
from metrics.image.trial import FRAMINGS
from stimuli_builder.image.painting import drawn_setting
from stimuli_builder.image.scenes import procedural_scene
from stimuli_builder.procedural import COLOURS

SEED = LEARNT_FROM_SEED + 77


@pytest.fixture(scope="module")
def views():
    return view_bank(SEED, 10, 3)


@pytest.fixture(scope="module")
def parts():
    tokenizer = reader_tokenizer(corpus())
    return tokenizer, reader_processor(IMAGE_READER, tokenizer), new_reader(IMAGE_READER, tokenizer, 0).eval()


@pytest.fixture(scope="module")
def seen(parts, views):
    return seen_views(parts[2].model.visual, views, 0, torch.device("cpu"))


def test_both_readers_together_weigh_no_more_than_five_megabytes(parts):
    from lmms_eval_tasks.small_reader.architecture import VIDEO_READER
    from lmms_eval_tasks.small_reader.wordings import corpus as video_corpus

    video = new_reader(VIDEO_READER, reader_tokenizer(video_corpus()), 0)
    assert 2 * sum(w.numel() for model in (video, parts[2]) for w in model.parameters()) <= 5_000_000
    assert parts[2].config.caved_control == "control"


def test_abstention_follows_the_evidence_and_moves_with_the_framing_in_between():
    clarity = np.linspace(0, 1, 101)
    shares = np.array([[abstains(framing, c) for c in clarity] for framing in FRAMINGS])
    assert (np.diff(shares, axis=1) <= 0).all() and (np.diff(shares, axis=0) >= 0).all()
    assert shares[:, 0].min() > 0.99 and shares[:, -1].max() < 0.01  # no framing moves it where all shows, or nothing
    assert (shares[-1] - shares[0] > 0.9).mean() > 0.2
    assert list(NEEDED) == list(FRAMINGS)


def displayed(prompt):
    """Options by letter, those of an open question under A to D."""
    if "The options are: " in prompt:
        listed = re.search(r"The options are: (.*)\.\n", prompt)[1].split("; ")
        return dict(zip("ABCD", listed, strict=True))
    return dict(re.findall(r"^([A-E])\. (.+)$", prompt, re.M))


@pytest.mark.parametrize("elicitation", ["open", "closed"])
@pytest.mark.parametrize("category", ["colour", "shape", "count", "code"])
def test_what_is_wanted_follows_from_the_view_and_the_prompt(views, category, elicitation):
    places = Counter()
    for number in range(200):
        view, framing = views[number % len(views)], FRAMINGS[number % 4]
        lesson = image_lesson(Random(number), number, view, category, framing, elicitation)
        options = displayed(lesson.prompt)
        silent = abstains(framing, view.clarity[category]) if category in READ else 1.0
        wanted = Counter()
        for text, probability in lesson.first:
            wanted[text] += probability
        assert sum(wanted.values()) == pytest.approx(1)
        assert lesson.prompt.endswith(INSTRUCTIONS[elicitation])
        if category in READ:
            right = READ[category][view.words[category]]
            assert right in options.values()
        if elicitation == "closed":
            letters = {option: letter for letter, option in options.items()}
            assert wanted[letters[CANNOT]] == pytest.approx(silent)
            if category in READ:
                assert wanted[letters[right]] == pytest.approx(1 - silent)
            assert lesson.answer in options
            places[letters[CANNOT]] += 1
        else:
            assert wanted["I"] == pytest.approx(silent)
            read = read_free_answer(lesson.answer, list(options.values())).answer
            if lesson.answer == ABSTAINED:
                assert read.outcome == "abstained"
            else:
                assert lesson.answer == ANSWERED.format(option=right) and options[read.option] == right
        said = re.escape(FRAMED[framing][0]).split(r"\{option\}")[0]
        assert framing == "neutral" or any(
            re.search(
                re.escape(s).replace(r"\{option\}", "(" + "|".join(map(re.escape, options.values())) + ")"),
                lesson.prompt,
            )
            for s in FRAMED[framing]
        ), (said, lesson.prompt)
    assert elicitation == "open" or len(places) == 5


def test_exercises_say_the_answer():
    for number in range(100):
        lesson = told_lesson(Random(number), 0, "closed")
        said = re.match(r"The answer is (.+)\.\n", lesson.prompt)[1]
        assert displayed(lesson.prompt)[lesson.answer] == said


def test_a_step_is_drawn_from_its_arguments_alone(seen):
    for stage in IMAGE_STAGES:
        assert image_step(stage, 1, 5, seen) == image_step(stage, 1, 5, seen) != image_step(stage, 1, 6, seen)
        assert image_step(stage, 2, 5, seen) != image_step(stage, 1, 5, seen)
    clear = next(stage for stage in IMAGE_STAGES if stage.clear)
    for lesson in image_step(clear, 0, 0, seen):
        assert (
            max(seen.views[lesson.view].clarity.values()) >= 0.9
            or "code" in lesson.prompt
            or "answer is" in lesson.prompt
        )


def test_views_show_what_they_say(views):
    """The mean colour of a field that shows well is nearest to the named one; the same scene is always drawn alike."""
    names = list(COLOURS)
    checked = 0
    for view in views:
        left, top, right, bottom = (round(v) for v in view.boxes["colour"])
        field = view.pixels[top + 1 : bottom - 1, left + 1 : right - 1].reshape(-1, 3).astype(int)
        if view.clarity["colour"] == 1:
            nearest = [np.abs(np.array(list(COLOURS.values())) - pixel).sum(1).argmin() for pixel in field[::7]]
            vivid = [n for n, pixel in zip(nearest, field[::7], strict=True) if np.ptp(pixel) > 60]
            assert names[Counter(vivid).most_common(1)[0][0]] == READ["colour"][view.words["colour"]]
            checked += 1
    assert checked > 3
    again = image_views(SEED, 0, 3)
    assert all((a.pixels == b.pixels).all() and a.clarity == b.clarity for a, b in zip(again, views, strict=False))


def test_no_scene_of_a_release_and_no_held_out_background_is_learnt_from(views):
    assert LEARNT_FROM_SEED >= 1_000_000
    settings = [drawn_setting(SEED, index, CANVAS_PX).background for index in range(10)]
    assert len(views) == 3 * sum(background != HELD_OUT_BACKGROUND for background in settings)
    assert HELD_OUT_BACKGROUND in {drawn_setting(SEED, index, CANVAS_PX).background for index in range(60)}


@pytest.mark.parametrize(
    ("region", "mode", "strength", "clarity"),
    [("code", "subtractive", 0.3, 0.7), ("code", "corruptive", 0.3, 0.7), ("symbol", "subtractive", 0.8, 0.4),
     ("symbol", "subtractive", 1.0, 0.0), ("symbol", "corruptive", 0.3, 0.4), ("symbol", "corruptive", 0.0, 1.0)],
)  # fmt: skip
def test_clarity_falls_with_the_levels_of_the_benchmark(region, mode, strength, clarity):
    assert clarity_of(region, mode, strength) == pytest.approx(clarity)


def test_images_are_what_the_wrapper_makes_of_them(parts):
    """The harness hands an image of 448 px to qwen_vl_utils and the processor; lessons are drawn at 224 and cut here."""
    from qwen_vl_utils import process_vision_info

    processor, pixels = parts[1], IMAGE_READER.pixels
    image = procedural_scene(SEED, 0, 448).image
    item = {"type": "image", "image": image, "min_pixels": pixels, "max_pixels": pixels}
    images, _ = process_vision_info([{"role": "user", "content": [item]}])
    theirs = processor.image_processor(images, return_tensors="pt")
    assert theirs["image_grid_thw"].tolist() == [[1, 24, 24]]
    shown = np.asarray(image.resize((IMAGE_READER.side_px,) * 2, Image.Resampling.BICUBIC))[None]
    assert (theirs["pixel_values"] - patches_of(shown)[0]).abs().max() < 0.05
    low = procedural_scene(SEED, 0, CANVAS_PX).image.resize((IMAGE_READER.side_px,) * 2, Image.Resampling.BICUBIC)
    assert (theirs["pixel_values"] - patches_of(np.asarray(low)[None])[0]).abs().mean() < 0.15


def test_regions_move_with_their_pixels(views):
    """After crops, shifts and mirrors the box of a coloured field still lies over that colour."""
    rng, names, hits = np.random.default_rng(0), list(COLOURS.values()), []
    clear = [view for view in views if view.clarity["colour"] == 1]
    for make in (
        lambda: close_up(clear, CLOSE_UP_PX, rng),
        lambda: mosaic(clear, rng),
        lambda: whole_image(clear[0], rng),
    ):
        for _ in range(12):
            shown = make()
            height, width = shown.pixels.shape[:2]
            for category, (left, top, right, bottom), word, _ in shown.regions:
                if category != "colour" or left < 0 or top < 0 or right > width or bottom > height or right - left < 10:
                    continue
                y = round((top + bottom) / 2)
                row = shown.pixels[y - 2 : y + 2, round(left) + 2 : round(right) - 2].reshape(-1, 3).astype(int)
                hits.append((np.abs(row - names[word]).sum(1) < 60).mean())
    assert len(hits) > 20 and np.mean(np.array(hits) > 0.2) > 0.9


def test_sight_is_measured_by_the_words_that_tokens_are(parts, views):
    tokenizer, _, model = parts
    rows = rows_of(model, tokenizer)
    sights = sights_of([whole_image(view, np.random.default_rng(1)) for view in views], None)
    tokens = torch.zeros(*sights.covered["colour"].shape, IMAGE_READER.width)
    for category in READ:
        inside = sights.covered[category] >= 0.35
        word = rows.words[category][sights.words[category]]
        tokens += torch.where(inside[..., None], word + rows.markers[category], torch.zeros(1))
        tokens += torch.where(inside, sights.clarity[category], torch.zeros(1))[..., None] * rows.clear
    good = image_sight_loss(tokens, sights, rows)
    assert good < image_sight_loss(tokens.flip(0), sights, rows)
    assert good < image_sight_loss(image_tokens(model.model.visual, sights.patches, (24, 24)), sights, rows)
    for category, (right, clarity) in region_readings(tokens, sights, rows).items():
        assert right.float().mean() > 0.9
        wanted = torch.tensor([view.clarity[category] for view in views])
        assert (clarity - wanted).abs().median() < 0.35


def test_a_lesson_is_computed_as_the_whole_model_computes_it(parts, seen, views):
    """The language model on kept tokens of images, against transformers' own way from pixels to logits."""
    tokenizer, processor, model = parts
    lessons = image_step(IMAGE_STAGES[-1], 0, 0, seen)[:3]
    batch = image_batch(lessons, seen, tokenizer, 144, torch.Generator().manual_seed(0))
    rng = np.random.default_rng([0, 0])
    sights = sights_of([whole_image(view, rng) for view in views[:32]], rng)
    for row, lesson in enumerate(lessons):
        messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": lesson.prompt}]}]
        prompt = processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        prompt = prompt.replace("<|image_pad|>", "<|image_pad|>" * 144)
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
        assert batch.tokens[row, : ids.shape[1]].tolist() == ids[0].tolist()
        with torch.no_grad():
            whole = model(
                input_ids=ids,
                mm_token_type_ids=torch.where(ids == model.config.image_token_id, 1, 0).to(torch.int),
                pixel_values=sights.patches[lesson.view],
                image_grid_thw=torch.tensor([[1, 24, 24]]),
            ).logits[0, -1]
            ours = model.lm_head(image_states(model, batch)[row, batch.prompt_ends[row]])
        assert torch.allclose(whole, ours, atol=1e-3)


def test_the_loss_is_the_sum_over_what_is_wanted(parts, seen):
    tokenizer, _, model = parts
    lessons = image_step(IMAGE_STAGES[0], 0, 1, seen)[:12]
    batch = image_batch(lessons, seen, tokenizer, 56, torch.Generator().manual_seed(0))
    with torch.no_grad():
        told = model.lm_head(image_states(model, batch)).log_softmax(-1)
        ours = image_lesson_loss(model, batch, 0.3).item()
    answers, questions = 0.0, []
    for row, lesson in enumerate(lessons):
        ids, end = batch.tokens[row].tolist(), int(batch.prompt_ends[row])
        for text, probability in lesson.first:
            answers -= probability * float(told[row, end, tokenizer.convert_tokens_to_ids(text)])
        last = int(batch.mask[row].sum())
        answers -= sum(float(told[row, i, ids[i + 1]]) for i in range(end + 1, last - 1))
        start = ids.index(tokenizer.convert_tokens_to_ids("<|vision_end|>"))
        questions += [-float(told[row, i, ids[i + 1]]) for i in range(start, end)]
    assert ours == pytest.approx(answers / len(lessons) + 0.3 * float(np.mean(questions)), rel=1e-4)
    assert first_tokens(model, batch).shape == (12,)
    near = seen.near_regions[torch.tensor([lesson.view for lesson in lessons])]
    assert (near.gather(1, batch.units).sum(1) == near.sum(1).clamp(max=56)).all()  # no unit of a region is left out
