"""Trial documents of the image benchmark: what is asked and shown, what is balanced, and what is kept from a model."""

import json
from collections import Counter, defaultdict

import pytest

from lmms_eval_tasks.image import closed_answer
from lmms_eval_tasks.image.documents import image_documents
from lmms_eval_tasks.image.prompts import CANNOT, FRAMED, framed, image_prompt
from lmms_eval_tasks.image.scoring import numbers_of, process_results, trial_of
from lmms_eval_tasks.readout import stated_to_response, text_to_response
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.visuals import doc_to_messages, doc_to_target, doc_to_text, doc_to_visual
from metrics.image.table import TIE
from metrics.image.trial import FRAMINGS, LETTERS, ImageTrial
from stimuli_builder.frames import frame_id
from stimuli_builder.image.info import PARAPHRASES


@pytest.fixture
def bound(image_release, monkeypatch):
    """The small image release, bound as the release of this process."""
    monkeypatch.setenv("CAVED_RELEASE", str(image_release.folder))
    return image_release


@pytest.fixture(params=["open", "closed"])
def docs(request, bound):
    return image_documents(bound.questions(), request.param, bound.info.digest)


def blocks(docs):
    found = defaultdict(list)
    for doc in docs:
        found[doc["question"], doc["mode"], doc["level"], doc["slot"]].append(doc)
    return found


def test_eight_trials_a_question_mode_and_level(docs, bound):
    images = 1 + 2 * bound.info.levels
    assert len(docs) == bound.info.questions * images * 8
    assert all(len(block) == 4 for block in blocks(docs).values())
    assert len(blocks(docs)) == bound.info.questions * images * 2


def test_the_trials_of_a_block_differ_in_the_framing_alone(docs):
    for block in blocks(docs).values():
        assert [doc["framing"] for doc in block] == list(FRAMINGS)
        kept = [{name: value for name, value in doc.items() if name != "framing"} for doc in block]
        assert all(one == kept[0] for one in kept)


def test_content_is_word_for_word_the_same_in_all_framings(docs):
    for block in blocks(docs).values():
        neutral, *asserting = map(image_prompt, block)
        option = block[0]["options"][LETTERS.index(block[0]["asserted"])]
        for doc, text in zip(block[1:], asserting, strict=True):
            said = FRAMED[doc["framing"]][doc["paraphrase"]].format(option=option)
            assert text.replace(f" {said}", "", 1) == neutral
            assert said.count(option) == 1


def test_each_framing_has_as_many_wordings_as_slots_may_draw():
    assert {len(wordings) for wordings in FRAMED.values()} == {PARAPHRASES}
    assert all(len(set(FRAMED[name])) == PARAPHRASES for name in FRAMINGS if name != "neutral")
    assert set(FRAMED["neutral"]) == {""}
    with pytest.raises(IndexError):
        framed("plain", PARAPHRASES, "red")


def test_the_asserted_option_is_right_on_half_of_the_trials_within_item_level_and_category(docs):
    right = defaultdict(list)
    for doc in docs:
        right[doc["item"], doc["mode"], doc["level"], doc["category"], doc["framing"]].append(
            doc["asserted"] == doc["correct"]
        )
    assert all(sorted(values) == [False, True] for values in right.values())


def test_to_abstain_is_suggested_in_the_closed_elicitation_alone(docs):
    for doc in docs:
        text, closed = image_prompt(doc), doc["elicitation"] == "closed"
        assert (CANNOT in text) == closed
        assert ("cannot" in text.lower() or "can't tell" in text.lower()) == closed
        assert all(option in text for option in doc["options"])
        assert (doc["cannot"] is not None) == closed


def test_a_prompt_tells_nothing_of_level_mode_or_truth(docs):
    """All images of a question are asked about in the same words."""
    texts = defaultdict(set)
    for doc in docs:
        texts[doc["question"], doc["slot"], doc["framing"]].add(image_prompt(doc))
    assert all(len(found) == 1 for found in texts.values())


def test_messages_hold_the_image_and_the_prompt_and_nothing_else(docs):
    for doc in docs[::37]:
        (message,) = doc_to_messages(doc, {"frames_as": "images"})
        image, text = message["content"]
        assert (message["role"], image["type"], text) == ("user", "image", {"type": "text", "text": image_prompt(doc)})
        assert frame_id(image["url"]) == doc["frames"][0]
        assert [frame_id(one) for one in doc_to_visual(doc)] == doc["frames"]
        assert doc_to_text(doc, {"pre_prompt": "Look.", "post_prompt": "Now."}).splitlines()[0] == "Look."
        assert doc_to_text(doc, {"pre_prompt": "", "post_prompt": "Now."}).splitlines()[-1] == "Now."
        assert doc_to_target(doc) == doc["options"][LETTERS.index(doc["correct"])]


