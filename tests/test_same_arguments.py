"""Equal arguments are recognised whatever they are made of, and anything else is not."""

import copy

import numpy as np
import pytest
import torch
from PIL import Image

from lmms_eval_tasks.processed_once import once, replaced
from lmms_eval_tasks.same_arguments import kept, same


def arguments(seed=0, **changes):
    rng = np.random.default_rng(seed)
    frames = [Image.fromarray(rng.integers(0, 255, (4, 5, 3), dtype=np.uint8)) for _ in range(3)]
    return {
        "videos": [frames],
        "tensor": torch.from_numpy(rng.random((2, 3))),
        "array": rng.random(4),
        "deep": ({"size": (4, 5)}, ["a", None, 1.5]),
        **changes,
    }


def test_equal_arguments_are_the_same():
    assert same(kept(arguments()), arguments())


def test_other_arguments_are_not():
    before = kept(arguments())
    one_pixel = arguments()
    one_pixel["videos"][0][2].putpixel((4, 3), (1, 2, 3))
    reordered = arguments()
    reordered["videos"][0].reverse()
    one_value = arguments()
    one_value["tensor"][1, 2] += 1e-12
    for other in (
        one_pixel,
        reordered,
        one_value,
        arguments(1),
        arguments(array=np.zeros(4)),
        arguments(array=arguments()["array"].astype(np.float32)),
        arguments(tensor=arguments()["tensor"].float()),
        arguments(deep=({"size": (4, 5)}, ["a", None, 2])),
        arguments(deep=({"size": (4, 5)}, ["a", None, 1.5, 1])),
        arguments(extra=1),
        arguments(deep=({"size": (4, 5)}, ["a", None, True])),
    ):
        assert not same(before, other)


def test_what_is_written_to_afterwards_is_noticed():
    for change in (
        lambda given: given["videos"][0][0].putpixel((0, 0), (9, 9, 9)),
        lambda given: given["tensor"].add_(1),
        lambda given: given["array"].__iadd__(1),
    ):
        given = arguments()
        before = kept(given)
        assert same(before, given)
        change(given)
        assert not same(before, given)


def test_a_function_is_called_once_for_equal_arguments():
    calls = []

    def prepare(videos, size=1):
        calls.append(size)
        return {"n": len(calls), "kept": True, "made": torch.zeros(2)}

    prepare.fields = ("n", "kept")
    remembering = once(prepare)
    first = remembering(arguments()["videos"])
    first["n"] = "changed by a caller"
    assert remembering(arguments()["videos"])["n"] == 1 and calls == [1]
    assert remembering(arguments()["videos"], size=2)["n"] == 2
    assert remembering(arguments(1)["videos"], size=2)["n"] == 3
    assert remembering.fields == ("n", "kept") and copy.copy(remembering)(arguments(1)["videos"], size=2)["n"] == 3
    last = remembering(arguments(1)["videos"], size=2)["made"]
    last += 1  # what is written to is made again
    assert remembering(arguments(1)["videos"], size=2)["n"] == 4


def test_an_attribute_comes_back_whatever_happens():
    class Owner:
        pass

    owner = Owner()
    owner.tool = "shipped"
    with pytest.raises(RuntimeError), replaced(owner, "tool", str.upper):
        assert owner.tool == "SHIPPED"
        raise RuntimeError
    assert owner.tool == "shipped"
    with replaced(owner, "absent", str.upper), replaced(None, "tool", str.upper):
        assert not hasattr(owner, "absent")
