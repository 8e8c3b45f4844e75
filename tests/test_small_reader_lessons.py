"""Lessons of the small reader: what is wanted is read back from the prompt and the frames, by other means."""

import re
from collections import Counter
from random import Random

import pytest

from lmms_eval_tasks.prompts import CLAIMS, INSTRUCTION, QUESTION
from lmms_eval_tasks.small_reader import frame_bank, wordings
from lmms_eval_tasks.small_reader.curriculum import READING, STAGES, lesson_of, step_lessons
from lmms_eval_tasks.small_reader.lessons import EXERCISES, follows
from lmms_eval_tasks.small_reader.pairs import held_out_catalogue, split_pairs
from stimuli_builder.probes import draw_probes
from stimuli_builder.procedural import procedural_duration_s

PHRASES = {wordings.phrase(event): event for event in range(len(wordings.EVENTS))}
NAMED = re.compile("|".join(sorted(PHRASES, key=len, reverse=True)))
LEARNT, HELD_OUT = split_pairs()


def named(text):
    """Events in the order in which a text names them."""
    return [PHRASES[found] for found in NAMED.findall(text)]


def places(lesson):
    """First frame of each event, in order."""
    first = {}
    for place, event in enumerate(lesson.frames):
        if event is not None:
            first.setdefault(event, place)
    return first


def oracle(lesson):
    """The wanted probability of A, from the prompt's lines alone."""
    lines = lesson.prompt.split("\n")
    a, b = (next(named(line) for line in lines if line.startswith(f"{letter}. ")) for letter in "AB")
    assert a == b[::-1]
    at = places(lesson)
    seen = sorted((event for event in at if event in a), key=at.get)
    order = seen if len(seen) == 2 else None
    claim = next((line for line in lines if "before" in line and line[:3] not in ("A. ", "B. ")), None)
    truth = 0.5 if order is None else float(a == order)
    if claim is None:
        return truth
    strength = "mild" if any(word in claim for word in ("not sure", "Perhaps")) else "strong"
    share = follows(strength, None if order is None else len(lesson.dark))
    return share * float(named(claim) == a) + (1 - share) * truth


@pytest.mark.parametrize("kind", [kind for kind in READING if kind.startswith("order")])
def test_the_wanted_letter_follows_from_frames_and_prompt(kind):
    for number in range(300):
        lesson = lesson_of(
            Random(f"{kind} {number}"), kind, LEARNT[number % len(LEARNT)], (8, 16, 64)[number % 3], None
        )
        assert lesson.letter_a == pytest.approx(oracle(lesson))
        assert len(places(lesson)) == int(kind.split()[2])


@pytest.mark.parametrize("kind", EXERCISES)
def test_exercises_are_answered_from_their_frames(kind):
    answers = Counter()
    for number in range(200):
        lesson = lesson_of(Random(f"{kind} {number}"), kind, LEARNT[number % len(LEARNT)], 16, None)
        at = places(lesson)
        first, second = sorted(at, key=at.get)
        asked = named(lesson.prompt)
        if kind == "list":
            assert named(lesson.answer) == [first, second]
        elif kind == "place":
            assert lesson.answer == ("First" if asked == [first] else "Second")
        elif kind == "is_there":
            assert lesson.answer == ("Yes" if asked[0] in at else "No")
        elif kind == "dark":
            assert lesson.answer == ("Yes" if asked[0] in lesson.dark else "No")
        elif kind == "first":
            assert lesson.letter_a == float(asked[0] == first)
        else:
            assert asked[:2] == [first, second] and lesson.letter_a == float(asked[2] == first)
        answers[lesson.answer or lesson.letter_a] += 1
    if kind != "list":
        assert min(answers.values()) > 0.35 * 200 and len(answers) == 2


