"""The card of an image release: what `datasets` needs to open it, and what a reader needs to trust it."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from stimuli_builder.image.info import ImageReleaseInfo


def _strengths(info: ImageReleaseInfo) -> str:
    levels = range(1, info.levels + 1)
    lines = [f"| category | mode | {' | '.join(f'L{level}' for level in levels)} |", f"|---|---|{'---|' * info.levels}"]
    for category, modes in info.strengths.items():
        for mode, values in modes.items():
            lines.append(f"| `{category}` | {mode} | {' | '.join(f'{value:g}' for value in values)} |")
    return "\n".join(lines)


def _whose(leading: Mapping[str, tuple[str, ...]]) -> str:
    """Which categories have the levels of others."""
    lines = [
        f"- `{category}` has the levels of {' or '.join(f'`{leader}`' for leader in leaders)}, as its region has."
        for category, leaders in leading.items()
        if leaders != (category,)
    ]
    return "\n".join(["", *lines, ""]) if lines else ""


def image_card_text(info: ImageReleaseInfo, leading: Mapping[str, tuple[str, ...]]) -> str:
    """README.md of a release: YAML front matter with `configs:`, then a description.

    Args:
        info: the release's description.
        leading: by category those whose strengths its regions have (`levels.leading_categories`).
    """
    front = yaml.safe_dump(
        {
            "pretty_name": "Can't Tell, or Won't Say?",
            "license": "other" if info.licence != "mit" else "mit",
            "task_categories": ["visual-question-answering"],
            "tags": ["image", "abstention", "sycophancy", "evaluation"],
            "configs": [
                {
                    "config_name": "items",
                    "data_files": [{"split": "items", "path": "items/*.parquet"}],
                    "default": True,
                },
                {"config_name": "images", "data_files": [{"split": "images", "path": "images/*.parquet"}]},
            ],
        },
        sort_keys=False,
    )
    libraries = ", ".join(f"{name} {version}" for name, version in info.libraries.items())
    canvas = f"{info.canvas_px} x {info.canvas_px} px" if info.canvas_px else "each image has its own size"
    return f"""---
{front}---

# Can't Tell, or Won't Say?: a release of {info.items} items

Each item is an image with questions of distinct categories. A question has four options, one of them right, and a
diagnostic region that decides the answer. Its images degrade that region and leave the rest untouched. See "Can't Tell,
or Won't Say? Separating Evidential and Social Abstention in Multimodal Language Models" for the experiment.

| | |
|---|---|
| digest | `{info.digest}` |
| format | {info.format_version} |
| made by | {info.made_by} ({libraries}) |
| sources | {info.sources} |
| items | {info.items}, with {info.questions} questions of the categories {", ".join(info.categories)} |
| levels | L0 (intact) and {info.levels} in each of two modes |
| levels found by | {info.calibrated_by} |
| margin | {info.margin:g} of the region's height |
| canvas | {canvas} |
| seed | {info.seed} |
| licence | {info.licence} |

`items` holds one row per question and no images; `images` holds `frame_id`, the SHA-256 of an image's size and pixels, and
`image`. `caved verify` on this folder proves the digest and what follows; `caved preview` draws the levels of a question.

| mode | what its images show |
|---|---|
| `intact` | the image as it is: L0 of both modes |
| `subtractive` | opaque checkered patches over the region's box; strength: share of the region that is hidden. What one level hides, the next hides too; a share of 1 hides the margin as well |
| `corruptive` | the region's box blurred, with a soft edge in the margin; strength: sigma of the Gaussian over the region's height |

{_strengths(info)}

A region has the strengths of the category that stands first among its questions.
{_whose(leading)}
`achieved` is the strength that whole
pixels give. Box and mask (`runs`: run lengths over the box, row by row, outside first) are in pixels of the image.

A question is put in two `slots`, which differ in the order of the options, in the place of "cannot be determined" where it
is offered, in the paraphrase, and in the option that the user asserts: the right one in one slot, a wrong one in the other.
The place of the right option is balanced within each category.
"""
