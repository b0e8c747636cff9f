# SPDX-License-Identifier: GPL-2.0-or-later
#
# `make` alone lists what there is to do. Every target first sees to what it needs: Debian packages (through
# scripts/install-packages, with sudo if need be), .venv, the C libraries; each is quick when nothing is missing.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

GDB ?= gdb-multiarch
VENV := .venv
# More words for pytest: make test PYTEST_ARGS="-k callers -x"
PYTEST_ARGS ?=
# More words for the benchmark: make bench BENCH_ARGS=--quick
BENCH_ARGS ?=
JOBS := $(shell nproc)
C_FILES = $(shell git ls-files --cached --others --exclude-standard 'qemu-plugin/*.[ch]')

packages = @scripts/install-packages

##@ Use

.PHONY: help
help: ## List these targets
	@awk 'BEGIN { FS = ":.*## " } \
	    /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo

.PHONY: setup
setup: ## Install what is missing and build: leaves .venv/bin/gdbext
	$(packages) run build
	@GDB='$(GDB)' scripts/make-venv $(VENV)
	@$(MAKE) plugin

.PHONY: demo
demo: setup ## Watch a GDB session on a small firmware, typed by a script
	$(packages) demo
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" scripts/demo

##@ Build

.PHONY: plugin
plugin: ## Compile the QEMU plugin and the replay library into gdbext/native/
	@$(MAKE) -C qemu-plugin

.PHONY: firmware
firmware: ## Cross-compile the programs that the tests run
	$(packages) test
	@$(MAKE) -C tests/firmware -j$(JOBS)

##@ Test

.PHONY: test
test: setup firmware ## All tests, with this machine's QEMU and GDB
	@GDB='$(GDB)' scripts/make-venv $(VENV) test
	@$(VENV)/bin/pytest -n $(JOBS) $(PYTEST_ARGS)

.PHONY: test-matrix
test-matrix: setup firmware ## The integration tests with every QEMU plugin API this machine can get
	$(packages) matrix
	@GDB='$(GDB)' scripts/make-venv $(VENV) test
	@GDBEXT_TEST_SESSIONS=200 scripts/test-matrix -n $(JOBS) $(PYTEST_ARGS)

.PHONY: test-fuzz
test-fuzz: setup ## One minute of fuzzing decoder and replay, under ASan and UBSan
	$(packages) fuzz test
	@GDB='$(GDB)' scripts/make-venv $(VENV) test
	@$(MAKE) -C tests/fuzz

.PHONY: bench
bench: setup ## Measure slowdown, size and replay speed; print the table
	$(packages) bench matrix
	@$(VENV)/bin/python -m tests.bench $(BENCH_ARGS)

##@ Tidy

.PHONY: lint
lint: setup ## Check style and types of Python and C; warnings are errors
	$(packages) lint
	@GDB='$(GDB)' scripts/make-venv $(VENV) lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	clang-format --dry-run --Werror $(C_FILES)
	shellcheck -x $$(grep -lIE '^#!/bin/(ba)?sh' scripts/* .ci/run)
	@scripts/check-spdx

.PHONY: format
format: setup ## Put Python and C files into the common form
	$(packages) lint
	@GDB='$(GDB)' scripts/make-venv $(VENV) lint
	$(VENV)/bin/ruff check --fix-only --quiet .
	$(VENV)/bin/ruff format .
	clang-format -i $(C_FILES)

.PHONY: clean
clean: ## Remove what was built; keeps .venv and downloaded QEMUs
	@-[ ! -f qemu-plugin/Makefile ] || $(MAKE) -C qemu-plugin clean
	@-[ ! -f tests/firmware/Makefile ] || $(MAKE) -C tests/firmware clean
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find gdbext tests -name __pycache__ -type d -prune -exec rm -rf {} +
