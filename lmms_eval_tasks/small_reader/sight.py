"""First stage of the small video reader: its encoder alone, on single frames.

Each frame shall become the sum of the language model's words for the colour and the shape that it shows and for its light, and nothing for
a background. Heads that are thrown away afterwards name the three; without them the encoder stays at chance for long.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from lmms_eval_tasks.small_reader.frame_bank import FrameBank, FrameTokens
from lmms_eval_tasks.small_reader.wordings import EVENTS, LIGHTS
from stimuli_builder.procedural import COLOURS, SHAPES

Rows = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
BACKGROUND_SHARE = 0.4


def word_rows(
    model: Qwen2_5_VLForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, words: list[str]
) -> torch.Tensor:
    """The embeddings of words that are one token each, and a row of zeros for none: (words + 1, width).

    Raises:
        ValueError: if a word is more than one token.
    """
    tokens = [tokenizer.encode(f" {word}", add_special_tokens=False) for word in words]
    if any(len(token) != 1 for token in tokens):
        raise ValueError(f"not one token each: {', '.join(words)}")
    table = model.model.language_model.embed_tokens.weight.detach()
    return torch.cat([table[[token[0] for token in tokens]], table.new_zeros(1, table.shape[1])])


class NamingHeads(nn.Module):
    """Colour, shape and light from the token of a frame; the last class of each is a background."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.colour = nn.Linear(width, len(COLOURS) + 1)
        self.shape = nn.Linear(width, len(SHAPES) + 1)
        self.light = nn.Linear(width, len(LIGHTS) + 1)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits of colours, shapes and lights."""
        level = tokens / tokens.pow(2).mean(-1, keepdim=True).add(1e-6).sqrt()
        return self.colour(level), self.shape(level), self.light(level)


@dataclass(frozen=True)
class Glimpses:
    """Single frames with what they show."""

    patches: torch.Tensor  # (frames, patches, values)
    colour: torch.Tensor  # (frames,)
    shape: torch.Tensor  # (frames,)
    light: torch.Tensor  # (frames,)

    def on(self, device: torch.device) -> Glimpses:
        """The same frames on a device."""
        return Glimpses(self.patches.to(device), self.colour.to(device), self.shape.to(device), self.light.to(device))


def _varied_backgrounds(frames: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """Backgrounds as they are, and as many again that were never drawn: two of them mixed, quarters of patches in any order."""
    one, other = (frames[torch.randint(len(frames), (count,), generator=generator)] for _ in range(2))
    share = torch.rand(count, 1, 1, generator=generator)
    mixed = share * _shuffled(one, generator) + (1 - share) * _shuffled(other, generator)
    drawn = torch.rand(count, 1, 1, generator=generator) < 0.5
    return torch.where(drawn, one, mixed)


def _shuffled(frames: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The quarters of all patches of a frame, each in a place of its own, drawn frame by frame."""
    count, patches, values = frames.shape
    half = round((values / 3) ** 0.5) // 2
    quarters = frames.reshape(count, patches, 3, 2, half, 2, half).permute(0, 1, 3, 5, 2, 4, 6).flatten(1, 3).flatten(2)
    order = torch.rand(count, quarters.shape[1], generator=generator).argsort(1)
    moved = quarters.gather(1, order[:, :, None].expand_as(quarters))
    whole = moved.reshape(count, patches, 2, 2, 3, half, half).permute(0, 1, 4, 2, 5, 3, 6)
    return whole.reshape(count, patches, values)


def glimpses(bank: FrameBank, count: int, generator: torch.Generator) -> Glimpses:
    """`count` frames drawn from a bank."""
    events, clips = bank.events.shape[:2]
    event = torch.randint(events, (count,), generator=generator)
    clip = torch.randint(clips, (count,), generator=generator)
    shown = bank.events[event, clip]
    empty = torch.rand(count, generator=generator) < BACKGROUND_SHARE
    behind = _varied_backgrounds(bank.backgrounds.flatten(0, 1), count, generator)
    colours = torch.tensor([list(COLOURS).index(colour) for colour, _ in EVENTS])
    shapes = torch.tensor([SHAPES.index(shape) for _, shape in EVENTS])
    return Glimpses(
        torch.where(empty[:, None, None], behind, shown),
        torch.where(empty, len(COLOURS), colours[event]),
        torch.where(empty, len(SHAPES), shapes[event]),
        torch.where(empty, len(LIGHTS), clip % 2),
    )


def frame_tokens(visual: nn.Module, frames: torch.Tensor, merge: int) -> torch.Tensor:
    """What the encoder makes of single frames of one token: (frames, width)."""
    side = round(frames.shape[1] ** 0.5)
    grid = torch.tensor([[1, side, side]], device=frames.device).repeat(len(frames), 1)
    tokens: torch.Tensor = visual(frames.flatten(0, 1), grid_thw=grid).pooler_output
    return tokens.reshape(len(frames), (side // merge) ** 2, -1).squeeze(1)


def sight_words(
    model: Qwen2_5_VLForConditionalGeneration, tokenizer: PreTrainedTokenizerFast
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The rows of colours, shapes and lights."""
    colours, shapes, lights = (word_rows(model, tokenizer, list(words)) for words in (COLOURS, SHAPES, LIGHTS))
    return colours, shapes, lights


def sight_loss(tokens: torch.Tensor, heads: NamingHeads, rows: Rows, seen: Glimpses) -> torch.Tensor:
    """Distance from the words that a frame should be, over their spread, and the heads' cross-entropy."""
    truths = (seen.colour, seen.shape, seen.light)
    wanted = torch.stack([part[truth] for part, truth in zip(rows, truths, strict=True)]).sum(0)
    spread = rows[0][:-1].var() + rows[1][:-1].var()
    named = torch.stack([functional.cross_entropy(*pair) for pair in zip(heads(tokens), truths, strict=True)]).sum()
    return functional.mse_loss(tokens, wanted) / spread + named


@torch.no_grad()
def sight_accuracy(tokens: torch.Tensor, rows: Rows, seen: Glimpses) -> float:
    """How often the nearest sum of words, of all colours, shapes and lights and none, is the one that a frame shows."""
    colours, shapes, lights = (part[:-1] for part in rows)
    sums = (colours[:, None, None] + shapes[None, :, None] + lights[None, None]).flatten(0, 2)
    sums = torch.cat([sums, sums.new_zeros(1, sums.shape[1])])
    nearest = torch.cdist(tokens, sums).argmin(1)
    shown = (seen.colour * len(shapes) + seen.shape) * len(lights) + seen.light
    return float((nearest == torch.where(seen.colour == len(colours), len(sums) - 1, shown)).float().mean())


@torch.no_grad()
def tokens_of_bank(visual: nn.Module, bank: FrameBank, merge: int) -> FrameTokens:
    """Every frame of a bank as its token."""
    kept = [torch.stack([frame_tokens(visual, row, merge) for row in part]) for part in (bank.events, bank.backgrounds)]
    return FrameTokens(*kept)
