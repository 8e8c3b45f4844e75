"""`caved push`: publish a release on the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from stimuli_builder.image.info import IMAGE_BENCHMARK
from stimuli_builder.image.release import open_image_release
from stimuli_builder.image.verify import verify_image_release
from stimuli_builder.kind import benchmark_of
from stimuli_builder.push import push_release
from stimuli_builder.release import open_release
from stimuli_builder.verify import verify_release


def push(
    folder: Annotated[Path, typer.Argument(help="folder of a release")],
    to: Annotated[str, typer.Option(help="owner/name of a data set on the Hub; it is made if it is not there")],
    public: Annotated[bool, typer.Option("--public", help="let all see a new data set; default: you alone")] = False,
) -> None:
    """Publish a release on the Hub, verified first and in one commit, and print the name that means it for ever.

    Log in with `hf auth login`, or set HF_TOKEN. An interrupted push goes on when the same command is run again. Frames and
    photographs stay under the terms of the data sets that they come from: see to it that you may publish them.
    """
    if benchmark_of(folder) == IMAGE_BENCHMARK:
        images = open_image_release(folder)
        digest, licence, total = images.info.digest, images.info.licence, len(images.images().ids())
        with tqdm(total=total, desc="verifying", unit=" image") as bar:
            findings = verify_image_release(images, bar.update)
    else:
        release = open_release(folder)
        digest, licence = release.info.digest, release.info.licence
        total = sum(len(release.frames(part).ids()) for part in release.info.parts)
        with tqdm(total=total, desc="verifying", unit=" frame") as bar:
            findings = verify_release(release, bar.update)
    pushed = push_release(folder, digest, to, public, lambda: findings)
    typer.echo(f"{pushed.repository}: {'pushed' if pushed.new else 'holds this release already'} (tag {pushed.tag})")
    typer.echo(f"its card says of the licence: {licence or 'nothing; give --licence when you build'}")
    typer.echo(f"next:  CAVED_RELEASE={pushed.name} lmms-eval --tasks ...")
