"""The page that shows every cell of the validation: observed, interval, and the closed form beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmms_eval_tasks.cell_check import FAMILY_ERROR, CheckedCell
from lmms_eval_tasks.counted import CONFIDENCE
from lmms_eval_tasks.expected_cells import TASK
from lmms_eval_tasks.observer_policy import ObserverPolicy
from lmms_eval_tasks.reversal_trials import ADAPTIVE, LOGGED
from lmms_eval_tasks.validation import THRESHOLD_TASK
from metrics.intervals import RESAMPLES, SEED
from stimuli_builder.release_info import ReleaseInfo

Checked = Mapping[str, Sequence[CheckedCell]]  # by observer

_SOURCES = {
    TASK: "Table 1, and with S in-gap Table 6",
    **{f"{TASK}_k{budget}": "Figure 2" for budget in (8, 24, 48, 64)},
    f"{TASK}_k32": "Table 1 and Figure 2",
    f"{TASK}_attribution": "Table 2",
    f"{TASK}_mild": "Table 3",
    f"{TASK}_time": "Table 4",
    f"{TASK}_single_event": "Table 7",
    LOGGED: "Table 5",
    ADAPTIVE: "Table 5, stopping at the answer",
    THRESHOLD_TASK: "Table 8",
}


def _rows(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], f"|{'|'.join(['---'] * len(rows[0]))}|", *lines[1:], ""]


def _cell(cell: CheckedCell) -> str:
    digits = 1 if cell.name.startswith("mean_k") else 2
    value, low, high, expected = (
        f"{x:.{digits}f}" for x in (cell.observed.value, cell.observed.low, cell.observed.high, cell.expected.value)
    )
    if cell.fault:
        return f"**{value} [{low}, {high}] / {expected} ({cell.fault})**"
    if cell.expected.certain:
        return f"{value} / {expected} exact"
    return f"{value} [{low}, {high}] / {expected}{' *' if cell.outside_plain else ''}"


def _table(task: str, checked: Checked, confidence: bool) -> list[str]:
    shown = {
        observer: {
            cell.name: cell for cell in cells if cell.task == task and cell.name.endswith(CONFIDENCE) == confidence
        }
        for observer, cells in checked.items()
    }
    names = list(dict.fromkeys(name for cells in shown.values() for name in cells))
    rows = [
        [observer, *(_cell(cells[name]) if name in cells else "" for name in names)]
        for observer, cells in shown.items()
        if cells
    ]
    if not rows:
        return []
    heading = [f"`{name.removesuffix(CONFIDENCE)}`" for name in names]
    return [*(["Confidence rates:", ""] if confidence else []), *_rows([["observer", *heading], *rows])]


def _summary(checked: Checked, observers: Mapping[str, ObserverPolicy]) -> list[str]:
    """One row an observer, and one for all. What several tables show of the same trials counts once for stars."""
    rows = [["observer", "parameters", "cells", "exact", "may vary, distinct", "starred", "5 % of them", "wrong"]]
    counts = []
    for observer, cells in checked.items():
        varying = [cell for cell in cells if not cell.expected.certain]
        distinct = {(cell.observed, cell.expected): cell.outside_plain for cell in varying}
        wrong = sum(bool(cell.fault) for cell in cells)
        counts.append((len(cells), len(cells) - len(varying), len(distinct), sum(distinct.values()), wrong))
        rows.append([observer, f"`{observers[observer].model_args()}`", *_counted(counts[-1])])
    return _rows([*rows, ["all", "", *_counted(tuple(map(sum, zip(*counts, strict=True))))]])


def _counted(counts: tuple[int, ...]) -> list[str]:
    cells, exact, distinct, starred, wrong = counts
    return [str(cells), str(exact), str(distinct), str(starred), f"{0.05 * distinct:.1f}", str(wrong)]


def validation_page(
    checked: Checked,
    observers: Mapping[str, ObserverPolicy],
    release: ReleaseInfo,
    versions: Mapping[str, str],
    command: str,
    faults: Sequence[str],
) -> str:
    """The page in Markdown.

    Args:
        checked: every cell of every observer.
        observers: their policies.
        release: what was run on.
        versions: of packages.
        command: that made the page.
        faults: what is wrong beyond single cells.
    """
    cells = [cell for listed in checked.values() for cell in listed]
    wrong = sum(bool(cell.fault) for cell in cells)
    lines = [
        "# Validation",
        "",
        "Control models of known tendencies run through the real `lmms-eval` command on every task of the paper. They",
        "see frames and prompts, as any model. What each cell must be follows in closed form from their parameters and",
        "the release (`lmms_eval_tasks/expected_cells.py`, `expected_reversal.py`).",
        "",
        f"**{len(cells)} cells, {wrong} wrong.**",
        *(f"\n**{fault}**" for fault in faults),
        "",
        "A cell reads: observed [95 % interval over probes] / closed form. A star marks a closed form outside the plain",
        "interval, which one distinct cell in twenty shows when all is right; many cells share trials, so stars come in",
        "groups.",
        "`exact`: the number cannot vary, and must be met exactly. A cell is wrong if a deviation as large as its own has a",
        f"chance below {FAMILY_ERROR:.0%} / {len(cells)}, so that with a chance of {FAMILY_ERROR:.0%} at most any of "
        f"the {len(cells)} cells is called wrong",
        "though all are right (Hoeffding's bound over probes: `lmms_eval_tasks/cell_check.py`). Numbers of the results",
        "files must be those of the sample logs, and all trials must be there and answered.",
        "",
        *_summary(checked, observers),
        f"Release: {release.probes} probes per budget ({', '.join(map(str, release.budgets))} frames), "
        f"{release.reversal_offsets} offsets, {release.sources}, seed {release.seed}, canvas {release.canvas_px} px,",
        f"digest `{release.digest}`.",
        "",
        f"Intervals: bootstrap over probes, {RESAMPLES} resamples, seed {SEED}. Versions: "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ".",
        "",
        f"Made by `{command}`.",
        "",
    ]
    for task in dict.fromkeys(cell.task for cell in cells):
        lines += [f"## {_SOURCES.get(task, 'Not of the paper')}: {task}", ""]
        lines += _table(task, checked, confidence=False) + _table(task, checked, confidence=True)
    return "\n".join(lines).rstrip() + "\n"
