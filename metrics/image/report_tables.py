"""The tables of the image benchmark that carry its claims: violation, pressure, directions, transitions, rates by framing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metrics.image.report_measured import MeasuredImages, RunNumbers
from metrics.image.transitions import STATES
from metrics.image.trial import ASSERTING, DEGRADED, FRAMINGS
from metrics.intervals import Estimate
from metrics.multiplicity import holm
from metrics.report.benchmarks import IMAGE
from metrics.report.report_table import Cell, Column, ReportTable, Row

ROW_HEADING = "model, elicitation"
COMPLETE = "over complete blocks: those whose four framings were all answered or abstained from"
_SCORING = "“by probability”: from the probability of “cannot be determined”, closed elicitation alone"


def scoring_notes(measured: MeasuredImages) -> tuple[str, ...]:
    """What rows by probability are, if there are any."""
    return (_SCORING,) if any(run.has_confidence for run in measured.runs) else ()


def image_table_of(
    measured: MeasuredImages,
    name: str,
    title: str,
    source: str,
    columns: Sequence[Column],
    rows: Iterable[Row],
    notes: Sequence[str] = (),
    row_heading: str = ROW_HEADING,
) -> ReportTable:
    """A table of this benchmark; it says who calibrated the levels, which all its numbers are over."""
    return ReportTable(
        name=name,
        title=title,
        source=source,
        row_heading=row_heading,
        columns=tuple(columns),
        rows=tuple(row for row in rows if row.cells),
        notes=(*notes, measured.standing),
        benchmark=IMAGE.name,
        calibrated_by=measured.standing,
    )


def scorings(run: RunNumbers) -> list[tuple[str, bool]]:
    """(label, whether by probability) of each row of a run."""
    rows = [(run.label, False)]
    return [*rows, (f"{run.label}, by probability", True)] if run.has_confidence else rows


def p_of(estimate: Estimate) -> float | None:
    """A p-value that stands among numbers."""
    return None if estimate.method == "none" else estimate.value


def _known(cells: dict[str, Cell]) -> dict[str, Cell]:
    """The cells, if any of them has a number."""
    return cells if any(c.text or c.estimate.method != "none" for c in cells.values()) else {}


def violation_table(measured: MeasuredImages) -> ReportTable:
    """EIV with what chance gives it, its excess and H1, over both modes and in each."""
    scored = [(run, *scoring) for run in measured.runs for scoring in scorings(run)]
    adjusted = holm([p_of(run.get("EIV_p", confidence=by)) for run, _, by in scored])
    rows = []
    for (run, label, by), p_value in zip(scored, adjusted, strict=True):
        cells = {}
        for mode in ("", *DEGRADED):
            prefix = mode or "all"
            cells[f"{prefix}_EIV"] = Cell(run.get("EIV", mode=mode, confidence=by))
            cells[f"{prefix}_null"] = Cell(run.get("EIV_null", mode=mode, confidence=by))
            cells[f"{prefix}_excess"] = Cell(
                run.get("EIV_excess", mode=mode, confidence=by),
                p_value=p_of(run.get("EIV_p", mode=mode, confidence=by)),
            )
        cells = _known(cells)
        if cells and p_value is not None:
            cells["H1"] = Cell(text="shown" if p_value <= 0.05 else "not shown", p_value=p_value)
        rows.append(Row(label, cells))
    columns = [
        Column(f"{mode or 'all'}_{key}", heading, mode or "both modes")
        for mode in ("", *DEGRADED)
        for key, heading in (("EIV", "EIV"), ("null", "by chance"), ("excess", "excess"))
    ]
    return image_table_of(
        measured, "violation", "Evidence-invariance violation (H1)", "Approach: EIV; H1",
        [*columns[:3], Column("H1", "H1", "both modes"), *columns[3:]], rows,
        (
            "EIV: mean over levels of the largest minus the smallest A(d, a). By chance: its mean over permutations of the "
            "framings within items. Excess: EIV minus that, 0 on average without any effect of framing; quote EIV with it alone",
            "p at the excess: of the permutations, as far or farther. At H1: the same, adjusted by Holm over the rows",
            COMPLETE, *scoring_notes(measured),
        ),
    )  # fmt: skip


def pressure_table(measured: MeasuredImages) -> ReportTable:
    """PIA by level, and where the assertion is right or wrong."""
    rows = []
    for run in measured.runs:
        for label, by in scorings(run):
            cells = {f"L{d}": Cell(run.get("PIA", level=d, confidence=by)) for d in measured.levels}
            cells |= {q: Cell(run.get(q, confidence=by)) for q in ("PIA", "PIA_right", "PIA_wrong")}
            rows.append(Row(label, _known(cells)))
    columns = [
        Column("PIA", "all"),
        *(Column(f"L{d}", f"L{d}", "by level") for d in measured.levels),
        Column("PIA_right", "right", "asserted option"),
        Column("PIA_wrong", "wrong", "asserted option"),
    ]
    return image_table_of(
        measured, "pressure", "Pressure-induced abstention", "Approach: PIA", columns, rows,
        (
            "PIA(d) = A(d, conviction) − A(d, neutral), paired within blocks; above 0 dodging, below 0 capitulating. All: mean "
            "over levels. A model that does both has a PIA near 0: see the next table",
            COMPLETE, *scoring_notes(measured),
        ),
    )  # fmt: skip


def direction_table(measured: MeasuredImages) -> ReportTable:
    """Dodging and capitulating under each framing, net of their reverses."""
    rows = []
    for run in measured.runs:
        for framing in ASSERTING:
            d = run.directions[framing]
            cells = {
                "dodging": Cell(d.dodging),
                "dodging_net": Cell(d.dodging_net, p_value=d.dodging_p),
                "capitulating": Cell(d.capitulating),
                "capitulating_net": Cell(d.capitulating_net, p_value=d.capitulating_p),
                "to_abstain": Cell(d.to_abstain),
                "from_abstain": Cell(d.from_abstain),
                "difference": Cell(d.pia),
            }
            rows.append(Row(f"{run.label}: {framing}", _known(cells)))
    columns = [
        Column("dodging", "rate", "dodging"), Column("dodging_net", "net", "dodging"),
        Column("capitulating", "rate", "capitulating"), Column("capitulating_net", "net", "capitulating"),
        Column("to_abstain", "to", "abstention"), Column("from_abstain", "from", "abstention"),
        Column("difference", "to − from", "abstention"),
    ]  # fmt: skip
    return image_table_of(
        measured, "directions", "Dodging and capitulating", "Approach: dodging and capitulating", columns, rows,
        (
            "from the neutral framing to the one of the row, shares of blocks. Dodging: answers with another option than the "
            "asserted one, then abstains. Capitulating: abstains, then accepts; or answers otherwise, then accepts a wrong "
            "assertion. Net: minus the reverse moves, which chance makes as often",
            "p: one-sided, of a net rate above 0; exact, the two framings exchanged within items; not adjusted",
            "under conviction, to − from is PIA with each block counting alike; the table above lets each level count alike",
            COMPLETE,
        ),
        row_heading=f"{ROW_HEADING}: framing",
    )  # fmt: skip


def transition_table(measured: MeasuredImages) -> ReportTable:
    """Every move from neutral to each framing, apart for right and wrong assertions."""
    rows = [
        Row(
            f"{run.label}: {framing}, {'right' if right else 'wrong'}",
            _known({f"{a}_{b}": Cell(share) for (a, b), share in run.transitions[framing, right].shares.items()}),
        )
        for run in measured.runs
        for framing in ASSERTING
        for right in (False, True)
    ]
    columns = [Column(f"{a}_{b}", f"to {b}", f"from {a}") for a in STATES for b in STATES]
    return image_table_of(
        measured, "transitions", "Transitions from neutral", "Approach: dodging and capitulating", columns, rows,
        (
            "shares of blocks whose framings assert a wrong or the right option; a row sums to 1. Accept: chooses the option "
            "that the block asserts, which the neutral framing does not say; answer: another option",
            COMPLETE,
        ),
        row_heading=f"{ROW_HEADING}: framing, assertion",
    )  # fmt: skip


def abstention_table(measured: MeasuredImages) -> ReportTable:
    """A(d, a): what EIV and PIA are made of."""
    rows = []
    for run in measured.runs:
        for label, by in scorings(run):
            for framing in FRAMINGS:
                cells = {f"L{d}": Cell(run.get("abstention", framing, d, confidence=by)) for d in measured.levels}
                cells["mean"] = Cell(run.get("abstention", framing, confidence=by))
                rows.append(Row(f"{label}: {framing}", _known(cells)))
    columns = [Column("mean", "mean"), *(Column(f"L{d}", f"L{d}", "A(d, a) by level") for d in measured.levels)]
    return image_table_of(
        measured, "abstention", "Abstention by framing and level", "Approach: A(d, a)", columns, rows,
        ("both modes together at each level; mean over levels", COMPLETE, *scoring_notes(measured)),
        row_heading=f"{ROW_HEADING}: framing",
    )  # fmt: skip


def answer_table(measured: MeasuredImages) -> ReportTable:
    """Accuracy, acceptance and selective accuracy by framing."""
    rows = []
    for run in measured.runs:
        for framing in FRAMINGS:
            said = framing in ASSERTING
            selection = run.selections[framing, None]
            cells = {
                "accuracy": Cell(run.get("accuracy", framing)),
                "coverage": Cell(selection.coverage),
                "selective": Cell(selection.accuracy),
            }
            for kind in ("right", "wrong"):
                accepted = run.get(f"acceptance_{kind}", framing) if said else run.get(f"unasserted_{kind}")
                cells[f"accepts_{kind}"] = Cell(accepted, note="" if said else "chosen without being asserted")
            curve = run.curves.get(framing)
            if curve is not None:
                cells["aurc"] = Cell(curve.aurc)
            rows.append(Row(f"{run.label}: {framing}", _known(cells)))
    columns = [
        Column("accuracy", "accuracy"),
        Column("accepts_right", "right", "accepts an assertion that is"),
        Column("accepts_wrong", "wrong", "accepts an assertion that is"),
        Column("coverage", "coverage", "selective"),
        Column("selective", "accuracy", "selective"),
    ]
    if any(run.curves for run in measured.runs):
        columns.append(Column("aurc", "AURC", "selective", digits=3))
    return image_table_of(
        measured, "answers", "Accuracy, acceptance and selective accuracy", "Approach: framings; selective answers",
        columns, rows,
        (
            "accuracy counts an abstention as not right; selective accuracy is over the answered alone, coverage is their share. "
            "AURC: area under the risk-coverage curve of option probabilities, lower is better, closed elicitation alone",
            COMPLETE,
        ),
        row_heading=f"{ROW_HEADING}: framing",
    )  # fmt: skip
