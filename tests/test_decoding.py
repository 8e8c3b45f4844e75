"""The frame asked for is the frame given, for every codec; broken files say so."""

import dataclasses
import shutil
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from videos import h264_long_gop, read_stamp, variable_rate, write_stamped, xvid_like

from stimuli_builder.decoding import UnreadableVideo, read_frames, read_timeline


def stamps_at(path: Path, times_s: list[float]) -> list[int]:
    timeline = read_timeline(str(path))
    indices = [timeline.index_at(t) for t in times_s]
    shown = {index: read_stamp(pixels) for index, pixels in read_frames(str(path), timeline, indices)}
    return [shown[i] for i in indices]


def read_everything(path) -> list[int]:
    timeline = read_timeline(str(path))
    return [read_stamp(p) for _, p in read_frames(str(path), timeline, range(len(timeline.times_s)))]


@pytest.mark.parametrize(("name", "make"), [("long_gop.mp4", h264_long_gop), ("b_frames.avi", xvid_like)])
def test_constant_rate_frame_is_floor_of_time_times_rate(tmp_path, name, make):
    path = make(tmp_path / name)
    rng = np.random.default_rng(0)
    wanted = [0, 1, 2, 49, 50, 51, 249, 250, 251, 299, *rng.integers(0, 300, 60).tolist()]
    times_s = [(i + rng.uniform(0.05, 0.95)) / 25 for i in wanted]
    assert stamps_at(path, times_s) == wanted


@pytest.mark.parametrize(("name", "make"), [("long_gop.mp4", h264_long_gop), ("b_frames.avi", xvid_like)])
def test_every_frame_of_a_constant_rate_file(tmp_path, name, make):
    path = make(tmp_path / name)
    timeline = read_timeline(str(path))
    assert len(timeline.times_s) == 300
    assert timeline.duration_s == pytest.approx(12.0)
    assert [read_stamp(p) for _, p in read_frames(str(path), timeline, range(300))] == list(range(300))


def test_variable_rate_follows_time_stamps_not_frame_counts(tmp_path):
    path, ticks = variable_rate(tmp_path / "vfr.mp4")
    times_s = [t / 30 + offset for t in ticks for offset in (0.001, 0.030)]
    expected = [max(i for i, tick in enumerate(ticks) if tick / 30 <= t) for t in times_s]
    assert stamps_at(path, times_s) == expected
    by_count = [int(t / times_s[-1] * len(ticks)) for t in times_s]
    assert by_count != expected  # the tempting shortcut is wrong on this file


def test_a_time_on_a_frame_boundary_shows_the_frame_that_begins(tmp_path):
    path = write_stamped(tmp_path / "boundary.mp4", 50, "libx264", rate=25)
    assert stamps_at(path, [0.0, 0.04, 0.08, 1.96]) == [0, 1, 2, 49]


def test_times_outside_the_video_are_refused(tmp_path):
    timeline = read_timeline(str(write_stamped(tmp_path / "short.mp4", 10, "libx264")))
    for time_s in (-0.01, timeline.duration_s, 99.0):
        with pytest.raises(ValueError, match="outside a video"):
            timeline.index_at(time_s)


