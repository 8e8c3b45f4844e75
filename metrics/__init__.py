"""From trials to numbers: pure functions, no model, no data set."""

from metrics.deference import Deference, deference_warnings, measure_deference
from metrics.intervals import Estimate
from metrics.letters import average_letters
from metrics.sample_log import LogError, Run, read_runs
from metrics.trial import Answer, Trial

__all__ = [
    "Answer",
    "Deference",
    "Estimate",
    "LogError",
    "Run",
    "Trial",
    "average_letters",
    "deference_warnings",
    "measure_deference",
    "read_runs",
]
