# Everything is put into .venv of this checkout. The commands people use are `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready
MODULES := node_modules/.package-lock.json
PORT ?= 8000

.PHONY: help setup test test-adapters test-ray test-slow test-js test-web check docs demo bench web web-ready web-models screenshots pictures clean

help:
	@echo "make demo       set up from nothing, train, evaluate, export; shows what it did"
	@echo "make test       set up from nothing, then every check"
	@echo "make test-adapters  OpenSpiel, TorchRL, Tianshou and SuperSuit, and the newest Gymnasium"
	@echo "make test-slow  the long forms of the tests"
	@echo "make docs       the documentation as a site, in build/docs"
	@echo "make web        prepare the page and serve it on localhost (needs Node.js; PORT=8000)"
	@echo "make web-models  the built-in players, exported for the page; make web does it too"
	@echo "make test-js    the rules of the page, in JavaScript, against those in Python"
	@echo "make test-web   the page in headless Chromium"
	@echo "make test-ray   training and tournaments on a Ray cluster of this machine, in .venv-ray"
	@echo "make screenshots  the pictures of the page in docs/images"
	@echo "make pictures   the picture and the film of a game in docs/images"
	@echo "make bench      how fast everything is, against plain C and others (needs gcc)"
	@echo "make clean      remove the environments and caches"

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
	$(RUN) -m mypy benchmarks/*.py # apart, as there are two run.py
	MYPYPATH=benchmarks/algorithms $(RUN) -m mypy benchmarks/algorithms/*.py

test: check docs web-ready
	$(RUN) -m pytest --numprocesses 2

# Anew each time: what Sphinx has read before it does not warn of again.
SITE := build/docs
docs: setup
	rm -rf $(SITE) build/doctrees
	$(RUN) -m sphinx --quiet --fail-on-warning --keep-going --doctree-dir build/doctrees docs $(SITE)
	@echo "$(SITE)/index.html"

# Long forms; then with every index checked; then uncompiled.
test-slow: setup web-ready
	THATSLIFE_SLOW=1 $(RUN) -m pytest --numprocesses 2
	NUMBA_BOUNDSCHECK=1 $(RUN) -m pytest --numprocesses 2
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest --numprocesses 2 -m "not speed and not learning"

# Other libraries, and the newest Gymnasium whatever constraints.txt pins: each in an environment of its own.
ADAPTERS := .venv-adapters
NEWEST := .venv-newest
DOORS := $(addprefix tests/test_,aec.py gymnasium.py vector.py vector_layout.py workers.py sb3.py)

$(ADAPTERS)/ready: pyproject.toml constraints.txt
	test -x $(ADAPTERS)/bin/python || $(PYTHON) -m venv $(ADAPTERS)
	$(ADAPTERS)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[adapters]' pytest pytest-xdist
	touch $@

$(NEWEST)/ready: pyproject.toml constraints.txt
	test -x $(NEWEST)/bin/python || $(PYTHON) -m venv $(NEWEST)
	grep -v '^gymnasium==' constraints.txt > $(NEWEST)/constraints.txt
	$(NEWEST)/bin/python -m pip install --quiet --upgrade --constraint $(NEWEST)/constraints.txt --editable '.[train,render]' \
		gymnasium pytest pytest-xdist hypothesis
	touch $@

test-adapters: $(ADAPTERS)/ready $(NEWEST)/ready
	$(ADAPTERS)/bin/python -m pytest --numprocesses 2 tests/adapters
	$(NEWEST)/bin/python -m pytest --numprocesses 2 $(DOORS)

test-js: setup
	$(RUN) -m pytest tests/test_javascript.py

test-web: setup web-ready
	$(RUN) -m pytest tests/test_browser.py

# Ray pins what the rest need not, so it has a place of its own.
RAY_VENV := .venv-ray
$(RAY_VENV)/ready: pyproject.toml constraints.txt
	test -x $(RAY_VENV)/bin/python || $(PYTHON) -m venv $(RAY_VENV)
	$(RAY_VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[ray]' pytest psutil
	touch $@

test-ray: $(RAY_VENV)/ready
	$(RAY_VENV)/bin/python -m pytest tests/cluster

$(MODULES): package.json package-lock.json
	node -e 'if (parseInt(process.versions.node) < 20) { console.error("Node.js 20 or newer is needed"); process.exit(1); }'
	npm ci --ignore-scripts --no-audit --no-fund
	touch $@

# The players that come with agents/builtin, exported anew when they or what exports them has changed.
BUNDLES := $(patsubst agents/builtin/%,web/models/%/manifest.json,$(wildcard agents/builtin/*))
$(BUNDLES): web/models/%/manifest.json: $(wildcard agents/*.py agents/bundle/* agents/builtin/*/*/*) | setup
	$(RUN) -m agents.export builtin/$* --out web/models/$*

web-models: $(BUNDLES)

web-ready: $(MODULES) web-models
	node web/tools/prepare.js

web: web-ready
	node web/tools/serve.js $(PORT)

screenshots: web-ready
	node web/tools/screenshots.js docs/images

pictures: setup
	$(RUN) docs/pictures.py

# Trains a player of the basic game for two, compares it, and says where everything is.
DEMO := runs/demo-$(shell date +%Y%m%d-%H%M%S)
demo: setup
	$(RUN) train.py --config configs/demo.yaml --run $(DEMO)
	$(RUN) evaluate.py --agents policy:$(DEMO) greedy random mc:rollouts=30 --games 2000 --out $(DEMO)/evaluation
	$(RUN) -m agents.export $(DEMO) --out $(DEMO)/bundle
	@echo "policy:  $(DEMO)/policy (weights as safetensors, policy.json); its spec is policy:$(DEMO)"
	@echo "curve:   $(DEMO)/curve.png"
	@echo "results: $(DEMO)/evaluation/results.json, results.png"
	@echo "bundle:  $(DEMO)/bundle, for other frontends; its spec is onnx:$(DEMO)/bundle"

# Every budget of speed, measured; needs gcc.
bench: setup
	$(RUN) benchmarks/run.py

clean:
	rm -rf $(VENV) $(ADAPTERS) $(NEWEST) $(RAY_VENV) node_modules web/vendor build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
