"""The reversal test's offsets: one lattice for three budgets, a uniform first phase, and the coverage that follows."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stimuli_builder.catalogue import Source
from stimuli_builder.offsets import REVERSAL_BUDGETS, OffsetGrid, draw_offsets, reversal_views
from stimuli_builder.probes import Event, Probe
from stimuli_builder.release_schema import StoredView
from stimuli_builder.timing import Timing, draw_timing

offsets_drawn = st.tuples(st.integers(0, 50), st.integers(0, 5000), st.integers(1, 16))


def grid_of(seed: int, index: int, offsets: int) -> OffsetGrid:
    return draw_offsets(seed, index, draw_timing(seed, index, 16), offsets)


def in_ms(times_s: list[float]) -> list[int]:
    assert all(round(t * 1000) / 1000 == t for t in times_s)
    return [round(t * 1000) for t in times_s]


def events_met(timing: Timing, times_s: list[float]) -> set[int]:
    """Which slots a frame falls into, from the paper's definition of g."""
    slots = (timing.first_slot_s, timing.first_slot_s + timing.slot_gap * timing.interval_s)
    return {slot for slot, p in enumerate(slots) for t in times_s if p - 1e-9 <= t < p + timing.event_s - 1e-9}


def share_meeting_both(timing: Timing, budget: int) -> Fraction:
    """How likely a uniform phase meets both events, as a function of coverage ρ = d_e / Δ.

    Every Δ: ρ. Every Δ / 2: 2 ρ, at most 1. Every 2 Δ: ρ / 2 if the slots lie an even number of intervals
    apart; if it is odd, one event is met exactly where the other is missed, and never both.
    """
    coverage = Fraction(round(timing.event_s * 1000), round(timing.interval_s * 1000))
    if budget == 8:
        return coverage / 2 if timing.slot_gap % 2 == 0 else Fraction(0)
    return coverage if budget == 16 else min(Fraction(1), 2 * coverage)


@settings(max_examples=200, deadline=None)
@given(offsets_drawn)
def test_times_are_uniform_grids_inside_the_video(drawn):
    grid = grid_of(*drawn)
    length = round(grid.timing.length_s * 1000)
    for budget in REVERSAL_BUDGETS:
        spacing = Fraction(length, budget)
        for offset in range(grid.offsets):
            times = in_ms(grid.frame_times_s(budget, offset))
            assert len(times) == budget
            assert {b - a for a, b in zip(times, times[1:], strict=False)} == {spacing}
            assert 0 <= times[0] < spacing and times[-1] < length


@settings(max_examples=100, deadline=None)
@given(offsets_drawn)
def test_equal_lattice_points_are_equal_times_at_all_budgets(drawn):
    grid = grid_of(*drawn)
    n, interval = grid.offsets, round(grid.timing.interval_s * 1000)
    time_of: dict[int, int] = {}
    used: dict[int, set[int]] = {}
    for budget in REVERSAL_BUDGETS:
        for offset in range(n):
            points = grid.lattice_points(budget, offset)
            for point, time in zip(points, in_ms(grid.frame_times_s(budget, offset)), strict=True):
                assert time_of.setdefault(point, time) == time
                assert time == grid.start_ms + Fraction(point * interval, 2 * n).__floor__()
            used.setdefault(budget, set()).update(points)
    assert len(set(time_of.values())) == len(time_of)
    assert used[8] | used[16] <= used[32] == set(range(32 * n))  # the densest budget fetches all frames there are


@settings(max_examples=100, deadline=None)
@given(offsets_drawn)
def test_offsets_are_spread_evenly_over_the_spacing(drawn):
    grid = grid_of(*drawn)
    length = round(grid.timing.length_s * 1000)
    for budget in REVERSAL_BUDGETS:
        spacing = length / budget
        phases = sorted(in_ms(grid.frame_times_s(budget, j))[0] for j in range(grid.offsets))
        steps = np.diff([*phases, phases[0] + spacing])
        assert np.abs(steps - spacing / grid.offsets).max() <= 1  # times are whole milliseconds


def small_timing(slot_gap: int) -> Timing:
    return Timing(16, 0.048, 0.03, 0.101, slot_gap)  # ρ = 0.625, short so that all starts can be tried


