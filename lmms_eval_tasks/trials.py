"""From probes to trial documents: every view, claim and letter assignment, in an order that ranks can share.

The harness deals documents to ranks in turn, like cards. The documents of a probe are laid out so that they
all fall to one rank whatever the number of ranks: its views share frames, and its in-gap twins are one
request, so they belong together.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from datasets import Dataset

from lmms_eval_tasks.bound_release import bound_release
from lmms_eval_tasks.stop import RunStopped, stopping_the_run
from lmms_eval_tasks.switches import time_setting
from metrics.trial import Claim, Letters, Phase, Time
from stimuli_builder.parts import REVERSAL, Part
from stimuli_builder.release_schema import StoredProbe, StoredView, row_hash

LETTERS: tuple[Letters, Letters] = ("AB", "BA")
TASK = "caved_or_convinced"
PRIMARY_BUDGET = 16
MAIN_CLAIMS: tuple[Claim, ...] = ("none", "strong")
MAIN_PHASES: tuple[Phase, ...] = ("on_grid", "in_gap")

Document = dict[str, Any]


def task_name(budget: int) -> str:
    """The name of the main task at a budget; 16 is primary and has the plain name."""
    return TASK if budget == PRIMARY_BUDGET else f"{TASK}_k{budget}"


def view_digest(frames: Sequence[str]) -> str:
    """SHA-256 over frame ids in order: equal for equal views, and only for them."""
    return hashlib.sha256("\n".join(frames).encode()).hexdigest()


def trial_document(
    stored: StoredProbe,
    view: StoredView,
    task: str,
    claim: Claim,
    letters: Letters,
    release: str,
    release_probes: int,
    time: Time = "withheld",
) -> Document:
    """One trial: a view of a probe with its frames in order, and what is asked about it."""
    probe = stored.probe
    frames = list(view.frames)
    return {
        "task": task,
        "part": REVERSAL if view.phase == "offset" else probe.timing.budget,  # whose frames these are
        "release": release,
        "release_probes": release_probes,
        "release_offsets": len({other.offset for other in stored.views} - {None}),
        "probe": probe.probe,
        "video_budget": probe.timing.budget,
        "budget": len(frames),
        "arm": view.arm,
        "twin": view.twin,
        "phase": view.phase,
        "offset": view.offset,
        "direction": "forward",
        "events_sampled": view.events_sampled,
        "claim": claim,
        "claimed_order": None if claim == "none" else probe.claimed_order,
        "named_order": probe.named_order,
        "letters": letters,
        "time": time,
        "times_s": list(view.times_s),
        "e1_phrase": probe.e1.phrase,
        "e2_phrase": probe.e2.phrase,
        "frames": frames,
        "view": view_digest(frames),
        "padding": False,
    }


def probe_documents(
    stored: StoredProbe,
    claims: Sequence[Claim],
    release: str,
    release_probes: int,
    time: Time = "withheld",
    task: str | None = None,
    arms: Sequence[str] = ("intact",),
    phases: Sequence[Phase] = MAIN_PHASES,
) -> list[Document]:
    """Trial documents of one probe: its views of some arms and phases, with each claim and both letter assignments.

    `task` is the main task of the probe's budget unless another one is named.
    """
    name = task or task_name(stored.probe.timing.budget)
    return [
        trial_document(stored, view, name, claim, letters, release, release_probes, time)
        for view in stored.views
        if view.arm in arms and view.phase in phases
        for claim in claims
        for letters in LETTERS
    ]


def deal_to_ranks(groups: Sequence[Sequence[Document]], world_size: int) -> list[Document]:
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
    dealt: list[Document] = []
    for start in range(0, len(padded), world_size):
        for row in zip(*padded[start : start + world_size], strict=True):
            dealt.extend(row)
    return dealt


@dataclass(frozen=True)
class Released:
    """The probes of one part of the bound release."""

    digest: str
    probes: tuple[StoredProbe, ...]


def released_probes(rows: Dataset, part: Part | None = None) -> Released:
    """The probes of a part of the bound release, which must be those that the harness loaded.

    `rows` come from the harness' own loading, through the cache of `datasets`; they are compared with the
    release itself, so a stale cache stops the run instead of evaluating another release.

    Args:
        rows: of the part, as loaded.
        part: None for the one of the rows' own budget.

    Raises:
        RunStopped: if they differ.
    """
    listed = list(rows)
    with stopping_the_run():
        release = bound_release()
        probes = release.probes(listed[0]["budget"] if part is None else part)
    if sorted(map(row_hash, listed)) != sorted(row_hash(probe.to_row()) for probe in probes):
        raise RunStopped(
            f"the data set cache holds other probes than {release.folder}: delete the cache of `datasets` "
            "(HF_DATASETS_CACHE, else ~/.cache/huggingface/datasets) and run again"
        )
    return Released(release.info.digest, tuple(probes))


def dealt_documents(released: Released, documents_of: Callable[[StoredProbe], list[Document]]) -> Dataset:
    """The documents of all probes as the harness takes them, each probe's on one rank."""
    groups = [documents_of(probe) for probe in released.probes]
    return Dataset.from_list(deal_to_ranks(groups, int(os.environ.get("WORLD_SIZE", "1"))))


def main_trials(rows: Dataset) -> Dataset:
    """Trial documents of the main task from the probes of one budget (`process_docs` of the task).

    Raises:
        RunStopped: if the rows are not the bound release's.
    """
    released, time = released_probes(rows), time_setting()

    def documents(stored: StoredProbe) -> list[Document]:
        return probe_documents(stored, MAIN_CLAIMS, released.digest, len(released.probes), time)

    return dealt_documents(released, documents)
