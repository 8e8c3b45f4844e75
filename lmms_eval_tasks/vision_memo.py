"""What the vision encoder makes of a frame, computed once for each distinct frame.

Encoders see frames one by one, or in pairs that know nothing of other pairs (such a unit is a slot here). A slot
that was seen before is answered from memory, and only new ones pass through the encoder. Slots are compared
value by value, so two frames are never taken for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from lmms_eval_tasks.same_arguments import kept, same

_TOWERS = ("visual", "vision_tower", "vision_model")  # names under which models keep their encoder
_SAMPLED = 997  # values of a slot whose sum tells which earlier slots may be equal


def vision_tower(model: Any) -> Any:
    """The vision encoder of a model; None if it has none under a known name."""
    for owner in (getattr(model, "model", None), model):
        for name in _TOWERS:
            tower = getattr(owner, name, None)
            if isinstance(tower, torch.nn.Module):
                return tower
    return None


def _layers_read(model: Any) -> set[int] | None:
    """Which of the encoder's layers a model reads; None if its configuration does not tell."""
    for config in (model.config, getattr(model.config, "adapter_config", None)):
        layers = getattr(config, "vision_feature_layer", None)
        if layers is not None:
            return set(layers) if isinstance(layers, Sequence) else {int(layers)}
    return None


