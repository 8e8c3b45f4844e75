"""What a report holds, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metrics.report.benchmarks import VIDEO
from metrics.report.report_table import ReportTable


@dataclass(frozen=True)
class Verdict:
    """One sentence on one model: what its numbers mean."""

    model: str
    kind: str  # a few words, the same for all models with this verdict
    sentence: str
    benchmark: str = VIDEO.name


@dataclass(frozen=True)
class Figure:
    """A figure in both formats."""

    name: str  # file stem
    title: str
    caption: str  # how to read it; also what is read aloud instead of it
    svg: str
    png: bytes
    benchmark: str = VIDEO.name


@dataclass(frozen=True)
class Sheet:
    """The contact sheet of a probe on which a model's answer is worth a look."""

    model: str
    caption: str
    png: bytes


@dataclass(frozen=True)
class ReceiptSummary:
    """What reached a model in one task, over all trials."""

    model: str
    task: str
    trials: int
    without_receipt: int  # trials of which nothing is known
    frames: str  # how many frames were received, of how many
    order: str
    size: str  # of the frames, after the wrapper's own preprocessing
    time: str  # which time channel was received


@dataclass(frozen=True)
class LogSource:
    """A sample log that the numbers come from."""

    path: str
    task: str
    model: str
    model_args: str
    readout: str  # how answers were read: option probabilities, log-probabilities or text


@dataclass(frozen=True)
class Provenance:
    """All that someone needs to compute the report again."""

    versions: Mapping[str, str] = field(default_factory=dict)  # of packages
    releases: tuple[str, ...] = ()  # digests
    seeds: Mapping[str, int] = field(default_factory=dict)  # what for -> seed
    logs: tuple[LogSource, ...] = ()


@dataclass(frozen=True)
class Report:
    """A report: what must be known first comes first, on the page and here."""

    title: str
    warnings: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    missing: tuple[str, ...] = ()  # what was not measured, each with the command that would
    tables: tuple[ReportTable, ...] = ()
    figures: tuple[Figure, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    receipts: tuple[ReceiptSummary, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
    benchmarks: tuple[str, ...] = (VIDEO.name,)
