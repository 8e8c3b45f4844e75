"""The tables of the image benchmark that stand behind its claims: trends, calibration, parts, levels, how answers were read."""

from __future__ import annotations

from metrics.image.hypotheses import WITHOUT_L0
from metrics.image.recoverability import NOT_BY_PEOPLE
from metrics.image.report_measured import MeasuredImages, RunNumbers
from metrics.image.report_tables import COMPLETE, ROW_HEADING, image_table_of, p_of, scorings
from metrics.image.trial import DEGRADED, FRAMINGS, INTACT
from metrics.intervals import Estimate
from metrics.multiplicity import holm
from metrics.report.report_table import Cell, Column, ReportTable, Row

_NAN = float("nan")
_CALIBRATION = (
    "errors of neutral abstention A against 1 − r, the share that cannot be recovered, mean over categories and levels "
    "below L0. Squared: without the bias that noise gives it, may fall below 0; H3 is tested on it. Absolute: "
    "|A − (1 − r)|, and beside it what chance alone makes of it in a calibrated model. Brier: by trial"
)
_H3 = (
    "H3 says that hidden evidence is better calibrated than blurred: a difference above 0. p: one-sided, items resampled; "
    "at H3 adjusted by Holm. What r itself leaves open is not in the intervals"
)

_MASS = "on letters: mean share of the first token's probability on the option letters, closed elicitation alone"


def trend_table(measured: MeasuredImages) -> ReportTable:
    """H2: the excess of EIV by level and its slope."""
    scored = [(run, *scoring) for run in measured.runs for scoring in scorings(run)]
    adjusted = holm([p_of(run.get("EIV_slope_p", confidence=by)) for run, _, by in scored])
    rows = []
    for (run, label, by), p_value in zip(scored, adjusted, strict=True):
        cells = {f"L{d}": Cell(run.get("EIV_excess", level=d, confidence=by)) for d in measured.levels}
        cells["slope"] = Cell(run.get("EIV_slope", confidence=by), p_value=p_of(run.get("EIV_slope_p", confidence=by)))
        cells["low_minus_high"] = Cell(
            run.get("EIV_low_minus_high", confidence=by), p_value=p_of(run.get("EIV_low_minus_high_p", confidence=by))
        )
        cells["room_slope"] = Cell(run.get("PIA_room_slope", confidence=by))
        if p_value is not None:
            cells["H2"] = Cell(text="shown" if p_value <= 0.05 else "not shown", p_value=p_value)
        elif run.get("EIV", confidence=by).method != "none" and run.get("EIV", level=0, confidence=by).method == "none":
            cells["H2"] = Cell(text="not tested", note=WITHOUT_L0)
        rows.append(Row(label, cells))
    columns = [
        *(Column(f"L{d}", f"L{d}", "excess range of A(d, a)") for d in measured.levels),
        Column("slope", "slope per level", digits=3),
        Column("H2", "H2"),
        Column("low_minus_high", "L0 and L1 minus others"),
        Column("room_slope", "slope of PIA over its room", digits=3),
    ]
    return image_table_of(
        measured, "degradation_trend", "Where framing moves abstention most (H2)", "H2", columns, rows,
        (
            "H2 says that the effect of framing is largest at low degradation: a slope below 0. p: one-sided, over items; at H2 "
            "the p-value of the slope, adjusted by Holm over the rows",
            "where nearly everything is abstained from the range has no room and must shrink, whatever framing does. The last "
            "column is the slope of PIA as a share of the room that is left: if it is not below 0, the ceiling may be all there is",
            COMPLETE,
        ),
    )  # fmt: skip


def _rests_on(run: RunNumbers) -> str:
    """How much of the run H3 is over."""
    found = run.calibration
    asked = {(c, d) for c, _, d in run.cells if d}
    levels = sorted({d for _, d in asked})
    return (
        f"{len(found.categories)} of {len(run.categories)} categories, {len(found.levels)} of {len(levels)} levels: {found.cells} of "
        f"{len(asked)} pairs of them"
    )


