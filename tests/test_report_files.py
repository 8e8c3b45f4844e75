"""The folder of a report: whole or not at all, the same bytes each time, and numbers that come back."""

import csv
import hashlib
import io
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image
from report_samples import HOSTILE, QWEN, all_figures, dilution, estimate, report, table

from metrics.intervals import NOTHING, Estimate
from metrics.report import figures
from metrics.report.figure_data import Acceptance, Availability, Dilution, ReversalPoint, SingleEvent
from metrics.report.figure_style import MARKERS, PALETTE, drawn_names, model_styles
from metrics.report.notation import fixed, p_text, plain, shorten
from metrics.report.report import Figure, Report, ReportError, read_report, report_files, write_report
from metrics.report.report_table import Cell, Column, ReportTable, Row
from metrics.report.table_files import latex_text, table_csv, table_latex

MODELS = (QWEN, "other")


@pytest.fixture(scope="module")
def drawn():
    return report(figures=all_figures(MODELS))


# --- the folder ---


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def listed(folder):
    return [p.name for p in folder.iterdir()]


def test_a_report_is_one_folder(drawn, tmp_path):
    write_report(drawn, tmp_path / "new" / "out")
    found = contents(tmp_path / "new" / "out")
    names = [f"figures/{f.name}.{end}" for f in drawn.figures for end in ("svg", "png")]
    names += [f"tables/{t.name}.{end}" for t in drawn.tables for end in ("csv", "tex")]
    assert set(found) == {"index.html", "report.json", "sheets/01.png", "sheets/02.png", *names}
    assert found == report_files(drawn)
    assert listed(tmp_path / "new") == ["out"]


def test_an_earlier_report_is_replaced_and_nothing_of_it_stays(tmp_path):
    out = tmp_path / "out"
    write_report(report(("a", "b", "c")), out)
    (out / ".DS_Store").write_bytes(b"of the file manager")
    write_report(Report("second"), out)
    assert set(contents(out)) == {"index.html", "report.json"} and read_report(out).title == "second"


@pytest.mark.parametrize("foreign", ["notes.txt", "tables/mine.csv", ".hidden"])
def test_a_report_with_someone_elses_file_is_left_alone(tmp_path, foreign):
    out = tmp_path / "out"
    write_report(report(), out)
    (out / foreign).write_text("mine")
    before = contents(out)
    with pytest.raises(ReportError, match=re.escape(foreign)):
        write_report(Report("second"), out)
    assert contents(out) == before


@pytest.mark.parametrize(
    "manifest", [None, "{", "[]", '{"format": "another", "files": []}', '{"format": 3}', '{"files": ["notes.txt"]}']
)
def test_a_foreign_folder_is_refused(tmp_path, manifest):
    (tmp_path / "notes.txt").write_text("mine")
    if manifest is not None:
        (tmp_path / "report.json").write_text(manifest)
    before = contents(tmp_path)
    with pytest.raises(ReportError, match="no report of ours"):
        write_report(Report("x"), tmp_path)
    assert contents(tmp_path) == before


def test_files_links_and_the_current_folder_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for place, said in (("file", "is a file"), ("link", "symbolic link"), ("file/below", "cannot be written")):
        with pytest.raises(ReportError, match=said):
            write_report(Report("x"), tmp_path / place)
    monkeypatch.chdir(tmp_path / "folder")
    for place in (Path(), tmp_path / "folder", tmp_path):
        with pytest.raises(ReportError, match="a folder that you are in"):
            write_report(Report("x"), place)
    assert (tmp_path / "file").read_text() == "mine" and not listed(tmp_path / "folder")


@pytest.mark.parametrize("broken", ["write_bytes", "rename", "mkdir"])
@pytest.mark.parametrize("after", range(4))
def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch, broken, after):
    out = tmp_path / "out"
    write_report(report(("first",)), out)
    before = contents(out)
    works, calls = getattr(Path, broken), itertools.count()

    def fails(self, *arguments, **options):
        if next(calls) == after:
            raise OSError(28, "No space left on device")
        return works(self, *arguments, **options)

    monkeypatch.setattr(Path, broken, fails)
    try:
        write_report(report(("second",)), out)
        failed = False
    except ReportError as error:
        failed = True
        assert "No space left on device" in str(error) and "choose another folder" in str(error)
    monkeypatch.undo()
    assert failed == (contents(out) == before)
    assert listed(tmp_path) == ["out"]


