"""The same work on many things, in several processes if it is worth starting them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def work_on_all(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int = 1,
    done: Callable[[Item], object] = lambda _: None,
) -> list[Result]:
    """The results for all items, in their order; what `work` raises is raised here.

    Args:
        work: a function that other processes can import, of one item.
        items: which are sent to them.
        workers: processes; with one, everything happens in this one.
        done: called here with each item that is finished, in any order.
    """
    if workers <= 1 or len(items) < 2:
        results = []
        for item in items:
            results.append(work(item))
            done(item)
        return results
    found: dict[int, Result] = {}
    with ProcessPoolExecutor(min(workers, len(items))) as pool:
        places = {pool.submit(work, item): i for i, item in enumerate(items)}
        try:
            for future in as_completed(places):
                found[places[future]] = future.result()
                done(items[places[future]])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[i] for i in range(len(items))]