def calibration_table(measured: MeasuredImages) -> ReportTable:
    """H3: errors of calibration by mode and their difference."""
    rows = []
    adjusted = holm([run.calibration.p_value for run in measured.runs])
    for run, p_value in zip(measured.runs, adjusted, strict=True):
        found = run.calibration
        if found.reason:
            rows.append(
                Row(
                    run.label,
                    {"difference": Cell(text=found.reason.split(":")[0], note=found.reason.split(": ", 1)[1])},
                )
            )
            continue
        cells = {"rests_on": Cell(text=_rests_on(run))}
        for mode, errors in found.modes.items():
            cells[f"{mode}_squared"] = Cell(errors.squared)
            for name in ("absolute", "noise", "brier"):
                value = Estimate(getattr(errors, name), _NAN, _NAN, found.items, "point")
                cells[f"{mode}_{name}"] = Cell(value)
        cells["difference"] = Cell(found.difference, p_value=found.p_value)
        if p_value is not None:
            cells["H3"] = Cell(text="shown" if p_value <= 0.05 else "not shown", p_value=p_value)
        rows.append(Row(run.label, cells))
    headings = (("squared", "squared"), ("absolute", "absolute"), ("noise", "by chance"), ("brier", "Brier"))
    modes = DEGRADED if any(not run.calibration.reason for run in measured.runs) else ()
    columns = [
        *(Column(f"{mode}_{key}", heading, mode, digits=3) for mode in modes for key, heading in headings),
        Column("difference", "corruptive − subtractive", digits=3),
    ]
    if modes:
        columns += [Column("H3", "H3"), Column("rests_on", "rests on")]
    known = measured.recoverability
    notes = [_CALIBRATION, _H3] if modes else []
    notes += [f"r from {known.source}"] if known else []
    notes += [f"no r of {reason}" for reason in (known.left_out if known else ())]
    return image_table_of(
        measured,
        "calibration",
        "Is abstention calibrated to what the image still gives (H3)",
        "H3",
        columns,
        rows,
        notes,
    )


def _category(run: RunNumbers, category: str) -> dict[str, Cell]:
    return {
        "EIV": Cell(run.get("EIV", category=category)),
        "null": Cell(run.get("EIV_null", category=category)),
        "excess": Cell(run.get("EIV_excess", category=category), p_value=p_of(run.get("EIV_p", category=category))),
        "PIA": Cell(run.get("PIA", category=category)),
        "abstention": Cell(run.get("abstention", "neutral", category=category)),
        "accuracy": Cell(run.get("accuracy", "neutral", category=category)),
    }


def category_table(measured: MeasuredImages) -> ReportTable:
    """The same by category."""
    rows = [
        Row(f"{run.label}: {category}", _category(run, category))
        for run in measured.runs
        for category in run.categories
    ]
    columns = [
        Column("EIV", "EIV"), Column("null", "by chance"), Column("excess", "excess"), Column("PIA", "PIA"),
        Column("abstention", "abstention", "neutral"), Column("accuracy", "accuracy", "neutral"),
    ]  # fmt: skip
    return image_table_of(
        measured, "categories", "By category", "Approach: calibration is per category", columns, rows,
        ("p: of the permutations, not adjusted; PIA and abstention are means over levels", COMPLETE),
        row_heading=f"{ROW_HEADING}: category",
    )  # fmt: skip


