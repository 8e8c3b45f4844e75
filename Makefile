# `make demo`, `make test` and `make test-all` do all the set-up; they need Python 3.10 to 3.13, git, and a package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all check clean

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 10) <= v <= (3, 13) else "Python 3.10 to 3.13 is needed, this is %d.%d: run make PYTHON=python3.11" % v)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@echo "installing (torch is large: some minutes) ..."
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(READY)

demo: $(READY)
	$(BIN)/python scripts/demo.py

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile -m 'not slow'

test-all: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile

check: $(READY)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

clean:
	rm -rf $(VENV) demo_output build dist *.egg-info
