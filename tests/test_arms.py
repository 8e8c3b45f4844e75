"""Each arm against a naive second writing of its rule, and what the placebo does over odd backgrounds."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stimuli_builder.arms import (
    placebo_instants_s,
    placebo_positions,
    placebo_source_times_s,
    placebo_views,
    removal_views,
)
from stimuli_builder.catalogue import Source
from stimuli_builder.edit_list import intact_view
from stimuli_builder.probes import Event, Probe
from stimuli_builder.timing import BUDGETS, draw_timing

STREET = Source("street.mp4", "street.mp4")


def a_probe(seed: int, index: int, budget: int, background_s: float = 41.3) -> Probe:
    events = [Event(n, n, Source(f"{n}.avi", f"{n}.avi"), 7.0) for n in ("x", "y")]
    timing = draw_timing(seed, index, budget)
    return Probe(f"p{index:05d}", index, *events, STREET, background_s, "e1_first", "e2_first", timing)


probes = st.builds(a_probe, st.integers(0, 20), st.integers(0, 3000), st.sampled_from(BUDGETS))


def moving(source_time_s: float) -> str:
    """A background of which no two instants look alike."""
    return repr(source_time_s)


def in_slot(probe: Probe, time_s: float) -> int | None:
    starts = (probe.timing.first_slot_s, probe.timing.first_slot_s + probe.timing.slot_gap * probe.timing.interval_s)
    return next((i for i, p in enumerate(starts) if p <= time_s + 1e-9 < p + probe.timing.event_s), None)


@settings(max_examples=150, deadline=None)
@given(probes)
def test_arms_that_remove_events(probe):
    """Twin + shows e1 in the earlier slot; what is removed shows the background as if nothing had been there."""
    stays = {"no_events": (), "early_only": (0,), "late_only": (1,)}
    views = removal_views(probe)
    assert [(v.arm, v.twin) for v in views] == [(arm, twin) for arm in stays for twin in "+-"]
    for view in views:
        assert view.phase == "on_grid" and view.offset is None
        assert [s.time_s for s in view.shots] == probe.timing.frame_times_s("on_grid")
        for shot in view.shots:
            slot = in_slot(probe, shot.time_s)
            if slot in stays[view.arm]:
                event = probe.events[slot if view.twin == "+" else 1 - slot]
                assert (shot.kind, shot.source) == ("e1" if event is probe.e1 else "e2", event.clip)
                assert shot.source_time_s == pytest.approx(3.5)
            else:
                assert (shot.kind, shot.source) == ("background", STREET)
                assert shot.source_time_s == pytest.approx(shot.time_s % 41.3, abs=2e-6)
    kinds = {(v.arm, v.twin): [s.kind for s in v.shots if s.kind != "background"] for v in views}
    assert kinds["early_only", "+"] == kinds["late_only", "-"] == ["e1"]
    assert kinds["early_only", "-"] == kinds["late_only", "+"] == ["e2"]
    assert views[0].shots == views[1].shots  # without events the twins are one view


@settings(max_examples=150, deadline=None)
@given(probes, st.integers(0, 20))
def test_placebo_replaces_two_background_frames_by_others(probe, seed):
    plus, minus = placebo_views(probe, seed, moving)
    intact = {twin: intact_view(probe, twin, "on_grid") for twin in "+-"}
    own = {round(t % 41.3, 6) for t in probe.timing.frame_times_s("on_grid")}
    in_gap = {s.source_time_s for s in intact_view(probe, "+", "in_gap").shots}
    replaced = []
    for view in (plus, minus):
        assert view.arm == "placebo" and view.phase == "on_grid"
        before = intact[view.twin].shots
        changed = [i for i, (a, b) in enumerate(zip(before, view.shots, strict=True)) if a != b]
        assert len(changed) == 2
        for i in changed:
            instead_s, before_s = view.shots[i].source_time_s, before[i].source_time_s
            assert in_slot(probe, before[i].time_s) is None
            assert view.shots[i] == replace(before[i], source_time_s=instead_s)
            # Frames that the release holds anyway, unless both grids meet the same instants of the loop.
            others = {t for t in in_gap - own if 0.5 <= abs(t - before_s) <= 40.8}
            assert instead_s in others if len(others) > 1 else abs(instead_s - before_s) == pytest.approx(20.65)
            if len(others) > 1:
                assert instead_s not in {view.shots[j].source_time_s for j in changed if j != i}
        replaced.append([(i, view.shots[i]) for i in changed])
    assert replaced[0] == replaced[1]


def test_placebo_follows_from_seed_and_probe_alone():
    probe = a_probe(0, 5, 16)
    assert placebo_views(probe, 1, moving) == placebo_views(probe, 1, moving)
    drawn = {tuple(placebo_source_times_s(probe, seed, moving).items()) for seed in range(20)}
    assert len(drawn) == 20
    assert placebo_positions(probe, 0) == [4, 14]
    assert placebo_source_times_s(probe, 0, moving) == {4: 20.367, 14: 8.417}


def test_every_background_position_and_every_instant_is_as_likely():
    positions, instants = Counter(), Counter()
    for seed in range(3000):
        probe = a_probe(4, 9, 16)
        chosen = placebo_source_times_s(probe, seed, moving)
        positions.update(chosen.keys())
        instants.update(chosen.values())
    free = [i for i, t in enumerate(probe.timing.frame_times_s("on_grid")) if in_slot(probe, t) is None]
    assert sorted(positions) == free and len(instants) == 16
    for counts in (positions, instants):
        assert stats.chisquare(list(counts.values())).pvalue > 0.01


@settings(max_examples=150, deadline=None)
@given(probes, st.integers(0, 20), st.integers(1, 6))
def test_placebo_shows_another_frame_wherever_the_background_has_one(probe, seed, looks):
    """A background with few distinct frames: what is chosen differs from what it replaces if anything can."""

    def frame_at(source_time_s: float) -> str:
        return str(int(source_time_s / 7) % looks)

    own = [s.source_time_s for s in intact_view(probe, "+", "on_grid").shots]
    own_background = [s.source_time_s for s in intact_view(probe, "+", "on_grid").shots if s.kind == "background"]
    shown = {frame_at(t) for t in own_background}
    taken: list[float] = []
    for position, instant in placebo_source_times_s(probe, seed, frame_at).items():
        others = [t for t in placebo_instants_s(probe, seed)[position] if t not in taken]
        if any(frame_at(t) != frame_at(own[position]) for t in others):
            assert frame_at(instant) != frame_at(own[position])
        if any(frame_at(t) not in shown for t in others):
            assert frame_at(instant) not in shown
        taken.append(instant)
        shown.add(frame_at(instant))


def test_a_background_that_stands_still_still_gets_a_placebo():
    """Two other instants of it, though they show the same picture."""
    probe = a_probe(0, 5, 16)
    for seed in range(100):
        instead = placebo_source_times_s(probe, seed, lambda _: "the same")
        assert list(instead) == placebo_positions(probe, seed)
        assert len(set(instead.values())) == 2


@pytest.mark.parametrize("background_s", [0.9, 1.7, 2.9, 41.3])
def test_what_stands_in_lies_half_a_second_away_around_the_loop(background_s):
    for index in range(60):
        probe = a_probe(2, index, 16, background_s)
        own = [t % background_s for t in probe.timing.frame_times_s("on_grid")]
        for position, instants in placebo_instants_s(probe, 0).items():
            for instant in instants:
                apart_s = abs(instant - own[position])
                assert min(apart_s, background_s - apart_s) >= min(0.5, background_s / 2) - 2e-6


def test_instants_that_are_shown_anyway_do_not_stand_in():
    """25 half intervals are 3 turns of this loop, so at 48 frames both grids meet the same 25 instants."""
    probe = a_probe(5, 492, 48)
    assert 12.5 * probe.timing.interval_s == pytest.approx(3 * 41.3)
    shown = [t % 41.3 for t in probe.timing.frame_times_s("on_grid")]
    for position, instants in placebo_instants_s(probe, 0).items():
        assert instants == [pytest.approx((shown[position] + 20.65) % 41.3)]
        assert not any(instants[0] == pytest.approx(t, abs=1e-4) for t in shown)


@pytest.mark.parametrize("turns", [1, 2, 3, 5, 7, 10, 300])
def test_a_loop_that_divides_the_interval_gives_another_instant_too(turns):
    """The background then shows the same instants at every frame of both grids, or nearly so."""
    for index in range(30):
        timing = draw_timing(0, index, 16)
        probe = a_probe(0, index, 16, background_s=timing.interval_s / turns)
        for view in placebo_views(probe, 0, moving):
            intact = intact_view(probe, view.twin, "on_grid")
            changed = [i for i, (a, b) in enumerate(zip(intact.shots, view.shots, strict=True)) if a != b]
            assert changed == placebo_positions(probe, 0)
            for i in changed:
                apart_s = abs(view.shots[i].source_time_s - intact.shots[i].source_time_s)
                half_s = probe.background_duration_s / 2
                assert min(apart_s, 2 * half_s - apart_s) >= min(0.5, half_s - 1e-5)
                assert 0 <= view.shots[i].source_time_s < probe.background_duration_s


def test_arms_of_a_built_release(release):
    """From the stored rows alone: which frames each arm shows."""
    for budget in (8, 16):
        for stored in release.probes(budget):
            views = {(v.arm, v.phase, v.twin): v for v in stored.views}
            assert len(views) == len(stored.views) == 12
            no_events = views["no_events", "on_grid", "+"]
            assert no_events.frames == views["no_events", "on_grid", "-"].frames
            sampled = {key: view.events_sampled for key, view in views.items()}
            for twin in "+-":
                intact = views["intact", "on_grid", twin]
                slots = [i for i, kind in enumerate(intact.kinds) if kind != "background"]
                for arm, kept in (("no_events", []), ("early_only", slots[:1]), ("late_only", slots[1:])):
                    expected = [f if i in kept else no_events.frames[i] for i, f in enumerate(intact.frames)]
                    assert list(views[arm, "on_grid", twin].frames) == expected
                    assert sampled[arm, "on_grid", twin] == len(kept)
                placebo = views["placebo", "on_grid", twin]
                replaced = [i for i, frame in enumerate(intact.frames) if placebo.frames[i] != frame]
                # One background repeats every 5 s, and this probe looks at it every 10.014 s: one frame throughout.
                standing = (budget, stored.probe.probe) == (8, "p00004")
                assert len(replaced) == (0 if standing else 2)
                assert stored.placebo_changes != standing
                assert [placebo.frames[i] for i in slots] == [intact.frames[i] for i in slots]
                assert (sampled["placebo", "on_grid", twin], sampled["intact", "on_grid", twin]) == (2, 2)
                assert sampled["intact", "in_gap", twin] == 0
