# Governed memory. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export DBT_SEND_ANONYMOUS_USAGE_STATS := false
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help build test lint compiled docs bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[test,peers,attest,mcp,gx,report,trace,adapter]'
	@touch $@

build: $(VENV)/.core ## install the core, build the example stores, print a summary
	$(BIN)/dbt --quiet --no-use-colors build --selector findings || ($(BIN)/gmem status; exit 1)
	@$(BIN)/gmem status
	@printf '\nnext\n  $(BIN)/gmem as-of 2026-10-01 --concept data_retention\n  $(BIN)/gmem check stores/reference_edges.jsonl --map record_id=uuid,valid_from=valid_at,valid_to=invalid_at,source=episode\n  make test\n'

test: $(VENV)/.test ## install the test tools too and run everything: dbt unit and data tests, pytest, then the gates
	@rm -f target/build_results.json target/pytest.xml
	$(BIN)/dbt --quiet build --target ci
	@cp target/run_results.json target/build_results.json
	$(BIN)/pytest -n auto --dist loadfile --durations 40 --durations-min 10 --junitxml target/pytest.xml
	$(BIN)/gmem gates --junit target/pytest.xml --dbt target/build_results.json --out target/test_outcomes.jsonl

lint: $(VENV)/.test ## sqlfluff, ruff and mypy
	$(BIN)/ruff check python
	$(BIN)/ruff format --check python
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --processes 2 models analyses tests

compiled: $(VENV)/.core ## write the compiled models into the Python package
	$(BIN)/python python/tools/compile_models.py

bench: $(VENV)/.test ## measure beside the peers and write docs/benchmarks.md (about 5 minutes)
	$(BIN)/python python/benchmarks/bench.py

docs: $(VENV)/.core ## the dbt documentation site, in target/
	$(BIN)/dbt --quiet docs generate

clean: ## remove what the build made; the ledger in governed_memory.duckdb stays
	rm -rf target logs $(VENV)