def test_an_earlier_report_that_cannot_be_put_back_is_named_and_kept(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write_report(report(("first",)), out)
    before = contents(out)
    works, calls = Path.rename, itertools.count()

    def fails(self, target):
        if next(calls):
            raise OSError(5, "Input/output error")
        return works(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(ReportError, match="the earlier report is ") as caught:
        write_report(report(("second",)), out)
    assert contents(Path(str(caught.value).split("the earlier report is ")[1])) == before


def test_a_report_that_cannot_be_made_leaves_nothing(tmp_path):
    for content, said in (
        (Report("x", tables=(table(), table())), "a table occurs twice"),
        (Report("x", tables=(table(("a", "a")),)), "a row of table main occurs twice"),
        (Report("x", tables=(table(name="../main"),)), "cannot name a table"),
        (Report("x", figures=(Figure("Über", "t", "c", "<svg/>", b""),)), "cannot name a figure"),
        (Report("x", figures=(Figure("odd", "t", "c", "<svg><script/></svg>", b""),)), "figure odd"),
        (Report("x", tables=(ReportTable("t", "T", "s", "m", (Column("a", "a"),) * 2, ()),)), "a column of table t"),
        (Report("x", tables=(ReportTable("t", "T", "s", "m", (), (Row("r", {"z": Cell()}),)),)), "cells of no column: z"),
        (Report("x", tables=(ReportTable("t", "T", "s", "m", (Column("a", "a"),), (Row("r", {"a": Cell(estimate(math.inf))}),)),)), "Out of range"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            write_report(content, tmp_path / "out")
    assert not listed(tmp_path)


# --- everything as data ---


def test_everything_comes_back_from_the_data(drawn, tmp_path):
    write_report(drawn, tmp_path / "out")
    again = read_report(tmp_path / "out")
    assert report_files(again) == report_files(drawn)
    assert (again.verdicts, again.receipts, again.provenance, again.figures, again.sheets) == (
        drawn.verdicts, drawn.receipts, drawn.provenance, drawn.figures, drawn.sheets,
    )  # fmt: skip
    assert again.tables[0].rows[0] == drawn.tables[0].rows[0] and again.tables[0].columns == drawn.tables[0].columns


def test_harmful_names_come_back_unchanged(tmp_path):
    content = report(HOSTILE)
    write_report(content, tmp_path / "out")
    again = read_report(tmp_path / "out")
    assert again.warnings == content.warnings and [r.label for r in again.tables[0].rows] == list(HOSTILE)


def test_the_data_is_strict_json_in_full_precision(tmp_path):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    value = np.float64(0.1) + np.float64(0.2)
    cells = {"a": Cell(Estimate(value, math.nan, math.nan, np.int64(7), "point"), p_value=math.nan)}
    content = Report("x", tables=(ReportTable("t", "T", "s", "m", (Column("a", "a"),), (Row("r", cells),)),))
    data = json.loads(report_files(content)["report.json"], parse_constant=refuse)
    (cell,) = data["tables"][0]["rows"][0]["cells"].values()
    assert cell["estimate"] == {"value": 0.30000000000000004, "low": None, "high": None, "probes": 7, "method": "point"}
    assert cell["p_value"] is None and cell["published"] is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 0}, "version 0"),
        ({"format": "another"}, "another"),
        ({"tables": 3}, "not iterable"),
        ({"sheets": [{}]}, "model"),
    ],
)
def test_another_version_or_half_a_report_is_refused(tmp_path, change, said):
    write_report(report(), tmp_path / "out")
    path = tmp_path / "out" / "report.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ReportError, match=said):
        read_report(tmp_path / "out")
    with pytest.raises(ReportError, match="no report of this version"):
        read_report(tmp_path)


# --- CSV ---


