"""The workshop beside a release under construction: frames cut from their sources, kept across restarts.

Every source is read once, in sequence. What was cut is recorded per source, so a build that was killed,
or that failed on one bad file, goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import signal
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stimuli_builder.atomic import write_whole
from stimuli_builder.catalogue import Source
from stimuli_builder.decoding import Timeline, read_frames, read_timeline
from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.frames import encode, frame_id, onto_canvas
from stimuli_builder.procedural import SCHEME, procedural_duration_s, render


@dataclass(frozen=True)
class Staging:
    """Where cut frames wait until the release is written."""

    folder: Path
    canvas_px: int

    def frame_path(self, frame: str) -> Path:
        """The encoded image of a frame id."""
        return self.folder / "frames" / frame[:2] / f"{frame}.webp"

    def _record_path(self, source: Source) -> Path:
        name = hashlib.sha256(f"{source.name}\n{_state(source)}\n{self.canvas_px}".encode()).hexdigest()
        return self.folder / "sources" / f"{name}.json"

    def record(self, source: Source) -> dict[str, str]:
        """{source time in seconds, as written by repr: frame id} of what was cut before."""
        path = self._record_path(source)
        return json.loads(path.read_text()) if path.is_file() else {}

    def save(self, source: Source, record: Mapping[str, str]) -> None:
        """Remember what was cut from `source`."""
        write_whole(self._record_path(source), json.dumps(record, sort_keys=True).encode())


def _state(source: Source) -> str:
    """Changes when the file behind a source does."""
    if source.location.startswith(SCHEME):
        return source.location
    stat = Path(source.location).stat()
    return f"{stat.st_size} {stat.st_mtime_ns}"


def source_duration_s(source: Source) -> float:
    """Seconds that a source lasts, by its time stamps.

    Raises:
        UnreadableVideo: if it is a file that cannot be read.
    """
    if source.location.startswith(SCHEME):
        return procedural_duration_s(source.location)
    return read_timeline(source.location).duration_s


def _cut(staging: Staging, source: Source, times_s: Iterable[float]) -> dict[str, str]:
    """Store the frames of `source` at `times_s`; returns its whole record."""
    record = staging.record(source)
    missing = sorted({t for t in times_s if repr(t) not in record})
    if not missing:
        return record
    if source.location.startswith(SCHEME):
        for time_s in missing:
            image = render(source.location, time_s, staging.canvas_px)
            record[repr(time_s)] = _store(staging, frame_id(image), partial(encode, image))
    else:
        timeline: Timeline = read_timeline(source.location)
        times_of: dict[int, list[float]] = {}
        for time_s in missing:
            times_of.setdefault(timeline.index_at(time_s), []).append(time_s)
        for index, pixels in read_frames(source.location, timeline, times_of):
            image = onto_canvas(pixels, staging.canvas_px)
            stored = _store(staging, frame_id(image), partial(encode, image))
            record.update({repr(time_s): stored for time_s in times_of[index]})
    staging.save(source, record)
    return record


def _store(staging: Staging, frame: str, encoded: Callable[[], bytes]) -> str:
    path = staging.frame_path(frame)
    if not path.exists():
        write_whole(path, encoded(), durable=False)
    return frame


def cut_frames(
    staging: Staging,
    wanted: Mapping[Source, Iterable[float]],
    workers: int,
    progress: Callable[[int], object] = lambda _: None,
    problems: Iterable[str] = (),
) -> dict[Source, dict[float, str]]:
    """For each source, the frame id at each wanted source time; each file is decoded once, from its start.

    Args:
        staging: where the frames are kept.
        wanted: source times in seconds, per source.
        workers: processes that decode at the same time.
        progress: called with 1 after each source.
        problems: what was found wrong with other sources before, to be reported together.

    Raises:
        BadInputs: naming every file that does not decode, after all others were cut and kept.
    """
    found = list(problems)
    cut: dict[Source, dict[float, str]] = {}

    def finish(source: Source, record: dict[str, str]) -> None:
        cut[source] = {time_s: record[repr(time_s)] for time_s in wanted[source]}

    if workers == 1:
        for source, times_s in wanted.items():
            try:
                finish(source, _cut(staging, source, list(times_s)))
            except CavedError as error:
                found.append(str(error))
            progress(1)
    else:
        try:
            with ProcessPoolExecutor(workers, initializer=_leave_interrupts_to_the_parent) as pool:
                futures = {pool.submit(_attempt, staging, s, list(t)): s for s, t in wanted.items()}
                try:
                    for future in as_completed(futures):
                        record, problem = future.result()
                        if problem is None:
                            finish(futures[future], record)
                        else:
                            found.append(problem)
                        progress(1)
                except KeyboardInterrupt:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
        except BrokenProcessPool as error:
            raise CavedError(
                "a decoding process was killed, most often for want of memory: run the same command again with "
                "--workers 1; finished work is kept"
            ) from error
    if found:
        raise BadInputs(
            f"{len(found)} source file(s) cannot be used",
            sorted(found),
            "replace these files or delete them, then run the same command again; finished work is kept",
        )
    return cut


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _attempt(staging: Staging, source: Source, times_s: list[float]) -> tuple[dict[str, str], str | None]:
    """`_cut` for another process: a problem travels as its text, since exceptions may not pickle."""
    try:
        return _cut(staging, source, times_s), None
    except CavedError as error:
        return {}, str(error)
