"""H1 and H2 of the image benchmark by simulation: false positives, coverage of intervals, power by number of items.

    python scripts/image_power.py

`permuted`: what has its framing labels permuted as a whole; the project permutes items. In `wording` and `repeats` the noise of
an item is shared between its blocks: a wording sways an item at every level, with no direction in the mean over items.
`excess` is held against the excess that studies of this size give in the mean, `EIV` against the true one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from scipy.stats import binomtest
from tqdm import tqdm

from metrics.image.permutations import PERMUTATIONS
from metrics.image.power import (
    BASE_RATES,
    SimulatedResponder,
    Unit,
    dodging_rates,
    invariant_rates,
    rejections,
    simulate_study,
    simulated_cell,
)
from metrics.image.violation import cell_violation, framing_range

LEVELS = len(BASE_RATES)
UNITS: tuple[Unit, ...] = ("item", "item and level", "block")
NULL = {
    "independent noise": SimulatedResponder(invariant_rates(), item_spread=0.0),
    "items differ": SimulatedResponder(invariant_rates(), item_spread=1.5),
    "wording": SimulatedResponder(invariant_rates(), wording_spread=0.5),
    "repeats": SimulatedResponder(invariant_rates(), repeats=True),
}


def _flat(effect: float, base: tuple[float, ...] = BASE_RATES) -> np.ndarray:
    rates = invariant_rates(base)
    rates[:, -1] += effect
    return rates


def _turning(effect: float) -> np.ndarray:
    """Dodges at low levels, capitulates at high ones."""
    rates = invariant_rates((0.1, 0.2, 0.3, 0.5, 0.7, 0.8))
    rates[:, -1] += np.where(np.arange(LEVELS) < LEVELS / 2, effect, -effect)
    return rates


FLAT = {
    "no effect": SimulatedResponder(invariant_rates()),
    "0.05 at every level": SimulatedResponder(_flat(0.05), item_spread=0.0),
    "0.14 at every level": SimulatedResponder(_flat(0.14), item_spread=0.0),
    "0.14, repeats": SimulatedResponder(_flat(0.14), item_spread=0.0, repeats=True),
    "0.1, half abstained from": SimulatedResponder(_flat(0.1, (0.5,) * LEVELS), item_spread=0.0),
    "0.1, turning": SimulatedResponder(_turning(0.1), item_spread=0.0),
}
EFFECTS = {
    "dodges 0.05": SimulatedResponder(dodging_rates([0.05] * LEVELS)),
    "dodges 0.1": SimulatedResponder(dodging_rates([0.1] * LEVELS)),
    "dodges 0.1, wording 0.5": SimulatedResponder(dodging_rates([0.1] * LEVELS), wording_spread=0.5),
    "dodges 0.1 to 0": SimulatedResponder(dodging_rates(np.linspace(0.1, 0, LEVELS))),
    "dodges 0.2 to 0": SimulatedResponder(dodging_rates(np.linspace(0.2, 0, LEVELS))),
}


def _rate(found: int, studies: int) -> str:
    ends = binomtest(found, studies).proportion_ci(0.95, "exact")
    return f"{found / studies:6.1%} [{ends.low:5.1%}, {ends.high:5.1%}]"


def _coverage(
    responder: SimulatedResponder, items: int, studies: int, resamples: int, seed: int
) -> tuple[str, str, str]:
    many = simulated_cell(*simulate_study(responder, 20_000, seed))
    truth = float(framing_range(many.rates()).mean())
    if (responder.rates == responder.rates[:, :1]).all():
        truth = 0.0
    found = [
        cell_violation(simulated_cell(*simulate_study(responder, items, seed + 1 + i)), resamples, 200, seed + i)
        for i in tqdm(range(studies), leave=False)
    ]
    expected = float(np.mean([one.excess.value for one in found]))
    excess = sum(one.excess.low - 1e-9 <= expected <= one.excess.high + 1e-9 for one in found)
    value = sum(one.value.low - 1e-9 <= truth <= one.value.high + 1e-9 for one in found)
    means = f"EIV {truth:.3f}, observed {np.mean([one.value.value for one in found]):.3f}, excess {expected:.3f}"
    return _rate(excess, studies), _rate(value, studies), means


def _lines(options: argparse.Namespace) -> Iterator[str]:
    seeds = range(options.seed, options.seed + options.seeds)
    yield f"{options.seeds} studies each, seeds {seeds.start} to {seeds.stop - 1}, level 5 %, 95 % binomial intervals"
    yield "\nH1 where framing has no effect          items  " + "".join(f"permuted: {unit:17}" for unit in UNITS)
    for name, responder in NULL.items():
        for items in options.items[:2]:
            cells = []
            for unit in UNITS:
                permutations = options.permutations if unit == "item" else min(200, options.permutations)
                found = rejections(responder, items, tqdm(seeds, leave=False), permutations, unit)
                cells.append(_rate(found.h1, found.studies))
            yield f"{name:38} {items:6}  " + "    ".join(cells)
    yield "\nH2 where the effect is the same at all levels"
    for name, responder in FLAT.items():
        for items in options.items[:2]:
            found = rejections(responder, items, tqdm(seeds, leave=False), options.permutations)
            yield f"{name:38} {items:6}  {_rate(found.h2, found.studies)}"
    yield f"\nIntervals that hold the truth, {options.resamples} resamples      excess                  EIV"
    for name, responder in (NULL | EFFECTS).items():
        for items in options.items[:2]:
            excess, value, means = _coverage(responder, items, options.seeds, options.resamples, options.seed)
            yield f"{name:38} {items:6}  {excess}   {value}   {means}"
    yield "\nPower                                   items  H1                      H2"
    for name, responder in EFFECTS.items():
        for items in options.items:
            found = rejections(responder, items, tqdm(seeds, leave=False), options.permutations)
            yield f"{name:38} {items:6}  {_rate(found.h1, found.studies)}   {_rate(found.h2, found.studies)}"


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
