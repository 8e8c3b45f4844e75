"""Which frames reached a model: every layout is put together again, and every fault is named with its remedy."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.receipts import check_frames, check_prompt, receipt, received_order, shown_thumbnails
from lmms_eval_tasks.received_frames import FrameReader, describe
from lmms_eval_tasks.stop import RunStopped

FRAMES, SIDE = 8, 56
MEAN, DEVIATION = 0.45, 0.27


class Model:
    """A configuration with the sizes that layouts need."""

    class config:
        class vision_config:
            patch_size, spatial_merge_size, temporal_patch_size = 14, 2, 2


def coloured(count: int = FRAMES) -> list[Image.Image]:
    """Frames that are each of their own colour, with a lighter left half."""
    frames = []
    for i in range(count):
        values = np.zeros((SIDE, SIDE, 3), np.uint8)
        values[...] = (20 + 200 * i // count, 200 - 180 * i // count, (60 * i) % 200)
        values[:, : SIDE // 2] += 40
        frames.append(Image.fromarray(values))
    return frames


def normalised(frames: list[Image.Image]) -> torch.Tensor:
    """What a processor makes of frames, (n, 3, height, width)."""
    stack = torch.from_numpy(np.stack([np.asarray(frame) for frame in frames])).permute(0, 3, 1, 2)
    return (stack.float() / 255 - MEAN) / DEVIATION


def qwen_patches(frames: torch.Tensor, step: int = 2) -> dict[str, torch.Tensor]:
    """The layout of the Qwen family, built with a loop over patches."""
    size, merge = 14, 2
    t, h, w = len(frames) // step, SIDE // size, SIDE // size
    rows = []
    for slot in range(t):
        for y in range(0, h, merge):
            for x in range(0, w, merge):
                for dy in range(merge):
                    for dx in range(merge):
                        top, left = (y + dy) * size, (x + dx) * size
                        patch = frames[slot * step : slot * step + step, :, top : top + size, left : left + size]
                        rows.append(patch.transpose(0, 1).reshape(-1))  # channel, time, height, width
    return {"pixel_values_videos": torch.stack(rows), "video_grid_thw": torch.tensor([[t, h, w]])}


def molmo_patches(frames: torch.Tensor) -> dict[str, torch.Tensor]:
    """The layout of Molmo2: patches of one frame in rows, channels last."""
    size = 14
    rows = [
        torch.stack(
            [
                frame[:, y : y + size, x : x + size].permute(1, 2, 0).reshape(-1)
                for y in range(0, SIDE, size)
                for x in range(0, SIDE, size)
            ]
        )
        for frame in frames
    ]
    return {"pixel_values_videos": torch.stack(rows)}


LAYOUTS = {
    "patches of pairs": qwen_patches,
    "flat patches": molmo_patches,
    "slices": lambda frames: {"pixel_values": frames},
    "a video": lambda frames: {"pixel_values_videos": frames[None]},
    "images with tiles": lambda frames: {"pixel_values": torch.stack([frames, frames.flip(-1)], dim=1)},
    "half precision": lambda frames: {"pixel_values_videos": frames[None].to(torch.bfloat16)},
}
FAULTS = {
    "reversed": (lambda f: f[::-1], r"reorders frames: those at 7 6 5 4 3 2 1 0 .*num_frames=8"),
    "two exchanged": (lambda f: [f[1], f[0], *f[2:]], "reorders frames: those at 1 0 2 3 4 5 6 7"),
    "one repeated": (lambda f: [*f[:3], f[2], *f[4:]], "repeats or resamples frames: those at 0 1 2 2 4 5 6 7"),
    "resampled": (lambda f: [f[i // 2 * 2] for i in range(8)], "those at 0 0 2 2 4 4 6 6 "),
    "two dropped": (lambda f: [*f[:3], *f[5:]], "6 frames of 8 reached the model: .* drops frames .*at 0 1 2 5 6 7,"),
    "last doubled": (lambda f: [*f, f[-1], f[-1]], "10 frames of 8 reached the model: .* repeats frames"),
    "mirrored": (lambda f: [i.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for i in f], "not reach the model as it is"),
    "one is black": (lambda f: [*f[:3], Image.new("RGB", (SIDE, SIDE)), *f[4:]], "reach the model|repeats"),
}


def received(layout, frames):
    (found,) = FrameReader().read(Model, layout(normalised(frames)), 1)
    assert found is not None
    return found


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_frames_are_put_together_again(layout):
    frames = coloured()
    found = received(layout, frames)
    assert (found.count, found.size_px) == (FRAMES, (SIDE, SIDE))
    shown = shown_thumbnails(frames)
    assert found.thumbnails * DEVIATION + MEAN == pytest.approx(shown / 255, abs=0.01)
    assert received_order(found, shown) == list(range(FRAMES))
    check_frames(found, shown)
    note = receipt(found, {"channel": "withheld"})
    assert (note["frames"], note["size_px"], note["order"], len(note["digest"])) == (8, [56, 56], "as shown", 16)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=FAULTS)
def test_each_fault_stops_the_run(layout, fault, message):
    frames = coloured()
    with pytest.raises(RunStopped, match=message):
        check_frames(received(layout, fault(frames)), shown_thumbnails(frames))


def test_a_padded_pair_and_tiles_have_remedies_of_their_own():
    frames = coloured(7)
    found = received(qwen_patches, [*frames, frames[-1]])
    with pytest.raises(RunStopped, match=r"8 frames of 7 .* takes frames in pairs: use a task with an even number"):
        check_frames(found, shown_thumbnails(frames))
    tiles = [tile for frame in coloured(4) for tile in [frame] * 13]
    with pytest.raises(RunStopped, match=r"52 frames of 4 .* cuts each of them into 13 .*max_patches=1"):
        check_frames(received(LAYOUTS["slices"], tiles), shown_thumbnails(coloured(4)))


def stepping(step: int) -> SimpleNamespace:
    """A configuration of a model that takes so many frames together."""
    vision = SimpleNamespace(patch_size=14, spatial_merge_size=2, temporal_patch_size=step)
    return SimpleNamespace(config=SimpleNamespace(vision_config=vision))


@pytest.mark.parametrize("step", [1, 2, 4])
@pytest.mark.parametrize("count", [4, 8])
def test_steps_of_any_length_are_put_together_again(step, count):
    frames = coloured(count)
    (found,) = FrameReader().read(stepping(step), qwen_patches(normalised(frames), step), 1)
    assert (found.count, found.per_step) == (count, step)
    check_frames(found, shown_thumbnails(frames))
    assert found.digests == describe(normalised(frames)).digests


@pytest.mark.parametrize("count", [3, 5, 7])
def test_an_odd_number_of_frames_is_no_fault_of_a_model_that_takes_them_one_by_one(count):
    """Its wrapper may still hand them on in pairs, and is then what is to blame."""
    frames = coloured(count)
    (found,) = FrameReader().read(stepping(1), qwen_patches(normalised(frames), 1), 1)
    check_frames(found, shown_thumbnails(frames))
    (doubled,) = FrameReader().read(stepping(1), qwen_patches(normalised([*frames, frames[-1]]), 1), 1)
    told = rf"{count + 1} frames of {count} reached the model: .*; its wrapper hands on frames in pairs: use .* even number"
    with pytest.raises(RunStopped, match=told):
        check_frames(doubled, shown_thumbnails(frames))
    (other,) = FrameReader().read(stepping(1), qwen_patches(normalised([frames[0], *frames]), 1), 1)
    with pytest.raises(RunStopped, match=rf"max_frames_num={count} "):
        check_frames(other, shown_thumbnails(frames))


def test_a_step_of_several_frames_that_is_filled_up_has_its_remedy():
    frames = coloured(6)
    (found,) = FrameReader().read(stepping(4), qwen_patches(normalised([*frames, frames[-1], frames[-1]]), 4), 1)
    with pytest.raises(RunStopped, match="takes 4 frames at a time: use a task with a number of frames that 4 divides"):
        check_frames(found, shown_thumbnails(frames))


def test_images_of_a_model_that_takes_frames_one_by_one():
    frames = normalised(coloured(4))
    parts = [qwen_patches(frame[None], 1) for frame in frames]
    inputs = {
        "pixel_values": torch.cat([p["pixel_values_videos"] for p in parts]),
        "image_grid_thw": torch.cat([p["video_grid_thw"] for p in parts]),
    }
    found = FrameReader().read(stepping(1), inputs, 2)
    assert [f.count for f in found] == [2, 2]
    assert [d for f in found for d in f.digests] == list(describe(frames).digests)


def test_digests_tell_frames_and_their_order():
    frames = coloured()
    a, b = (received(LAYOUTS["slices"], f) for f in (frames, frames[::-1]))
    assert a.digests == b.digests[::-1] and len(set(a.digests)) == FRAMES and a.digest != b.digest
    nudged = normalised(frames)
    nudged[3, 0, 0, 0] += 1e-6
    assert describe(nudged).digests[3] != a.digests[3] and describe(nudged).digest != a.digest


def test_requests_of_a_batch_have_frames_of_their_own():
    first, second = normalised(coloured()), normalised(coloured()[::-1])
    stacked = FrameReader().read(Model, {"pixel_values_videos": torch.stack([first, second])}, 2)
    assert [r.digest for r in stacked] == [describe(first).digest, describe(second).digest]
    patches = [qwen_patches(frames) for frames in (first, second)]
    joined = {name: torch.cat([p[name] for p in patches]) for name in patches[0]}
    assert [r.digest for r in FrameReader().read(Model, joined, 2)] == [r.digest for r in stacked]
    assert FrameReader().read(Model, joined, 1) == [None]


def test_a_reader_notices_that_frames_changed_in_place():
    frames, reader = normalised(coloured()), FrameReader()
    before = reader.read(Model, {"pixel_values": frames}, 1)[0]
    assert reader.read(Model, {"pixel_values": frames.clone()}, 1)[0] is before
    frames[0] += 1
    assert reader.read(Model, {"pixel_values": frames}, 1)[0].digest != before.digest


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"pixel_values": torch.zeros(4, 5)},
        {"pixel_values": torch.zeros(8, 1, 4, 4)},
        {"pixel_values_videos": torch.zeros(8, 9, 10)},
        {"pixel_values_videos": torch.zeros(8, 9), "video_grid_thw": torch.tensor([[9, 9, 9]])},
    ],
)
def test_an_unknown_layout_is_not_guessed_at(inputs):
    assert FrameReader().read(Model, inputs, 1) == [None]
    assert receipt(None, {"channel": "withheld"})["frames"] is None


@pytest.fixture(scope="module")
def footage(clips, tmp_path_factory):
    """Two probes of real footage."""
    from stimuli_builder.build import build_release
    from stimuli_builder.sources import video_catalogue

    catalogue, licence = video_catalogue(clips / "ucf101", clips / "nextqa", None, None)
    return build_release(catalogue, tmp_path_factory.mktemp("footage") / "release", (8,), 2, 0, 448, licence)


@pytest.mark.parametrize("size", [384, 336, 378, 224])
@pytest.mark.parametrize("smooth", [True, False])
def test_resized_footage_is_recognised(footage, size, smooth):
    """Real frames, some of them nearly alike, at the sizes of common encoders, with and without smoothing."""
    store = footage.frames(8)
    for probe in footage.probes(8):
        for view in probe.views:
            frames = [store.image(frame) for frame in view.frames]
            resized = torch.nn.functional.interpolate(
                normalised(frames), size=size, mode="bilinear", antialias=smooth, align_corners=False
            )
            shown = shown_thumbnails(frames)
            check_frames(describe(resized), shown)
            with pytest.raises(RunStopped):
                check_frames(describe(resized.flip(0)), shown)


TRIAL = {
    "e1_phrase": "a red circle", "e2_phrase": "a blue star", "named_order": "e1_first", "claim": "strong",
    "claimed_order": "e2_first", "letters": "AB", "time": "withheld", "times_s": [1.0, 2.0],
}  # fmt: skip


def test_a_prompt_is_recognised_whatever_a_template_adds():
    text = prompt_text(TRIAL)
    for given in (
        text,
        f"<s>[INST] <image>\n{text} [/INST]",
        text.replace(" ", "  ").replace("\n", " "),
        text.replace(".", " ."),
    ):
        check_prompt(given, TRIAL)


@pytest.mark.parametrize(
    "given",
    [
        prompt_text({**TRIAL, "letters": "BA"}),
        prompt_text({**TRIAL, "claim": "none", "claimed_order": None}),
        prompt_text({**TRIAL, "claimed_order": "e1_first"}),
        prompt_text({**TRIAL, "time": "text"}).replace("were taken at 1.00 s", "")[:40],
        prompt_text(TRIAL)[60:],
        prompt_text(TRIAL)[:-70],
        "",
    ],
)
def test_another_prompt_or_one_that_is_cut_stops_the_run(given):
    with pytest.raises(RunStopped, match="the prompt that reached the model is not that of the trial"):
        check_prompt(given, TRIAL)


def test_images_of_a_batch_are_dealt_to_its_requests():
    """The Qwen layout for single images, each doubled in time; two requests of four images."""
    frames = normalised(coloured())
    parts = [qwen_patches(torch.stack([frame, frame])) for frame in frames]
    inputs = {
        "pixel_values": torch.cat([p["pixel_values_videos"] for p in parts]),
        "image_grid_thw": torch.cat([p["video_grid_thw"] for p in parts]),
    }
    found = FrameReader().read(Model, inputs, 2)
    assert [f.count for f in found] == [4, 4]
    assert [d for f in found for d in f.digests] == list(describe(frames).digests)
    assert FrameReader().read(Model, inputs, 3) == [None] * 3
