"""At which support should `ocr_reader` answer? Its threshold and sharpness, found on items that no release has by default.

    python scripts/ocr_confidence.py

Reads the codes of procedural items at strengths around those of the release, both modes. Prints, for each threshold, how
much is answered and how much of that is right; and for each sharpness the mean log-likelihood of the right one of four.
"""

from __future__ import annotations

import argparse

import numpy as np
from tqdm import tqdm

from lmms_eval_tasks.image.closest_option import supports
from lmms_eval_tasks.image.ocr_engine import read_lines
from lmms_eval_tasks.image.ocr_reader import LEAD
from stimuli_builder.image.degraded import degraded_views
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.scenes import procedural_scene

SEED = 9101
CANVAS_PX = 448
STRENGTHS = {
    "subtractive": (0.1, 0.2, 0.3, 0.4, 0.55, 0.7, 1.0),
    "corruptive": (0.06, 0.08, 0.09, 0.1, 0.115, 0.13, 0.15),
}
THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SHARPNESS = (2, 4, 6, 8, 10, 12, 15, 20, 30)


def read_items(items: int) -> tuple[np.ndarray, np.ndarray]:
    """Supports of the four options, shape (images, 4), and the place of the right one, shape (images,)."""
    found, answers = [], []
    for index in tqdm(range(items), "reading", unit=" item"):
        scene = procedural_scene(SEED, index, CANVAS_PX)
        question = next(question for question in scene.questions if question.category == "code")
        region = next(region for region in scene.regions if region.name == question.region)
        views = degraded_views(scene.image, region, STRENGTHS, MARGIN, SEED, scene.item, region.name)
        for image in (scene.image, *(view for *_, view in views)):
            found.append(supports(question.options, read_lines(image)))
            answers.append(question.answer)
    return np.array(found), np.array(answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100)
    found, answers = read_items(parser.parse_args().items)
    ordered = np.sort(found, axis=1)
    right = found[np.arange(len(answers)), answers] == ordered[:, -1]
    print("| threshold | answered | right among the answered |\n|---|---|---|")
    for threshold in THRESHOLDS:
        answered = ordered[:, -1] > np.maximum(threshold, ordered[:, -2] + LEAD)
        print(f"| {threshold} | {answered.mean():.3f} | {right[answered].mean():.3f} |")
    print("\n| sharpness | mean log-likelihood |\n|---|---|")
    for sharpness in SHARPNESS:
        weights = np.exp(sharpness * found)
        likelihood = weights[np.arange(len(answers)), answers] / weights.sum(axis=1)
        print(f"| {sharpness} | {np.log(likelihood).mean():.3f} |")


if __name__ == "__main__":
    main()
