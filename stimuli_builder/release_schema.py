"""What a release holds, as code: its rows, and the digest that names its content.

A release is a folder that `datasets.load_dataset` opens as it is:

    README.md                   the card: configs, licence, build arguments, digest
    release.json                the same facts for programs (`ReleaseInfo`)
    probes/k16.parquet          config `probes`, split `k16`: one row per probe, no images
    frames_k16/*.parquet        config `frames_k16`: `frame_id` and the embedded image
    probes/reversal.parquet     split `reversal`: the rows of k = 16 with the views of the reversal test
    frames_reversal/*.parquet   config `frames_reversal`

A row of `k16` has the intact views in both phases and all other arms on-grid, each for both twins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from datasets import Features, Image, Value

from stimuli_builder.catalogue import Source
from stimuli_builder.edit_list import Arm, Kind, Twin, ViewPhase
from stimuli_builder.parts import Part, part_name
from stimuli_builder.probes import Event, Order, Probe
from stimuli_builder.release_info import FORMAT_VERSION
from stimuli_builder.timing import Timing

PROBE_FEATURES = Features(
    {
        "probe": Value("string"),
        "probe_index": Value("int32"),
        "budget": Value("int32"),
        "e1_label": Value("string"),
        "e1_phrase": Value("string"),
        "e1_clip": Value("string"),
        "e1_clip_duration_s": Value("float64"),
        "e2_label": Value("string"),
        "e2_phrase": Value("string"),
        "e2_clip": Value("string"),
        "e2_clip_duration_s": Value("float64"),
        "background": Value("string"),
        "background_duration_s": Value("float64"),
        "claimed_order": Value("string"),
        "named_order": Value("string"),
        "interval_s": Value("float64"),
        "event_s": Value("float64"),
        "first_slot_s": Value("float64"),
        "slot_gap": Value("int32"),
        "views": [
            {
                "arm": Value("string"),
                "twin": Value("string"),
                "phase": Value("string"),
                "offset": Value("int32"),
                "times_s": [Value("float64")],
                "kinds": [Value("string")],
                "source_times_s": [Value("float64")],
                "frames": [Value("string")],
            }
        ],
    }
)

FRAME_FEATURES = Features({"frame_id": Value("string"), "image": Image()})


@dataclass(frozen=True)
class StoredView:
    """A view as the release keeps it: the edit list with a frame id for every shot."""

    arm: Arm
    twin: Twin
    phase: ViewPhase
    offset: int | None  # which of the reversal test's offsets, with the phase "offset" only
    times_s: tuple[float, ...]
    kinds: tuple[Kind, ...]
    source_times_s: tuple[float, ...]
    frames: tuple[str, ...]

    @property
    def events_sampled(self) -> int:
        """How many of the two events at least one of its frames meets: 0, 1 or 2."""
        return len({"e1", "e2"} & set(self.kinds))


@dataclass(frozen=True)
class StoredProbe:
    """One row of the `probes` config."""

    probe: Probe
    views: tuple[StoredView, ...]

    @property
    def placebo_changes(self) -> bool:
        """Whether each frame that its placebo replaces shows other pixels than before; True without a placebo.

        Where a background stands still there is no other frame, and its placebo is the intact view.
        """
        on_grid = {view.arm: view for view in self.views if (view.phase, view.twin) == ("on_grid", "+")}
        intact, placebo = on_grid.get("intact"), on_grid.get("placebo")
        if intact is None or placebo is None:
            return True
        shots = zip(intact.source_times_s, placebo.source_times_s, intact.frames, placebo.frames, strict=True)
        return all(before != after for before_s, after_s, before, after in shots if before_s != after_s)

    def to_row(self) -> dict[str, Any]:
        """The row, keyed as `PROBE_FEATURES`."""
        p = self.probe
        row: dict[str, Any] = {"probe": p.probe, "probe_index": p.index, "budget": p.timing.budget}
        for name, event in (("e1", p.e1), ("e2", p.e2)):
            row[f"{name}_label"] = event.label
            row[f"{name}_phrase"] = event.phrase
            row[f"{name}_clip"] = event.clip.name
            row[f"{name}_clip_duration_s"] = event.clip_duration_s
        row.update(
            background=p.background.name,
            background_duration_s=p.background_duration_s,
            claimed_order=p.claimed_order,
            named_order=p.named_order,
            interval_s=p.timing.interval_s,
            event_s=p.timing.event_s,
            first_slot_s=p.timing.first_slot_s,
            slot_gap=p.timing.slot_gap,
            views=[{k: list(v) if isinstance(v, tuple) else v for k, v in vars(view).items()} for view in self.views],
        )
        return row

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> StoredProbe:
        """The probe of a row.

        Raises:
            ValueError: if its timing is impossible.
            KeyError: if a column is missing.
        """

        def event(name: str) -> Event:
            clip = row[f"{name}_clip"]
            return Event(
                row[f"{name}_label"],
                row[f"{name}_phrase"],
                Source(clip, clip),
                row[f"{name}_clip_duration_s"],
            )

        order: dict[str, Order] = {"e1_first": "e1_first", "e2_first": "e2_first"}
        probe = Probe(
            probe=row["probe"],
            index=row["probe_index"],
            e1=event("e1"),
            e2=event("e2"),
            background=Source(row["background"], row["background"]),
            background_duration_s=row["background_duration_s"],
            claimed_order=order[row["claimed_order"]],
            named_order=order[row["named_order"]],
            timing=Timing(row["budget"], row["interval_s"], row["event_s"], row["first_slot_s"], row["slot_gap"]),
        )
        views = tuple(
            StoredView(
                arm=view["arm"],
                twin=view["twin"],
                phase=view["phase"],
                offset=view["offset"],
                times_s=tuple(view["times_s"]),
                kinds=tuple(view["kinds"]),
                source_times_s=tuple(view["source_times_s"]),
                frames=tuple(view["frames"]),
            )
            for view in row["views"]
        )
        return StoredProbe(probe, views)


def row_hash(row: Mapping[str, Any]) -> str:
    """SHA-256 of a probe's row as canonical JSON."""
    text = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def release_digest(
    frames: Mapping[Part, Iterable[str]], rows: Mapping[Part, Iterable[Mapping[str, Any]]], canvas_px: int
) -> str:
    """SHA-256 over the sorted hashes of everything a model or a measure can depend on.

    It covers pixels (frame ids), every field of every probe, which part each belongs to, canvas and format,
    and no detail of how they are stored: rewriting the Parquet files does not change it.

    Args:
        frames: distinct frame ids of each part.
        rows: the rows of the `probes` config, of each part.
        canvas_px: side of the square frames.
    """
    lines = [f"format {FORMAT_VERSION} canvas {canvas_px}"]
    lines += [f"frame {part_name(part)} {frame}" for part, ids in frames.items() for frame in set(ids)]
    lines += [f"probe {part_name(part)} {row_hash(row)}" for part, listed in rows.items() for row in listed]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
