"""Folders as the data sets unpack, the words for their classes, and which of them look alike."""

import json
from pathlib import Path

import pytest

from stimuli_builder.errors import CavedError
from stimuli_builder.folders import backgrounds_of, classes_of, words_of
from stimuli_builder.sources import video_catalogue
from stimuli_builder.ucf101 import CONFUSABLE_GROUPS, PHRASES, ucf101_classes


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_101_classes_have_phrases_that_fit_into_one_sentence():
    assert len(PHRASES) == 101
    assert len(set(PHRASES.values())) == 101
    for phrase in PHRASES.values():
        assert phrase == phrase.strip() and phrase[0].islower()
        assert not any(mark in phrase for mark in ",.;:?!")  # they would break the options
        assert "first" not in phrase and "before" not in phrase and "then" not in phrase.split()


def test_no_phrase_is_part_of_another():
    """Else an answer in words would name two events at once."""
    phrases = sorted(PHRASES.values(), key=len)
    for i, short in enumerate(phrases):
        for long in phrases[i + 1 :]:
            if f" {short} " in f" {long} ":
                labels = [k for k, v in PHRASES.items() if v in (short, long)]
                assert any(set(labels) <= group for group in CONFUSABLE_GROUPS), (short, long)


def test_confusable_groups_name_classes():
    names = set().union(*CONFUSABLE_GROUPS)
    assert names <= set(PHRASES)
    assert sum(map(len, CONFUSABLE_GROUPS)) == len(names)  # no class in two groups
    assert frozenset({"ApplyEyeMakeup", "ApplyLipstick"}) in CONFUSABLE_GROUPS


@pytest.mark.parametrize("inner", ["UCF-101", "."])
def test_ucf101_as_it_unpacks(tmp_path, inner):
    for label in PHRASES:
        # The case trap: the files of HandstandPushups are spelt with a capital S.
        stem = "HandStandPushups" if label == "HandstandPushups" else label
        for clip in ("g01_c01", "g02_c03"):
            touch(tmp_path / inner / label / f"v_{stem}_{clip}.avi")
    touch(tmp_path / "ucfTrainTestlist" / "classInd.txt")
    classes = ucf101_classes(tmp_path)
    assert [c.label for c in classes] == sorted(PHRASES)
    assert all(c.phrase == PHRASES[c.label] and len(c.clips) == 2 for c in classes)
    handstand = next(c for c in classes if c.label == "HandstandPushups")
    assert handstand.clips[0].name == "HandstandPushups/v_HandStandPushups_g01_c01.avi"


def test_nextqa_as_it_unpacks(tmp_path):
    touch(tmp_path / "NExTVideo" / "0101" / "2909445186.mp4")
    touch(tmp_path / "NExTVideo" / "1007" / "4010069381.mp4")
    touch(tmp_path / "elsewhere" / "5.mp4")
    (tmp_path / "map_vid_vidorID.json").write_text(json.dumps({"2909445186": "0101/2909445186"}))
    names = [s.name for s in backgrounds_of(tmp_path, "--nextqa")]
    assert names == ["NExTVideo/0101/2909445186.mp4", "NExTVideo/1007/4010069381.mp4"]


def test_what_is_no_video_is_passed_over(tmp_path):
    for name in ("a.MP4", "b.txt", ".hidden.mp4", "c.webm", "._d.avi", "e.jpg"):
        touch(tmp_path / "x" / name)
    (found,) = classes_of(tmp_path, "--events")
    assert [c.name for c in found.clips] == ["x/a.MP4", "x/c.webm"]


@pytest.mark.parametrize(
    ("label", "words"),
    [("FlippingPancake", "flipping pancake"), ("jump_rope", "jump rope"), ("YoYo", "yo yo"), ("a-b  c", "a b c")],
)
def test_words_of_unknown_labels(label, words):
    assert words_of(label) == words


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 3}', '{"x": ""}'])
def test_phrases_that_cannot_be_read(tmp_path, text):
    touch(tmp_path / "x" / "a.mp4")
    (tmp_path / "phrases.json").write_text(text)
    with pytest.raises(CavedError, match=r"phrases\.json"):
        classes_of(tmp_path, "--events")


def test_two_labels_with_one_phrase_are_refused(tmp_path):
    """The question could not tell them apart."""
    for name in ("events/tennis/a.mp4", "events/Tennis_/b.mp4", "street/c.mp4"):
        touch(tmp_path / name)
    (tmp_path / "events" / "phrases.json").write_text('{"tennis": "a serve", "Tennis_": "A serve"}')
    with pytest.raises(CavedError, match="same phrase"):
        video_catalogue(None, None, tmp_path / "events", tmp_path / "street")


def test_no_file_is_event_and_background(tmp_path):
    """In-gap frames must show no event, so neither folder may contain the other, by a link either."""
    for name in ("events/tennis/a.mp4", "events/golf/b.mp4", "events/backgrounds/c.mp4"):
        touch(tmp_path / name)
    (tmp_path / "linked").symlink_to(tmp_path / "events" / "golf")
    for backgrounds in ("events", "events/backgrounds", "linked"):
        with pytest.raises(CavedError, match="events and backgrounds at once"):
            video_catalogue(None, None, tmp_path / "events", tmp_path / backgrounds)


def test_hidden_folders_are_no_classes_and_linked_ones_are_followed(tmp_path):
    for name in (".Trash/x/a.mp4", "golf/.cache/b.mp4", "golf/c.mp4", "store/tennis/d.mp4"):
        touch(tmp_path / name)
    (tmp_path / "tennis").symlink_to(tmp_path / "store" / "tennis")
    found = {c.label: [clip.name for clip in c.clips] for c in classes_of(tmp_path, "--events")}
    assert found == {"golf": ["golf/c.mp4"], "store": ["store/tennis/d.mp4"], "tennis": ["tennis/d.mp4"]}


def test_fingerprint_follows_phrases_names_and_sizes(tmp_path):
    for name in ("events/tennis/a.mp4", "events/golf/b.mp4", "street/c.mp4"):
        touch(tmp_path / name)

    def fingerprint() -> str:
        return video_catalogue(None, None, tmp_path / "events", tmp_path / "street")[0].fingerprint()

    seen = [fingerprint()]
    (tmp_path / "events" / "tennis" / "a.mp4").write_bytes(b"other")
    seen.append(fingerprint())
    (tmp_path / "events" / "phrases.json").write_text('{"golf": "a golf swing"}')
    seen.append(fingerprint())
    touch(tmp_path / "street" / "d.mp4")
    seen.append(fingerprint())
    assert len(set(seen)) == 4 and seen[-1] == fingerprint()


def test_real_layout(clips):
    catalogue, licence = video_catalogue(clips / "ucf101", clips / "nextqa", None, None)
    assert len(catalogue.classes) == 5 and len(catalogue.backgrounds) == 4
    assert "research use" in licence
    assert "ArmWrestling, CleaningPool, FlippingPancake" in " ".join(catalogue.notes)
