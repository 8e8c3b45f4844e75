"""When the frames of the reversal test fall: several offsets at three budgets, on one lattice of times.

The test looks at one video again and again, with other offsets and then with more frames. On a common
lattice these looks share frames: with n offsets a video needs 32 n of them, however it is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from stimuli_builder.draws import draw_integer
from stimuli_builder.edit_list import TWINS, View, shot_at
from stimuli_builder.errors import CavedError
from stimuli_builder.probes import Probe
from stimuli_builder.timing import Timing, milliseconds

VIDEO_BUDGET = 16  # k of the videos, which last L = 16 Δ
REVERSAL_BUDGETS = (8, 16, 32)  # frames per look: every 2 Δ, Δ and Δ / 2
PAPER_OFFSETS = 4
OFFSETS_LIMIT = 16  # a finer lattice would come near the millisecond that all times are rounded to


@dataclass(frozen=True)
class OffsetGrid:
    """The sampling times of the reversal test on one video (paper, "The Reversal Test", Algorithm 1).

    Lattice point i lies at `start_ms` + i Δ / 2n, rounded down to a millisecond. Budget b takes every
    (32 n / b)-th point; its n offsets are spread evenly over that stride, from a first one that is uniform
    over it, so offset 0 alone is a uniform draw of a phase.

    Raises:
        ValueError: unless the video has k = 16, 1 <= n <= 16, 0 <= start < Δ / 2n and 0 <= shift < 4 n.
    """

    timing: Timing
    offsets: int  # n
    start_ms: int  # v
    shift: int  # s, in lattice points

    def __post_init__(self) -> None:
        if self.timing.budget != VIDEO_BUDGET:
            raise ValueError(f"the reversal test runs on videos of k = {VIDEO_BUDGET}, not of {self.timing.budget}")
        if not 1 <= self.offsets <= OFFSETS_LIMIT:
            raise ValueError(f"{self.offsets} offsets: from 1 to {OFFSETS_LIMIT}")
        if not (0 <= self.start_ms < self._interval_ms // (2 * self.offsets) and 0 <= self.shift < 4 * self.offsets):
            raise ValueError(
                f"a start of {self.start_ms} ms and a shift of {self.shift} points lie outside the lattice"
            )

    @property
    def _interval_ms(self) -> int:
        return milliseconds(self.timing.interval_s)

    def lattice_points(self, budget: int, offset: int) -> list[int]:
        """The `budget` lattice points of an offset, ascending, each in [0, 32 n).

        Raises:
            ValueError: for a budget or an offset that the test does not have.
        """
        if budget not in REVERSAL_BUDGETS or not 0 <= offset < self.offsets:
            raise ValueError(
                f"no offset {offset} of {budget} frames: budgets are {REVERSAL_BUDGETS}, offsets 0 to n - 1"
            )
        stride = max(REVERSAL_BUDGETS) * self.offsets // budget
        first = (self.shift + offset * (stride // self.offsets)) % stride
        return [first + i * stride for i in range(budget)]

    def frame_times_s(self, budget: int, offset: int) -> list[float]:
        """The `budget` sampling times of an offset, in seconds, ascending, L / budget apart, all in [0, L)."""
        points = self.lattice_points(budget, offset)
        return [(self.start_ms + point * self._interval_ms // (2 * self.offsets)) / 1000 for point in points]


def draw_offsets(seed: int, probe_index: int, timing: Timing, offsets: int) -> OffsetGrid:
    """The lattice of a probe's video: its start uniform below one step, its shift uniform over the widest stride.

    Raises:
        ValueError: for a video of another budget, or a number of offsets outside 1 to 16.
    """
    if not 1 <= offsets <= OFFSETS_LIMIT:
        raise ValueError(f"{offsets} offsets: from 1 to {OFFSETS_LIMIT}")
    step_ms = milliseconds(timing.interval_s) // (2 * offsets)
    start_ms = draw_integer(0, step_ms - 1, seed, "offset_start", probe_index)
    shift = draw_integer(0, 4 * offsets - 1, seed, "offset_shift", probe_index)
    return OffsetGrid(timing, offsets, start_ms, shift)


def reversal_views(probe: Probe, seed: int, offsets: int) -> list[View]:
    """The views of the reversal test, forward: both twins at each offset of each budget."""
    grid = draw_offsets(seed, probe.index, probe.timing, offsets)
    return [
        View(
            "intact", twin, "offset", tuple(shot_at(probe, twin, t) for t in grid.frame_times_s(budget, offset)), offset
        )
        for budget in REVERSAL_BUDGETS
        for offset in range(offsets)
        for twin in TWINS
    ]


def check_offsets(offsets: int, budgets: tuple[int, ...]) -> None:
    """Raise a CavedError for offsets that no release can be built with; 0 builds none."""
    if not 0 <= offsets <= OFFSETS_LIMIT:
        raise CavedError(f"--reversal-offsets {offsets}: from 1 to {OFFSETS_LIMIT}, or 0 for no reversal test")
    if offsets and VIDEO_BUDGET not in budgets:
        raise CavedError(
            f"--reversal-offsets {offsets}: the reversal test runs on the videos of k = {VIDEO_BUDGET}, add "
            f"{VIDEO_BUDGET} to --budgets"
        )
