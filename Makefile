# Everything is put into .venv of this checkout. The commands people use are `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready

.PHONY: help setup test test-slow test-js check demo bench clean

help:
	@echo "make demo       set up from nothing, train, evaluate; shows what it did"
	@echo "make test       set up from nothing, then every check"
	@echo "make test-slow  the long forms of the tests"
	@echo "make test-js    the rules of the page, in JavaScript, against those in Python (needs Node.js)"
	@echo "make bench      random decisions per second, against plain C (needs gcc)"
	@echo "make clean      remove .venv and caches"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

check: setup
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy

test: check
	$(RUN) -m pytest --numprocesses 2

test-slow: setup
	THATSLIFE_SLOW=1 $(RUN) -m pytest --numprocesses 2

test-js: setup
	$(RUN) -m pytest tests/test_javascript.py

# Trains a player of the basic game for two, compares it, and says where everything is.
DEMO := runs/demo-$(shell date +%Y%m%d-%H%M%S)
demo: setup
	$(RUN) train.py --config configs/demo.yaml --run $(DEMO)
	$(RUN) evaluate.py --agents policy:$(DEMO) greedy random mc:rollouts=30 --games 2000 --out $(DEMO)/evaluation
	@echo "policy:  $(DEMO)/policy (weights as safetensors, policy.json); its spec is policy:$(DEMO)"
	@echo "curve:   $(DEMO)/curve.png"
	@echo "results: $(DEMO)/evaluation/results.json, results.png"

# The engine against plain C; needs gcc.
bench: setup
	$(RUN) benchmarks/run.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
