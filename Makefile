PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: env demo test test-all test-kernels mutants mutants-all seeds kills lint bench fuzz

env: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: env
	$(BIN)/dynsim demo

test: env
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-all: env
	XLA_FLAGS=--xla_cpu_multi_thread_eigen=false $(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not gpu"

test-kernels: env
	$(BIN)/python -m tests.quality.kernels

mutants: env
	$(BIN)/python -m tests.quality.random_mutants --count 200 --jobs 2

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
