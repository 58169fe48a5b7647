# Everything a newcomer needs: `make demo`, `make test`, `make quick`. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
SOURCES := daemon detectors remediations tests helm docs requirements conftest.py
# Compiled files make every start of Python faster, and the tests start it often.
export PYTHONDONTWRITEBYTECODE :=
PACKAGES := -p handrail -p handrail_detectors -p handrail_remediations

.PHONY: help demo test quick check servers bench-store bench-intake crash lint types layers chart docs format pins clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Handrail needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: requirements/demo.txt requirements/build.txt pyproject.toml | $(VENV)/.made
	@echo "installing what the demo needs (about a minute)"
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/demo.txt
	@$(BIN)/pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt | $(VENV)/.demo
	@echo "installing what the tests need"
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

demo: $(VENV)/.demo ## an incident from alert to repair on this machine (ARGS=--yes, ARGS=--keep)
	@$(BIN)/handrail demo $(ARGS)

test: check ## lint, types, layers and every test (real servers: make servers)
	$(BIN)/pytest -n 2 -m "not server" $(ARGS)
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder -m server $(ARGS)

# They lead a daemon, its store or a fake through long stories, for minutes (docs/adr/0009-what-quick-runs.md).
STORIES := tests/breaks tests/crash tests/fakes tests/path tests/publishing tests/reconciler tests/sim tests/store \
	tests/cli/test_demo.py tests/cli/test_endings.py tests/cli/test_stop.py tests/decode/test_otlp_shallow.py \
	tests/http/test_posted.py tests/http/test_tally.py tests/card/test_markdown.py \
	tests/kubernetes/test_gathering.py tests/kubernetes/test_simulated_cluster.py tests/saga/test_asked_for.py tests/saga/test_histories.py \
	tests/slack/test_plain.py tests/slack/test_stop_button.py

quick: check ## in a minute: without what needs a server, and without the long stories
	HANDRAIL_HYPOTHESIS=quick $(BIN)/pytest -q -n 2 -m "not server" $(STORIES:%=--ignore=%) $(ARGS)

check: lint types layers

lint: $(VENV)/.dev
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check -q $(SOURCES)

types: $(VENV)/.dev
	@$(BIN)/mypy $(PACKAGES)
	@$(BIN)/mypy tests

layers: $(VENV)/.dev
	@$(BIN)/lint-imports --no-cache

bench-store: $(VENV)/.dev ## measure both stores, take-over and the idle daemon (three minutes; one JSON line)
	@$(BIN)/python -m tests.bench.store

crash: $(VENV)/.dev ## kill, freeze and cut off the real process at every point (an hour; ARGS=--help; one JSON line)
	@$(BIN)/python -m tests.crash $(ARGS)

bench-intake: $(VENV)/.dev ## measure the intake on one core (ARGS=--help says how; some minutes; one JSON line)
	@$(BIN)/python -m tests.bench.intake $(ARGS)

servers: ## build the real servers for the tests (cached per pin; cold about 15 minutes)
	@$(PYTHON) tests/servers/build.py $(ARGS)

chart: $(VENV)/.demo ## write the chart's generated files anew from the code
	@$(BIN)/python helm/generate.py

docs: $(VENV)/.demo ## write docs/reference anew from the code
	@$(BIN)/python docs/generate.py

format: $(VENV)/.dev ## format the code
	@$(BIN)/ruff check -q --fix $(SOURCES) || true
	@$(BIN)/ruff format $(SOURCES)

pins: $(VENV)/.dev ## compile requirements/*.txt anew
	@$(BIN)/pip install -q uv
	@$(PYTHON) requirements/compile.py $(BIN)/uv

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
