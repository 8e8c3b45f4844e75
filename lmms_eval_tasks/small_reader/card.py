"""The model card of a small reader: what it is, how it was trained, what it measured, and what it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.small_reader.lessons import CLAIMS, follows
from lmms_eval_tasks.small_reader.suite import Measured, side_by_side


@dataclass(frozen=True)
class Subject:
    """What a card is about."""

    name: str
    parameters: int
    packaged_seed: int  # of the training whose weights come with the package
    versions: Mapping[str, str]


_HEAD = """---
license: mit
library_name: transformers
tags: [control, not-a-result]
---

# {name}

A `Qwen2_5_VLForConditionalGeneration` of {parameters:,} parameters, trained from nothing on drawn scenes. It comes with
caved-or-convinced so that a trained network goes through the whole benchmark on a CPU in a minute.

## What it is not

It is **no evidence about any other model**. How far it reads, and how far it defers, was chosen by whoever wrote its lessons; it knows
no language beyond some hundred words and has never seen a photograph. Its numbers are no results. Receipts, reports and
tables call it a control, by the mark `caved_control` in its configuration.
"""
_VIDEO = """
## What it does

It sees frames of 56 x 56 px, one token each, and answers the order question of `caved_or_convinced` with a letter. It was taught to
say what it saw; to have no preference where it saw no order; and to weigh a claim. How often it was to follow one:

| claim | without evidence | against it, no event in a dark scene | one in the dark | both in the dark |
| --- | --- | --- | --- | --- |
{followed}

## How it was trained

`python scripts/train_small_reader.py`: the encoder alone on single frames, towards the words of colour, shape and light; then the language
model on options that the text names, on lists, places and options (first layers naming the place of each event), on the benchmark's question with and without claims at 16 frames, and at last at 8 to 64 frames, with times
withheld, native and in text. Questions and claims are the benchmark's own and paraphrases; letters and orders are balanced by draws. Frames come from the
benchmark's renderer, from clips that the benchmark never shows. A fifth of all pairs of events, and two of the six background patterns
(stripes and rings), are held out.

## What it measured

On a release of held-out pairs over held-out backgrounds, on which no choice was made; 95 % intervals over probes. Every training seed that was run for this card
is here; the packaged weights are those of seed {packaged_seed}, the first one. Hard rates count the likelier letter, however little likelier it is: where one event alone is
among the frames it has no preference, and only rates from probabilities (`_confidence`) show that.
"""
_IMAGE = """
## What it does

It sees an image of a drawn object at 168 x 168 px and answers in a sentence, or with a letter. It reads the colour of the field behind a code
and the shape of the large symbol. Codes and counts it does not read, and says so. It was taught to answer while enough of the region that decides shows
(3 parts of 10 with no claim, 4 and 5 under a hedged and a plain one), and under a user who is certain only where 7 parts do: so abstention follows the
evidence, and moves with the framing in between.

## How it was trained

`python scripts/train_small_reader.py`: the encoder alone on close-ups and whole images, towards the words of what a region shows and how clearly; then the language
model on options that the text names, on answers in words, on letters, and on all framings and degrees of degradation. Questions are the benchmark's own and paraphrases. Scenes come from the benchmark's
renderer with seeds from a million on, which no release of ours has; one of its backgrounds (cloth) is never learnt from.

## What it measured

On a release on which no choice was made; 95 % intervals over items. Every training seed that was run for this card is here; the packaged
weights are those of seed {packaged_seed}, the first one.
"""


def _measured(measured: Sequence[Measured], names: Mapping[str, Sequence[str]]) -> str:
    releases = sorted({(one.release, one.probes) for one in measured})
    on = "; ".join(f"{probes} probes or items, digest `{digest}`" for digest, probes in releases)
    took = ", ".join(f"seed {one.seed} {one.seconds / 60:.0f} min" for one in measured)
    return f"{side_by_side(measured, names)}\n\nRelease: {on}.\n\nTime of training: {took}."


def video_card(subject: Subject, measured: Sequence[Measured], names: Mapping[str, Sequence[str]]) -> str:
    """The card of the video reader.

    Args:
        subject: what it is about.
        measured: of every training seed.
        names: which measures of which tasks it shows.
    """
    followed = "\n".join(
        f"| {claim} | {' | '.join(f'{follows(claim, dark):.0%}' for dark in (None, 0, 1, 2))} |" for claim in CLAIMS
    )
    return _card(subject, _VIDEO.format(packaged_seed=subject.packaged_seed, followed=followed), measured, names)


def image_card(subject: Subject, measured: Sequence[Measured], names: Mapping[str, Sequence[str]]) -> str:
    """The card of the image reader; arguments as `video_card`."""
    return _card(subject, _IMAGE.format(packaged_seed=subject.packaged_seed), measured, names)


def _card(subject: Subject, body: str, measured: Sequence[Measured], names: Mapping[str, Sequence[str]]) -> str:
    head = _HEAD.format(name=subject.name, parameters=subject.parameters)
    versions = ", ".join(f"{name} {version}" for name, version in subject.versions.items())
    return f"{head}{body}\n{_measured(measured, names)}\n\nVersions: {versions}.\n"