@pytest.mark.parametrize(("name", "make"), [("cut.mp4", h264_long_gop), ("cut.avi", xvid_like)])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_truncated_files_are_refused(tmp_path, name, make, share):
    path = make(tmp_path / name)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(UnreadableVideo):
        read_everything(path)


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
def test_clips_cut_without_reencoding_show_what_a_player_shows(tmp_path, suffix):
    """Copied from 2.6 s of a file with key frames every 2 s: packets from 2.0 s are there, those before are not shown."""
    source = write_stamped(tmp_path / "whole.mp4", 200, "libx264", options={"g": "50", "bf": "2"})
    path = tmp_path / f"trimmed.{suffix}"
    with av.open(str(source)) as whole, av.open(str(path), "w") as part:
        stream = whole.streams.video[0]
        copy = part.add_stream_from_template(stream)
        whole.seek(int(2.6 / stream.time_base), stream=stream)
        shift = int(2.6 / stream.time_base)
        for packet in whole.demux(stream):
            if packet.dts is not None:
                packet.pts, packet.dts, packet.stream = packet.pts - shift, packet.dts - shift, copy
                part.mux(packet)
    with av.open(str(path)) as container:
        shown = [read_stamp(f.to_ndarray(format="rgb24")) for f in container.decode(video=0)]
    assert read_everything(path) == shown
    timeline = read_timeline(str(path))
    assert timeline.duration_s == pytest.approx(len(shown) / 25)
    middle = timeline.index_at(timeline.duration_s / 2)
    assert stamps_at(path, [timeline.duration_s / 2]) == [shown[middle]] == [shown[len(shown) // 2]]


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_truncated_matroska_is_refused(tmp_path, share):
    path = write_stamped(tmp_path / "cut.mkv", 300, "libx264", options={"g": "50"})
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(UnreadableVideo, match="truncated"):
        read_timeline(str(path))


def test_a_frame_that_the_decoder_loses_is_noticed(tmp_path):
    """The stored times announce it; the neighbour must not take its place."""
    path = write_stamped(tmp_path / "whole.mp4", 50, "libx264", options={"bf": "0"})
    timeline = read_timeline(str(path))
    assert timeline.stamps is not None
    step = timeline.stamps[1] - timeline.stamps[0]
    stamps = (*timeline.stamps[:20], timeline.stamps[20] - step // 2, *timeline.stamps[21:])
    with pytest.raises(UnreadableVideo, match=r"the frame at 0\.80 s is announced but does not decode"):
        list(read_frames(str(path), dataclasses.replace(timeline, stamps=stamps), [19, 20, 21]))


def test_files_that_are_no_videos_are_refused(tmp_path):
    text = tmp_path / "notes.mp4"
    text.write_text("not a video")
    empty = tmp_path / "empty.avi"
    empty.touch()
    for path in (text, empty, tmp_path / "missing.mp4"):
        with pytest.raises(UnreadableVideo) as caught:
            read_timeline(str(path))
        assert path.name in str(caught.value)
        assert "\n" not in str(caught.value)


def test_audio_alone_is_refused(tmp_path):
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), dtype=np.float32), format="fltp", layout="mono")
        frame.sample_rate = 44100
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    with pytest.raises(UnreadableVideo, match="no video stream"):
        read_timeline(str(path))


def test_real_ucf101_clip_is_read_in_display_order(clips):
    """Its container's times swap neighbours; read in their order, motion jumps back and forth."""
    path = str(clips / "ucf101/UCF-101/ApplyEyeMakeup/v_ApplyEyeMakeup_g01_c01.avi")
    timeline = read_timeline(path)
    assert len(timeline.times_s) == 164
    assert np.allclose(np.diff(timeline.times_s), 0.04)
    ours = [p.astype(float).mean(axis=2) for _, p in read_frames(path, timeline, range(164))]
    capture = cv2.VideoCapture(path)  # an independent reader; it does not reorder either
    for frame in ours:
        theirs = cv2.cvtColor(capture.read()[1], cv2.COLOR_BGR2GRAY).astype(float)
        assert np.abs(frame - theirs).mean() < 12
    capture.release()

    def total_variation(frames):
        return sum(np.abs(a - b).mean() for a, b in zip(frames, frames[1:], strict=False))

    swapped = ours.copy()
    swapped[2::3], swapped[3::3] = ours[3::3], ours[2 : len(ours) - 1 : 3]
    assert total_variation(ours) < 0.75 * total_variation(swapped)


def test_rotation_is_applied_as_an_independent_reader_does(clips):
    path = str(clips / "odd/rotated.mp4")
    ((_, ours),) = read_frames(path, read_timeline(path), [0])
    capture = cv2.VideoCapture(path)
    theirs = cv2.cvtColor(capture.read()[1], cv2.COLOR_BGR2RGB)
    capture.release()
    assert ours.shape == theirs.shape == (480, 270, 3)
    assert np.abs(ours.astype(int) - theirs).mean() < 2


def test_header_counts_are_not_believed(clips):
    timeline = read_timeline(str(clips / "odd/header_says_444_frames.avi"))
    assert len(timeline.times_s) == 68
    assert timeline.duration_s == pytest.approx(29.6, abs=0.01)


def test_corrupt_stream_is_refused(clips, tmp_path):
    path = shutil.copy(clips / "odd/corrupted.mp4", tmp_path / "corrupted.mp4")
    with pytest.raises(UnreadableVideo, match="cannot be decoded"):
        read_everything(path)
