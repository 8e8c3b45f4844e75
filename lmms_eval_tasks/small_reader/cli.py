"""`caved model-args`: how to run a model that comes with this package.

The `caved` command finds this through the entry points of the group `caved.commands`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lmms_eval_tasks.small_reader.packaged import PACKAGED, model_args


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("model-args")(print_model_args)


def print_model_args(
    name: Annotated[str, typer.Argument(help=f"a packaged model: {' or '.join(PACKAGED)}")],
    device: Annotated[str, typer.Option(help="cpu, cuda, or one of several such as cuda:1")] = "cpu",
) -> None:
    """Print the --model_args of a packaged model, for lmms-eval.

    `lmms-eval --model qwen2_5_vl --model_args "$(caved model-args small-reader)" --tasks caved_or_convinced ...`.
    The packaged models are controls: they show a trained network in the whole pipeline, and their numbers are no results.
    """
    typer.echo(model_args(name, device))
