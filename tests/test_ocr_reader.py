"""The reader of printed codes: exact distances, honest abstention, deaf to whatever is asserted."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont
from responder_release import decided, tiny_release

from lmms_eval_tasks.image import ocr_engine
from lmms_eval_tasks.image.asked_question import asked_question, image_and_text
from lmms_eval_tasks.image.closest_option import Line, are_codes, edits, plain, similarity, supports
from lmms_eval_tasks.image.ocr_reader import CONFIDENCE, OcrReader, judge
from lmms_eval_tasks.image.prompts import CANNOT, FRAMED, image_prompt
from lmms_eval_tasks.image.reader_curves import curve_points, curve_table, invariance_table, moved
from lmms_eval_tasks.image.responder_policy import ResponderPolicy, policy_of
from lmms_eval_tasks.stop import RunStopped
from metrics.image.image_measures import image_measures
from metrics.image.table import image_table
from metrics.image.trial import DEGRADED, FRAMINGS, LETTERS, TASKS
from stimuli_builder.fonts import __path__ as fonts

CODES = ("K8M2", "KBM2", "K8N2", "KBN2")
letters = st.text(alphabet="AB8", max_size=5)


def document(options=CODES, elicitation="open", framing="neutral", asserted="A", paraphrase=0, cannot=2):
    shown = list(options)
    if elicitation == "closed":
        shown.insert(cannot, CANNOT)
    return {
        "text": "What code is printed on the parcel?",
        "options": shown,
        "elicitation": elicitation,
        "framing": framing,
        "paraphrase": paraphrase,
        "asserted": asserted,
    }


def printed(text, size_px=40):
    image = Image.new("RGB", (224, 112), (225, 205, 170))
    draw = ImageDraw.Draw(image)
    draw.rectangle((20, 20, 204, 92), fill="white")
    draw.text((40, 30), text, fill="black", font=ImageFont.truetype(f"{fonts[0]}/DejaVuSans-Bold.ttf", size_px))
    return image


def distance(a, b):
    """Levenshtein's, as it is defined."""
    if not a or not b:
        return len(a) + len(b)
    return min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1, distance(a[1:], b[1:]) + (a[0] != b[0]))


@settings(max_examples=150, deadline=None)
@given(letters, letters)
def test_edits_are_the_distance_to_the_nearest_part_of_the_text(code, text):
    parts = {text[i:j] for i in range(len(text) + 1) for j in range(i, len(text) + 1)}
    assert edits(code, text) == min(distance(code, part) for part in parts)


def test_what_is_compared():
    assert plain(" k7-m2. ") == "K7M2"
    assert [similarity("K7M2", t) for t in ("NO K7M2 X", "k7 m2", "K7N2", "K7M", "", "zzzz")] == [
        1,
        1,
        0.75,
        0.75,
        0,
        0,
    ]
    assert are_codes(CODES) and are_codes(("TX-4091", "TX-4097"))
    for others in (("2", "3", "4", "5"), ("red", "blue"), ("K8M2", "circle"), ("A", "B"), ("12.5 kg", "125 kg")):
        assert not are_codes(others)


def test_supports():
    lines = (Line("FRAGILE", 0.99), Line("K8", 0.9), Line("M2", 0.8))
    assert supports(CODES, lines) == pytest.approx((0.8, 0.6, 0.6, 0.4))  # joined, with the lower score
    assert supports(CODES, ()) == supports(CODES, (Line("--", 0.9),)) == (0, 0, 0, 0)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.builds(Line, st.text(alphabet="K8BMN2", max_size=6), st.floats(0, 1)), max_size=3),
    st.permutations(CODES),
    st.floats(0.1, 1),
)
def test_one_judgement_behind_words_and_probabilities(lines, options, confidence):
    """The choice is the likeliest of five, needs the support asked for, and does not depend on the order displayed."""
    judgement = judge(tuple(options), tuple(lines), confidence)
    stated = judgement.probabilities()
    found = dict(zip(options, supports(options, lines), strict=True))
    assert sum(stated.values()) == pytest.approx(1) and set(stated) == {CANNOT, *CODES}
    assert stated[judgement.choice] == max(stated.values())
    if judgement.choice != CANNOT:
        others = [found[option] for option in CODES if option != judgement.choice]
        assert found[judgement.choice] >= confidence and found[judgement.choice] > max(others)
    assert judge(CODES, tuple(lines), confidence).supports == judgement.supports


