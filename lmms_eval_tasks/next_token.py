"""The distribution over the first answer token, read where every wrapper ends: in transformers' `generate`.

Wrappers of lmms-eval prepare frames and prompt in their own ways and return text. While `reading_next_token`
is active, `generate` makes one step and hands back, instead of an answer, the number of a row: digits that the
wrapper trims, decodes and re-orders as it would any answer, whatever its batching. The rows hold what was read.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import GenerationMixin

from lmms_eval_tasks.letter_tokens import letter_token_ids
from lmms_eval_tasks.llava_next_package import call_under_way
from lmms_eval_tasks.received_frames import FrameReader, ReceivedFrames
from lmms_eval_tasks.sharing import Sharing
from lmms_eval_tasks.time_channel import SeenTime, seen_time

_DIGITS = 7
NOT_FINITE = "the model's logits are not finite"
_BENDING = ("final_logit_softcapping", "logit_scale", "logits_scaling", "lm_head_multiplier")
# What a caller may ask of a whole generation and one greedy step must not see.
_REPLACED = (
    *("do_sample", "temperature", "top_p", "top_k", "min_p", "num_beams", "num_return_sequences", "penalty_alpha"),
    *("repetition_penalty", "no_repeat_ngram_size", "stopping_criteria", "streamer", "logits_processor"),
    *("max_new_tokens", "max_length", "min_new_tokens", "min_length", "output_logits", "return_dict_in_generate"),
)


@dataclass(frozen=True)
class FirstToken:
    """What one request's first answer token is distributed over."""

    option_log_mass: dict[str, float]  # natural log of the probability of all spellings of a letter
    likeliest: str  # the single likeliest token, decoded
    float32_head: bool  # whether letter logits were computed again in float32 from the head's input
    received: ReceivedFrames | None  # None where the model's inputs do not tell
    time: SeenTime  # what the prompt told of the times of frames
    prompt: str | None = None  # the text that the model got; None where its inputs hold embeddings only

    @property
    def unreadable(self) -> str | None:
        """Why this is no answer; None if it is one. NaN or an infinite logit leaves no letter a probability."""
        logs = self.option_log_mass.values()
        return NOT_FINITE if any(map(math.isnan, logs)) or max(logs) in (-math.inf, math.inf) else None

    @property
    def option_mass(self) -> float | None:
        """Probability that the first token is any of the letters; None if unreadable."""
        if self.unreadable is not None:
            return None
        return float(torch.logsumexp(torch.tensor(list(self.option_log_mass.values())), 0).exp())

    def option_probabilities(self) -> dict[str, float] | None:
        """Over the options alone, sum 1; None if unreadable."""
        if self.unreadable is not None:
            return None
        logs = torch.tensor(list(self.option_log_mass.values()), dtype=torch.float64)
        return dict(zip(self.option_log_mass, torch.softmax(logs, 0).tolist(), strict=True))


@dataclass
class Rows:
    """First tokens in the order in which they were read; a wrapper's answer names its row."""

    read: list[FirstToken] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)  # errors inside `generate`, which wrappers may swallow

    def take(self, answer: str) -> FirstToken | None:
        """The row that a wrapper's answer names; None if it names none, or one that was given out."""
        digits = answer.strip()
        if len(digits) != _DIGITS or not digits.isascii() or not digits.isdigit():
            return None
        index = int(digits)
        if index >= len(self.read) or index in self.taken:
            return None
        self.taken.add(index)
        return self.read[index]


def _letter_logits(
    logits: torch.Tensor, hidden: torch.Tensor | None, head: Any, ids: torch.Tensor
) -> tuple[torch.Tensor, bool]:
    """Logits of some entries, shape (batch, ids), in float32 from the head's input where that is the same map.

    A model in bfloat16 rounds its logits to about three digits, which turns close calls into ties.
    """
    given = logits[:, ids].float()
    weight = getattr(head, "weight", None)
    if hidden is None or weight is None or weight.dim() != 2 or hidden.shape[0] != logits.shape[0]:
        return given, False
    if weight.is_meta or not weight.is_floating_point():  # kept elsewhere, or quantised
        return given, False
    # A model that is spread over devices moves the head's input only after it was seen here.
    rows = ids.to(weight.device)
    computed = hidden.to(weight.device).float() @ weight[rows].float().T
    bias = getattr(head, "bias", None)
    if bias is not None:
        computed = computed + bias[rows].float()
    computed = computed.to(given.device)
    # The same map differs by the rounding of the given logits only, to about half a unit of their last place.
    unit = torch.finfo(weight.dtype).eps
    # A given logit that is not finite is close to nothing.
    close = bool(given.isfinite().all() and ((computed - given).abs() <= 2 * unit * given.abs() + unit).all())
    return (computed, True) if close else (given, False)


def _bends_logits(model: Any) -> bool:
    """Whether a model caps or scales what its head gives, as far as its configuration tells."""
    configs = (model.config, model.config.get_text_config())
    values = (getattr(config, name, None) for config in configs for name in _BENDING)
    return any(value not in (None, 1, 1.0, False) for value in values)


