"""The card of a release: what `datasets` needs to open it, and what a reader needs to trust it."""

from __future__ import annotations

from typing import Any

import yaml

from stimuli_builder.offsets import REVERSAL_BUDGETS, VIDEO_BUDGET
from stimuli_builder.parts import part_name
from stimuli_builder.release_info import ReleaseInfo


def _configs(info: ReleaseInfo) -> list[dict[str, Any]]:
    names = [part_name(part) for part in info.parts]
    probes = [{"split": name, "path": f"probes/{name}.parquet"} for name in names]
    frames: list[dict[str, Any]] = [
        {"config_name": f"frames_{name}", "data_files": [{"split": "frames", "path": f"frames_{name}/*.parquet"}]}
        for name in names
    ]
    return [{"config_name": "probes", "data_files": probes, "default": True}, *frames]


def _offsets_text(info: ReleaseInfo) -> str:
    if not info.reversal_offsets:
        return "This release has no part for the reversal test."
    budgets = ", ".join(map(str, REVERSAL_BUDGETS))
    return (
        f"The part `reversal` has the probes of k = {VIDEO_BUDGET} again, with the views of the reversal test: phase "
        f"`offset`, budgets {budgets} on the same video of {VIDEO_BUDGET} intervals, {info.reversal_offsets} "
        "`offset`s of each. Offset 0 is a uniform draw of the sampling phase; the others are spread evenly from there. "
        "Only forward views are stored: a reversed one is the same frames from last to first."
    )


def card_text(info: ReleaseInfo) -> str:
    """README.md of a release: YAML front matter with `configs:`, then a description."""
    front = yaml.safe_dump(
        {
            "pretty_name": "Caved or Convinced",
            "license": "other" if info.licence != "mit" else "mit",
            "task_categories": ["video-text-to-text"],
            "tags": ["video", "sycophancy", "temporal-order", "evaluation"],
            "configs": _configs(info),
        },
        sort_keys=False,
    )
    budgets = ", ".join(map(str, info.budgets))
    libraries = ", ".join(f"{name} {version}" for name, version in info.libraries.items())
    splits = ", ".join(f"`{part_name(part)}`" for part in info.parts)
    return f"""---
{front}---

# Caved or Convinced: a release of {info.probes} probes

Each probe is a virtual video with two brief events over a looped background, and its twin with the events
in the other order. Views list real frames by the SHA-256 of their pixels; no video file was rendered. See
"Caved or Convinced" (arXiv:2608.03160) for the experiment.

| | |
|---|---|
| digest | `{info.digest}` |
| format | {info.format_version} |
| made by | {info.made_by} ({libraries}) |
| sources | {info.sources}: {len(info.classes)} classes, {info.clips} clips, {info.backgrounds} backgrounds |
| probes | {info.probes} per budget |
| budgets (frames per view) | {budgets} |
| offsets of the reversal test | {info.reversal_offsets or "none"} |
| canvas | {info.canvas_px} x {info.canvas_px} px |
| seed | {info.seed} |
| licence | {info.licence} |

`probes` holds one row per probe and no images (splits {splits}); `frames_k{info.budgets[0]}` and its like hold
`frame_id` and `image`. `caved verify` on this folder proves the digest and what follows.

| arm | phase | what its views show |
|---|---|---|
| `intact` | `on_grid` | one frame of each event; the twins are the same frames in another order |
| `intact` | `in_gap` | background alone; the twins are identical |
| `no_events` | `on_grid` | both event frames replaced by the background at their instants; the twins are identical |
| `placebo` | `on_grid` | both events, and as many background frames replaced by other frames of that background |
| `early_only` | `on_grid` | the event of the earlier slot; the later one replaced by background |
| `late_only` | `on_grid` | the event of the later slot; the earlier one replaced by background |

{_offsets_text(info)}

Classes: {", ".join(info.classes)}.
"""
