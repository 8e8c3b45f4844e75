"""Preparing the frames of a view once for all of its prompts.

Wrappers hand the same frames to the processor again with every prompt. The last result is kept and given again if
the frames are the same, pixel by pixel, and so are all other arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lmms_eval_tasks.same_arguments import kept, same


class Once:
    """A function whose last result is given again for equal arguments; all attributes are those of the function."""

    def __init__(self, function: Callable[..., Any], copy: Callable[[Any], Any]) -> None:
        self.__dict__.update(_function=function, _copy=copy, _last=None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by `copy` and `pickle` before there is anything to ask
            raise AttributeError(name)
        return getattr(self._function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._function, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, perhaps from memory."""
        last = self._last
        if last is None or not same(last[0], (args, kwargs)) or not same(last[1], last[2]):  # or was written to
            result = self._function(*args, **kwargs)
            self.__dict__["_last"] = last = (kept((args, kwargs)), kept(result), result)
        return self._copy(last[2])


@contextmanager
def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """Within this block an attribute of an object or module is what `make` makes of it, if it is there at all."""
    kept = vars(owner).get(name) if owner is not None else None
    if kept is None:
        yield
        return
    setattr(owner, name, make(kept))
    try:
        yield
    finally:
        setattr(owner, name, kept)


def once(function: Callable[..., Any]) -> Once:
    """A processor that returns a mapping, or a function that returns a tuple, as `Once`."""
    return Once(function, lambda result: result if isinstance(result, tuple) else type(result)(dict(result)))