def test_csv_has_a_line_for_each_cell():
    lines = list(csv.DictReader(io.StringIO(table_csv(table()), newline="")))
    assert len(lines) == 2 * 4
    first, exact, _, _, text, point, absent, _ = lines
    assert (first["row"], first["column"], first["group"], first["heading"]) == (QWEN, "J0", "on-grid", "J0")
    assert float(first["value"]) == 0.5139 and float(first["low"]) == 0.5139 - 0.04 and float(first["p_value"]) == 3e-9
    assert (first["probes"], first["method"], first["published"], first["note"]) == ("500", "bootstrap", "0.04", "")
    assert (exact["method"], exact["low"]) == ("exact", "0.9926495")
    assert (text["text"], text["value"], text["method"], text["published"]) == ("no channel", "", "none", "0.5")
    assert (point["value"], point["low"], point["high"], point["probes"]) == ("-0.0004", "", "", "499")
    assert (absent["value"], absent["method"], absent["probes"], absent["p_value"]) == ("", "none", "0", "")


def test_csv_gives_harmful_names_back():
    names = [name for name in HOSTILE if "\ud800" not in name]
    lines = csv.DictReader(io.StringIO(table_csv(table(names)), newline=""))
    assert list(dict.fromkeys(line["row"] for line in lines)) == [name.replace("\0", "\ufffd") for name in names]
    assert b"half\\ud800 line" in report_files(report(HOSTILE))["tables/main.csv"]


# --- LaTeX ---


def columns_of(line):
    spans = [int(n) for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
    return len(re.findall(r"(?<!\\)&", line)) + 1 + sum(n - 1 for n in spans)


def test_latex_is_a_table_with_intervals_below_the_numbers():
    lines = table_latex(table()).splitlines()
    body = [line for line in lines if line.endswith(r"\\")]
    assert {columns_of(line) for line in body} == {5}
    assert body[0] == r" & \multicolumn{2}{c}{on-grid} & \multicolumn{1}{c}{in-gap} &  \\"
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-4}" in lines
    assert body[1] == r"model & $J_0$ & $S$ & $J_0$ & $C$ $-$ $b$ \\"
    assert body[2] == rf"{QWEN} & $0.51$ & $1.000^{{\mathrm{{e}}}}$ & $0.00^{{\mathrm{{c}}}}$ & $-0.36$ \\"
    assert (
        body[3]
        == r" & {\scriptsize $[0.47, 0.55]$} & {\scriptsize $[0.993, 1.000]$} &  & {\scriptsize $[-0.40, -0.32]$} \\"
    )
    assert body[4] == r" & {\scriptsize $p < 0.001$} & {\scriptsize $p = 0.041$} &  &  \\"
    assert body[5] == r"other & no channel & $0.000$ & -- & -- \\"
    assert [line for line in lines if line.startswith((r"\begin", r"\top", r"\mid", r"\bottom"))] == [
        r"\begin{tabular}{lcccc}", r"\toprule", r"\midrule", r"\bottomrule",
    ]  # fmt: skip


def test_latex_letters():
    assert latex_text("50% & #1_{x} $5 ~ ^ \\cmd") == (
        r"50\% \& \#1\_\{x\} \$5 \textasciitilde{} \textasciicircum{} \textbackslash{}cmd"
    )
    assert latex_text("--a [b]\n*") == "-{}-a {[}b{]} {*}"
    assert latex_text("Δ θ −1 é 模") == r"$\Delta$ $\theta$ $-$1 é \texttt{{[}U+6A21{]}}"
    assert all(line.startswith("%") for line in table_latex(table(name="x")).split("\\begin")[0].splitlines())


def test_latex_comments_stay_comments():
    harmful = ReportTable("t", "T\n\\input{x}", "s\r\\y", "m", (Column("a", "a"),), (), ("a\u2028\\z", "b\x0c\\w"))
    head = table_latex(harmful).split("\\begin{tabular}")[0]
    assert all(line.startswith("% ") for line in head.splitlines())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_whatever_the_names(tmp_path):
    write_report(report(HOSTILE), tmp_path / "out")
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\tiny\\input{out/tables/main.tex}\\end{document}"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]


# --- how numbers are written ---


def test_numbers_have_fixed_digits_and_no_negative_zero():
    assert [fixed(x, 2) for x in (0.515, -0.004, -0.36, 0.0, -0.0, 15.249, math.nan)] == [
        "0.52" if f"{0.515:.2f}" == "0.52" else "0.51", "0.00", "−0.36", "0.00", "0.00", "15.25", "–",
    ]  # fmt: skip
    assert [fixed(x, 2, signed=True) for x in (0.1, -0.1, 0.004, -0.004)] == ["+0.10", "−0.10", "±0.00", "±0.00"]
    assert [p_text(p) for p in (0.0, 0.0009, 0.001, 0.04139, 1.0)] == [
        "p < 0.001", "p < 0.001", "p = 0.001", "p = 0.041", "p > 0.999",
    ]  # fmt: skip