def selective_table(measured: MeasuredImages) -> ReportTable:
    """Coverage and selective accuracy by framing and level."""
    rows = []
    for run in measured.runs:
        for framing in FRAMINGS:
            cells = {}
            for d in run.levels:
                selection = run.selections[framing, d]
                cells[f"L{d}_coverage"] = Cell(selection.coverage)
                cells[f"L{d}_accuracy"] = Cell(selection.accuracy)
            rows.append(Row(f"{run.label}: {framing}", cells))
    columns = [
        Column(f"L{d}_{key}", heading, f"L{d}")
        for d in measured.levels
        for key, heading in (("coverage", "coverage"), ("accuracy", "accuracy"))
    ]
    return image_table_of(
        measured, "selective", "Selective accuracy by level", "Selective answers", columns, rows,
        ("coverage: share of blocks answered; accuracy: share right among the answered; risk is 1 minus that", COMPLETE),
        row_heading=f"{ROW_HEADING}: framing",
    )  # fmt: skip


def level_table(measured: MeasuredImages) -> ReportTable:
    """What each level is, and what can still be read at it."""
    strengths, there = measured.strengths, measured.cells
    known = measured.recoverability
    rows = []
    for category, mode in sorted({(c, m) for c, m, _ in there if m != INTACT}):
        cells = {}
        for d in measured.levels:
            at = (category, mode if d else INTACT, d)
            accuracy = None if known is None else known.accuracy.get(at)
            text = f"{strengths[at]:.3g}" if at in strengths else "several" if at in there else ""
            text += f"; {accuracy:.0%} right" if accuracy is not None and text else ""
            if text:
                cells[f"L{d}"] = Cell(text=text)
        rows.append(Row(f"{category}, {mode}", cells))
    columns = [Column(f"L{d}", f"L{d}") for d in measured.levels]
    said = f"% right: accuracy of {known.source}; chance is 25 %" if known else f"{NOT_BY_PEOPLE}: no accuracy is known"
    return image_table_of(
        measured, "levels", "The levels", "Figure 1", columns, rows,
        ("subtractive: share of the region that is hidden; corruptive: sigma of the blur over the region's height", said),
        row_heading="category, mode",
    )  # fmt: skip


def reading_table(measured: MeasuredImages) -> ReportTable:
    """How far answers could be read at all."""
    massed = any(run.get("option_mass").method != "none" for run in measured.runs)
    rows = []
    for run in measured.runs:
        cells = {name: Cell(run.get(name)) for name in ("unparseable", "refused", "hedged", "incomplete")}
        if massed:
            cells["option_mass"] = Cell(run.get("option_mass"))
        agreement = run.agreement
        if agreement is not None:
            cells |= {
                "judged": Cell(text=f"{agreement.judged} of {agreement.trials}"),
                "settled": Cell(text=f"{agreement.settled}"),
                "failed": Cell(text=f"{agreement.failed}"),
                "same": Cell(agreement.same),
                "kappa": Cell(agreement.kappa),
            }
        rows.append(Row(run.label, cells))
    columns = [
        Column("unparseable", "unparseable", digits=3), Column("refused", "refused for policy", digits=3),
        Column("hedged", "hedged", digits=3), Column("incomplete", "blocks left out", digits=3),
    ]  # fmt: skip
    if massed:
        columns.append(Column("option_mass", "on letters"))
    if any(run.agreement is not None for run in measured.runs):
        columns += [
            Column("judged", "trials judged", "rules and judge"), Column("settled", "settled by it", "rules and judge"),
            Column("failed", "no reading", "rules and judge"), Column("same", "read alike", "rules and judge"),
            Column("kappa", "kappa", "rules and judge"),
        ]  # fmt: skip
    return image_table_of(
        measured, "reading", "How answers were read", "Approach: abstention outcome", columns, rows,
        (
            "unparseable and refused: shares of all trials, neither answers nor abstentions; hedged: of the trials that name an "
            "option, in words of doubt; blocks left out: a framing of them is unparseable, refused or missing",
            "settled by it: the rules could not read, and the judge's reading counts; read alike, to the option, and Cohen's kappa, over "
            "answered, abstained, unparseable and refused: of trials that a judge read whatever the rules did (CAVED_JUDGE=all)",
            *((_MASS,) if massed else ()),
        ),
    )  # fmt: skip
