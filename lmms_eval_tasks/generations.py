"""What reaches a model's `generate` while it writes free answers: its images and its prompt, read on the way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import GenerationMixin

from lmms_eval_tasks.llava_next_package import call_under_way
from lmms_eval_tasks.received_frames import FrameReader, ReceivedFrames


@dataclass(frozen=True)
class Generation:
    """One request at the model's door."""

    received: ReceivedFrames | None  # None where the model's inputs do not tell
    prompt: str | None  # the text that the model got; None where its inputs hold embeddings only
    answers: tuple[str, ...] = ()  # what the model wrote, without and with special tokens; empty where it does not tell


@dataclass
class Watched:
    """Generations since they were last taken, in the order in which they began."""

    seen: list[Generation] = field(default_factory=list)
    ever: bool = False  # whether any was seen at all
    failures: list[str] = field(default_factory=list)  # errors inside `generate`, which wrappers may swallow

    def take(self) -> list[Generation]:
        """What was seen since the last call."""
        seen, self.seen = self.seen, []
        self.ever = self.ever or bool(seen)
        return seen


def _texts(tokenizer: Any, inputs: dict[str, Any]) -> list[str | None]:
    given = inputs.get("input_ids")
    if given is not None and tokenizer is not None:
        return [str(tokenizer.decode(row)) for row in given.tolist()]
    call = call_under_way()
    if call is not None and tokenizer is not None:
        return [str(tokenizer.decode([token for token in call.tokens if token >= 0]))]
    embeddings = given if given is not None else inputs.get("inputs_embeds")
    return [None] * (1 if embeddings is None else len(embeddings))


def _answers(tokenizer: Any, inputs: dict[str, Any], output: Any, rows: int) -> list[tuple[str, ...]]:
    """What was written after each prompt."""
    tokens, given = getattr(output, "sequences", output), inputs.get("input_ids")
    if tokenizer is None or not torch.is_tensor(tokens) or tokens.dim() != 2 or len(tokens) != rows:
        return [()] * rows
    if given is not None and tokens.shape[1] >= given.shape[1] and bool((tokens[:, : given.shape[1]] == given).all()):
        tokens = tokens[:, given.shape[1] :]
    return [tuple(str(tokenizer.decode(row, skip_special_tokens=skip)) for skip in (True, False)) for row in tokens]


@contextmanager
def watching_generations(tokenizer: Any) -> Iterator[Watched]:
    """Within this block every model's `generate` does what it always does, and is seen doing it."""
    watched, inside, frames = Watched(), threading.local(), FrameReader()
    original = GenerationMixin.generate

    @torch.no_grad()
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(inside, "yes", False):  # a model whose generate calls itself on the way
            return original(self, *args, **kwargs)
        inside.yes = True
        inputs = {"input_ids": args[0], **kwargs} if args and torch.is_tensor(args[0]) else kwargs
        texts = _texts(tokenizer, inputs)
        received = frames.read(self, inputs, len(texts))
        try:
            output = original(self, *args, **kwargs)
            answers = _answers(tokenizer, inputs, output, len(texts))
            watched.seen += [Generation(*row) for row in zip(received, texts, answers, strict=True)]
            return output
        except Exception as error:
            watched.failures.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            inside.yes = False

    setattr(GenerationMixin, "generate", generate)  # noqa: B010 (a method may not be assigned to, says mypy)
    try:
        yield watched
    finally:
        setattr(GenerationMixin, "generate", original)  # noqa: B010
