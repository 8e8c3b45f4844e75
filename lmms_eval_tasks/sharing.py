"""Sharing work between prompts: allowed as long as it proves to change nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from loguru import logger

from lmms_eval_tasks.language_inputs import language_inputs
from lmms_eval_tasks.shared_prefix import SharedPrefix
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import SHARE
from lmms_eval_tasks.vision_memo import VisionMemo, frames_encoded_once

_CHECKS = 2  # requests of each kind that are computed both ways
_EVERY = 200  # and one in so many after that: it costs as much as four or five others
_LIKELY = 1e-3  # entries of at least this probability are compared
_TOLERANCE = 1e-4  # of log-probabilities in float32
_TOLERANCE_HALF = 0.25  # in half precision, which sums in another order; and what rounds the logits themselves


@dataclass
class Sharing:
    """Sharing that proves itself on the first requests of a model, and gives up at the first sign of a difference."""

    prefix: SharedPrefix = field(default_factory=SharedPrefix)
    frames: VisionMemo = field(default_factory=VisionMemo)
    active: bool = True
    checked: Counter[str] = field(default_factory=Counter)  # requests that were computed both ways, by kind
    largest_difference: float = 0.0  # of log-probabilities, between shared and plain, where both were computed
    unchecked: int = 0  # answers from shared work alone
    _kind: str = ""  # of the last request
    _answered: int = 0

    @property
    def wants_check(self) -> bool:
        """Whether the last request should be computed without sharing as well."""
        return self.active and (self.checked[self._kind] < _CHECKS or self._answered % _EVERY == 0)

    def forget(self) -> None:
        """Free what is kept of the last probe."""
        self.prefix.forget()
        self.frames.forget()

    @torch.no_grad()
    def logits(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor | None:
        """Logits of the next token, shape (1, vocabulary); None where sharing is not possible or not wanted.

        Args:
            model: a transformers model that generates.
            inputs: what its `generate` was called with.
        """
        if not self.active or not _single(inputs):
            return None
        try:
            with frames_encoded_once(model, self.frames):
                prompt = language_inputs(model, inputs)
            if prompt.length > (limit := rotation_limit(model)):
                raise ValueError(f"beyond {limit} tokens this model turns its positions by the length of the prompt")
            before = self.prefix.spared_tokens
            logits = self.prefix.next_token_logits(model, prompt)
        except Exception as error:  # a model that cannot be run in parts is run as a whole
            self._give_up(f"its prompts cannot be continued ({type(error).__name__}: {str(error)[:200]})")
            return None
        spared = self.prefix.spared_tokens > before
        self._kind = "computed whole" if not spared else "words differ" if self.frames.repeated else "frames differ"
        self._answered += 1
        self.unchecked += not self.wants_check
        return logits

    def check(self, shared: torch.Tensor, plain: torch.Tensor) -> None:
        """Compare both ways for one request; differing too much ends sharing."""
        a, b = (torch.log_softmax(x.float(), -1) for x in (shared, plain))
        likely = b >= torch.log(torch.tensor(_LIKELY))
        if not likely.any():  # logits that are not finite tell nothing of sharing; the next request is compared
            return
        difference = float((a - b).abs()[likely].max())
        self.largest_difference = max(self.largest_difference, difference)
        self.checked[self._kind] += 1
        if not difference <= _tolerance(shared):  # NaN fails too
            if self.unchecked:
                raise RunStopped(
                    f"work that prompts share changes log-probabilities by {difference:.2g} ({self._kind}), and answers "
                    f"were read before this showed: run again with {SHARE}=off"
                )
            self._give_up(f"sharing changes log-probabilities by {difference:.2g}")
        elif self.checked[self._kind] == _CHECKS:
            logger.info(
                f"prompts of a probe share what they have in common; where {self._kind}, log-probabilities differ by at "
                f"most {difference:.2g} from computing each prompt alone ({SHARE}=off does that)"
            )

    def _give_up(self, reason: str) -> None:
        self.active = False
        self.forget()
        logger.warning(f"each prompt is computed alone, which takes longer: {reason}")


def _tolerance(logits: torch.Tensor) -> float:
    """By how much log-probabilities may differ, from logits as the model itself gives them (`generate` casts them).

    At a logit of 30, bfloat16 has steps of 0.125.
    """
    if logits.dtype == torch.float32:
        return _TOLERANCE
    return _TOLERANCE_HALF + 2 * torch.finfo(logits.dtype).eps * float(logits.abs().max())


def rotation_limit(model: Any) -> float:
    """The tokens up to which a position is turned alike in prompts of any length; infinite for most models.

    With `dynamic` and `longrope` scaling, keys of a short prompt do not fit a longer one beyond this.
    """
    config = model.config.get_text_config()
    found = [getattr(config, name, None) or {} for name in ("rope_parameters", "rope_scaling")]
    scalings = [s for part in found for s in (part, *part.values()) if isinstance(s, Mapping)]
    if not any(s.get("rope_type", s.get("type")) in ("dynamic", "longrope", "su") for s in scalings):
        return math.inf
    limits = [s.get("original_max_position_embeddings") for s in scalings]
    limits += [getattr(config, n, None) for n in ("original_max_position_embeddings", "max_position_embeddings")]
    return float(next(limit for limit in limits if limit))


def _single(inputs: dict[str, Any]) -> bool:
    """Whether a call holds one prompt, without padding."""
    given = inputs.get("inputs_embeds", inputs.get("input_ids"))
    mask = inputs.get("attention_mask")
    return given is not None and given.shape[0] == 1 and (mask is None or bool(mask.all()))
