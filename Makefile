PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What `make test` compiles as users do; for the rest, and why, see tests/conftest.py.
OPTIMISED := $(addprefix tests/, $(addsuffix .py, simulation/test_simulate integrators/test_symplectic))
ONE_THREAD := --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1
QUICK := --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1 $(ONE_THREAD)
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist loadfile
# Each module is compiled once for all processes of a run, also where the environment says otherwise.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: env demo test test-all test-kernels docs test-pages mutants mutants-all seeds kills lint bench fuzz

env: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: env
	$(BIN)/dynsim demo

test: env
	$(PYTEST) -n 0 $(OPTIMISED)
	XLA_FLAGS="$(QUICK)" $(PYTEST) $(addprefix --ignore=, $(OPTIMISED))

test-all: env
	$(PYTEST) -m "not gpu"

test-kernels: env
	$(BIN)/python -m tests.quality.kernels

docs: env
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict -f docs/mkdocs.yml

test-pages: docs
	DYNSIM_SITE=out/site $(BIN)/python -m pytest -q tests/docs/test_browser.py tests/docs/test_explore_page.py

mutants: env
	XLA_FLAGS="$(QUICK)" $(BIN)/python -m tests.quality.tests_of_functions --jobs 2
	XLA_FLAGS="$(QUICK)" $(BIN)/python -m tests.quality.random_mutants --count 200 --jobs 2

mutants-all: env
	$(BIN)/python -m tests.quality.mutants --jobs 2

seeds: env
	$(BIN)/python -m tests.quality.seeds

kills: env
	$(BIN)/python -m tests.quality.kills

fuzz: env
	DYNSIM_FUZZ=$${DYNSIM_FUZZ:-3000} $(BIN)/python -m pytest -q -n 2 --dist load -o addopts="" tests/quality/fuzz

lint: env
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

bench: env
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt 'torch==2.13.0'
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m tests.quality.benchmarks --figure out/growth.png
