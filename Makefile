# `make demo` and `make test` do everything on a fresh machine that has Python >= 3.11 and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Many tests wait for a process or a clock: one more at once than there are cores.
JOBS   ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo test again lint check format install bench screenshots clean
.DEFAULT_GOAL := help

help: ## what can be made here
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 14

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.demo-installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing noeira-tui with its service and sample data (about a minute the first time)"
	@$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.dev-installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing noeira-tui with everything its tests need (about two minutes the first time)"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo-installed

install: $(VENV)/.dev-installed ## everything for working on it, in .venv

demo: $(VENV)/.demo-installed ## the app with an embedded service and sample data, all in .demo/
	@$(BIN)/noeira-tui demo --data-dir .demo

test: $(VENV)/.dev-installed ## the whole test suite, on all cores
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

again: $(VENV)/.dev-installed ## what failed last time, once more, one test after the other
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures=none $(ARGS)

lint: $(VENV)/.dev-installed ## format, lint, types, import contracts, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

check: lint test ## what CI runs

bench: $(VENV)/.dev-installed ## side by side with curl, aria2c, rclone and others (needs nginx)
	$(BIN)/python -m benchmarks --write benchmarks/RESULTS.md

screenshots: $(VENV)/.dev-installed ## the pictures in screenshots/, from a demo of their own
	$(BIN)/python screenshots/take.py

format: $(VENV)/.dev-installed ## put the code in shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove .venv, caches and the demo's data
	rm -rf $(VENV) .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
