# What a newcomer needs: `make install`, `make run`, `make test`. Everything else is listed by `make help`.
# DATABASE_URL and BROKER_URL are never guessed: without them run and test use SQLite and no broker.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2

export PORT DATABASE_URL BROKER_URL

.DEFAULT_GOAL := help
.PHONY: help install run test check format faults screenshots pins clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

install: $(STAMP) ## make .venv with everything pinned

$(STAMP): requirements/run.txt requirements/dev.txt
	@sh requirements/install.sh "$(PYTHON)" "$(VENV)"
	@touch $@

run: $(STAMP) ## start the site on 127.0.0.1:8000 (PORT=...) and print a sign-in link
	@exec $(BIN)/python manage.py serve

test: $(STAMP) ## all tests on SQLite; with DATABASE_URL=... BROKER_URL=... on PostgreSQL and Redis
ifeq ($(DATABASE_URL)$(BROKER_URL),)
	$(BIN)/python -m pytest tests/browser $(ARGS)
endif
	$(BIN)/python -m pytest tests -n $(WORKERS) --ignore=tests/browser --durations=20 $(ARGS)

check: $(STAMP) ## format, lint, types, layers, migrations, deployment settings, templates
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	EVALSITE_URL=https://evalsite.example.org $(BIN)/python -W error manage.py check --deploy --fail-level WARNING
	$(BIN)/djlint templates --check --lint --quiet

format: $(STAMP) ## write the formatting that check asks for
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/djlint templates --reformat --quiet

faults: $(STAMP) ## processes killed, services taken away
	$(BIN)/python -m pytest -m faults --durations=20 $(ARGS)

screenshots: $(STAMP) ## take the pictures of the README anew, in docs/images
	$(BIN)/python -m tests.screenshots

pins: $(STAMP) ## pin requirements/*.in anew, with hashes
	for file in run dev; do $(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header \
	    requirements/$$file.in -o requirements/$$file.txt; done

clean: ## remove what tools left; .venv and var/ stay
	rm -rf .mypy_cache .ruff_cache .import_linter_cache .hypothesis test-results
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
