"""Where the numbers of a report come from: logs, receipts, versions."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

import pandas as pd

from metrics.logged_run import LoggedRun
from metrics.report.contents import LogSource, ReceiptSummary
from metrics.trial_table import UNKNOWN

_OWN_PACKAGES = ("caved-or-convinced", "numpy", "scipy", "pandas")


def listed(table: pd.DataFrame, name: str) -> str:
    """The known values of a column, short ones first."""
    values = sorted({str(v) for v in table[name].unique()} - {"", UNKNOWN}, key=lambda v: (len(v), v))
    return ", ".join(values)


def receipt_summary(run: LoggedRun, table: pd.DataFrame, shown: str, time: str) -> ReceiptSummary:
    """What reached a model in one run.

    Args:
        run: of which task and model.
        table: its trials that count.
        shown: how many frames the trials show.
        time: which time channel was received.
    """
    frames = listed(table, "received_frames")
    return ReceiptSummary(
        model=run.model,
        task=run.task,
        trials=len(table),
        without_receipt=int(table["received_frames"].isin(["", UNKNOWN]).sum()),
        frames=f"{frames} of {shown}" if frames else "not known",
        order=listed(table, "received_order") or "not known",
        size=listed(table, "received_size") or "not known",
        time=time,
    )


def versions_of(runs: Iterable[LoggedRun]) -> dict[str, str]:
    """Versions of the packages that make the report, and of those that the runs noted."""
    versions = {}
    for name in _OWN_PACKAGES:
        try:
            versions[f"{name} (report)"] = version(name)
        except PackageNotFoundError:
            continue
    for run in runs:
        for name, noted in run.versions:
            key = f"{name} (run)"
            versions[key] = noted if versions.get(key, noted) == noted else f"{versions[key]}, {noted}"
    return versions


def log_source(run: LoggedRun, readout: str) -> LogSource:
    """The log of a run, and how its answers were read."""
    return LogSource(
        "/".join(run.path.parts[-2:]), run.task, run.model, f"{run.model_id} {run.model_args}".strip(), readout
    )
