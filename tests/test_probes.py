"""Balance, independence of draws, and what is passed over."""

from collections import Counter
from itertools import product

import pytest

from stimuli_builder.catalogue import Catalogue, EventClass, Source
from stimuli_builder.draws import draw_fraction, draw_integer, draw_order
from stimuli_builder.edit_list import intact_views
from stimuli_builder.errors import CavedError
from stimuli_builder.probes import BLOCK, ORDERS, draw_probes
from stimuli_builder.timing import BUDGETS


def clips(label: str, n: int) -> tuple[Source, ...]:
    return tuple(Source(f"{label}/{i}.avi", f"{label}/{i}.avi") for i in range(n))


def small_catalogue(**changes) -> Catalogue:
    labels = ["Archery", "Bowling", "Diving", "CliffDiving", "Fencing", "Juggling"]
    fields = {
        "name": "test clips",
        "classes": tuple(EventClass(label, label.lower(), clips(label, 5)) for label in labels),
        "backgrounds": clips("street", 4),
        "confusable_groups": (frozenset({"Diving", "CliffDiving"}),),
    }
    return Catalogue(**{**fields, **changes})


def duration_of(source: Source) -> float:
    return 2.0 + draw_fraction(0, source.name) * 6


def drawn(count=64, budgets=(16,), seed=0, catalogue=None, durations=duration_of):
    return draw_probes(catalogue or small_catalogue(), count, budgets, seed, durations).probes


def test_probe_does_not_change_when_more_are_asked_for():
    few, many = drawn(10)[16], drawn(300)[16]
    assert many[:10] == few


def test_probe_does_not_change_with_the_budgets_asked_for():
    assert drawn(20, BUDGETS)[16] == drawn(20)[16]


def test_probe_does_not_change_when_unrelated_sources_appear():
    bigger = small_catalogue(backgrounds=(*clips("street", 4), *clips("forest", 1)))
    before, after = drawn(200)[16], drawn(200, catalogue=bigger)[16]
    changed = [a for a, b in zip(after, before, strict=True) if a != b]
    assert all(p.background.name.startswith("forest") for p in changed)
    assert 20 <= len(changed) <= 65  # a fifth of 200


def test_seeds_give_other_probes():
    assert drawn(20, seed=1)[16] != drawn(20, seed=0)[16]


