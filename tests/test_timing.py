"""On-grid meets both events in exactly one frame each, in-gap meets neither: closed form and brute force."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stimuli_builder.timing import BUDGETS, EVENT_RANGE_S, INTERVAL_RANGE_S, SLOT_GAPS, Timing, draw_timing

timings = st.builds(draw_timing, st.integers(0, 50), st.integers(0, 5000), st.sampled_from(BUDGETS))


def brute_force_hits(timing: Timing, phase: str) -> list[int]:
    """Frames inside each slot, counted from the paper's definitions in plain floats."""
    start = timing.first_slot_s + timing.event_s / 2
    offset = (start + (timing.interval_s / 2 if phase == "in_gap" else 0)) % timing.interval_s
    times = [offset + i * timing.interval_s for i in range(timing.budget)]
    slots = (timing.first_slot_s, timing.first_slot_s + timing.slot_gap * timing.interval_s)
    return [sum(p <= t < p + timing.event_s for t in times) for p in slots]


@settings(max_examples=400, deadline=None)
@given(timings)
def test_closed_form_and_brute_force_agree(timing):
    for phase, hits in (("on_grid", 1), ("in_gap", 0)):
        assert brute_force_hits(timing, phase) == [hits, hits]
        slots = [timing.slot_at(t) for t in timing.frame_times_s(phase)]
        assert [slots.count(0), slots.count(1)] == [hits, hits]


@settings(max_examples=400, deadline=None)
@given(timings)
def test_draws_keep_the_paper_ranges(timing):
    assert INTERVAL_RANGE_S[0] <= timing.interval_s <= INTERVAL_RANGE_S[1]
    assert EVENT_RANGE_S[0] <= timing.event_s <= EVENT_RANGE_S[1]
    assert timing.event_s < 0.7 * timing.interval_s
    assert timing.coverage < 1
    assert timing.slot_gap in SLOT_GAPS and min(SLOT_GAPS) >= 2
    assert timing.length_s == pytest.approx(timing.budget * timing.interval_s)
    assert timing.second_slot_s == pytest.approx(timing.first_slot_s + timing.slot_gap * timing.interval_s)
    assert timing.first_slot_s >= 0 and timing.second_slot_s + timing.event_s <= timing.length_s


@settings(max_examples=200, deadline=None)
@given(timings)
def test_both_slots_are_met_at_exactly_the_same_relative_time(timing):
    met = [timing.time_in_slot_s(t) for t in timing.frame_times_s("on_grid") if timing.slot_at(t) is not None]
    assert met == [timing.event_s / 2] * 2  # equal, not approximately equal


@settings(max_examples=200, deadline=None)
@given(timings)
def test_times_are_a_uniform_grid_inside_the_video(timing):
    for phase in ("on_grid", "in_gap"):
        times = timing.frame_times_s(phase)
        assert len(times) == timing.budget
        assert 0 <= times[0] < timing.interval_s and times[-1] < timing.length_s
        assert all(b - a == pytest.approx(timing.interval_s, abs=1e-9) for a, b in zip(times, times[1:], strict=False))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 50), st.integers(0, 5000))
def test_budgets_of_a_probe_share_everything_but_where_the_events_lie(seed, index):
    drawn = [draw_timing(seed, index, budget) for budget in BUDGETS]
    assert len({(t.interval_s, t.event_s, t.slot_gap) for t in drawn}) == 1


def test_draws_fill_their_ranges():
    drawn = [draw_timing(0, i, 16) for i in range(2000)]
    intervals = [t.interval_s for t in drawn]
    assert min(intervals) < 5.05 and max(intervals) > 10.95
    assert sum(intervals) / 2000 == pytest.approx(8.0, abs=0.12)  # uniform on [5, 11], s.e. 0.039
    assert {t.slot_gap for t in drawn} == set(SLOT_GAPS)
    share = [t.first_slot_s / (t.length_s - t.slot_gap * t.interval_s - t.event_s) for t in drawn]
    assert sum(share) / 2000 == pytest.approx(0.5, abs=0.02)


def test_golden_draws():
    """The same on every machine and Python: a change here is a change of every release."""
    assert draw_timing(0, 0, 16) == Timing(16, 10.242, 1.988, 94.707, 4)
    assert draw_timing(0, 1, 16) == Timing(16, 5.364, 2.748, 11.317, 2)
    assert draw_timing(0, 2, 16) == Timing(16, 9.588, 3.236, 60.747, 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((16, 5.0, 3.5, 0.0, 2), "coverage"),
        ((16, 5.0, 0.0, 0.0, 2), "coverage"),
        ((16, 5.0, 2.0, 0.0, 1), "slot gap"),
        ((8, 5.0, 2.0, 28.002, 2), "do not fit"),
        ((16, 5.0, 2.0, -1.0, 2), "do not fit"),
        ((16, 5.0001, 2.0, 0.0, 2), "milliseconds"),
        ((16, 5.001, 2.0, 0.0, 2), "exact half"),
        ((0, 5.0, 2.0, 0.0, 2), "budget"),
    ],
)
def test_impossible_timings_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Timing(*fields)


@pytest.mark.parametrize("budget", [7, 15, 6, 0, -16])
def test_odd_and_small_budgets_are_refused(budget):
    with pytest.raises(ValueError, match="even number"):
        draw_timing(0, 0, budget)
