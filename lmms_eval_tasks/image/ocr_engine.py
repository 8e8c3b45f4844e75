"""PP-OCR as `rapidocr` ships it: text detection and recognition on the CPU, with weights that lie in its wheel."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lmms_eval_tasks.image.closest_option import Line
from lmms_eval_tasks.stop import RunStopped

WEIGHTS = {"Det": "PP-OCRv6_det_small.onnx", "Rec": "PP-OCRv6_rec_small.onnx"}
_INSTALL = 'pip install "rapidocr>=3.10,<4" onnxruntime'
# All else is as rapidocr ships it; so detection enlarges small images to 736 px, which finds more of what is blurred.
_SETTINGS = {
    "Global.log_level": "critical",
    "Global.text_score": 0.0,  # lines of a low score are the reader's to judge
    "Global.use_cls": False,  # no text stands upside down
    # One thread, so that sums are taken in the same order each time.
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


@lru_cache(maxsize=1)
def _engine() -> Any:
    try:
        import onnxruntime  # type: ignore[import-untyped]  # noqa: F401  # rapidocr does not ask for it, and needs it
        import rapidocr
    except ImportError as error:
        raise RunStopped(f"ocr_reader needs a package that is not installed ({error}): {_INSTALL}") from error
    folder = Path(rapidocr.__file__).parent / "models"
    paths = {f"{part}.model_path": str(folder / name) for part, name in WEIGHTS.items()}
    missing = [path for path in paths.values() if not Path(path).is_file()]
    if missing:  # it would look for them on the network
        raise RunStopped(
            f"ocr_reader finds no weights {missing[0]} in this version of rapidocr, which is another one: {_INSTALL}"
        )
    return rapidocr.RapidOCR(params={**_SETTINGS, **paths})


def read_lines(image: Image.Image) -> tuple[Line, ...]:
    """The lines of text that PP-OCR finds in an image, from top to bottom, with their scores.

    The same pixels give the same lines.

    Raises:
        RunStopped: if rapidocr, onnxruntime or the weights are not there.
    """
    blue_first = np.ascontiguousarray(np.asarray(image.convert("RGB"))[..., ::-1])
    found = _engine()(blue_first)
    if found.txts is None:
        return ()
    return tuple(Line(text, float(score)) for text, score in zip(found.txts, found.scores, strict=True))
