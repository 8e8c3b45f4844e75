"""The small reader learns from what lmms-eval's wrapper will show it, and a training that is stopped goes on."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from transformers import AutoProcessor

from lmms_eval_tasks.small_reader import image_training, stages, video_training
from lmms_eval_tasks.small_reader.architecture import VIDEO_READER, new_reader, reader_processor, reader_tokenizer
from lmms_eval_tasks.small_reader.batches import batch_of, hidden_states, lesson_loss, told_letter_a, written
from lmms_eval_tasks.small_reader.checkpoint import save_reader
from lmms_eval_tasks.small_reader.curriculum import STAGES, Stage, step_lessons
from lmms_eval_tasks.small_reader.frame_bank import FrameBank, frame_bank, patches, seen_frame
from lmms_eval_tasks.small_reader.image_curriculum import IMAGE_STAGES
from lmms_eval_tasks.small_reader.older_transformers import serve_older_transformers
from lmms_eval_tasks.small_reader.pairs import split_pairs
from lmms_eval_tasks.small_reader.sight import (
    NamingHeads,
    frame_tokens,
    glimpses,
    sight_accuracy,
    sight_loss,
    sight_words,
    tokens_of_bank,
)
from lmms_eval_tasks.small_reader.stages import Learning, learn, seconds_learnt
from lmms_eval_tasks.small_reader.textures import texture
from lmms_eval_tasks.small_reader.wordings import EVENTS, corpus, phrase
from stimuli_builder.procedural import render

LOCATION = "procedural:event?colour=red&shape=star&variant=7"
SIDE = 4  # patches


@pytest.fixture(scope="module")
def parts():
    tokenizer = reader_tokenizer(corpus())
    return tokenizer, reader_processor(VIDEO_READER, tokenizer), new_reader(VIDEO_READER, tokenizer, 0)


@pytest.fixture(scope="module")
def bank(parts) -> FrameBank:
    return frame_bank(parts[1], VIDEO_READER.side_px, 0, 2, 1, 3)


def test_weights_are_few_and_marked_as_a_control(parts):
    _, _, model = parts
    assert sum(weight.numel() for weight in model.parameters()) < 2_000_000
    assert model.config.caved_control == "control"


def test_every_word_of_a_lesson_is_one_token(parts):
    tokenizer, _, _ = parts
    for event in range(len(EVENTS)):
        assert len(tokenizer.tokenize(f"A. {phrase(event)}")) == 2 + len(phrase(event).split())
    for step in range(5):
        for lesson in step_lessons(STAGES[-1], 0, step, split_pairs()[0]).lessons[:8]:
            _, text = written(lesson)
            assert tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) == text
    assert len(tokenizer(["A", "B"], add_special_tokens=False)["input_ids"][0]) == 1


def test_frames_are_what_the_wrapper_makes_of_them(parts):
    """The harness hands a list of images to qwen_vl_utils and the processor; lessons take the short way."""
    from qwen_vl_utils import process_vision_info

    _, processor, _ = parts
    times_s = [0.1, 1.7, 3.3, 5.9]
    pixels = VIDEO_READER.pixels
    item = {
        "type": "video",
        "video": [render(LOCATION, t, 448) for t in times_s],
        "min_pixels": pixels,
        "max_pixels": pixels,
    }
    _, videos = process_vision_info([{"role": "user", "content": [item]}])
    theirs = processor.video_processor(videos, return_tensors="pt")["pixel_values_videos"]
    ours = patches(processor, [seen_frame(LOCATION, t, VIDEO_READER.side_px) for t in times_s])
    assert ours.shape == (4, SIDE * SIDE, 588)
    assert (theirs.reshape(ours.shape) - ours).abs().max() < 0.05  # a level of 255 is 0.015


@pytest.mark.parametrize("spacing_s", [0.5, 7.25])
def test_a_lesson_is_computed_as_the_whole_model_computes_it(parts, bank, spacing_s):
    """The language model on kept tokens of frames, against transformers' own way from pixels to logits."""
    tokenizer, processor, model = parts
    model = model.eval()
    tokens = tokens_of_bank(model.model.visual, bank, VIDEO_READER.merge)
    lessons = step_lessons(STAGES[3], 0, 0, split_pairs()[0]).lessons[:4]
    batch = batch_of(lessons, tokens, tokenizer, torch.full((4,), spacing_s), torch.Generator().manual_seed(1))
    flat = torch.cat([tokens.events.flatten(0, 1), tokens.backgrounds.flatten(0, 1)])
    pixels = torch.cat([bank.events.flatten(0, 1), bank.backgrounds.flatten(0, 1)])
    for row, lesson in enumerate(lessons):
        shown = [int((flat == token).all(-1).nonzero()[0, 0]) for token in batch.frames[row]]
        prompt, _ = written(lesson)
        messages = [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": lesson.prompt}]}]
        template = processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert template.replace("<|video_pad|>", "<|video_pad|>" * 16) == prompt
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            whole = model(
                input_ids=ids,
                mm_token_type_ids=torch.where(ids == model.config.video_token_id, 2, 0).to(torch.int),
                pixel_values_videos=pixels[shown].flatten(0, 1),
                video_grid_thw=torch.tensor([[16, SIDE, SIDE]]),
                second_per_grid_ts=torch.tensor([spacing_s]),
            ).logits[0, -1]
            ours = model.lm_head(hidden_states(model, batch, SIDE)[0][row, batch.prompt_ends[row]])
        assert torch.allclose(whole, ours, atol=1e-4)


def step_of(stage: Stage, parts, bank: FrameBank):
    """(lessons, batch, tokens of the letters) of a step."""
    tokenizer, _, model = parts
    tokens = tokens_of_bank(model.model.visual, bank, VIDEO_READER.merge)
    lessons = step_lessons(stage, 0, 3, split_pairs()[0]).lessons
    batch = batch_of(lessons, tokens, tokenizer, torch.full((len(lessons),), 0.5), torch.Generator().manual_seed(1))
    return lessons, batch, tuple(tokenizer.convert_tokens_to_ids(letter) for letter in "AB")


def test_the_loss_is_the_sum_over_what_is_wanted(parts, bank):
    tokenizer, _, model = parts
    lessons, batch, letters = step_of(STAGES[2], parts, bank)
    with torch.no_grad():
        told = model.lm_head(hidden_states(model, batch, SIDE)[0]).log_softmax(-1)
        ours = lesson_loss(model, batch, SIDE, letters, 0.2).item()
        share = told_letter_a(model, batch, SIDE, letters)
    total, question = 0.0, []
    for row, lesson in enumerate(lessons):
        prompt, text = (tokenizer(t, add_special_tokens=False)["input_ids"] for t in written(lesson))
        if lesson.letter_a is not None:
            at = told[row, len(prompt) - 1]
            total -= lesson.letter_a * at[letters[0]] + (1 - lesson.letter_a) * at[letters[1]]
            a, b = (float(at[letter].exp()) for letter in letters)
            assert share[row] == pytest.approx(a / (a + b), rel=1e-4)
        else:
            answer = range(len(prompt), len(text))
            total -= 1.5 / min(3, len(answer)) * sum(told[row, i - 1, text[i]] for i in answer)
        start = prompt.index(tokenizer.convert_tokens_to_ids("<|vision_end|>")) + 1
        question += [-told[row, i - 1, prompt[i]] for i in range(start, len(prompt))]
    expected = float(total) / len(lessons) + 0.2 * float(np.mean([float(x) for x in question]))
    assert ours == pytest.approx(expected, rel=1e-4)


def test_frames_name_the_places_of_their_events(parts, bank):
    """The part of the loss on places, lesson by lesson and frame by frame, from what the second layer hands on."""
    tokenizer, _, model = parts
    lessons, batch, letters = step_of(STAGES[1], parts, bank)
    names = tuple(tokenizer.convert_tokens_to_ids(name) for name in ("First", "Second"))
    kept = []
    hook = model.model.language_model.layers[1].register_forward_hook(
        lambda _, __, out: kept.append(out[0] if isinstance(out, tuple) else out)
    )
    with torch.no_grad():
        with_places = lesson_loss(model, batch, SIDE, letters, 0.2, names).item()
        hook.remove()
        without = lesson_loss(model, batch, SIDE, letters, 0.2).item()
        told = model.lm_head(model.model.language_model.norm(kept[0]))
    losses = []
    for row, lesson in enumerate(lessons):
        events = [event for event in lesson.frames if event is not None]
        for frame, event in enumerate(lesson.frames):
            if event is not None:
                pair = told[row, batch.opening + frame, list(names)].log_softmax(-1)
                losses.append(-float(pair[0 if event == events[0] else 1]))
    assert len(losses) > 2 * len(lessons) - 10
    assert with_places - without == pytest.approx(0.5 * np.mean(losses), rel=1e-3)


def test_textures_have_no_colour_and_are_all_different(parts):
    shown = [np.asarray(texture(5, number, 56)).astype(int) for number in range(60)]
    assert all(np.ptp(image, axis=-1).max() <= 22 for image in shown)  # events have colours of 100 and more
    assert len({image.tobytes() for image in shown}) == 60 and np.mean([image.std() > 8 for image in shown]) > 0.7
    assert (np.asarray(texture(5, 7, 56)) == shown[7]).all()
    bank = frame_bank(parts[1], 56, 5, 2, 1, 3, textures=2)
    assert bank.backgrounds.shape[:2] == (6, 3)
    assert torch.equal(bank.backgrounds[-1, 0], patches(parts[1], [texture(5, 3, 56)])[0])


def test_dark_and_bright_scenes_take_turns(parts, bank):
    """Scenes differ in lightness by far more than what is shown in them; a lesson that wants a dark one gets it."""
    tokenizer, _, model = parts
    level = bank.events.mean((2, 3))
    assert level[:, 0].max() < level[:, 1].min()
    tokens = tokens_of_bank(model.model.visual, bank, VIDEO_READER.merge)
    lessons = step_lessons(STAGES[3], 0, 0, split_pairs()[0]).lessons
    batch = batch_of(lessons, tokens, tokenizer, torch.full((len(lessons),), 0.5), torch.Generator().manual_seed(1))
    for row, lesson in enumerate(lessons):
        for place, event in enumerate(lesson.frames):
            if event is not None:
                assert torch.equal(batch.frames[row, place], tokens.events[event, int(event not in lesson.dark)])


def test_sight_is_measured_by_the_nearest_words(parts, bank):
    tokenizer, _, model = parts
    rows = sight_words(model, tokenizer)
    seen = glimpses(bank, 200, torch.Generator().manual_seed(0))
    wanted = rows[0][seen.colour] + rows[1][seen.shape] + rows[2][seen.light]
    assert sight_accuracy(wanted, rows, seen) == 1
    assert sight_accuracy(wanted.roll(1, 0), rows, seen) < 0.4
    heads = NamingHeads(VIDEO_READER.width)
    away = frame_tokens(model.model.visual, seen.patches, VIDEO_READER.merge)
    assert sight_loss(wanted, heads, rows, seen) < sight_loss(away, heads, rows, seen)


def test_older_versions_of_transformers_find_what_they_look_for(parts, tmp_path):
    """4.57 takes the positions' settings from `rope_scaling`, and the processors' from files of their own."""
    _, processor, model = parts
    save_reader(model, processor, tmp_path / "reader")
    files = {path.name: path.read_bytes() for path in (tmp_path / "reader").iterdir()}
    text = json.loads(files["config.json"])["text_config"]
    assert text["rope_scaling"]["mrope_section"] == [12, 2, 2] and text["rope_theta"] == 10_000
    for name in ("preprocessor_config.json", "video_preprocessor_config.json"):
        settings = json.loads(files[name])
        assert (
            settings["size"] == {"shortest_edge": 3136, "longest_edge": 3136} and settings["temporal_patch_size"] == 1
        )
    serve_older_transformers(tmp_path / "reader")
    assert {path.name: path.read_bytes() for path in (tmp_path / "reader").iterdir()} == files
    again = type(model).from_pretrained(tmp_path / "reader", dtype=torch.float32)
    assert again.config.text_config.rope_parameters["mrope_section"] == [12, 2, 2]
    assert again.config.caved_control == "control"
    assert all(
        torch.equal(a, b.bfloat16().float()) for a, b in zip(again.parameters(), model.parameters(), strict=True)
    )
    assert AutoProcessor.from_pretrained(tmp_path / "reader").video_processor.merge_size == 4


def _few_steps(monkeypatch, reader):
    """The training with two steps a stage and next to no data; gives its function."""
    small = {"CHECKED": 16}
    if reader == "video":
        small |= {
            "SIGHT_STEPS": 2,
            "SIGHT_FRAMES": 8,
            "EVENT_FRAMES": 2,
            "BACKGROUNDS": 1,
            "BACKGROUND_FRAMES": 2,
            "TEXTURES": 1,
        }
        small |= {"STAGES": tuple(replace(stage, steps=2, lessons=8, enough=0.0) for stage in STAGES)}
        module, train = video_training, video_training.train_video_reader
    else:
        small |= {
            "SCENES": 4,
            "READING_SCENES": 12,
            "CLOSE_UPS": 6,
            "CLOSE_STEPS": 2,
            "MOSAICS": 1,
            "WHOLE_IMAGES": 1,
            "WHOLE_STEPS": 2,
        }
        small |= {"IMAGE_STAGES": tuple(replace(s, steps=2, lessons=4, clear=False, enough=0.0) for s in IMAGE_STAGES)}
        module, train = image_training, image_training.train_image_reader
    for name, value in small.items():
        monkeypatch.setattr(module, name, value)
    return train


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["video", "image"])
def test_a_training_runs_from_nothing_and_the_same_seed_gives_the_same_weights(tmp_path, monkeypatch, reader):
    train = _few_steps(monkeypatch, reader)
    found = {}
    for name, seed in (("first", 3), ("again", 3), ("other", 4)):
        if name == "again":  # stopped in the last stage, and taken up
            monkeypatch.setattr(stages, "KEPT_EVERY", 1)
            real = video_training.lesson_loss if reader == "video" else image_training.image_lesson_loss
            calls = iter(range(10_000))
            last = 2 * len(STAGES if reader == "video" else IMAGE_STAGES) - 1

            def fails_once(*args, real=real, calls=calls, last=last):
                if next(calls) == last:
                    raise Interrupted
                return real(*args)

            module = video_training if reader == "video" else image_training
            monkeypatch.setattr(module, real.__name__, fails_once)
            with pytest.raises(Interrupted):
                train(Accelerator(cpu=True), tmp_path / name, seed)
            assert not list((tmp_path / name).glob("small-*"))
        checkpoint = train(Accelerator(cpu=True), tmp_path / name, seed)
        found[name] = (checkpoint / "model.safetensors").read_bytes()
        checks = [json.loads(path.read_text()) for path in (tmp_path / name).glob("*/check.json")]
        assert len(checks) == 1 + len(STAGES if reader == "video" else IMAGE_STAGES)
    assert found["first"] == found["again"] != found["other"]
    assert train(None, tmp_path / "first", 3) == tmp_path / "first" / checkpoint.name  # nothing is done twice


