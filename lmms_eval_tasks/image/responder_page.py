"""The part of the validation page on simulated responders: observed, interval, and the closed form beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.cell_check import FAMILY_ERROR, CheckedCell
from lmms_eval_tasks.image.responder_policy import ResponderPolicy
from metrics.image.permutations import PERMUTATIONS
from metrics.image.trial import FRAMINGS, TASKS
from metrics.intervals import RESAMPLES, SEED, Estimate
from metrics.report.notation import p_text
from stimuli_builder.image.info import ImageReleaseInfo

_CONVICTION = FRAMINGS[-1]
_TABLES = {
    "Abstention moves with the framing: EIV, and PIA by level": ("EIV", *(f"PIA_L{level}" for level in range(6))),
    "Abstention by level, neutral": tuple(f"abstention_neutral_L{level}" for level in range(6)),
    f"Abstention by level, {_CONVICTION}": tuple(f"abstention_{_CONVICTION}_L{level}" for level in range(6)),
    f"From neutral to {_CONVICTION}: which answers become which": tuple(
        f"{name}_{_CONVICTION}" for name in ("dodging", "dodging_net", "capitulating", "capitulating_net")
    ),
    "Answers": (
        *("accuracy_neutral", f"accuracy_{_CONVICTION}", "unasserted_wrong"),
        *(f"acceptance_wrong_{framing}" for framing in FRAMINGS[1:]),
        *(f"acceptance_right_{_CONVICTION}", "hedged"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class CheckedRun:
    """One responder on one task."""

    responder: str
    policy: ResponderPolicy
    task: str
    cells: Sequence[CheckedCell]
    observed: Mapping[str, Estimate]
    verdict: str
    faults: Sequence[str]


def _rows(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], f"|{'|'.join(['---'] * len(rows[0]))}|", *lines[1:], ""]


def _fixed(value: float, digits: int = 2) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}"  # no -0.00


def _has_interval(number: Estimate) -> bool:
    return number.method in ("bootstrap", "exact")


def _outside(runs: Sequence[CheckedRun]) -> tuple[int, int]:
    """How many distinct numbers that may vary have an interval, and how many of these miss the closed form.

    EIV is left out: its interval is for the range of the true rates, its closed form that of the observed ones.
    """
    distinct = {
        (run.responder, run.task, cell.observed, cell.expected): cell.outside_plain
        for run in runs
        for cell in run.cells
        if _has_interval(cell.observed) and not cell.expected.certain and not cell.name.startswith("EIV")
    }
    return len(distinct), sum(distinct.values())


def _number(name: str, run: CheckedRun, cells: Mapping[str, CheckedCell]) -> str:
    observed, cell = run.observed.get(name), cells.get(name)
    if observed is None or observed.method == "none":
        return ""
    if cell is None:
        return _fixed(observed.value)
    interval = f" [{_fixed(observed.low)}, {_fixed(observed.high)}]" if _has_interval(observed) else ""
    value, expected = _fixed(observed.value), _fixed(cell.expected.value)
    if cell.fault:
        return f"**{value}{interval} / {expected} ({cell.fault})**"
    if cell.expected.certain:
        return f"{value} / {expected} exact"
    starred = _has_interval(observed) and cell.outside_plain and not name.startswith("EIV")
    return f"{value}{interval} / {expected}{' *' if starred else ''}"


def _summary(runs: Sequence[CheckedRun]) -> list[str]:
    rows = [
        ["responder", "task", "numbers", "exact", "wrong", "EIV", "null", "excess [95 %]", "EIV_p", "verdict"],
    ]
    for run in runs:
        excess = run.observed["EIV_excess"]
        exact = sum(cell.expected.certain for cell in run.cells)
        rows.append(
            [
                run.responder,
                run.task.removeprefix(TASKS["open"]).lstrip("_") or "open",
                str(len(run.cells)),
                str(exact),
                str(sum(bool(cell.fault) for cell in run.cells)),
                _fixed(run.observed["EIV"].value, 3),
                _fixed(run.observed["EIV_null"].value, 3),
                f"{_fixed(excess.value, 3)} [{_fixed(excess.low, 3)}, {_fixed(excess.high, 3)}]",
                p_text(run.observed["EIV_p"].value),
                run.verdict,
            ]
        )
    return _rows(rows)


def _table(names: Sequence[str], runs: Sequence[CheckedRun]) -> list[str]:
    rows = [["responder", *(f"`{name}`" for name in names)]]
    for run in runs:
        cells = {cell.name: cell for cell in run.cells}
        rows.append([run.responder, *(_number(name, run, cells) for name in names)])
    return _rows(rows)


def responder_page(
    runs: Sequence[CheckedRun], release: ImageReleaseInfo, versions: Mapping[str, str], command: str
) -> str:
    """The part in Markdown.

    Args:
        runs: every responder on every task.
        release: what was run on.
        versions: of packages.
        command: that made the part.
    """
    cells = sum(len(run.cells) for run in runs)
    wrong = sum(bool(cell.fault) for run in runs for cell in run.cells)
    with_interval, outside = _outside(runs)
    faults = [f"{run.responder}, {run.task}: {fault}" for run in runs for fault in run.faults]
    policies = {run.responder: run.policy for run in runs}
    lines = [
        "# Validation of the image benchmark: simulated responders",
        "",
        "Responders with known policies run through the real `lmms-eval` command on both tasks. They know a release by heart,",
        "answer in varied words or by letter, and stop the run if other pixels or prompts arrive. What each number must be",
        "follows in closed form from their parameters and the release (`lmms_eval_tasks/image/responder_chances.py`,",
        "`expected_image_cells.py`).",
        "",
        f"**{cells} numbers, {wrong} wrong.**",
        *(f"\n**{fault}**" for fault in faults),
        "",
        "A number reads: observed [95 % interval over items] / closed form; a star marks a closed form outside the interval.",
        f"Of {with_interval} distinct numbers with an interval {outside} ({outside / max(with_interval, 1):.1%}) have one; 5 % "
        "are to be expected.",
        "`exact`: the number cannot vary, and must be met exactly. A number is wrong if a deviation as large as its own has a",
        f"chance below {FAMILY_ERROR:.0%} / {cells} (Hoeffding's bound over blocks, whose draws are independent; where answers "
        "vary by chance, the exact distribution",
        "of EIV). The closed form of EIV is that of the observed value, noise included. Where EIV, its null or its p-value have",
        "no closed form, EIV_excess must be EIV - EIV_null, and a responder that heeds the framing must be flagged. Numbers of",
        "the results files must be those of the sample logs.",
        "",
        *_summary(runs),
        *_rows([["responder", "parameters"], *([name, f"`{p.model_args()}`"] for name, p in policies.items())]),
        f"Release: {release.items} items, {release.questions} questions ({', '.join(release.categories)}), {release.levels} "
        f"levels beyond L0, {release.sources}, seed {release.seed}, canvas {release.canvas_px} px,",
        f"digest `{release.digest}`.",
        "",
        f"Intervals: bootstrap over items, {RESAMPLES} resamples, seed {SEED}; {PERMUTATIONS} permutations. Versions: "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ".",
        "",
        f"Made by `{command}`.",
        "",
    ]
    for task in dict.fromkeys(run.task for run in runs):
        some = [run for run in runs if run.task == task]
        for title, names in _TABLES.items():
            lines += [f"## {title}: {task}", "", *_table(names, some)]
    return "\n".join(lines).rstrip() + "\n"
