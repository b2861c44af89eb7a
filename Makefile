# The two main targets: `make report` shows what this project does, `make test` whether it works.
# Everything is installed into .venv from the lock files. Nothing else on the machine changes,
# except the system packages that the tests need (.ci/system-packages).

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

VENV := .venv
BIN := $(VENV)/bin
BENCH := $(VENV)-bench
ENGINES := $(VENV)-engines
STAMPS := $(VENV)/.stamps
INSTALL := -m pip install --quiet --disable-pip-version-check
LOCKED := $(INSTALL) --require-hashes -r
COMPILE := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--fork-strategy fewest --generate-hashes --no-header --no-emit-index-url
KERNEL := hatch_build.py retrieval_eval/ranking/_kernel.c
SOURCES := hatch_build.py retrieval_eval tests docs $(wildcard benchmarks)
WORKERS ?= 2

# The other tested Python: the one of the two that .venv does not use, if it is installed.
OTHER = $(shell $(BIN)/python -c 'import sys; print("3.11" if sys.version_info[:2] == (3, 12) else "3.12")')

# Every run has the same examples and the same order of sets; `make test-deep` draws at random.
test test-all test-notebooks coverage: export PYTHONHASHSEED := 0

# Kernels and commands that tests start load the package again: from its bytecode.
unexport PYTHONDONTWRITEBYTECODE

export RETRIEVAL_EVAL_SCREENSHOTS ?= $(CURDIR)/build/screenshots

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: install
install: $(STAMPS)/package ## Install the package into .venv

.PHONY: report
report: $(STAMPS)/package ## Render the demo report and print its path
	@$(BIN)/retrieval-eval demo

.PHONY: test
test: lint types test-main ## Lint, type-check and run the tests

