"""The first tokens of one prompt, computed once for all prompts that begin with them.

The views of a probe form a tree: its prompts share frames and words up to where they differ, and twins and arms
share frames up to the first event. If prompts are taken branch by branch, it is enough to keep the keys and
values of the prompt that was computed last, cut back to what the next one has in common with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache

from lmms_eval_tasks.language_inputs import LanguageInputs, cache_name, decoder_of


@dataclass
class SharedPrefix:
    """Keys and values of the last prompt, and how many tokens were computed and spared."""

    computed_tokens: int = 0
    spared_tokens: int = 0
    _held: LanguageInputs | None = None
    _cache: Any = None

    def forget(self) -> None:
        """Free the memory of the last prompt."""
        self._held, self._cache = None, None

    @torch.no_grad()
    def next_token_logits(self, model: Any, prompt: LanguageInputs) -> torch.Tensor:
        """Logits of the token after the prompt, shape (1, vocabulary)."""
        shared = 0 if self._held is None else min(self._held.common_prefix(prompt), prompt.length - 1)
        shared = _last_allowed(prompt, shared)
        if self._held is not None and shared:
            self._cache.crop(shared - self._held.length)
        held, self._held = self._held, None  # the cache is neither the old prompt's nor the new one's until it is done
        if held is None or not shared or self._cache.get_seq_length() != shared:
            shared, self._cache = 0, DynamicCache(config=model.config.get_text_config())
        logits = _continue(model, prompt, shared, self._cache)
        self._held = prompt
        self.computed_tokens += prompt.length - shared
        self.spared_tokens += shared
        return logits


def _last_allowed(prompt: LanguageInputs, place: int) -> int:
    allowed = prompt.cuts[: place + 1].nonzero()
    return int(allowed[-1]) if len(allowed) else 0


def _continue(model: Any, prompt: LanguageInputs, start: int, cache: Any) -> torch.Tensor:
    """Run the tokens from `start` on, through the model's own head."""
    decoder = decoder_of(model)
    rest = prompt.starting_at(start)

    def replace(_: Any, args: tuple[Any, ...], __: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, {**rest, cache_name(decoder): cache, "use_cache": True}

    hook = decoder.register_forward_pre_hook(replace, with_kwargs=True)
    try:
        out = model(
            inputs_embeds=rest["inputs_embeds"],
            position_ids=rest["position_ids"],
            use_cache=True,
            logits_to_keep=1,
            **{cache_name(model): cache},
        )
    finally:
        hook.remove()
    return out.logits[:, -1]