@dataclass
class VisionMemo:
    """Slots that were encoded since the last `forget`, and what came out of them."""

    encoded: int = 0
    spared: int = 0
    repeated: bool = False  # whether the last call was for the frames of the one before
    _by_sample: dict[tuple[float, ...], list[int]] = field(default_factory=dict)
    _inputs: list[torch.Tensor] = field(default_factory=list)
    _outputs: list[dict[str, Any]] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)  # the slots of the last call
    _features: tuple[Any, Any] | None = None  # the last call for features, and what it gave

    def forget(self) -> None:
        """Free the memory of all slots."""
        self._by_sample, self._inputs, self._outputs, self._numbers, self._features = {}, [], [], [], None

    def known(self, slots: torch.Tensor) -> list[int | None]:
        """For each slot of an encoder's input, the number of the equal one in memory."""
        found: list[int | None] = []
        for slot in slots:
            candidates = self._by_sample.get(_sample(slot), [])
            found.append(next((n for n in candidates if torch.equal(self._inputs[n], slot)), None))
        return found

    def add(self, slot: torch.Tensor, output: dict[str, Any]) -> None:
        """Keep a slot with its output."""
        self._by_sample.setdefault(_sample(slot), []).append(len(self._inputs))
        self._inputs.append(slot.clone())
        self._outputs.append(output)

    def recall(self, numbers: list[int]) -> list[dict[str, Any]]:
        """The outputs of slots by number, which make up one call."""
        self.repeated, self._numbers = self._numbers == numbers, numbers
        return [self._outputs[number] for number in numbers]

    def features(self, compute: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `compute` gives, from memory if the call before had the same arguments: a view's next prompt."""
        call = (args, kwargs)
        if self._features is not None and same(self._features[0], call):
            self.repeated = True
        else:
            self._features = (kept(call), compute(*args, **kwargs))
        given = self._features[1]
        return type(given)(**dict(given)) if isinstance(given, Mapping) else given


def _sample(slot: torch.Tensor) -> tuple[float, ...]:
    step = max(1, slot.numel() // _SAMPLED)
    return (float(slot.reshape(-1)[::step].double().sum()), *slot.shape)


def _first_of_equals(slots: torch.Tensor, places: list[int]) -> list[int]:
    """Those of some slots that are equal to none before them: a still background repeats within a view."""
    seen: dict[tuple[float, ...], list[int]] = {}
    for place in places:
        alike = seen.setdefault(_sample(slots[place]), [])
        if not any(torch.equal(slots[place], slots[other]) for other in alike):
            alike.append(place)
    return sorted(place for alike in seen.values() for place in alike)


def _split(output: Any, count: int, layers: set[int] | None) -> list[dict[str, Any]]:
    """An encoder's output as one dictionary for each of `count` slots.

    Raises:
        TypeError: if a part of it does not divide into slots.
    """

    def rows(name: str, value: Any) -> list[Any]:
        if value is None:
            return [None] * count
        if torch.is_tensor(value) and value.dim() and value.shape[0] % count == 0:
            return list(value.reshape(count, -1, *value.shape[1:]).unbind(0))
        if isinstance(value, (tuple, list)):
            read = list(range(len(value)))
            if name == "hidden_states" and layers is not None:
                # Only these are kept: all layers of a view would fill a graphics card. Models count from 0 or 1.
                read = sorted({place % len(value) for i in layers for place in (i, i + 1 if i >= 0 else i)})
            parts = [rows("", part) if i in read else [None] * count for i, part in enumerate(value)]
            return [type(value)(part) for part in zip(*parts, strict=True)]
        raise TypeError(f"the encoder's {name} does not divide into {count} slots")

    fields = {name: rows(name, value) for name, value in output.items()}
    return [{name: values[i] for name, values in fields.items()} for i in range(count)]


def _joined(parts: list[Any]) -> Any:
    if parts[0] is None:
        return None
    if torch.is_tensor(parts[0]):
        return torch.cat(parts, 0)
    return type(parts[0])(_joined(list(column)) for column in zip(*parts, strict=True))


@contextmanager
def frames_encoded_once(model: Any, memo: VisionMemo) -> Iterator[None]:
    """Within this block the model's vision encoder runs on frames that `memo` does not know only."""
    tower = vision_tower(model)
    if tower is None:
        yield
        return
    layers, forward, own = _layers_read(model), tower.forward, "forward" in vars(tower)

    def remembering(*args: Any, **kwargs: Any) -> Any:
        name = next((n for n in ("pixel_values", "hidden_states") if n in kwargs), None)
        pixels = args[0] if name is None else kwargs[name]
        grid = kwargs.get("grid_thw")
        if grid is not None and len({tuple(g[1:]) for g in grid.tolist()}) != 1:
            raise TypeError("videos of several sizes in one call")
        count = len(pixels) if grid is None else int(grid[:, 0].sum())
        slots = pixels.reshape(count, -1, *pixels.shape[1:])
        numbers = memo.known(slots)
        new = _first_of_equals(slots, [i for i, number in enumerate(numbers) if number is None])
        if new:
            chosen = slots[new].flatten(0, 1)
            changed = dict(kwargs) if name is None else {**kwargs, name: chosen}
            if grid is not None:
                one = torch.cat([torch.ones_like(grid[:1, :1]), grid[:1, 1:]], dim=1)
                changed["grid_thw"] = one.repeat(len(new), 1)
            out = forward(*((chosen, *args[1:]) if name is None else args), **changed)
            for i, part in zip(new, _split(out, len(new), layers), strict=True):
                memo.add(slots[i], {"": type(out), **part})
            numbers = memo.known(slots)
        memo.encoded += len(new)
        memo.spared += count - len(new)
        parts = memo.recall([number for number in numbers if number is not None])
        kind = parts[0][""]
        return kind(**{field: _joined([part[field] for part in parts]) for field in parts[0] if field})

    tower.forward = remembering
    try:
        with ExitStack() as stack:
            for name in ("get_video_features", "get_image_features"):
                stack.enter_context(_features_once(getattr(model, "model", None), name, memo))
            yield
    finally:
        if own:
            tower.forward = forward
        else:
            del tower.forward


@contextmanager
def _features_once(owner: Any, name: str, memo: VisionMemo) -> Iterator[None]:
    compute = getattr(owner, name, None)
    if compute is None or name in vars(owner):
        yield
        return
    setattr(owner, name, lambda *args, **kwargs: memo.features(compute, args, kwargs))
    try:
        yield
    finally:
        delattr(owner, name)
