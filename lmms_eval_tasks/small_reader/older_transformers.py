"""A checkpoint that transformers 5 wrote, for transformers 4.49 and later too, which look for some settings elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stimuli_builder.atomic import write_whole

_OWN_FILES = {"image_processor": "preprocessor_config.json", "video_processor": "video_preprocessor_config.json"}


def _write(path: Path, fields: dict[str, Any]) -> None:
    write_whole(path, f"{json.dumps(fields, indent=2, sort_keys=True)}\n".encode())


def serve_older_transformers(folder: Path) -> None:
    """Write what older versions look for beside what newer ones do; a second call changes nothing.

    These are the positions' settings under their old names, and the processors' settings in files of their own.
    """
    config = json.loads((folder / "config.json").read_bytes())
    text = config["text_config"]
    rope = text["rope_parameters"]
    text["rope_theta"] = rope["rope_theta"]
    text["rope_scaling"] = {"type": "mrope", "rope_type": "default", "mrope_section": rope["mrope_section"]}
    _write(folder / "config.json", config)
    processors = json.loads((folder / "processor_config.json").read_bytes())
    for name, file in _OWN_FILES.items():
        _write(folder / file, processors[name])