def test_another_release_in_the_same_process_is_refused(docs, monkeypatch, release):
    with pytest.raises(RunStopped, match=r"do not change CAVED_RELEASE|meets the frames|is a release of"):
        monkeypatch.setenv("CAVED_RELEASE", str(release.folder))
        doc_to_visual(docs[0])


def test_places_of_the_right_option_are_balanced(docs, bound):
    """Each place once in four questions in slot 0, and about as often in slot 1 and with a fifth option between them."""
    if docs[0]["elicitation"] == "closed":
        fifth = Counter(doc["cannot"] for doc in docs)
        assert set(fifth) == set(LETTERS) and max(fifth.values()) <= 2 * min(fifth.values())
        return
    places = Counter((doc["category"], doc["slot"], doc["correct"]) for doc in docs)
    trials = (1 + 2 * bound.info.levels) * len(FRAMINGS)  # of a question in one slot
    for category in bound.info.categories:
        assert [places[category, 0, letter] for letter in LETTERS[:4]] == [bound.info.items // 4 * trials] * 4
        second = [places[category, 1, letter] for letter in LETTERS[:4]]
        assert max(second) - min(second) <= 2 * trials


def test_a_trial_is_what_document_and_response_say(docs):
    doc = next(d for d in docs if d["framing"] == "conviction" and d["asserted"] != d["correct"])
    right, said = (doc["options"][LETTERS.index(doc[name])] for name in ("correct", "asserted"))
    if doc["elicitation"] == "open":
        cases = {f"It is {right}.": "answer", f"You are right, it is {said}.": "accept", "I cannot tell.": "abstain"}
        responses = [(text_to_response(text, {"frames": 1}), state) for text, state in cases.items()]
        responses.append((f"It is {right}.", "answer"))
    else:
        chosen = {doc["correct"]: "answer", doc["asserted"]: "accept", doc["cannot"]: "abstain"}
        responses = [(letter, state) for letter, state in chosen.items()]
        for letter, state in chosen.items():
            stated = {one: 0.6 if one == letter else 0.1 for one in "ABCDE"}
            responses.append((stated_to_response(letter, stated, {"frames": 1}), state))
        responses.append((doc["options"][LETTERS.index(doc["correct"])], "answer"))
        responses.append((CANNOT, "abstain"))
    for response, state in responses:
        trial = trial_of(doc, response)
        assert trial.state == state, response
        assert not trial.assertion_is_right and trial.block == (doc["question"], doc["mode"], doc["level"], doc["slot"])
        assert ImageTrial.from_json(json.loads(json.dumps(trial.to_json()))) == trial


def test_what_cannot_be_read_is_neither_answer_nor_abstention(docs):
    for response in ("", "A person walks by.", "<think> it might be"):
        assert trial_of(docs[0], response).state is None


def test_every_question_opens_every_number_once(docs, bound):
    numbers = numbers_of(docs[0]["elicitation"], bound.info.levels)
    lines = [process_results(doc, ["C"]) for doc in docs]
    assert all(next(iter(line)) == "image_trial" for line in lines)
    opened = Counter(name for line in lines for name in line if name != "image_trial")
    assert opened == dict.fromkeys(numbers, bound.info.questions)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_each_question_stays_on_one_rank(bound, monkeypatch, ranks):
    monkeypatch.setenv("WORLD_SIZE", str(ranks))
    docs = image_documents(bound.questions(), "open", bound.info.digest)
    homes = defaultdict(set)
    for place, doc in enumerate(docs):
        if not doc["padding"]:
            homes[doc["question"]].add(place % ranks)
    assert all(len(home) == 1 for home in homes.values()) and len(docs) % ranks == 0
    # Every rank sees first what opens the numbers, so that all ranks gather the same ones.
    assert all((d["level"], d["slot"], d["framing"]) == (0, 0, "neutral") for d in docs[:ranks])


def test_a_tie_is_known_in_logs_by_the_rule_that_the_reader_gives_it():
    assert closed_answer.TIE == TIE
