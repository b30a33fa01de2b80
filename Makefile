# Everything a person or CI runs. Each target makes the virtual environment it needs.
# The first that runs: a version manager's shim may be there for a version that is not.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done)
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEV    := $(VENV)/.installed-dev
JOBS   ?= 2

.PHONY: demo test lint bench prove mutants schemas docs clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable .
	@touch $(STAMP)

$(DEV): $(STAMP)
	$(BIN)/python -m pip install --quiet --group dev --editable '.[testing]'
	@touch $(DEV)

demo: $(STAMP)  ## audit two recorded sessions, one of which claims what did not happen; coordinate an agent
	$(BIN)/loopbook audit examples/sessions/honest.jsonl
	$(BIN)/loopbook audit examples/sessions/false-claim.jsonl
	$(BIN)/python examples/coordinator.py

test: $(DEV)  ## every test, the doctests among them
	$(BIN)/python -m pytest -n $(JOBS) -q

lint: $(DEV)  ## format, lint, types, import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)  ## ratios against a reference in the same run
	$(BIN)/python -m bench

prove: $(DEV)  ## the same proofs at larger sizes
	LOOPBOOK_PROVE=1 $(BIN)/python -m pytest -q -m "prove or not prove" tests

mutants: $(DEV)  ## change the rules one small piece at a time: does a test notice? ONLY='loopbook.settlement*'
	$(BIN)/python -m pip install --quiet --group mutants
	nice -n 19 $(BIN)/python scripts/mutants.py $(ONLY)

schemas docs: $(DEV)  ## write what is generated from the code: JSON Schemas, kinds and commands
	$(BIN)/python scripts/generate.py

clean:
	rm -rf $(VENV) build dist
