# `make verify` and `make test` do everything on a machine with Python 3.11 or newer; they set up .venv first.
# Settings: PYTHON=/path/to/python3 chooses the interpreter, JOBS=4 the number of test processes.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.setup-done
JOBS   ?= 2
PYTEST_ARGS ?=
VERIFY_ARGS ?=
CODE   := impl model proofs tests
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
TRY    := $(if $(PYTHON),$(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python)

.PHONY: help setup verify test test-quick lint format clean

help: ## show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## create .venv with the command shmem and everything the other targets need

verify: $(STAMP) ## run the verification suite (VERIFY_ARGS=--quick for the short one)
	$(BIN)/shmem verify $(VERIFY_ARGS)

test: $(STAMP) ## run all tests (PYTEST_ARGS=... goes to pytest)
	$(BIN)/pytest -n $(JOBS) $(PYTEST_ARGS)

test-quick: $(STAMP) ## run the tests that are not marked slow
	$(BIN)/pytest -n $(JOBS) -m "not slow" $(PYTEST_ARGS)

lint: $(STAMP) ## ruff and mypy; all three run, and one failure fails the target
	@failed=0; \
	$(BIN)/ruff check . || failed=1; \
	$(BIN)/ruff format --check . || failed=1; \
	$(BIN)/mypy || failed=1; \
	exit $$failed

format: $(STAMP) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

clean: ## remove .venv, caches and build products
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -path ./$(VENV) -prune -o -name '*.egg-info' -type d -prune -exec rm -rf {} +

# A Python that exists and is new enough, found when the environment is made. An existing .venv is kept and
# brought up to date, also when a package came or the version changed (an editable install lists the packages
# that it knows). numba is wanted for speed only, so its absence is told and not fatal.
$(STAMP): pyproject.toml $(wildcard impl/shmem/*.c impl/shmem/*.h) $(wildcard impl/*/__init__.py model/*/__init__.py proofs/*/__init__.py)
	@if [ ! -x $(BIN)/python ]; then \
	  for python in $(TRY); do \
	    if "$$python" -c '$(NEW_ENOUGH)' 2>/dev/null; then found="$$python"; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "shmem needs Python 3.11 or newer and found none (tried: $(TRY)); try: make PYTHON=/path/to/python3.11" >&2; \
	    exit 1; \
	  fi; \
	  echo "setup: creating $(VENV) with $$found"; \
	  if ! "$$found" -m venv $(VENV); then \
	    rm -rf $(VENV); \
	    echo "setup: '$$found -m venv' failed; on Debian and Ubuntu install the package python3-venv" >&2; \
	    exit 1; \
	  fi; \
	fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[verify,test,dev]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --only-binary numba --only-binary llvmlite -e '.[fast]' \
	  || echo "setup: NOTE: numba could not be installed; exploration takes its NumPy path, which is slower"
	@touch $@
	@echo "setup: done; the command is $(BIN)/shmem"
