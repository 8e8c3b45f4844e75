"""One view's frames, computed once for all of its prompts.

The prompts of a view differ only after its frames: claim, options, letters. Everything up to the last visual
token, including the passes of the vision encoder, is therefore the same, and its keys and values can serve all
of them. `SharedPrefix` keeps those of one view at a time.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import torch
from loguru import logger
from transformers import DynamicCache

from lmms_eval_tasks.switches import SHARE

# Names under which model configurations hold the ids of tokens that stand for frames, or frame them.
_VISUAL_TOKENS = (
    *(
        "image_token_id",
        "video_token_id",
        "image_token_index",
        "video_token_index",
        "image_patch_id",
        "image_end_token_id",
    ),
    *("image_start_token_id", "frame_start_token_id", "frame_end_token_id", "vision_end_token_id", "image_col_id"),
)
_PER_TOKEN = ("token_type_ids", "mm_token_type_ids")  # inputs with one entry for each token


@dataclass
class SharedPrefix:
    """The cache of one view's prefix, and how often it served.

    Requests must come with the view that they show: equal views are equal frames, so the visual inputs need not
    be compared again.
    """

    computed: int = 0
    served: int = 0
    _view: str | None = None
    _tokens: list[int] = field(default_factory=list)
    _cache: Any = None

    def forget(self) -> None:
        """Free the memory of the view that was served last."""
        self._view, self._tokens, self._cache = None, [], None

    @torch.no_grad()
    def next_token_logits(self, model: Any, inputs: dict[str, Any], view: str) -> torch.Tensor | None:
        """Logits of the next token, shape (1, vocabulary), or None where a prefix cannot be shared.

        Args:
            model: a transformers model that generates.
            inputs: what its `generate` was called with.
            view: what identifies the frames, in their order, of this request.
        """
        ids, mask = inputs.get("input_ids"), inputs.get("attention_mask")
        if ids is None or ids.shape[0] != 1 or (mask is not None and not bool(mask.all())):
            return None
        visual = {getattr(model.config, name, None) for name in _VISUAL_TOKENS} - {None}
        places = [i for i, token in enumerate(ids[0].tolist()) if token in visual]
        if not places or places[-1] + 1 >= ids.shape[1]:
            return None
        length = places[-1] + 1
        positions = _positions(model, inputs)
        tokens = ids[0, :length].tolist()
        forward = inspect.signature(type(model).forward).parameters
        cache_name = "cache" if "cache" in forward else "past_key_values"
        if view != self._view or tokens != self._tokens:
            self.forget()
            cache = DynamicCache(config=model.config.get_text_config())
            prefix = {n: v[:, :length] if n in _PER_TOKEN else v for n, v in inputs.items() if n in forward}
            prefix.update(
                input_ids=ids[:, :length],
                attention_mask=None if mask is None else mask[:, :length],
                position_ids=positions[..., :length],
                use_cache=True,
                logits_to_keep=1,
            )
            model(**prefix, **{cache_name: cache})
            self._view, self._tokens, self._cache = view, tokens, cache
            self.computed += 1
        rest = {n: inputs[n][:, length:] for n in _PER_TOKEN if n in inputs and n in forward and n == "token_type_ids"}
        out = model(
            input_ids=ids[:, length:],
            attention_mask=mask,
            position_ids=positions[..., length:],
            use_cache=True,
            logits_to_keep=1,
            **{cache_name: self._cache},
            **rest,
        )
        self._cache.crop(length - ids.shape[1])  # take the suffix off again
        if self._cache.get_seq_length() != length:
            self.forget()
            return None
        self.served += 1
        return out.logits[:, -1]


def _positions(model: Any, inputs: dict[str, Any]) -> torch.Tensor:
    """Position ids of the whole prompt: the model's own scheme of several axes where it has one."""
    ids = inputs["input_ids"]
    rope_index = getattr(getattr(model, "model", None), "get_rope_index", None)
    if rope_index is None:
        return torch.arange(ids.shape[1], device=ids.device)[None]
    names = inspect.signature(rope_index).parameters
    known = {name: value for name, value in inputs.items() if name in names and name != "input_ids"}
    return rope_index(ids, **known)[0]


_CHECKED = 4  # requests that are computed both ways before sharing is trusted
_LIKELY = 1e-3  # entries of at least this probability are compared
_TOLERANCE = {torch.float32: 1e-4}  # of log-probabilities
_TOLERANCE_HALF = 0.25  # bfloat16 keeps about three digits, and sums in another order


@dataclass
class Sharing:
    """Sharing that proves itself on the first requests, and gives up at the first sign that it does not hold."""

    prefix: SharedPrefix = field(default_factory=SharedPrefix)
    view: str | None = None  # of the requests that come next; None: do not share
    active: bool = True
    checked: int = 0
    largest_difference: float = 0.0  # of log-probabilities, between shared and plain, where both were computed

    @property
    def wants_check(self) -> bool:
        """Whether the next request should be computed without sharing as well."""
        return self.active and self.checked < _CHECKED

    def logits(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor | None:
        """Logits of the next token by a shared prefix; None where that is not possible or not wanted."""
        if not self.active or self.view is None:
            return None
        try:
            return self.prefix.next_token_logits(model, inputs, self.view)
        except Exception as error:  # a model that cannot be run in two parts is run in one
            self._give_up(f"its prefix cannot be shared ({type(error).__name__}: {str(error)[:200]})")
            return None

    def check(self, shared: torch.Tensor, plain: torch.Tensor) -> None:
        """Compare both ways for one request; differing too much ends sharing."""
        a, b = (torch.log_softmax(x.float(), -1) for x in (shared, plain))
        likely = b >= torch.log(torch.tensor(_LIKELY))
        difference = float((a - b).abs()[likely].max())
        self.largest_difference = max(self.largest_difference, difference)
        self.checked += 1
        if difference > _TOLERANCE.get(plain.dtype, _TOLERANCE_HALF):
            self._give_up(f"sharing changes log-probabilities by {difference:.2g}")
        elif self.checked == _CHECKED:
            logger.info(
                f"frames are computed once for all prompts of a view; log-probabilities differ by at most "
                f"{self.largest_difference:.2g} from computing each prompt alone ({SHARE}=off does that)"
            )

    def _give_up(self, reason: str) -> None:
        self.active = False
        self.prefix.forget()
        logger.warning(f"each prompt is computed alone, which takes longer: {reason}")
