"""From probes to trial documents: every view, claim and letter assignment, in an order that ranks can share.

The harness deals documents to ranks in turn, like cards. The documents of a probe are laid out so that they
all fall to one rank whatever the number of ranks: its views share frames, and its in-gap twins are one
request, so they belong together.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any

from datasets import Dataset

from lmms_eval_tasks.bound_release import bound_release
from lmms_eval_tasks.stop import RunStopped, stopping_the_run
from lmms_eval_tasks.switches import time_setting
from metrics.trial import Claim, Letters, Time
from stimuli_builder.release_schema import StoredProbe, StoredView, row_hash

LETTERS: tuple[Letters, Letters] = ("AB", "BA")
TASK = "caved_or_convinced"
PRIMARY_BUDGET = 16
MAIN_CLAIMS: tuple[Claim, ...] = ("none", "strong")


def task_name(budget: int) -> str:
    """The name of the main task at a budget; 16 is primary and has the plain name."""
    return TASK if budget == PRIMARY_BUDGET else f"{TASK}_k{budget}"


def view_digest(frames: Sequence[str]) -> str:
    """SHA-256 over frame ids in order: equal for equal views, and only for them."""
    return hashlib.sha256("\n".join(frames).encode()).hexdigest()


def _documents(
    stored: StoredProbe, view: StoredView, claims: Sequence[Claim], release: str, release_probes: int, time: Time
) -> list[dict[str, Any]]:
    probe = stored.probe
    return [
        {
            "task": task_name(probe.timing.budget),
            "release": release,
            "release_probes": release_probes,
            "probe": probe.probe,
            "budget": probe.timing.budget,
            "arm": view.arm,
            "twin": view.twin,
            "phase": view.phase,
            "claim": claim,
            "claimed_order": None if claim == "none" else probe.claimed_order,
            "named_order": probe.named_order,
            "letters": letters,
            "time": time,
            "times_s": list(view.times_s),
            "e1_phrase": probe.e1.phrase,
            "e2_phrase": probe.e2.phrase,
            "frames": list(view.frames),
            "view": view_digest(view.frames),
            "padding": False,
        }
        for claim in claims
        for letters in LETTERS
    ]


def probe_documents(
    stored: StoredProbe, claims: Sequence[Claim], release: str, release_probes: int, time: Time = "withheld"
) -> list[dict[str, Any]]:
    """All trial documents of one probe: its intact views, each with every claim and both letter assignments."""
    return [
        document
        for view in stored.views
        if view.arm == "intact"
        for document in _documents(stored, view, claims, release, release_probes, time)
    ]


def deal_to_ranks(groups: Sequence[Sequence[dict[str, Any]]], world_size: int) -> list[dict[str, Any]]:
    """Documents in the order in which dealing them round-robin keeps each group on one rank.

    Groups are taken `world_size` at a time and interleaved. If they do not divide evenly, the last round
    is filled with copies that are marked as padding and never counted.

    Args:
        groups: documents that belong together; all groups of the same length.
        world_size: number of ranks.
    """
    padded = [*groups]
    while len(padded) % world_size:
        padded.append([{**document, "padding": True} for document in groups[-1]])
    dealt = []
    for start in range(0, len(padded), world_size):
        for row in zip(*padded[start : start + world_size], strict=True):
            dealt.extend(row)
    return dealt


def main_trials(rows: Dataset) -> Dataset:
    """Trial documents of the main task from the probes of one budget (`process_docs` of the task).

    `rows` come from the harness' own loading, through the cache of `datasets`; they are compared with the
    release itself, so a stale cache stops the run instead of evaluating another release.
    """
    with stopping_the_run():
        release = bound_release()
        listed = list(rows)
        probes = release.probes(listed[0]["budget"])
        info = release.info
    if sorted(map(row_hash, listed)) != sorted(row_hash(probe.to_row()) for probe in probes):
        raise RunStopped(
            f"the data set cache holds other probes than {release.folder}: delete the cache of `datasets` "
            "(HF_DATASETS_CACHE, else ~/.cache/huggingface/datasets) and run again"
        )
    time = time_setting()
    groups = [probe_documents(probe, MAIN_CLAIMS, info.digest, len(probes), time) for probe in probes]
    return Dataset.from_list(deal_to_ranks(groups, int(os.environ.get("WORLD_SIZE", "1"))))
