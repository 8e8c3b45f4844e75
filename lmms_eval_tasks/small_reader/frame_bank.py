"""Frames to learn from: drawn by the benchmark's own renderer, with clips and background patterns that it keeps to itself.

The benchmark's events are variants 0 to 2 of each class, and its backgrounds variants 0 and 1 of each pattern. None of these is
learnt from, and two patterns are never seen before the evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from PIL import Image
from transformers import Qwen2_5_VLProcessor

from lmms_eval_tasks.small_reader.textures import texture
from lmms_eval_tasks.small_reader.wordings import EVENTS
from stimuli_builder.draws import draw_fraction, draw_integer
from stimuli_builder.frames import CANVAS_PX
from stimuli_builder.procedural import (
    BACKGROUND_DURATION_S,
    BACKGROUNDS_PER_PATTERN,
    CLIP_DURATION_S,
    CLIPS_PER_CLASS,
    PATTERNS,
    SCHEME,
    render,
)

HELD_OUT_PATTERNS = ("stripes", "rings")
LEARNT_PATTERNS = tuple(pattern for pattern in PATTERNS if pattern not in HELD_OUT_PATTERNS)
_EVEN_FROM = CLIPS_PER_CLASS + CLIPS_PER_CLASS % 2


@dataclass(frozen=True)
class FrameBank:
    """Frames as the encoder gets them, each a row of patches."""

    events: torch.Tensor  # (events, frames of each, patches, values); dark and bright scenes take turns
    backgrounds: torch.Tensor  # (backgrounds, frames of each, patches, values)

    def on(self, device: torch.device) -> FrameBank:
        """The same on a device."""
        return FrameBank(self.events.to(device), self.backgrounds.to(device))


@dataclass(frozen=True)
class FrameTokens:
    """The same frames as the language model gets them."""

    events: torch.Tensor  # (events, frames of each, width); dark and bright scenes take turns
    backgrounds: torch.Tensor  # (backgrounds, frames of each, width)

    def cpu(self) -> FrameTokens:
        """The same in the memory of the processor."""
        return FrameTokens(self.events.cpu(), self.backgrounds.cpu())


def seen_frame(location: str, time_s: float, side_px: int) -> Image.Image:
    """A frame of the benchmark's canvas, made smaller as lmms-eval's wrapper does it."""
    return render(location, time_s, CANVAS_PX).resize((side_px, side_px))


def patches(processor: Qwen2_5_VLProcessor, frames: Sequence[Image.Image]) -> torch.Tensor:
    """What the processor makes of frames: (frames, patches, values)."""
    given = processor.video_processor([list(frames)], return_tensors="pt")
    return given["pixel_values_videos"].reshape(len(frames), -1, given["pixel_values_videos"].shape[-1])


def _event_location(event: int, variant: int) -> str:
    colour, shape = EVENTS[event]
    return f"{SCHEME}event?colour={colour}&shape={shape}&variant={variant}"


def _background_location(pattern: str, variant: int) -> str:
    return f"{SCHEME}background?pattern={pattern}&variant={variant}"


def frame_bank(
    processor: Qwen2_5_VLProcessor,
    side_px: int,
    seed: int,
    event_frames: int,
    backgrounds: int,
    background_frames: int,
    progress: Callable[[int], object] = lambda _: None,
    patterns: Sequence[str] = LEARNT_PATTERNS,
    textures: int = 0,
) -> FrameBank:
    """Draw a bank: of each event `event_frames` frames, each of another clip, `backgrounds` of each pattern, and textures.

    Args:
        processor: of the reader.
        side_px: of a frame as the encoder gets it.
        seed: of clips and times.
        event_frames: of each event.
        backgrounds: of each pattern.
        background_frames: of each background.
        progress: called with the number of frames after each event and background.
        patterns: of the backgrounds.
        textures: backgrounds of which each frame is another texture.
    """
    event_rows = []
    for event in range(len(EVENTS)):
        frames = []
        for number in range(event_frames):
            time_s = CLIP_DURATION_S * draw_fraction(seed, "reader event time", event, number)
            # The scenes of even variants are dark, those of odd ones bright.
            variant = _EVEN_FROM + 2 * draw_integer(0, 499, seed, "reader event clip", event, number) + number % 2
            frames.append(seen_frame(_event_location(event, variant), time_s, side_px))
        event_rows.append(patches(processor, frames))
        progress(event_frames)
    background_rows = []
    for pattern in patterns:
        for number in range(backgrounds):
            variant = BACKGROUNDS_PER_PATTERN + draw_integer(0, 19, seed, "reader background", pattern, number)
            times_s = [
                BACKGROUND_DURATION_S * draw_fraction(seed, "reader background time", pattern, number, i)
                for i in range(background_frames)
            ]
            frames = [seen_frame(_background_location(pattern, variant), time_s, side_px) for time_s in times_s]
            background_rows.append(patches(processor, frames))
            progress(background_frames)
    for group in range(textures):
        numbers = range(group * background_frames, (group + 1) * background_frames)
        background_rows.append(patches(processor, [texture(seed, number, side_px) for number in numbers]))
        progress(background_frames)
    return FrameBank(torch.stack(event_rows), torch.stack(background_rows))
