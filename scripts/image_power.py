"""H1 and H2 of the image benchmark by simulation: false positives, coverage of intervals, power by number of items.

    python scripts/image_power.py

`permuted`: what has its framing labels permuted as a whole; the project permutes items. In `wording` and `repeats` the noise of
an item is shared between its blocks: a wording sways an item at every level, with no direction in the mean over items.
`excess` is held against the excess that studies of this size give in the mean, `EIV` against the true one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np
from scipy.stats import binomtest
from tqdm import tqdm

from metrics.image.permutations import PERMUTATIONS
from metrics.image.power import (
    BASE_RATES,
    SimulatedResponder,
    Unit,
    rejections,
    responder,
    simulate_study,
    simulated_cell,
)
from metrics.image.violation import cell_violation, framing_range

LEVELS = len(BASE_RATES)
UNITS: tuple[Unit, ...] = ("item", "item and level", "block")
LOW_TO_HIGH = np.linspace(1, 0, LEVELS)
NULL = {
    "independent noise": responder(item_spread=0.0),
    "items differ": responder(item_spread=1.5),
    "wording": responder(wording_spread=0.5),
    "repeats": responder(repeats=True),
}


def _flat(effect: float, base: Sequence[float] = BASE_RATES, repeats: bool = False) -> SimulatedResponder:
    """The same difference in abstention at every level."""
    return responder(effect / (1 - np.array(base)), base, item_spread=0.0, repeats=repeats)


def _turning(effect: float) -> SimulatedResponder:
    """Dodges at low levels and capitulates at high ones, by the same difference."""
    base = np.array((0.1, 0.2, 0.3, 0.5, 0.7, 0.8))
    low = np.arange(LEVELS) < LEVELS / 2
    return responder(np.where(low, effect / (1 - base), -effect / base), base, item_spread=0.0)


FLAT = {
    "no effect": responder(),
    "0.05 at every level": _flat(0.05),
    "0.14 at every level": _flat(0.14),
    "0.14 at every level, repeats": _flat(0.14, repeats=True),
    "0.1, half abstained from": _flat(0.1, (0.5,) * LEVELS),
    "0.1, turning from level to level": _turning(0.1),
}
FLAT_SHARE = {
    "no effect": responder(),
    "dodges 0.1 of answers": responder(0.1),
    "dodges 0.3 of answers": responder(0.3),
    "dodges 0.3, repeats": responder(0.3, repeats=True),
    "gives up 0.2 of abstentions": responder(-0.2),
    "gives up 0.5 of abstentions": responder(-0.5),
}
EFFECTS = {
    "dodges 0.05": responder(0.05),
    "dodges 0.1": responder(0.1),
    "dodges 0.1, wording": responder(0.1, wording_spread=0.5),
    "dodges 0.1 at L0 to 0 at L5": responder(0.1 * LOW_TO_HIGH),
    "dodges 0.2 at L0 to 0 at L5": responder(0.2 * LOW_TO_HIGH),
    "gives up 0.2 of abstentions": responder(-0.2),
}


def _rate(found: int, studies: int) -> str:
    ends = binomtest(found, studies).proportion_ci(0.95, "exact")
    return f"{found / studies:6.1%} [{ends.low:5.1%}, {ends.high:5.1%}]"


def _coverage(asked: SimulatedResponder, items: int, options: argparse.Namespace) -> str:
    truth = float(framing_range(simulated_cell(*simulate_study(asked, 20_000, options.seed)).rates()).mean())
    if not asked.moves.any():
        truth = 0.0
    found = [
        cell_violation(simulated_cell(*simulate_study(asked, items, seed)), options.resamples, 200, seed)
        for seed in _seeds(options)
    ]
    expected = float(np.mean([one.excess.value for one in found]))
    excess = sum(one.excess.low - 1e-9 <= expected <= one.excess.high + 1e-9 for one in found)
    value = sum(one.value.low - 1e-9 <= truth <= one.value.high + 1e-9 for one in found)
    observed = float(np.mean([one.value.value for one in found]))
    rates = f"{_rate(excess, len(found))}   {_rate(value, len(found))}"
    return f"{rates}   {truth:.3f} {observed:8.3f} {expected:6.3f}"


def _seeds(options: argparse.Namespace) -> Iterable[int]:
    return tqdm(range(options.seed, options.seed + options.seeds), leave=False)


def _lines(options: argparse.Namespace) -> Iterator[str]:
    few = options.items[:2]
    yield f"{options.seeds} studies each, seeds from {options.seed}, level 5 %, 95 % binomial intervals"
    yield f"\n{'H1 where framing has no effect':34} items  " + "".join(f"permuted: {unit:17}" for unit in UNITS)
    for (name, asked), items in product(NULL.items(), few):
        cells = []
        for unit in UNITS:
            permutations = options.permutations if unit == "item" else min(100, options.permutations)
            cells.append(_rate(rejections(asked, items, _seeds(options), permutations, unit).h1, options.seeds))
        yield f"{name:34} {items:5}  " + "    ".join(cells)
    yield f"\n{'H2 where the effect is the same at all levels':41}"
    for (name, asked), items in product(FLAT.items(), few):
        found = rejections(asked, items, _seeds(options), options.permutations)
        yield f"{name:34} {items:5}  {_rate(found.h2, options.seeds)}"
    yield f"\n{'H2 beyond the room, where the effect is the same share of it at all levels':41}"
    for (name, asked), items in product(FLAT_SHARE.items(), few):
        found = rejections(asked, items, _seeds(options), 10)
        yield f"{name:34} {items:5}  {_rate(found.beyond_room, options.seeds)}"
    yield f"\n{f'Intervals, {options.resamples} resamples':34} items  {'excess':24} {'EIV':24} true  observed excess"
    for (name, asked), items in product((NULL | EFFECTS).items(), few):
        yield f"{name:34} {items:5}  {_coverage(asked, items, options)}"
    yield f"\n{'Power':34} items  {'H1':24} {'H2':24} H2 beyond the room"
    for (name, asked), items in product(EFFECTS.items(), options.items):
        found = rejections(asked, items, _seeds(options), min(500, options.permutations))
        shown = [_rate(count, options.seeds) for count in (found.h1, found.h2, found.beyond_room)]
        yield f"{name:34} {items:5}  " + "   ".join(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="simulated studies of each row")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--items", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--permutations", type=int, default=PERMUTATIONS)
    parser.add_argument("--resamples", type=int, default=1000)
    for line in _lines(parser.parse_args()):
        tqdm.write(line)


if __name__ == "__main__":
    main()
