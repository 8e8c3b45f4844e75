"""`caved probe-model`: a colour-coded clip through any model of lmms-eval, and what became of it.

The `caved` command finds this through the entry points of the group `caved.commands`; what is heavy is imported only
when the command runs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer

from stimuli_builder.errors import CavedError
from stimuli_builder.frames import CANVAS_PX

_LEAST_CANVAS_PX, _MOST_CANVAS_PX = 28, 4096


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("probe-model")(probe_model)


def probe_model(
    model: Annotated[str, typer.Option(help="id of a model, as for lmms-eval")],
    model_args: Annotated[
        str, typer.Option("--model_args", help="as for lmms-eval: pretrained=...,device_map=...")
    ] = "",
    budget: Annotated[int, typer.Option(help="frames of the clip")] = 16,
    batch_size: Annotated[Optional[str], typer.Option("--batch_size", help="as for lmms-eval; default: 1")] = None,  # noqa: UP045
    time_told: Annotated[
        Literal["withheld", "native", "text"], typer.Option("--time", help="what models are told of frame times")
    ] = "withheld",
    canvas: Annotated[int, typer.Option(help="side of the square frames, in pixels")] = CANVAS_PX,
    device: Annotated[Optional[str], typer.Option(help="as for lmms-eval")] = None,  # noqa: UP045
    force_simple: Annotated[bool, typer.Option("--force_simple", help="as for lmms-eval: the simple kind")] = False,
    json_file: Annotated[Optional[Path], typer.Option("--json", help="file for the report")] = None,  # noqa: UP045
) -> None:
    """Run a colour-coded clip through a model's wrapper, and print what arrived and what was answered.

    The last line is the verdict; exit status 0 if a run would work, 1 if not.
    """
    if not _LEAST_CANVAS_PX <= canvas <= _MOST_CANVAS_PX:
        raise CavedError(f"--canvas {canvas}: choose {_LEAST_CANVAS_PX} to {_MOST_CANVAS_PX} pixels")
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise CavedError(f"--json {json_file}: make the folder {json_file.parent} first")

    import lmms_eval.models  # noqa: F401  (it sets up logging anew)
    from loguru import logger

    from lmms_eval_tasks.colour_clip import colour_clip
    from lmms_eval_tasks.probe_loading import Choice, load_wrapper
    from lmms_eval_tasks.probe_report import describe
    from lmms_eval_tasks.probing import probe

    logger.remove()  # what matters of it stands in the report
    logger.add(sys.stderr, level="CRITICAL")
    try:
        clip = colour_clip(budget, canvas)
    except ValueError as error:
        raise CavedError(f"--budget {budget}: {error}") from error
    choice = Choice(model, model_args, batch_size, device, force_simple, time_told)
    start = time.perf_counter()
    wrapper = load_wrapper(choice)
    report = probe(wrapper, choice, clip, load_s=time.perf_counter() - start)
    if json_file is not None:
        json_file.write_text(report.to_json(), encoding="utf-8")
    typer.echo(describe(report))
    if not report.ready:
        raise typer.Exit(1)
