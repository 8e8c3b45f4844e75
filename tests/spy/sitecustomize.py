"""Loaded by Python at start-up when this folder is on its path; does nothing unless a variable asks for it.

`SPY_LOG=FILE` writes down what reaches `generate`: for every call the frames, put together again from the model's own
input patches and named by the hash of their pixels, and the text of the prompt. Nothing is changed.
`CAVED_TEST_KILL_AFTER=N` kills the process once N answers were kept.
"""

import json
import os
import signal
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path


def _watch_generate(module):
    import numpy as np
    from PIL import Image

    from stimuli_builder.frames import frame_id

    original = module.GenerationMixin.generate
    mean, std = (np.array(x) for x in ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]))

    def restored(vision, given, grid):
        """For each row of the grid its frames as they were before the processor, by the hash of their pixels."""
        patch, merge, pair = vision.patch_size, vision.spatial_merge_size, vision.temporal_patch_size
        start = 0
        for t, h, w in [] if grid is None else grid.tolist():
            patches = given[start : start + t * h * w].float().numpy()
            start += t * h * w
            blocks = patches.reshape(t, h // merge, w // merge, merge, merge, 3, pair, patch, patch)
            pixels = blocks.transpose(0, 6, 1, 3, 7, 2, 4, 8, 5).reshape(t * pair, h * patch, w * patch, 3)
            bytes_ = np.clip(np.rint((pixels * std + mean) * 255), 0, 255).astype(np.uint8)
            yield [frame_id(Image.fromarray(frame)) for frame in bytes_]

    def generate(self, *args, **kwargs):
        vision = self.config.vision_config
        videos = restored(vision, kwargs.get("pixel_values_videos"), kwargs.get("video_grid_thw"))
        images = restored(vision, kwargs.get("pixel_values"), kwargs.get("image_grid_thw"))
        line = {
            "frames": [frame for video in videos for frame in video],
            "ids": kwargs["input_ids"][0].tolist(),
            "images": [image[0] for image in images],  # an image fills both places of a pair
        }
        with Path(os.environ["SPY_LOG"]).open("a") as file:
            file.write(json.dumps(line) + "\n")
        return original(self, *args, **kwargs)

    module.GenerationMixin.generate = generate


def _kill_after_answers(module):
    original, kept = module.AnswerStore.add, [0]

    def add(self, finished):
        original(self, finished)
        kept[0] += len(finished)
        if kept[0] >= int(os.environ["CAVED_TEST_KILL_AFTER"]):
            os.kill(os.getpid(), signal.SIGKILL)

    module.AnswerStore.add = add


class _AfterImport(MetaPathFinder, Loader):
    """Calls a function with a module as soon as it was imported."""

    def __init__(self, name, change):
        self.name, self.change = name, change

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        spec = PathFinder.find_spec(name, path)
        self.inner = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        self.inner.exec_module(module)
        self.change(module)


for variable, name, change in (
    ("SPY_LOG", "transformers.generation.utils", _watch_generate),
    ("CAVED_TEST_KILL_AFTER", "lmms_eval_tasks.answer_store", _kill_after_answers),
):
    if os.environ.get(variable):
        sys.meta_path.insert(0, _AfterImport(name, change))