@pytest.mark.parametrize("count", [8, 64, 504])
def test_whole_blocks_are_balanced_exactly(count):
    probes = drawn(count)[16]
    cells = Counter((p.e1.label > p.e2.label, p.claimed_order, p.named_order) for p in probes)
    assert [cells[c] for c in product((False, True), ORDERS, ORDERS)] == [count // BLOCK] * BLOCK


def test_any_number_of_probes_is_nearly_balanced():
    probes = drawn(300)[16]
    for count in range(1, 300):
        claimed = sum(p.claimed_order == "e1_first" for p in probes[:count])
        assert abs(2 * claimed - count) <= BLOCK // 2


def test_events_are_distinct_and_not_confusable():
    for probe in drawn(400)[16]:
        assert probe.e1.label != probe.e2.label
        assert {probe.e1.label, probe.e2.label} != {"Diving", "CliffDiving"}


def test_clips_shorter_than_the_event_are_passed_over():
    for probe in drawn(400)[16]:
        for event in probe.events:
            assert event.clip_duration_s >= probe.timing.event_s


def test_every_class_clip_and_background_is_drawn():
    probes = drawn(2000, durations=lambda _: 60.0)[16]
    used = Counter(e.clip.name for p in probes for e in p.events)
    assert len(used) == 30
    assert len({p.background.name for p in probes}) == 4
    labels = Counter(e.label for p in probes for e in p.events)
    assert max(labels.values()) < 1.35 * min(labels.values())


def test_edit_lists_take_the_middle_of_the_clip_and_loop_the_background():
    for probe in drawn(40)[16]:
        for view in intact_views(probe):
            for shot in view.shots:
                if shot.kind == "background":
                    turns = (shot.time_s - shot.source_time_s) / probe.background_duration_s
                    assert turns == pytest.approx(round(turns), abs=1e-6)
                    assert 0 <= shot.source_time_s < probe.background_duration_s
                else:
                    event = probe.e1 if shot.kind == "e1" else probe.e2
                    assert shot.source_time_s == pytest.approx(event.clip_duration_s / 2)


def test_source_times_meet_the_frame_that_begins_just_then():
    """(7.04 - 1.988) / 2 + 0.994 is a hair below 3.52 in floating point, and 3.52 s is where a frame begins."""
    from stimuli_builder.decoding import Timeline
    from stimuli_builder.edit_list import background_source_time_s, event_source_time_s
    from stimuli_builder.probes import Event

    event = Event("x", "x", Source("x", "x"), 7.04)
    timeline = Timeline(tuple(i * 0.04 for i in range(176)), 7.04)
    for ms in range(1800, 4500, 2):
        time_s = event_source_time_s(event, ms / 1000, ms / 2000)
        assert time_s == 3.52 and timeline.index_at(time_s) == 88
    third = Timeline(tuple(i / 30 for i in range(300)), 10.0)
    for i in range(300):
        assert third.index_at(round(i / 30, 6)) == i
    assert background_source_time_s(10.0, 29.9999999) == 0.0
    assert background_source_time_s(7.6, 163.872) == round(163.872 - 21 * 7.6, 6)


def test_twins_by_construction():
    for budget, probes in drawn(40, BUDGETS).items():
        for probe in probes:
            views = {(v.phase, v.twin): v for v in intact_views(probe)}
            pictures = {key: [(s.source, s.source_time_s) for s in v.shots] for key, v in views.items()}
            assert pictures["in_gap", "+"] == pictures["in_gap", "-"]
            plus, minus = pictures["on_grid", "+"], pictures["on_grid", "-"]
            assert len(plus) == budget
            assert sorted(plus, key=str) == sorted(minus, key=str)
            assert sum(a != b for a, b in zip(plus, minus, strict=True)) == 2
            kinds = [s.kind for s in views["on_grid", "+"].shots]
            assert kinds.index("e1") < kinds.index("e2")
            assert kinds.index("e2") - kinds.index("e1") == probe.timing.slot_gap
            assert set(kinds[kinds.index("e1") + 1 : kinds.index("e2")]) == {"background"}


def test_one_clip_in_every_class_is_enough():
    single = small_catalogue(classes=tuple(EventClass(c, c, clips(c, 1)) for c in ("A1", "B1", "C1")))
    assert len(drawn(20, catalogue=single, durations=lambda _: 9.0)[16]) == 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ()}, "two classes"),
        ({"classes": (EventClass("Archery", "archery", clips("Archery", 3)),)}, "two classes"),
        ({"backgrounds": ()}, "no background"),
        (
            {"classes": tuple(EventClass(c, c, clips(c, 3)) for c in ("Diving", "CliffDiving"))},
            "look alike",
        ),
    ],
)
def test_catalogues_that_cannot_give_an_order_are_refused(changes, message):
    with pytest.raises(CavedError, match=message):
        drawn(catalogue=small_catalogue(**changes))


def test_clips_that_are_all_too_short_are_refused():
    with pytest.raises(CavedError, match="needs two clips of at least"):
        drawn(durations=lambda source: 60.0 if source.name.startswith("street") else 1.0)


def test_unreadable_sources_are_all_named():
    def broken(source: Source) -> float:
        if source.name.endswith(("0.avi", "1.avi")):
            raise CavedError(f"{source.name}: broken")
        return 9.0

    problems = draw_probes(small_catalogue(), 200, (16,), 0, broken).problems
    assert len(problems) == 14  # two of each class, two backgrounds
    assert all(p.endswith(": broken") for p in problems)


def test_draws_by_name():
    values = [draw_fraction(0, "x", i) for i in range(4000)]
    assert min(values) >= 0 and max(values) < 1
    assert sum(values) / 4000 == pytest.approx(0.5, abs=0.02)
    assert draw_fraction(0, "x", 0) == 0.2843920798432016
    assert {draw_integer(3, 5, 0, i) for i in range(100)} == {3, 4, 5}
    with pytest.raises(ValueError, match="no integer"):
        draw_integer(5, 3, 0)
    assert draw_order("abc", str, 0, "n") == draw_order("cba", str, 0, "n")