.PHONY: test-main
test-main: $(STAMPS)/dev system
	@mkdir -p $(RETRIEVAL_EVAL_SCREENSHOTS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not extra"

.PHONY: test-all
test-all: test-extra test-engines test-other-python ## Run what `make test` leaves out: slow tests, the other Python

.PHONY: test-extra
test-extra: $(STAMPS)/dev system
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -p no:cacheprovider -m extra

# In an environment of its own, so that the clients need not agree with the tests' packages.
.PHONY: test-engines
test-engines: $(ENGINES)/installed.lock ## Run the recipes of docs/engines.md with the vendors' clients
	@PYTHONPATH=. $(ENGINES)/bin/python benchmarks/engines.py

.PHONY: test-deep
test-deep: $(STAMPS)/dev system ## Search for counterexamples at random; add each one found as an @example
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -p no:cacheprovider \
		-m "not slow and not browser and not extra" tests/property tests/oracle tests/unit

# Python allocates as C does, so that the sanitizers see it; what it never frees is no leak.
.PHONY: sanitize
sanitize: $(STAMPS)/dev ## Run the kernel of the ranking measures under compiler sanitizers
	@$(BIN)/python hatch_build.py -g -O1 -UNDEBUG -fsanitize=address,undefined -fno-sanitize-recover=all
	@status=0; LD_PRELOAD="$$(cc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 \
		PYTHONMALLOC=malloc $(BIN)/python -m pytest -q -p no:cacheprovider \
		tests/unit/ranking tests/property/test_ranking.py || status=$$?; \
	$(BIN)/python hatch_build.py; exit $$status

.PHONY: system
system:
	@.ci/system-packages

.PHONY: lint
lint: $(STAMPS)/dev ## Check style
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

.PHONY: format
format: $(STAMPS)/dev ## Fix style
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

.PHONY: types
types: $(STAMPS)/dev ## Check types
	$(BIN)/mypy

# Without pyarrow, which may change speed but no number, so that both ways are tested.
.PHONY: test-other-python
test-other-python: $(STAMPS)/dev
	@python="$$(.ci/find-python $(OTHER))"; \
	if [ -z "$$python" ]; then echo "Python $(OTHER) is not installed: its tests are skipped"; exit 0; fi; \
	venv="$(VENV)-$(OTHER)"; \
	if ! cmp -s requirements-dev.lock "$$venv/installed.lock"; then \
		"$$python" -m venv --clear "$$venv"; \
		"$$venv/bin/python" $(LOCKED) requirements-dev.lock; \
		"$$venv/bin/python" -m pip uninstall --quiet --yes pyarrow; \
		cp requirements-dev.lock "$$venv/installed.lock"; \
	fi; \
	"$$venv/bin/python" -m pytest -n $(WORKERS) --dist worksteal -p no:cacheprovider \
		-m "not slow and not browser and not extra" tests/unit retrieval_eval

# Part of the main run, too.
.PHONY: test-notebooks
test-notebooks: $(STAMPS)/dev ## Execute every notebook as users do
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -p no:cacheprovider tests/notebooks

.PHONY: coverage
coverage: $(STAMPS)/dev system ## List the lines that no test runs
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --show-missing

.PHONY: schemas
schemas: $(STAMPS)/dev ## Generate schemas/ and the table of docs/formats.md
	@PYTHONPATH=. $(BIN)/python tests/generated.py

.PHONY: docs
docs: $(STAMPS)/dev ## Build the documentation site into build/site; a warning is an error
	@$(BIN)/python -m sphinx -q -E -W --keep-going -b html -d build/site-doctrees docs build/site
	@echo build/site/index.html

.PHONY: pictures
pictures: $(STAMPS)/package ## Take the pictures of README and documentation, with Chromium
	@$(BIN)/python docs/pictures.py

# In an environment of its own, so that the packages compared with need not agree with the tests'.
.PHONY: bench
bench: $(BENCH)/installed.lock ## Compare speed with other packages and write docs/benchmark-ratios.md
	@$(BENCH)/bin/python benchmarks/ratios.py --write

.PHONY: unbreakable
unbreakable: $(STAMPS)/dev ## Kill each command at many moments and check what is left and what follows
	@$(BIN)/python benchmarks/unbreakable.py

.PHONY: same-as
same-as: REF ?= HEAD
same-as: $(STAMPS)/dev ## Compare what the formats read from mutated traces with the commit REF
	@$(BIN)/python -m tests.same_as $(REF)

# Installs the harnesses from npm and PyPI into build/lab and runs them without a network, as root.
.PHONY: lab
lab: VERSION ?= latest
lab: $(STAMPS)/dev ## Run every harness against a scripted model; HARNESS=codex VERSION=latest for one
	@$(BIN)/python -m tests.lab $(if $(HARNESS),--harness $(HARNESS)) --version $(VERSION)

.PHONY: demo-data
demo-data: $(STAMPS)/dev ## Record the data of the demo from the simulators in tests/simulators
	$(BIN)/python -m tests.simulators.record_demo

.PHONY: lock
lock: $(STAMPS)/dev ## Update the lock files to pyproject.toml and the newest releases
	$(COMPILE) --upgrade --group build -o requirements.lock >/dev/null
	$(COMPILE) --upgrade --group dev --extra dask --extra pdf --extra search --extra postgres --extra serve \
		-c requirements.lock -o requirements-dev.lock >/dev/null
	$(COMPILE) --upgrade --group build --group bench -c requirements-dev.lock -o requirements-bench.lock >/dev/null
	$(COMPILE) --upgrade --group engines -o requirements-engines.lock >/dev/null

.PHONY: clean
clean: ## Remove generated files and the environments
	rm -rf $(VENV) $(VENV)-3.* $(BENCH) $(ENGINES) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find reports -mindepth 1 -maxdepth 1 ! -name README.md -exec rm -rf {} +
	find retrieval_eval tests -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@python="$$(.ci/find-python)"; "$$python" -m venv $(VENV)

# The package is installed in editable mode without its dependencies, which come from the lock file.
# An earlier distribution was called retrieval-eval; two distributions of the package are refused.
$(STAMPS)/package: requirements.lock pyproject.toml $(KERNEL) | $(BIN)/python
	@echo "installing into $(VENV): the locked packages, then this one"
	@$(BIN)/python $(LOCKED) requirements.lock
	@$(BIN)/python -m pip uninstall --quiet --quiet --yes retrieval-eval
	@$(BIN)/python $(INSTALL) --no-deps --no-build-isolation --editable .
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/dev: requirements-dev.lock $(STAMPS)/package
	@echo "installing into $(VENV): the locked packages that the tests need"
	@$(BIN)/python $(LOCKED) requirements-dev.lock
	@touch $@

$(BENCH)/installed.lock: requirements-bench.lock $(KERNEL)
	@echo "installing into $(BENCH): the locked packages to compare with, then this one"
	@python="$$(.ci/find-python)"; "$$python" -m venv --clear $(BENCH)
	@$(BENCH)/bin/python $(LOCKED) requirements-bench.lock
	@$(BENCH)/bin/python $(INSTALL) --no-deps --no-build-isolation --editable .
	@cp requirements-bench.lock $@

$(ENGINES)/installed.lock: requirements-engines.lock
	@python="$$(.ci/find-python)"; "$$python" -m venv --clear $(ENGINES)
	@$(ENGINES)/bin/python $(LOCKED) requirements-engines.lock
	@cp requirements-engines.lock $@