def _first_tokens(
    logits: torch.Tensor,
    hidden: torch.Tensor | None,
    head: Any,
    bends_logits: bool,
    tokenizer: Any,
    letters: tuple[str, ...],
    received: list[ReceivedFrames | None],
    times: list[SeenTime],
    prompts: list[str | None],
) -> list[FirstToken]:
    by_letter = letter_token_ids(tokenizer, letters)
    ids = torch.tensor([i for letter in letters for i in by_letter[letter]], device=logits.device)
    # A model that bends its logits after the head (caps, scales) is taken at its word, and so is one in float32.
    weight = getattr(head, "weight", logits)  # `generate` hands on logits of any model as float32
    precise = weight.dtype == torch.float32
    values, exact = logits[:, ids].float(), precise
    if not precise and not bends_logits:
        values, exact = _letter_logits(logits, hidden, head, ids)
    total = torch.logsumexp(logits.float(), dim=-1, keepdim=True)
    if exact and not precise:  # put the exact letter logits into the total as well
        rest = logits.float().index_fill(1, ids, float("-inf"))
        total = torch.logsumexp(torch.cat([rest, values], dim=1), dim=-1, keepdim=True)
    log_probabilities = (values - total).cpu()
    likeliest = tokenizer.batch_decode(logits.argmax(-1, keepdim=True))
    tokens = []
    for row in range(logits.shape[0]):
        mass, start = {}, 0
        for letter in letters:
            end = start + len(by_letter[letter])
            mass[letter] = float(torch.logsumexp(log_probabilities[row, start:end], 0))
            start = end
        tokens.append(FirstToken(mass, likeliest[row], exact, received[row], times[row], prompts[row]))
    return tokens


def _prompt(inputs: dict[str, Any]) -> torch.Tensor:
    """The tokens that `generate` repeats before those it adds: none for a prompt of embeddings."""
    given = inputs.get("input_ids")
    if given is not None:
        return torch.as_tensor(given)
    embeddings = inputs["inputs_embeds"]
    return torch.empty((len(embeddings), 0), dtype=torch.long, device=embeddings.device)


def _prompt_tokens(prompt: torch.Tensor, rows: int) -> list[list[int]]:
    """The tokens of each request's text; those of the package's own call where only embeddings arrive here."""
    if prompt.shape[1]:
        return [[int(token) for token in row] for row in prompt.tolist()]
    call = call_under_way()
    return [[token for token in call.tokens if token >= 0] if call is not None else [] for _ in range(rows)]


@contextmanager
def reading_next_token(tokenizer: Any, letters: tuple[str, ...], sharing: Sharing | None = None) -> Iterator[Rows]:
    """Read instead of generate: within this block every model's `generate` adds rows to what is yielded.

    With `sharing`, one step is computed from what the prompt has in common with the one before.
    """
    rows, inside, frames = Rows(), threading.local(), FrameReader()
    original = GenerationMixin.generate

    @torch.no_grad()
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(inside, "yes", False):  # a model whose generate calls itself on the way
            return original(self, *args, **kwargs)
        inside.yes = True
        seen: list[torch.Tensor] = []
        head = self.get_output_embeddings()
        hook = None
        if head is not None:
            hook = head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][:, -1].detach()))
        try:
            kept = {name: value for name, value in kwargs.items() if name not in _REPLACED}
            shared = sharing.logits(self, kept) if sharing is not None and not args else None
            if shared is None or (sharing is not None and sharing.wants_check):
                out = original(
                    self,
                    *args,
                    **kept,
                    do_sample=False,
                    num_beams=1,
                    max_new_tokens=1,
                    output_logits=True,
                    return_dict_in_generate=True,
                )
                logits, prompt = out.logits[0], out.sequences[:, :-1]
                if sharing is not None and shared is not None:
                    sharing.check(shared, logits)
            else:
                logits, prompt = shared, _prompt(kept)
        except Exception as error:
            rows.failures.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            inside.yes = False
            if hook is not None:
                hook.remove()
        first = len(rows.read)
        received = frames.read(self, kept, len(logits))
        tokens = _prompt_tokens(prompt, len(logits))
        times = [seen_time(self, tokenizer, row, kept, place) for place, row in enumerate(tokens)]
        texts = [str(tokenizer.decode(row)) if row else None for row in tokens]
        hidden = seen[-1] if seen else None
        rows.read += _first_tokens(
            logits, hidden, head, _bends_logits(self), tokenizer, letters, received, times, texts
        )
        codes = [
            tokenizer.encode(f"{number:0{_DIGITS}d}", add_special_tokens=False)
            for number in range(first, len(rows.read))
        ]
        longest = max(map(len, codes))
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        padded = [code + [pad] * (longest - len(code)) for code in codes]
        return torch.cat([prompt, torch.tensor(padded, device=prompt.device, dtype=prompt.dtype)], dim=1)

    setattr(GenerationMixin, "generate", generate)  # noqa: B010 (a method may not be assigned to, says mypy)
    try:
        yield rows
    finally:
        setattr(GenerationMixin, "generate", original)  # noqa: B010
