# The first interpreter that runs and is new enough; `make PYTHON=...` chooses another.
PYTHON ?= $(shell for p in python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PIP_INSTALL := -m pip install -qq
BIN := .venv/bin
ENV := .venv/.installed
DEMO_ENV := .venv/.for-demo
BENCH_ENV := .venv-bench/.installed
WHEEL_VENV := $(CURDIR)/build/wheel-venv

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help env demo test test-long test-matrix coverage mutants bench docs release-check wheel lock clean python

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'

env: $(ENV) ## Make .venv with the pinned versions and this project in it

$(ENV): requirements.lock pyproject.toml | python
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) -r requirements.lock
	$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# The benchmarks' peers pin old versions of their own, so they live apart.
$(BENCH_ENV): bench.lock pyproject.toml $(ENV)
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python $(PIP_INSTALL) -r bench.lock
	echo "$(CURDIR)/src" > "$$(.venv-bench/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/utmost.pth"
	@touch $@

# Whoever only looks waits for the extra `all` alone; the other targets add the rest to the same .venv.
$(DEMO_ENV): requirements.lock pyproject.toml | python
	if test -e $(ENV); then $(MAKE) env; \
	else $(PYTHON) -m venv .venv && $(BIN)/python $(PIP_INSTALL) -c requirements.lock -e '.[all]'; fi
	@touch $@

demo: $(DEMO_ENV) ## Run the demonstration; its output goes to demo/
	$(BIN)/utmost demo --out demo

test: $(ENV) ## Run the linters, the type checker and the tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q -n 2

test-long: $(ENV) ## Run the tests that take minutes
	$(BIN)/pytest -q -n 2 -m long

test-matrix: | python ## Run the core tests with the lowest and the newest versions, on every Python that is there
	$(PYTHON) tools/matrix.py

coverage: $(ENV) ## Measure which lines and branches of src the tests run; the report goes to build/coverage/
	$(BIN)/pytest -q -n 2 --cov=utmost --cov-branch --cov-report=term:skip-covered --cov-report=html:build/coverage

mutants: $(ENV) ## Ask whether the tests notice: one small mutation at a time; hours, goes on where it stopped
	$(BIN)/python tools/mutants.py

bench: $(BENCH_ENV) ## Run every benchmark in bench/
	@set -e; for file in $(filter-out bench/timing.py bench/release.py bench/serve.py bench/spark.py,$(sort $(wildcard bench/*.py))); do echo "== $$file"; .venv-bench/bin/python $$file; done
	@set -e; for file in bench/release.py bench/serve.py bench/spark.py; do echo "== $$file"; $(BIN)/python $$file; done # their peers live with the project

docs: $(ENV) ## Build the documentation into site/
	DISABLE_MKDOCS_2_WARNING=true $(BIN)/properdocs build --quiet --strict

release-check: | python ## Say what stands in the way of a release
	$(PYTHON) tools/release.py

wheel: $(ENV) ## Build sdist and wheel into dist/ and run the wheel's demonstration in a clean environment
	rm -rf dist $(WHEEL_VENV)
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python $(PIP_INSTALL) -c requirements.lock "$$(echo dist/*.whl)[all]"
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cd "$$dir" && $(WHEEL_VENV)/bin/utmost demo --out demo

lock: | python ## Resolve the newest versions into requirements.lock and bench.lock
	rm -rf build/lock-venv
	$(PYTHON) -m venv build/lock-venv
	build/lock-venv/bin/python $(PIP_INSTALL) -e '.[all,postgres,spark,dev]'
	{ echo '# Made by `make lock` from the extras all, postgres, spark and dev in pyproject.toml; not edited by hand.'; \
	  build/lock-venv/bin/python -m pip freeze --exclude-editable; } > build/requirements.lock
	mv build/requirements.lock requirements.lock
	rm -rf build/lock-venv
	$(PYTHON) -m venv build/lock-venv
	build/lock-venv/bin/python $(PIP_INSTALL) -e '.[bench]'
	{ echo '# Made by `make lock` from the extra bench in pyproject.toml; not edited by hand.'; \
	  build/lock-venv/bin/python -m pip freeze --exclude-editable; } > build/bench.lock
	mv build/bench.lock bench.lock

clean: ## Remove everything that make made
	rm -rf .venv .venv-bench build demo dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

python:
	@test -n "$(PYTHON)" || { echo "Utmost needs Python 3.11 or newer; found none. Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
