# Every target sets up what it needs: a .venv made with the standard venv module and pip, and the compiled
# kernels. The stamp file makes set-up happen only when pyproject.toml, setup.py or a kernel changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KERNELS := $(shell find src/samebits -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h' -o -path '*/native/*.c')
SETUP := pyproject.toml setup.py $(KERNELS)
# pip compiles what it installs but not an editable package: without this every start pays for it again where bytecode
# is not written (0.1 s of 0.5 s measured).
COMPILE := $(BIN)/python -m compileall -q src/samebits
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test check parity chaos builds bench docs site clean
.PHONY: dist lowest py313 anywhere sanitize crashes

help:  ## show the targets
	@grep -E '^[a-z0-9]+:.*##' Makefile | sed -E 's/^([a-z0-9]+):.*## /  \1\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What the demo needs: the package and tokenizers. No PyTorch, and nothing of the other extras.
$(VENV)/.stamp-run: $(SETUP) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[tokens]'
	@$(COMPILE)
	@touch $@

# What the tests and checks need on top.
$(VENV)/.stamp-dev: $(SETUP) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@$(COMPILE)
	@touch $@ $(VENV)/.stamp-run

demo: $(VENV)/.stamp-run  ## raw bytes to a trained model on the sample texts, with a report and a proof
	@$(BIN)/samebits demo --with benchmarks/records

test: $(VENV)/.stamp-dev  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: $(VENV)/.stamp-dev  ## format, lint, types, architecture, every feature at its smallest
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_public_api.py tests/test_tiny.py

parity: $(VENV)/.stamp-dev  ## the same digest for every executor, worker count and hash seed
	$(BIN)/python -m pytest -q tests/parity

chaos: $(VENV)/.stamp-dev  ## inject faults and print what happened
	$(BIN)/python -m tests.faults.chaos

builds: $(VENV)/.stamp-dev  ## the same bits from gcc, clang, -O1 to -O3, and ARM under qemu where they are installed
	$(BIN)/python -m pytest -q -m builds tests/arithmetic

bench: $(VENV)/.stamp-dev  ## run the benchmarks against the peers (quick form)
	$(BIN)/python -m benchmarks --quick

docs: $(VENV)/.stamp-dev  ## regenerate the reference of the command line, the table of benchmarks, the figures in pages
	$(BIN)/python -m samebits.cli.commands.reference docs/reference/cli.md
	$(BIN)/python -m benchmarks.pages

site: $(VENV)/.stamp-run  ## the documentation as pages with search, in build/site
	$(BIN)/python -m pip install --quiet '.[site]'
	$(BIN)/python release/site_pages.py build/site-pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "open build/site/index.html; with search: python3 -m http.server -d build/site"

dist:  ## source release and wheels (x86-64, aarch64 where its compiler is), each installed elsewhere and tested
	release/dist.sh

lowest:  ## the lowest declared version of every dependency, installed and tested
	$(PYTHON) release/lowest.py

py313:  ## the whole test suite on Python 3.13
	release/py313.sh

sanitize:  ## kernels with address and undefined sanitizers: their tests, forged artifacts, mutated inputs
	release/sanitize.sh

anywhere: $(VENV)/.stamp-dev  ## the digests of every job on an emulated ARM, compared with those of this machine
	release/anywhere.sh $(BIN)/python

crashes: $(VENV)/.stamp-dev  ## kill every job at each of its renames and syncs, and let it go on
	$(BIN)/python -m tests.faults.crash_points

clean:  ## remove the environment and compiled kernels
	rm -rf $(VENV) .bench build dist src/samebits.egg-info
	find src/samebits \( -name '*.so' -o -name '*.pyx' \) | sed 's/\.pyx$$/.c/' | xargs rm -f