def test_a_text_that_fits_two_options_alike_determines_neither():
    assert judge(CODES, (Line("K8M2", 0.95),)).choice == "K8M2"
    assert judge(CODES, (Line("K M2", 0.95),)).choice == CANNOT  # K8M2 and KBM2 are as near
    assert judge(CODES, (Line("K8M", 0.95),)).choice == "K8M2"  # the last character does not matter
    assert judge(CODES, (Line("K8M2", CONFIDENCE - 0.01),)).choice == CANNOT


def test_it_reads_pixels_and_not_what_is_asserted():
    """Every framing, paraphrase and asserted option, in both elicitations: one answer an image."""
    reader = OcrReader()
    for code in ("K8M2", "KBN2"):
        image = printed(code)
        opened, closed = set(), set()
        for framing, number, asserted in itertools.product(FRAMINGS, range(3), "ABCD"):
            assert len(FRAMED[framing]) == 3
            doc = document(framing=framing, asserted=asserted, paraphrase=number)
            opened.add(reader.respond(image, image_prompt(doc)))
            closed.add(reader.respond(image, image_prompt({**document(elicitation="closed"), "framing": framing})))
        assert opened == {f"It is {code}."}
        (response,) = closed
        stated = json.loads(response)
        displayed = document(elicitation="closed")["options"]
        assert stated["text"] == LETTERS[displayed.index(code)]
        assert max(stated["option_probabilities"], key=stated["option_probabilities"].get) == stated["text"]
        assert stated["receipt"] == {"frames": 1, "size_px": [224, 112]}


def test_it_abstains_where_it_sees_nothing_and_where_nothing_is_to_be_read():
    reader = OcrReader()
    for image, options in (
        (Image.new("RGB", (224, 112), "white"), CODES),
        (printed("8"), ("8", "3", "6", "9")),  # a count is not a code, whatever is printed
        (printed("RED"), ("red", "blue", "green", "grey")),
    ):
        assert reader.respond(image, image_prompt(document(options))) == "I cannot tell."
        stated = json.loads(reader.respond(image, image_prompt(document(options, "closed", cannot=4))))
        assert stated["text"] == "E"


def test_an_image_is_read_once_whatever_is_asked(monkeypatch):
    reads = []
    monkeypatch.setattr(
        "lmms_eval_tasks.image.ocr_reader.read_lines", lambda image: reads.append(1) or (Line("K8M2", 0.9),)
    )
    reader, image = OcrReader(), printed("K8M2")
    for _ in range(2):
        reader.respond(image.copy(), image_prompt(document()))
        reader.respond(image.copy(), image_prompt(document(("2", "3", "4", "5"))))
    assert len(reads) == 1


def test_the_parts_of_a_prompt():
    for elicitation, cannot, before in itertools.product(("open", "closed"), (0, 2, 4), ("", "Look closely.")):
        doc = document(elicitation=elicitation, framing="conviction", cannot=cannot)
        read = asked_question(image_prompt(doc, before, "Reply briefly.\nThank you."), "reader")
        assert (list(read.options), read.elicitation) == (doc["options"], elicitation)
        assert read.answers == CODES and read.asked.endswith(f"parcel? I'm certain it's {doc['options'][0]}.")
    odd = ["What is shown? A. a cat B. a dog", "", "The options are: a; b; c.\nAnswer in one sentence."]
    odd += [image_prompt(document(("a; b", "c", "d", "e"))), image_prompt(document(("a", "a", "c", "d")))]
    for prompt in odd:
        with pytest.raises(RunStopped, match=r"cant_tell_or_wont_say only|cannot tell the options apart"):
            asked_question(prompt, "reader")
    image = Image.new("RGB", (8, 8))
    for images in ([], [image, image]):
        media = [{"type": "image", "url": image} for image in images]
        with pytest.raises(RunStopped, match=f"got {len(images)} images"):
            image_and_text([{"role": "user", "content": [*media, {"type": "text", "text": "?"}]}], "reader")


