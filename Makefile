# Every target makes its own .venv; `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

-include .services/env
export DEXBRIDGE_TEST_POSTGRES
export DEXBRIDGE_TEST_CHROMIUM

.PHONY: setup services demo serve test test-slow matrix debian13 check format bench bench-turnaround faults others clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[all]' --group dev
	touch $(STAMP)

services:
	.ci/services

demo: $(STAMP)
	$(BIN)/python -m dexbridge.console.demo

# The order-support agent with its page, offline: a scripted model and a local Slack.
serve: $(STAMP)
	OFFLINE=1 $(BIN)/python -m examples.order_support

# Two tests at once: most of them wait for a process. `pytest PATH` runs one file without it.
test: $(STAMP)
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal

# What is longer than `make test` allows: Workers killed, Slack and the model away, every combination of `make matrix`.
test-slow: $(STAMP)
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal -m slow

# Every combination of replies, prompts, results and processes on the real CLI; `make test` runs a part of them.
matrix: $(STAMP)
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal -m slow tests/claude/test_reply_shapes.py

# The engine, the demo and the wheel on Debian 13's Python, with its own SQLite and with an older one. Needs root; about
# five minutes, the first time one more.
debian13: $(STAMP)
	.ci/debian13

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m benchmarks

bench-turnaround: $(STAMP)
	$(BIN)/python -m benchmarks.turnaround

# At least 200 Workers killed, and the database lost a hundred times, on SQLite and PostgreSQL (`make services`); about
# half an hour. One lane alone:
# `python -m benchmarks.faults LANE`; `--list` names them.
faults: $(STAMP)
	$(BIN)/python -m benchmarks.faults

# 100,000 random broken connection files; about ten minutes.
fuzz-config: $(STAMP)
	$(BIN)/python -m benchmarks.fuzz_config

# Slack against backlot, GitHub against its own OpenAPI description behind prism: servers others wrote, each installed
# into a folder of its own. Needs npm and Node.js 18.20 or newer; half a minute once they are installed.
OTHERS := benchmarks/others
others: $(STAMP) .others/slack/.installed .others/github/.installed
	$(BIN)/python -m benchmarks.others

.others/slack/.installed: $(OTHERS)/requirements.txt
	$(PYTHON) -m venv .others/slack
	.others/slack/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(OTHERS)/requirements.txt
	touch $@

.others/github/.installed: $(OTHERS)/package.json
	@command -v npm >/dev/null || { echo "others: npm is missing; install Node.js 18.20 or newer with it." >&2; exit 1; }
	mkdir -p .others/github
	cp $(OTHERS)/package.json .others/github/
	cd .others/github && npm install --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error
	touch $@

clean:
	rm -rf $(VENV) .others