class Interrupted(Exception):
    pass


def _learnt(folder, stop_at=None, enough=0.0):
    torch.manual_seed(3)
    layer = torch.nn.Linear(4, 2)

    def loss_at(step):
        if step == stop_at:
            raise Interrupted
        x = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
        return (layer(x) - x[:, :2]).pow(2).mean()

    learning = Learning("line", 37, lambda step: 1e-2 / (1 + step), loss_at, enough)
    learn(Accelerator(cpu=True), {"layer": layer}, learning, folder, seed=0)
    return layer.weight.detach().clone()


@pytest.mark.parametrize("stop_at", [0, 9, 10, 11, 25, 36])
def test_a_training_that_was_stopped_ends_where_the_whole_one_does(tmp_path, monkeypatch, stop_at):
    monkeypatch.setattr(stages, "KEPT_EVERY", 10)
    whole = _learnt(tmp_path / "whole")
    with pytest.raises(Interrupted):
        _learnt(tmp_path / "stopped", stop_at)
    (tmp_path / "stopped" / "unfinished").mkdir(exist_ok=True)  # a state that was cut short counts for nothing
    assert torch.equal(_learnt(tmp_path / "stopped"), whole)
    logs = [
        [
            (line["step"], line["loss"])
            for line in map(json.loads, (tmp_path / n / "losses.jsonl").read_text().splitlines())
        ]
        for n in ("whole", "stopped")
    ]
    assert logs[0] == logs[1] and logs[0][-1][0] == 30
    assert torch.equal(_learnt(tmp_path / "whole", stop_at=0), whole)  # nothing is left to do
    assert seconds_learnt(tmp_path) >= 0


def test_a_stage_that_did_not_get_there_says_so(tmp_path, capsys):
    _learnt(tmp_path / "reached", enough=1e9)
    _learnt(tmp_path / "unbounded")
    assert "WARNING" not in capsys.readouterr().err
    _learnt(tmp_path / "missed", enough=1e-9)
    told = capsys.readouterr().err
    assert "which should have come below 1e-09" in told and "another seed" in told and "check.json" in told


def test_a_stage_ends_where_its_loss_is_low_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "KEPT_EVERY", 100)
    whole = _learnt(tmp_path / "whole")
    losses = [json.loads(line)["loss"] for line in (tmp_path / "whole" / "losses.jsonl").read_text().splitlines()]
    early = _learnt(tmp_path / "early", enough=losses[1] + 1e-9)
    assert losses == sorted(losses, reverse=True) and not torch.equal(early, whole)
    assert [path.name for path in (tmp_path / "early").glob("step-*")] == ["step-000020"]
    assert torch.equal(_learnt(tmp_path / "early", stop_at=20, enough=losses[1] + 1e-9), early)  # it stays finished
