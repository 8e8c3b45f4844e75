"""The card of a release: what `datasets` needs to open it, and what a reader needs to trust it."""

from __future__ import annotations

import yaml

from stimuli_builder.release_schema import ReleaseInfo


def card_text(info: ReleaseInfo) -> str:
    """README.md of a release: YAML front matter with `configs:`, then a description."""
    configs = [
        {
            "config_name": "probes",
            "data_files": [{"split": f"k{k}", "path": f"probes/k{k}.parquet"} for k in info.budgets],
            "default": True,
        },
        *(
            {
                "config_name": f"frames_k{k}",
                "data_files": [{"split": "frames", "path": f"frames_k{k}/*.parquet"}],
            }
            for k in info.budgets
        ),
    ]
    front = yaml.safe_dump(
        {
            "pretty_name": "Caved or Convinced",
            "license": "other" if info.licence != "mit" else "mit",
            "task_categories": ["video-text-to-text"],
            "tags": ["video", "sycophancy", "temporal-order", "evaluation"],
            "configs": configs,
        },
        sort_keys=False,
    )
    budgets = ", ".join(map(str, info.budgets))
    libraries = ", ".join(f"{name} {version}" for name, version in info.libraries.items())
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
| canvas | {info.canvas_px} x {info.canvas_px} px |
| seed | {info.seed} |
| licence | {info.licence} |

`probes` holds one row per probe and no images (splits by budget, such as `k{info.budgets[0]}`);
`frames_k{info.budgets[0]}` holds `frame_id` and `image`. `caved verify` on this folder proves the digest, that
in-gap twins are identical, and that on-grid twins are the same frames in another order. Classes:
{", ".join(info.classes)}.
"""
