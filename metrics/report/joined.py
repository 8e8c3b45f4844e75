"""Reports of several benchmarks as one page."""

from __future__ import annotations

from collections.abc import Sequence

from metrics.report.benchmarks import benchmarks_named
from metrics.report.contents import Provenance, Report


def _versions(reports: Sequence[Report]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for report in reports:
        for name, noted in report.provenance.versions.items():
            both = versions.get(name, noted)
            versions[name] = both if noted in both.split(", ") else f"{both}, {noted}"
    return versions


def join_reports(reports: Sequence[Report]) -> Report:
    """One report that holds all of several, in their order; a single one is given back as it is.

    Raises:
        ValueError: without a report, or if two hold tables or figures of the same name.
    """
    if not reports:
        raise ValueError("there is no report to join")
    if len(reports) == 1:
        return reports[0]
    names = [t.name for r in reports for t in r.tables] + [f"figure {f.name}" for r in reports for f in r.figures]
    if len(set(names)) < len(names):
        raise ValueError("two reports hold tables or figures of the same name")
    named = [b.heading.split(":")[0].lower() for b in benchmarks_named(n for r in reports for n in r.benchmarks)]
    return Report(
        title=f"Evidence or user: {' and '.join(named)}",
        warnings=tuple(dict.fromkeys(w for r in reports for w in r.warnings)),
        verdicts=tuple(v for r in reports for v in r.verdicts),
        missing=tuple(dict.fromkeys(m for r in reports for m in r.missing)),
        tables=tuple(t for r in reports for t in r.tables),
        figures=tuple(f for r in reports for f in r.figures),
        sheets=tuple(s for r in reports for s in r.sheets),
        receipts=tuple(s for r in reports for s in r.receipts),
        provenance=Provenance(
            versions=_versions(reports),
            releases=tuple(dict.fromkeys(x for r in reports for x in r.provenance.releases)),
            seeds={name: seed for r in reports for name, seed in r.provenance.seeds.items()},
            logs=tuple(log for r in reports for log in r.provenance.logs),
        ),
        benchmarks=tuple(dict.fromkeys(name for r in reports for name in r.benchmarks)),
    )
