# Everything here works in a fresh clone with an empty home directory: each goal first makes .venv from the pinned and
# hashed files in requirements/, or finds that it is up to date. All paths are relative, so the clone may lie anywhere.

PYTHON ?= $(shell sh scripts/find-python.sh)
PYTEST_ARGS ?=
# One process more than there are cores, four at most, for there is always a test that waits. The tests of one file stay
# together: what they share is made once.
# `make test SPREAD=` runs them one after the other.
SPREAD ?= -n auto --maxprocesses 4 --dist loadfile
RUN := .venv/bin/python

.PHONY: help demo environments test test-long across sweep bench canary release site lint docs-check docs locks clean

help:
	@echo "make demo        record two failing agents, take the network away, re-enact both failures (80 s, then 20)"
	@echo "make test        the suite without its longer tests (8 minutes on two cores)"
	@echo "make test-long   the longer tests, which tests/long.txt names"
	@echo "make across      what depends on the interpreter, on every other Python that is found"
	@echo "make lint        ruff, mypy --strict, the import contract, and the wording of texts"
	@echo "make docs-check  the documents' examples run, the reference pages are current"
	@echo "make site        the documents as a site, with search, in out/site"
	@echo "make bench       what it costs, side by side with its neighbours, as ratios"
	@echo "make canary      the newest SDKs in fresh environments: is a call through each still captured?"
	@echo "make release     build the wheel and the sdist; install and use each with every extra, by pip and by uv"
	@echo "make sweep       the suite with every example of every sweep (long)"
	@echo "make locks       compile requirements/*.in to pinned and hashed files"

demo:
	@echo "The demo: about 80 seconds the first time, most of them to install; then about 20. Nothing leaves this folder but"
	@echo "the question to your package source for what is named below; the agents talk to a server of the demo's own."
	@"$(PYTHON)" scripts/environment.py .venv demo
	@$(RUN) -m reenact demo

# What the tests need, so that they can run without a package source and what leads to it.
environments:
	@"$(PYTHON)" scripts/across.py --make

test:
	@"$(PYTHON)" scripts/environment.py .venv test
	$(RUN) scripts/suite.py --part=short $(SPREAD) $(PYTEST_ARGS)

# What `make test` leaves out, so that it ends in minutes: a test is in one of the two, and none is in neither.
test-long:
	@"$(PYTHON)" scripts/environment.py .venv test
	$(RUN) scripts/suite.py --part=long $(SPREAD) $(PYTEST_ARGS)

across:
	@"$(PYTHON)" scripts/environment.py .venv test
	@$(RUN) scripts/across.py -- --part=short $(SPREAD) $(PYTEST_ARGS)

sweep:
	@"$(PYTHON)" scripts/environment.py .venv test
	REENACT_SWEEP=1 $(RUN) -m pytest -o timeout=3600 $(SPREAD) $(PYTEST_ARGS)

bench:
	@"$(PYTHON)" scripts/environment.py .venv test bench
	@$(RUN) -m bench $(BENCH_ARGS)

# Not part of `make test`: it asks the package source for the newest of everything. Exit status 3 is an outage there.
canary:
	@"$(PYTHON)" -m canary $(CANARY_ARGS)

# In an environment of its own: no test needs it. A warning is an error, such as a link that leads nowhere.
site:
	@"$(PYTHON)" scripts/environment.py .venv-site site
	.venv-site/bin/python -m sphinx -q -W --keep-going -c docs -b html . out/site
	@echo "out/site/docs/index.html"

# Not part of `make test` either: it asks the package source for what each extra needs.
release:
	@"$(PYTHON)" scripts/environment.py .venv test
	@$(RUN) scripts/release.py $(RELEASE_ARGS)

lint:
	@"$(PYTHON)" scripts/environment.py .venv test lint
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy -n auto
	.venv/bin/lint-imports --no-logo
	$(RUN) -m pytest -q tests/project/test_wording.py

docs-check:
	@"$(PYTHON)" scripts/environment.py .venv test
	$(RUN) scripts/reference.py --check
	$(RUN) -m pytest -q tests/project/test_docs.py

docs:
	@"$(PYTHON)" scripts/environment.py .venv test
	$(RUN) scripts/reference.py

locks:
	@"$(PYTHON)" scripts/environment.py .venv locks
	$(RUN) scripts/locks.py

clean:
	rm -rf .venv .venv-3.* .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
