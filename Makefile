# Everything goes through `make setup`, which does nothing where nothing changed.
PYTHON ?= python3
RUN := setup/run

.DEFAULT_GOAL := help
.PHONY: help setup first demo test long bench lint docs pins clean

help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup:  ## make .venv with ROS 2 and build the package (PYTHON=python3.12 to choose an interpreter)
	@PYTHON='$(PYTHON)' setup/setup.sh

first:  ## see an arm move, as soon as possible; its report is build/first/report.html
	@PYTHON='$(PYTHON)' FLEXARM_COMPILE_AHEAD=OFF setup/setup.sh
	.venv/bin/flexarm run config/planar_3r/scenarios/combined.yaml --engine process --report build/first

demo: setup  ## run the demonstration; its report is build/demo/report.html
	.venv/bin/flexarm demo --report build/demo

lint: setup  ## check style and types
	$(RUN) python -m ruff check
	$(RUN) env --unset=PYTHONPATH python -m mypy

test: lint  ## check style and types, then run every test
	PYTHONDONTWRITEBYTECODE= $(RUN) python -m pytest test -n 3 --dist loadfile --no-loadscope-reorder --junit-xml=build/test.xml

long: setup  ## run the tests that take long and rarely break
	$(RUN) python -m pytest -m long

bench: setup  ## measure everything beside its peers; the table is build/benchmark/index.html
	$(RUN) python benchmark/bench.py

docs: setup  ## build the documentation; it begins at build/site/index.html
	$(RUN) python -m sphinx -b html -q -W --keep-going -d build/doctrees docs build/site

pins: setup  ## write the lock setup/constraints*.txt anew from setup/requirements*.txt
	setup/pins.sh

clean:  ## remove everything that was made here
	rm -rf .venv build install log