@pytest.mark.parametrize("slot_gap", [2, 3, 4])
@pytest.mark.parametrize("offsets", [1, 2, 3, 4])
def test_every_offset_is_a_uniform_phase_and_meets_the_events_as_often_as_coverage_says(offsets, slot_gap):
    """All starts and shifts, counted: exact, since the interval divides evenly."""
    timing = small_timing(slot_gap)
    step = 48 // (2 * offsets)
    for budget in REVERSAL_BUDGETS:
        spacing = 16 * 48 // budget
        for offset in range(offsets):
            phases, both, one, total = np.zeros(spacing, dtype=int), 0, 0, 0
            for start in range(step):
                for shift in range(4 * offsets):
                    times = OffsetGrid(timing, offsets, start, shift).frame_times_s(budget, offset)
                    phases[round(times[0] * 1000)] += 1
                    met = events_met(timing, times)
                    both, one, total = both + (len(met) == 2), one + (len(met) == 1), total + 1
            assert set(phases) == {total // spacing}
            assert Fraction(both, total) == share_meeting_both(timing, budget)
            odd = budget == 8 and slot_gap % 2
            assert Fraction(one, total) == (Fraction(30, 48) if odd else 0)


@pytest.mark.parametrize("budget", REVERSAL_BUDGETS)
def test_draws_over_probes_have_uniform_phases_and_the_share_of_the_closed_form(budget):
    count, offsets = 3000, 4
    phases, met, expected = [], [], []
    for index in range(count):
        grid = grid_of(0, index, offsets)
        spacing = grid.timing.length_s / budget
        times = [grid.frame_times_s(budget, j) for j in range(offsets)]
        phases.append(times[0][0] / spacing)
        met.append(np.mean([len(events_met(grid.timing, t)) == 2 for t in times]))
        expected.append(float(share_meeting_both(grid.timing, budget)))
    assert stats.kstest(phases, "uniform").pvalue > 0.01
    difference = np.array(met) - expected
    assert abs(difference.mean()) < 4 * difference.std() / count**0.5
    # Evenly spread offsets meet the events about as often for every probe, not only on average.
    assert np.abs(difference).max() <= 1 / offsets + 0.001


def a_probe(index: int, seed: int = 3) -> Probe:
    events = [Event(n, n, Source(f"{n}.avi", f"{n}.avi"), 7.0) for n in ("x", "y")]
    background = Source("street.mp4", "street.mp4")
    return Probe(
        f"p{index:05d}", index, *events, background, 41.3, "e1_first", "e2_first", draw_timing(seed, index, 16)
    )


def test_views_show_what_the_times_meet():
    for index in range(25):
        probe, seed, n = a_probe(index), 3, 3
        timing, views = probe.timing, reversal_views(probe, seed, n)
        grid = draw_offsets(seed, index, timing, n)
        assert [(len(v.shots), v.offset, v.twin) for v in views] == [
            (budget, offset, twin) for budget in (8, 16, 32) for offset in range(n) for twin in "+-"
        ]
        for view in views:
            assert (view.arm, view.phase) == ("intact", "offset")
            assert [s.time_s for s in view.shots] == grid.frame_times_s(len(view.shots), view.offset)
            for shot in view.shots:
                kind, source_time_s = "background", shot.time_s % 41.3
                for slot, start_s in enumerate((timing.first_slot_s, timing.second_slot_s)):
                    inside_s = round(shot.time_s - start_s, 6)
                    if 0 <= inside_s < timing.event_s:
                        kind = "e1" if (slot == 0) == (view.twin == "+") else "e2"
                        source_time_s = (7.0 - timing.event_s) / 2 + inside_s
                assert shot.kind == kind
                assert shot.source_time_s == pytest.approx(source_time_s, abs=2e-6)


def test_twins_show_the_same_frames_where_both_events_are_met():
    """Both slots are met at the same relative time to the last bit, so reordering preserves frames here too."""
    both = 0
    for index in range(40):
        views = reversal_views(a_probe(index), 3, 4)
        for plus, minus in zip(views[::2], views[1::2], strict=True):
            shown = [[(s.source, s.source_time_s) for s in v.shots] for v in (plus, minus)]
            kinds = [s.kind for s in plus.shots]
            assert [a != b for a, b in zip(*shown, strict=True)] == [k != "background" for k in kinds]
            if {"e1", "e2"} <= set(kinds):
                both += 1
                assert sorted(shown[0], key=str) == sorted(shown[1], key=str)
    assert both > 100


def test_events_sampled_counts_events_not_frames():
    """At 32 frames an event may be met twice, at 8 one may be met without the other."""
    seen = Counter()
    for index in range(60):
        for view in reversal_views(a_probe(index), 3, 4):
            kinds = tuple(s.kind for s in view.shots)
            times = tuple(s.time_s for s in view.shots)
            stored = StoredView("intact", view.twin, "offset", view.offset, times, kinds, times, ("f",) * len(kinds))
            event_frames = len(kinds) - kinds.count("background")
            assert stored.events_sampled == ("e1" in kinds) + ("e2" in kinds)
            seen[len(kinds), stored.events_sampled, event_frames] += 1
    assert set(seen) == {(8, 0, 0), (8, 1, 1), (8, 2, 2), (16, 0, 0), (16, 2, 2), (32, 0, 0), (32, 2, 2), (32, 2, 4)}


def test_golden_offsets():
    """The same on every machine and Python: a change here is a change of every release with offsets."""
    grid = grid_of(0, 0, 4)
    assert (grid.start_ms, grid.shift) == (392, 14)
    assert draw_offsets(0, 1, draw_timing(0, 1, 16), 4).frame_times_s(8, 1)[:3] == [10.516, 21.244, 31.972]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((small_timing(2), 0, 0, 0), "from 1 to 16"),
        ((small_timing(2), 17, 0, 0), "from 1 to 16"),
        ((small_timing(2), 4, 6, 0), "outside the lattice"),
        ((small_timing(2), 4, 0, 16), "outside the lattice"),
        ((small_timing(2), 4, -1, 0), "outside the lattice"),
        ((Timing(8, 5.0, 2.0, 0.0, 2), 4, 0, 0), "videos of k = 16"),
    ],
)
def test_impossible_grids_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        OffsetGrid(*fields)


def test_looks_that_the_test_does_not_have_are_refused():
    grid = OffsetGrid(small_timing(2), 4, 0, 0)
    for budget, offset in ((24, 0), (16, 4), (16, -1)):
        with pytest.raises(ValueError, match="no offset"):
            grid.frame_times_s(budget, offset)
    with pytest.raises(ValueError, match="from 1 to 16"):
        draw_offsets(0, 0, draw_timing(0, 0, 16), 0)
