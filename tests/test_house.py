"""The house stands in one direction, and says nothing of where it was built."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "metrics": {"stimuli_builder", "lmms_eval_tasks", "lmms_eval", "torch", "datasets", "transformers"},
    "stimuli_builder": {"lmms_eval_tasks", "lmms_eval", "torch", "transformers"},
    "lmms_eval_tasks": set(),
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_point_one_way(package):
    modules = sorted((ROOT / package).rglob("*.py"))
    assert modules
    wrong = {m.name: sorted(imported(m) & FORBIDDEN[package]) for m in modules if imported(m) & FORBIDDEN[package]}
    assert not wrong


def test_metrics_need_no_harness_at_run_time():
    code = "import sys, metrics, metrics.table; print(sorted({'torch', 'lmms_eval', 'datasets'} & set(sys.modules)))"
    import sys

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_import_is_declared():
    text = (ROOT / "pyproject.toml").read_text().lower()
    distribution = {"pil": "pillow", "yaml": "pyyaml", "huggingface_hub": "huggingface-hub", "lmms_eval": "lmms-eval"}
    import sys

    own = set(FORBIDDEN)
    for package in FORBIDDEN:
        for module in (ROOT / package).rglob("*.py"):
            for name in imported(module) - own - set(sys.stdlib_module_names):
                wanted = distribution.get(name.lower(), name.lower())
                assert re.search(rf'"{re.escape(wanted)}[><=~"\[]', text), f"{module.name} imports {name}"


def test_modules_are_small():
    for package in FORBIDDEN:
        for module in (ROOT / package).rglob("*.py"):
            assert len(module.read_text().splitlines()) <= 300, f"{module}: two subjects under one roof?"