def test_letters_claims_and_names_tell_nothing_of_the_order():
    """Over many lessons each of them agrees with the truth half of the time."""
    agree = Counter()
    for number in range(4000):
        lesson = lesson_of(Random(number), "order strong 2", LEARNT[number % len(LEARNT)], 16, None)
        at = places(lesson)
        order = sorted(at, key=at.get)
        question, claim, a = lesson.prompt.split("\n")[:3]
        agree["question"] += named(question) == order
        agree["claim"] += named(claim) == order
        agree["a"] += named(a) == order
        agree["claim is a"] += named(claim) == named(a)
    assert all(abs(count / 4000 - 0.5) < 0.04 for count in agree.values()), agree


def test_a_strong_claim_weighs_more_and_what_is_seen_in_the_dark_less():
    for claim in ("mild", "strong"):
        shares = [follows(claim, dark) for dark in (0, 1, 2, None)]
        assert shares == sorted(shares) and shares[0] > 0 and shares[-1] < 1
    assert all(follows("mild", dark) < follows("strong", dark) for dark in (0, 1, 2, None))
    # Against evidence a strong claim wins where both events were in the dark, a mild one never does.
    assert [follows("strong", dark) > 0.5 for dark in (0, 1, 2)] == [False, False, True]
    assert follows("mild", 2) < 0.5


def test_the_benchmarks_own_sentences_are_learnt():
    prompts = " ".join(
        lesson.prompt for step in range(20) for lesson in step_lessons(STAGES[-1], 0, step, LEARNT).lessons
    )
    for sentence in (QUESTION, *filter(None, CLAIMS.values()), INSTRUCTION):
        assert re.search(re.sub(r"\\\{\w+\\\}", ".+?", re.escape(sentence)), prompts)


def test_a_step_is_drawn_from_its_seed_stage_and_number_alone():
    stage = STAGES[-1]
    assert step_lessons(stage, 3, 11, LEARNT) == step_lessons(stage, 3, 11, LEARNT)
    other = [(stage, 4, 11), (stage, 3, 12), (STAGES[-2], 3, 11)]
    assert all(step_lessons(*which, LEARNT) != step_lessons(stage, 3, 11, LEARNT) for which in other)
    budgets = {len(step_lessons(stage, 0, step, LEARNT).lessons[0].frames) for step in range(200)}
    assert budgets == {8, 16, 24, 32, 48, 64}


def test_no_held_out_pair_background_or_clip_is_learnt_from(monkeypatch):
    assert not set(LEARNT) & set(HELD_OUT) and len(LEARNT) + len(HELD_OUT) == 48 * 35 // 2
    drawn = {
        tuple(sorted(places(lesson)))
        for stage in STAGES
        for step in range(30)
        for lesson in step_lessons(stage, 0, step, LEARNT).lessons
        if len(places(lesson)) == 2
    }
    assert drawn and not drawn & set(HELD_OUT)
    rendered = []
    monkeypatch.setattr(frame_bank, "seen_frame", lambda location, *_: rendered.append(location))
    monkeypatch.setattr(frame_bank, "patches", lambda *_: __import__("torch").zeros(1))
    frame_bank.frame_bank(None, 56, 0, 30, 20, 3)
    variants = {
        kind: {int(at.split("variant=")[1]) for at in rendered if f":{kind}?" in at} for kind in ("event", "background")
    }
    assert min(variants["event"]) >= 3 and min(variants["background"]) >= 2
    assert not any(pattern in location for location in rendered for pattern in frame_bank.HELD_OUT_PATTERNS)


def test_the_evaluation_shows_held_out_pairs_over_held_out_backgrounds_alone():
    catalogue = held_out_catalogue()
    drawn = draw_probes(catalogue, 64, (16,), 5, lambda source: procedural_duration_s(source.location))
    numbers = {"_".join(names): event for event, names in enumerate(wordings.EVENTS)}
    for probe in drawn.probes[16]:
        assert tuple(sorted(numbers[event.label] for event in probe.events)) in HELD_OUT
        assert probe.background.name.split("/")[1] in frame_bank.HELD_OUT_PATTERNS