def test_names_are_cleaned_and_shortened():
    assert plain("a\x00b\ud800\tc\u202e\u200d") == "a\ufffdb\ufffd c\ufffd\u200d"
    assert shorten("short", 5) == "short" and shorten("abcdefghij", 5) == "ab…ij" and len(shorten("x" * 99, 34)) == 34
    assert drawn_names(["a/m", "b/n/"]) == {"a/m": "m", "b/n/": "n"}
    assert drawn_names(["a/m", "b/m"]) == {"a/m": "a/m", "b/m": "b/m"}
    alike = ["a" * 50 + str(i) + "b" * 50 for i in range(12)]
    assert len(set(drawn_names(alike).values())) == 12
    assert drawn_names(["模-7B\u202e"]) == {"模-7B\u202e": "\ufffd-7B\ufffd"}


# --- the same bytes each time ---

_DIGEST = """
import hashlib, sys
sys.path.insert(0, "tests")
from report_samples import QWEN, dilution, report
from metrics.report.figure_style import model_styles
from metrics.report.report import report_files
files = report_files(report(figures=(dilution([QWEN], model_styles([QWEN])),)))
assert "matplotlib.pyplot" not in sys.modules
print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())
"""


def test_the_same_report_is_the_same_bytes_in_another_process(tmp_path):
    here = report_files(report(figures=(dilution([QWEN], model_styles([QWEN])),)))
    (tmp_path / "matplotlibrc").write_text("font.size: 30\nsvg.hashsalt: other\naxes.facecolor: red\n")
    done = subprocess.run(
        [sys.executable, "-c", _DIGEST], cwd=Path(__file__).resolve().parents[1],
        env={**os.environ, "PYTHONHASHSEED": "2", "MATPLOTLIBRC": str(tmp_path), "TZ": "Asia/Tokyo"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == hashlib.sha256(repr(sorted(here.items())).encode()).hexdigest()


def test_files_name_no_date_and_no_machine(drawn):
    for name, content in report_files(drawn).items():
        for word in (b"dc:date", b"tEXtSoftware", b"matplotlib.org", os.fsencode(Path.cwd())):
            assert word not in content, (name, word)


# --- figures ---


@pytest.fixture
def canvases(monkeypatch):
    """What the figures draw on, kept instead of rendered."""
    kept = []

    def finish(name, title, caption, canvas):
        kept.append(canvas)
        canvas.draw_without_rendering()
        return Figure(name, title, caption, "", b"")

    monkeypatch.setattr(figures, "finish", finish)
    return kept


def drawn_points(axes, marker):
    return [line for line in axes.lines if line.get_marker() == marker and len(line.get_xdata())]


def test_missing_budgets_are_gaps_and_published_points_are_hollow(canvases):
    series = [Dilution("m", {8: estimate(0.6), 16: estimate(0.5), 32: NOTHING, 64: estimate(0.3)}, {}, {16: 0.51}, {})]
    figures.dilution_figure(series, model_styles(["m"]))
    left, right = canvases[0].axes
    line, hollow = drawn_points(left, "o")
    assert list(line.get_xdata()) == [8, 16, 24, 32, 48, 64]
    np.testing.assert_array_equal(line.get_ydata(), [0.6, 0.5, np.nan, np.nan, np.nan, 0.3])
    assert list(hollow.get_ydata()) == [0.51] and hollow.get_markerfacecolor() == "#ffffff"
    assert left.get_xscale() == "log" and [t.get_text() for t in left.get_xticklabels()] == [
        "8",
        "16",
        "24",
        "32",
        "48",
        "64",
    ]
    whiskers = [list(w.get_ydata()) for w in left.lines if w.get_alpha() == 0.6 and len(w.get_ydata()) == 2]
    assert [0.56, 0.64] in [[round(y, 9) for y in w] for w in whiskers]
    assert np.isnan(drawn_points(right, "o")[0].get_ydata()).all()


def test_rates_and_availability_stand_where_they_were_measured(canvases):
    styles = model_styles(["m", "n"])
    figures.acceptance_figure([Acceptance("n", (estimate(0.3), estimate(0.8)), None)], styles)
    on_grid, in_gap = canvases[0].axes
    false, true = drawn_points(on_grid, "s")
    assert (list(false.get_xdata()), false.get_markerfacecolor()) == ([0.3], "#ffffff")
    assert (list(true.get_xdata()), true.get_markerfacecolor()) == ([0.8], styles["n"].colour)
    assert "not measured" in [t.get_text() for t in in_gap.texts]
    figures.availability_figure([Availability("n", estimate(0.55), estimate(0.05))], styles)
    (point,) = drawn_points(canvases[1].axes[0], "s")
    assert (list(point.get_xdata()), list(point.get_ydata())) == ([0.55], [0.05])


def test_the_reversal_curve_runs_over_thresholds_and_marks_one(canvases):
    points = [
        ReversalPoint(t, estimate(c), estimate(a)) for t, c, a in ((0.5, 0.4, 0.99), (0.1, 0.9, 0.8), (0.3, 0.7, 0.95))
    ]
    figures.reversal_figure({"m": points}, model_styles(["m"]))
    axes = canvases[0].axes[0]
    (curve,), (mark,) = drawn_points(axes, "."), drawn_points(axes, "o")
    assert (list(curve.get_xdata()), list(curve.get_ydata())) == ([0.9, 0.7, 0.4], [0.8, 0.95, 0.99])
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([0.7], [0.95])
    assert any(list(line.get_ydata()) == [0.5, 0.5] for line in axes.lines)  # chance


def test_bars_of_single_events_diverge(canvases):
    figures.single_event_figure([SingleEvent("m", estimate(0.5), estimate(-0.44)), SingleEvent("n", NOTHING, NOTHING)],
                                model_styles(["m", "n"]))  # fmt: skip
    axes = canvases[0].axes[0]
    assert [p.get_width() for p in axes.patches] == [0.5, -0.44]
    assert [t.get_text() for t in axes.texts] == ["not measured"] * 2
    assert axes.get_xlim()[0] == -axes.get_xlim()[1]


def test_figures_with_harmful_names_are_drawn_whole():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn_now = all_figures(HOSTILE)
    for figure in drawn_now:
        image = Image.open(io.BytesIO(figure.png)).convert("RGB")
        edges = np.concatenate(
            [np.asarray(image)[[0, -1]].reshape(-1, 3), np.asarray(image)[:, [0, -1]].reshape(-1, 3)]
        )
        assert (edges == 255).all(), f"{figure.name} is cut off"
    assert report_files(report(HOSTILE, figures=drawn_now))


def test_many_models_leave_room_for_the_axes(canvases):
    names = [f"publisher/model-with-a-rather-long-name-{i}" for i in range(40)]
    figures.dilution_figure([Dilution(n, {16: estimate(0.5)}, {}) for n in names], model_styles(names))
    box = canvases[0].axes[0].get_window_extent()
    assert box.height / canvases[0].dpi > 3 and box.width / canvases[0].dpi > 3


def test_figures_leave_nothing_behind():
    before = dict(matplotlib.rcParams)
    dilution(["only"], model_styles(["only"]))
    assert dict(matplotlib.rcParams) == before


def test_a_model_looks_the_same_in_every_figure_and_no_two_alike():
    names = [f"m{i}" for i in range(30)]
    styles = model_styles(names)
    assert len({(s.colour, s.marker) for s in styles.values()}) == 30
    assert model_styles([*names, *names]) == styles
    assert math.gcd(len(PALETTE), len(MARKERS)) == 1


# Machado, Oliveira & Fernandes 2009, severity 1: what is seen without red, green or blue cones (linear RGB).
SEEN_WITHOUT = {
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "nothing": np.eye(3),
}
TO_LMS = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
          [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
TO_OKLAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("without", SEEN_WITHOUT)
def test_colours_of_models_are_told_apart_by_everyone(dark, without):
    rgb = np.array([[int(pair[dark][i : i + 2], 16) for i in (1, 3, 5)] for pair in PALETTE]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.transpose(SEEN_WITHOUT[without]), 0, 1)
    lab = np.cbrt(seen @ np.transpose(TO_LMS)) @ np.transpose(TO_OKLAB)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=-1)[np.triu_indices(len(PALETTE), 1)]
    assert apart.min() >= 0.09, (without, apart.min())