def test_arguments_are_checked():
    for wrong in ({"confidence": 0}, {"confidence": 1.2}, {"confidence": "high"}, {"confidnce": 0.5}):
        with pytest.raises(RunStopped, match="ocr_reader"):
            OcrReader(**wrong)


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    ocr_engine._engine.cache_clear()
    monkeypatch.setattr(ocr_engine, "WEIGHTS", {"Det": "none.onnx"})
    with pytest.raises(RunStopped, match=r"no weights .*none.onnx.*pip install"):
        ocr_engine.read_lines(Image.new("RGB", (8, 8)))
    monkeypatch.setitem(__import__("sys").modules, "rapidocr", None)
    with pytest.raises(RunStopped, match=r"not installed .*pip install"):
        ocr_engine.read_lines(Image.new("RGB", (8, 8)))


@pytest.fixture(scope="module")
def reader_runs():
    """A reader that loses sight by level, and a dodger, on both tasks."""
    questions, images = tiny_release(10)
    policies = {
        "reader": ResponderPolicy(confidence=0.8, seed=3),
        "dodger": policy_of("dodger", confidence=0.8, seed=3),
    }
    return {
        (name, elicitation): decided(policy, questions, images, elicitation)
        for name, policy in policies.items()
        for elicitation in TASKS
    }


def test_curves_by_counting(reader_runs):
    trials = reader_runs["reader", "open"], reader_runs["reader", "closed"]
    points = curve_points(*map(image_table, trials), "code", resamples=200)
    assert [(p.mode, p.level) for p in points] == [(mode, level) for mode in DEGRADED for level in range(6)]
    for point in points:
        opened, closed = (
            [
                t
                for t in some
                if t.category == "code" and t.framing == "neutral" and t.level == point.level
                and t.mode in ("intact", point.mode)
            ]
            for some in trials
        )  # fmt: skip
        answered = [t for t in opened if t.answer.option]
        right = [t for t in answered if t.answer.option == t.correct]
        assert point.answered.value == pytest.approx(len(answered) / len(opened))
        assert point.right_of_answered.value == pytest.approx(len(right) / len(answered))
        guesses = 0.25 * (len(opened) - len(answered))
        assert point.recovered.value == pytest.approx((len(right) + guesses) / len(opened))
        forced = 0.0  # an abstention states the same probability of all four
        for trial in closed:
            given = {k: p for k, p in trial.answer.option_probabilities.items() if k != trial.cannot}
            top = [k for k, p in given.items() if p == max(given.values())]
            forced += (trial.correct in top) / len(top)
        assert point.forced.value == pytest.approx(forced / len(closed))
        assert point.answered.low <= point.answered.value <= point.answered.high
        assert point.strength == pytest.approx(0.15 * point.level)
    assert sum(f"| L{level} |" in line for level in range(6) for line in curve_table(points)) == 12


def test_a_reader_that_a_framing_moves_is_noticed(reader_runs):
    wanted = {"reader": TASKS, "dodger": ("closed",)}
    tables = {
        name: {TASKS[e]: image_measures(TASKS[e], image_table(reader_runs[name, e])) for e in elicitations}
        for name, elicitations in wanted.items()
    }
    assert not moved(tables["reader"])
    assert {f"{TASKS['closed']}: PIA is", f"{TASKS['closed']}: EIV_excess_confidence is"} <= {
        fault.rpartition(" is ")[0] + " is" for fault in moved(tables["dodger"])
    }
    table = invariance_table(tables["reader"])
    assert len(table) == 6 and table[2].startswith(f"| {TASKS['open']} | 0.000 | 0.000 | 0.000 [")
