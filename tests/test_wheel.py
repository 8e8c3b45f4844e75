"""The wheel in an environment of its own, far from the checkout: everything that it needs is inside it."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from stimuli_builder.catalogue import Catalogue  # noqa: F401  (the checkout is importable here, and must not be there)

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a clean copy of the tracked and new files."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", out, source]
    subprocess.run(command, capture_output=True, text=True, check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory) -> Path:
    """Another environment: the wheel installed in it, its dependencies borrowed from this one."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    command = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--no-deps", "--no-index", wheel]
    subprocess.run(command, capture_output=True, text=True, check=True)
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def run_there(elsewhere: Path, *command: str, **environment: str) -> subprocess.CompletedProcess:
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CAVED_RELEASE", "VIRTUAL_ENV")}
    env = {**kept, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", **environment}
    return subprocess.run(
        [str(elsewhere / "bin" / "python"), *command],
        cwd=elsewhere.parent, env=env, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def test_the_wheel_holds_task_files_font_and_licences(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for wanted in (
        "lmms_eval_tasks/tasks/caved_or_convinced.yaml",
        "stimuli_builder/fonts/DejaVuSans.ttf",
        "stimuli_builder/fonts/LICENSE_DEJAVU",
        "metrics/py.typed",
    ):
        assert wanted in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "scripts/")) for name in names)
    for package in ("metrics", "stimuli_builder", "lmms_eval_tasks"):
        files = {p.relative_to(ROOT).as_posix() for p in (ROOT / package).rglob("*") if p.is_file()}
        assert {f for f in files if not f.endswith((".pyc", ".pyo"))} <= names


def test_modules_come_from_the_wheel(elsewhere):
    code = "import lmms_eval_tasks, stimuli_builder, metrics; print(lmms_eval_tasks.__file__, metrics.__file__)"
    done = run_there(elsewhere, "-c", code)
    assert done.returncode == 0, done.stderr
    assert all(path.startswith(str(elsewhere)) for path in done.stdout.split()), done.stdout


def test_the_title_works_there_on_the_embedded_default(elsewhere, tmp_path):
    """No include path and no variable: the task is found, the default built in the cache, numbers come out."""
    done = run_there(
        elsewhere,
        *("-m", "lmms_eval", "--tasks", "caved_or_convinced", "--model", "scripted_observer"),
        *("--model_args", "reading=1.0,deference=0.0", "--output_path", str(tmp_path / "logs"), "--log_samples"),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        HF_DATASETS_CACHE=str(tmp_path / "datasets"),
    )
    assert list((tmp_path / "logs").rglob("*_results.json")), (done.stdout + done.stderr)[-3000:]
    built = list((tmp_path / "cache").rglob("release.json"))
    assert len(built) == 1
    report = run_there(elsewhere, "-m", "stimuli_builder.cli", "report", str(tmp_path / "logs"))
    assert report.returncode == 0, report.stderr
    rows = {line.split()[0]: line for line in report.stdout.splitlines() if line.startswith(("on_grid", "in_gap"))}
    assert "1.000 [0.944, 1.000] e" in rows["on_grid"]  # 64 probes that all agree
    assert "0.000 [0.000, 0.000] c" in rows["in_gap"]
    verified = run_there(elsewhere, "-m", "stimuli_builder.cli", "verify", str(built[0].parent))
    assert verified.returncode == 0, verified.stderr
    sheet = tmp_path / "sheet.png"
    drawn = run_there(elsewhere, "-m", "stimuli_builder.cli", "preview", str(built[0].parent), "--out", str(sheet))
    assert drawn.returncode == 0 and sheet.is_file(), drawn.stderr
