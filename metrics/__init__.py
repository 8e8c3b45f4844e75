"""From trials to numbers: pure functions, no model, no data set."""

from metrics.deference import Deference, deference_warnings, measure_deference
from metrics.intervals import Estimate
from metrics.letters import average_letters
from metrics.reversal import Decision, decide, reverse_and_decide
from metrics.sample_log import LogError, Run, read_runs
from metrics.trial import Answer, Trial
from metrics.uniform_frames import uniform_frames

__all__ = [
    "Answer",
    "Decision",
    "Deference",
    "Estimate",
    "LogError",
    "Run",
    "Trial",
    "average_letters",
    "decide",
    "deference_warnings",
    "measure_deference",
    "read_runs",
    "reverse_and_decide",
    "uniform_frames",
]
