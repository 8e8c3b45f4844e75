"""What a model's language part is called with for one prompt, after frames became embeddings.

Every family prepares its prompts in its own way, but all of them end in one call of a decoder with embeddings,
positions and a mask. Taken there, prompts can be compared and continued without knowing the family.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

CACHE_NAMES = ("cache", "past_key_values")  # transformers renamed the argument


class _Taken(Exception):
    """Not an error: it ends a forward pass that has served."""


@dataclass(frozen=True)
class LanguageInputs:
    """The arguments of one call of a decoder, for a single prompt of `length` tokens."""

    arguments: Mapping[str, Any]
    length: int
    cuts: torch.Tensor  # (length + 1,) bool: no token before this place attends to one at or after it

    @property
    def embeddings(self) -> torch.Tensor:
        """Shape (length, hidden)."""
        return self.arguments["inputs_embeds"][0]

    def starting_at(self, start: int) -> dict[str, Any]:
        """The arguments for the tokens from `start` on, those before being in a cache."""
        return {name: self._rest(name, value, start) for name, value in self.arguments.items()}

    def _rest(self, name: str, value: Any, start: int) -> Any:
        if name == "attention_mask":
            return _mask_rows(value, start)
        if name == "deepstack_visual_embeds" and value is not None:
            passed = int(self.arguments["visual_pos_masks"][0, :start].sum())
            return [features[passed:] for features in value]
        if not torch.is_tensor(value):
            return value
        if value.dim() > 1 and value.shape[0] == 1 and value.shape[1] == self.length:
            return value[:, start:]
        return value[..., start:] if value.shape[-1] == self.length else value

    def common_prefix(self, other: LanguageInputs) -> int:
        """How many first tokens are the same, to the last bit, and do not see what follows them in either prompt."""
        n = min(self.length, other.length)
        same = (self.embeddings[:n] == other.embeddings[:n]).all(-1)
        mine, theirs = self.arguments, other.arguments
        positions = mine["position_ids"][..., :n] == theirs["position_ids"][..., :n]
        same &= positions.reshape(-1, n).all(0).to(same.device)
        same &= _same_deepstack(mine, theirs, n).to(same.device)
        length = int(same.long().cumprod(0).sum())
        allowed = (self.cuts[: length + 1] & other.cuts[: length + 1]).nonzero()
        return int(allowed[-1]) if len(allowed) else 0


def _same_deepstack(mine: Mapping[str, Any], theirs: Mapping[str, Any], n: int) -> torch.Tensor:
    """Whether the features that deeper layers add to visual tokens are the same, for each of the first n tokens."""
    masks: list[Any] = [x.get("visual_pos_masks") for x in (mine, theirs)]
    features = [x.get("deepstack_visual_embeds") for x in (mine, theirs)]
    if masks[0] is None or masks[1] is None or not features[0] or not features[1]:
        return torch.full((n,), masks[0] is None and masks[1] is None)
    a, b = (mask[0, :n] for mask in masks)
    same = a == b
    rows = int((same.long().cumprod(0) * a.long()).sum())  # visual tokens before the first difference
    equal = torch.ones(rows, dtype=torch.bool, device=a.device)
    for x, y in zip(*features, strict=True):
        equal &= (x[:rows] == y[:rows]).all(-1).to(a.device)
    places = a.nonzero()[:rows, 0]
    same = same.clone()
    same[places] &= equal
    return same


def _mask_rows(mask: Any, start: int) -> Any:
    if isinstance(mask, Mapping):
        return {name: _mask_rows(part, start) for name, part in mask.items()}
    return mask[..., start:, :] if torch.is_tensor(mask) and mask.dim() == 4 else mask


def _cuts(mask: Any, length: int) -> torch.Tensor:
    """Where a prompt may be cut: everywhere in a causal model, not inside a block that attends to itself."""
    cuts = torch.ones(length + 1, dtype=torch.bool)
    for part in mask.values() if isinstance(mask, Mapping) else [mask]:
        if not torch.is_tensor(part) or part.dim() != 4:
            continue
        seen = part[0, 0] if part.dtype == torch.bool else part[0, 0] > torch.finfo(part.dtype).min / 2
        columns = torch.arange(length, device=seen.device)
        furthest = torch.where(seen, columns, -1).amax(-1).cummax(0).values.cpu()
        cuts[1:] &= furthest < torch.arange(1, length + 1)
    return cuts


def decoder_of(model: Any) -> Any:
    """The part of a model that runs over tokens.

    Raises:
        TypeError: if it cannot be told.
    """
    inner = getattr(model, "model", model)
    decoder = getattr(inner, "language_model", None) or model.get_decoder()
    names = inspect.signature(type(decoder).forward).parameters
    if "inputs_embeds" not in names or not any(name in names for name in CACHE_NAMES):
        raise TypeError(f"{type(decoder).__name__} takes no embeddings or no cache")
    return decoder


def cache_name(module: Any) -> str:
    """What a module calls the argument that holds its cache."""
    names = inspect.signature(type(module).forward).parameters
    return next(name for name in CACHE_NAMES if name in names)


def language_inputs(model: Any, inputs: Mapping[str, Any]) -> LanguageInputs:
    """Run a model on one prompt up to its decoder, and take what the decoder would have been given.

    Args:
        model: a transformers model.
        inputs: what its `generate` was called with, for a single prompt without padding.

    Raises:
        TypeError: if the decoder is not reached, or called in an unknown way.
    """
    decoder = decoder_of(model)
    taken: dict[str, Any] = {}

    def take(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if args:
            raise TypeError(f"{type(decoder).__name__} is called with unnamed arguments")
        taken.update(kwargs)
        raise _Taken

    names = inspect.signature(type(model).forward).parameters
    hook = decoder.register_forward_pre_hook(take, with_kwargs=True)
    try:
        model(**{name: value for name, value in inputs.items() if name in names and name != "use_cache"})
    except _Taken:
        pass
    finally:
        hook.remove()
    embeddings = taken.get("inputs_embeds")
    if embeddings is None and taken.get("input_ids") is not None:
        embeddings = model.get_input_embeddings()(taken["input_ids"])
    if embeddings is None or embeddings.shape[0] != 1:
        raise TypeError(f"{type(decoder).__name__} is not called with the embeddings of one prompt")
    length = embeddings.shape[1]
    positions = taken.get("position_ids")
    if positions is None:
        positions = torch.arange(length, device=embeddings.device)[None]
    dropped = {"input_ids", "use_cache", *CACHE_NAMES}
    arguments = {name: value for name, value in taken.items() if name not in dropped}
    arguments.update(inputs_embeds=embeddings, position_ids=positions)
    return LanguageInputs(arguments, length, _cuts(arguments.get("attention_mask"), length))
