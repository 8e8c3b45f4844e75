"""What the figures are drawn from: numbers that others computed, by model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metrics.intervals import Estimate


@dataclass(frozen=True)
class Dilution:
    """On-grid J0 and J of one model by budget k; a budget that is absent was not measured."""

    model: str
    J0: Mapping[int, Estimate]
    J: Mapping[int, Estimate]
    published_J0: Mapping[int, float] = field(default_factory=dict)
    published_J: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Acceptance:
    """Accept rates of false (S) and true claims (C) of one model; None where a phase was not measured."""

    model: str
    on_grid: tuple[Estimate, Estimate] | None  # S, C
    in_gap: tuple[Estimate, Estimate] | None


@dataclass(frozen=True)
class Availability:
    """How well one model reads the order without a claim (J0) and follows it under one (J), on-grid."""

    model: str
    J0: Estimate
    J: Estimate


@dataclass(frozen=True)
class ReversalPoint:
    """The reversal test of one model at one threshold."""

    theta: float
    coverage: Estimate  # share of videos answered
    accuracy: Estimate  # on the answered ones


@dataclass(frozen=True)
class SingleEvent:
    """J0 of one model with the earlier event alone and with the later one alone."""

    model: str
    early: Estimate
    late: Estimate
