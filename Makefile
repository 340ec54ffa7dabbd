# One line per verb. `make` lists them. The environment is made on first use and again when what it is made from changes.
PYTHON3 ?= python3
VENV ?= .venv
PYTHON = $(VENV)/bin/python
PYTEST = $(PYTHON) -m pytest -rs --durations=10 $(PYTEST_FLAGS)
# One thread per process: two torch threads on a busy machine are many times slower than one.
export OMP_NUM_THREADS = 1

.PHONY: help setup book html execute lab test mutate portable reseed bench costs play slides pdf handout data run stale clean
.DEFAULT_GOAL := help

help:  ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

setup:  ## make the environment in .venv and install into it, if anything changed
	@cat requirements.txt pyproject.toml | cmp -s - $(VENV)/.installed || { \
	  echo "==> installing into $(VENV) (a few minutes and about 6 GB the first time)" && \
	  $(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)' && \
	  { test -x $(PYTHON) || $(PYTHON3) -m venv $(VENV); } && \
	  $(PYTHON) -m pip install --disable-pip-version-check -r requirements.txt -e '.[book]' && \
	  cat requirements.txt pyproject.toml > $(VENV)/.installed; }

book: setup  ## execute the chapters where anything changed and build the site
	@$(PYTHON) scripts/book.py book

html: setup  ## build the site from the stored outputs, without executing
	@$(PYTHON) scripts/book.py html

execute: setup  ## execute chapters and notebooks and store their outputs (NOTEBOOKS="book/lira.ipynb ...", default all)
	@$(PYTHON) scripts/book.py execute $(NOTEBOOKS)

lab: setup  ## open the chapters in JupyterLab
	@echo "==> starting JupyterLab, stop it with Ctrl-C"
	@$(PYTHON) -m jupyterlab

test: export MIA_PROGRESS = off
test: setup  ## check everything that must hold
	@echo "==> the machine"
	@$(PYTHON) -m mia_lib.machine
	@echo "==> 1/5 style"
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) scripts/check_notebooks.py
	@echo "==> 2/5 unit and property tests, doctests, the tool chain"
	@$(PYTEST) -n 2 --ignore-glob='tests/book/test_browser*.py' --ignore=tests/book/test_notebooks.py tests mia_lib
	@echo "==> 3/5 every chapter and notebook executed and compared with what is stored"
	@$(PYTEST) -n 2 --dist loadfile --nbval --nbval-cell-timeout=600 tests/book/test_notebooks.py $(wildcard book/*.ipynb notebooks/*.ipynb)
	@echo "==> 4/5 the book, warnings as errors"
	@$(PYTHON) scripts/book.py html
	@echo "==> 5/5 the built pages in a browser"
	@$(PYTEST) -n 2 tests/book/test_browser*.py

mutate: setup  ## do the tests notice a changed line: make mutate MODULE=lira [N=100] [SEED=0] [JOBS=1] [FRESH=1] [RECORD=1]
	@$(PYTHON) scripts/mutate.py "$(MODULE)" --n $(or $(N),100) --seed $(or $(SEED),0) --jobs $(or $(JOBS),1) $(if $(FRESH),--fresh) $(if $(RECORD),--record)

portable: setup  ## check chapters and notebooks with the instructions of other processors, AVX2 and SSE
	@$(PYTHON) scripts/portable.py $(NOTEBOOKS) -- -n 2 $(PYTEST_FLAGS)

reseed: setup  ## train with 20 other seeds, record how far every assertion is from failing (hours, resumes)
	@$(PYTHON) scripts/reseed.py $(NOTEBOOKS)

bench: setup  ## measure the speed, print a table per bench (fails nothing)
	@for bench in tests/bench/*.py; do echo "==> $$bench"; $(PYTHON) $$bench || exit 1; done

costs: setup  ## measure time, memory and disk of chapters and notebooks for the page of records (half an hour on an idle machine)
	@$(PYTHON) scripts/costs.py $(NOTEBOOKS)

play: setup  ## make the numbers of the playable pages again (NAMES="game records epsilon how_many", five minutes for all)
	@$(PYTHON) scripts/play.py $(NAMES)

slides: setup  ## slides of every chapter, offline HTML in _build/slides (NAMES="lira ...", default all)
	@$(PYTHON) scripts/slides.py $(NAMES)

pdf: setup  ## the whole book as one PDF in _build/pdf (PAGES="book/lira ...", default all; needs a Chromium)
	@$(PYTHON) scripts/pdf.py $(PAGES)

handout: setup  ## the problem sets as students get them, without solutions, in _build/handout (NAMES="lira ...", default all)
	@$(PYTHON) scripts/handout.py $(NAMES)

data: setup  ## fetch and verify a data set: make data NAME=mnist; without NAME list them
	@$(PYTHON) -m mia_lib.data $(or $(NAME),--list)

# Freed memory is kept: else the system hands torch's large arrays out anew, page by page, at every
# step, which takes an eighth of the time of image networks.
run bench: export MALLOC_MMAP_THRESHOLD_ = 4294967296
run bench: export MALLOC_TRIM_THRESHOLD_ = 4294967296
run: setup  ## run an experiment: make run NOTEBOOK=lira DATA=location30 SCALE=paper [RECORD=1]
	@$(PYTHON) scripts/run.py "$(NOTEBOOK)" --data "$(DATA)" --scale "$(SCALE)" $(if $(RECORD),--record)

stale: setup  ## list the records that today's code has not made, with what each of them cost
	@$(PYTHON) scripts/stale.py

clean:  ## remove everything that was built, but not the environment
	@echo "==> removing _build and caches"
	@rm -rf _build .pytest_cache .ruff_cache .hypothesis *.egg-info
	@find book mia_lib notebooks scripts tests \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
