# One word for each habit. PYTHON may name another interpreter: make test PYTHON=python3.12
PYTHON ?= .venv/bin/python

.PHONY: test test-all lint format types docs bench all

all: lint types test

test:            ## the quick tests, docs and README included
	$(PYTHON) -m pytest

test-all:        ## the long ones too, with many examples each: what .ci/run runs
	CI=1 $(PYTHON) -m pytest -m ""

lint:            ## style, and that the formatter has nothing to do
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

format:          ## let the formatter do it
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

types:           ## strict
	$(PYTHON) -m mypy

docs:            ## the examples in README and docs
	$(PYTHON) -m pytest README.md docs

bench:           ## time what has to be quick, each benchmark in a process of its own: hours
	$(PYTHON) -m benchmarks
