# SPDX-License-Identifier: BSD-3-Clause
# The commands of the project; `make` alone lists them. The build itself is CMake's (CMakePresets.json).
.DEFAULT_GOAL := help
.PHONY: aarch64 build-packages check-device check-packages deb rpm wheel wheel-aarch64 conformance docs figures fuzz man repository overlap simulate page-images help setup setup-test site demo build build-test test unit cli integration sanitize lint format bench random-calls clean clean-all

PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
CMAKE_FLAGS := -DUNISONO_OPENMPI_INCLUDE=$(CURDIR)/.mpi/openmpi/include \
               -DUNISONO_MPICH_INCLUDE=$(CURDIR)/.mpi/mpich/include
PYTHON := .venv/bin/python
# Extra arguments for pytest, for example: make integration PYTEST="-k openmpi5 -x"
PYTEST ?=
# How long damaged files are read, and with which changes (a number; nothing: others each time).
FUZZ_SECONDS ?= 60
FUZZ_SEED ?=
# How many random calls each structure of queues gets.
STEPS ?= 100000000

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## packages, Python environment and MPI wheels that the demo needs (quick when repeated)
	@tools/setup.sh demo

setup-test:
	@tools/setup.sh test

demo: build ## set up, build, and run real programs natively and under Unisono
	@$(PYTHON) examples/demo.py

build: setup ## set up and build the library and its tools
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) -DUNISONO_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

build-test: setup-test
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) -DUNISONO_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

test: build-test ## set up, build, run all tests: unit tests, the command line, then real MPIs
	@tools/run_tests.sh $(BUILD) unit cli integration

unit: build-test ## the unit tests alone
	@tools/run_tests.sh $(BUILD) unit

cli: build-test ## the tests of the command line alone
	@tools/run_tests.sh $(BUILD) cli $(PYTEST)

integration: build-test ## the tests under real MPIs alone (PYTEST="-k openmpi5" selects)
	@tools/run_tests.sh $(BUILD) integration $(PYTEST)

# Not a part of .ci/run: two more builds take longer than all other tests' builds together.
sanitize: fuzz ## the tests that need no MPI under ASan and UBSan, then under TSan; readers under damaged files
	@status=0; for preset in asan tsan; do \
	  cmake --preset $$preset $(CMAKE_FLAGS) -DUNISONO_TESTS=ON >/dev/null && \
	  cmake --build build/$$preset -j $(JOBS) --target fake_host_tests && \
	  tools/run_tests.sh build/$$preset fake_host || status=1; done; exit $$status

# What ends a reader lies in build/asan/fuzz afterwards: mend it, and put the input into tests/fuzz/found.
fuzz: setup-test ## readers of files under damaged files and ASan, for a minute (FUZZ_SECONDS)
	@cmake --preset asan $(CMAKE_FLAGS) -DUNISONO_TESTS=ON >/dev/null
	@cmake --build build/asan -j $(JOBS) --target fuzz unisono-tool
	@mkdir -p build/asan/fuzz && rm -f build/asan/fuzz/*
	@find build/asan -name fuzz -type f -perm -1 -exec {} $$(($(FUZZ_SECONDS) * 2 / 3)) build/asan/fuzz $(FUZZ_SEED) \; \
	  && test -z "$$(ls build/asan/fuzz)"
	@$(PYTHON) tests/fuzz/commands.py $$(($(FUZZ_SECONDS) / 3)) $(FUZZ_SEED)

# Not a part of .ci/run, which makes some millions of them: it takes some minutes.
random-calls: build-test ## random calls on every structure of queues, beside a plain reference (STEPS for each, TEST_SEED)
	@TEST_STEPS=$(STEPS) $(BUILD)/tests/unit/matching/matching_test --gtest_filter='RandomCalls.*'

# Not a part of .ci/run: Open MPI and MPICH have no packages for another machine than this one.
aarch64: ## build all for AArch64, and run the tests that need no MPI under an emulator
	@tools/setup.sh aarch64
	@cmake --preset aarch64 $(CMAKE_FLAGS) -DUNISONO_TESTS=ON -DUNISONO_SHARE_HOME=$(CURDIR)/build/release >/dev/null
	@cmake --build build/aarch64 -j $(JOBS)
	@tools/run_tests.sh build/aarch64 unit

wheel: build-test ## the wheel and the source archive, into dist/
	@$(PYTHON) tools/make_wheel.py $(BUILD) dist --sdist
	@ls -1 dist

# Not a part of .ci/run: it makes a Debian 13 beside this machine (as root), and installs into it.
check-packages: build-test ## what users install, in an empty home, here and in a Debian 13: jobs on two MPIs
	@tools/setup.sh packaging
	@tools/run_tests.sh $(BUILD) packaging $(PYTEST)

# Not a part of .ci/run: it needs a GPU.
check-device: build-test ## buffers in the memory of a GPU of NVIDIA's, on the MPIs that are there (CUDA_OPENMPI=PREFIX)
	@tools/run_tests.sh $(BUILD) device $(PYTEST)

deb: build-packages ## the Debian package, into dist/
	@cd $(BUILD) && cpack -G DEB >/dev/null && mkdir -p ../../dist && cp packages/*.deb ../../dist && ls -1 packages/*.deb

rpm: build-packages ## the rpm package, into dist/
	@cd $(BUILD) && cpack -G RPM >/dev/null && mkdir -p ../../dist && cp packages/*.rpm ../../dist && ls -1 packages/*.rpm

build-packages: build-test
	@tools/setup.sh packaging
	@cmake --preset $(PRESET) -DUNISONO_CLI_PYTHON=/usr/bin/python3 >/dev/null

wheel-aarch64: build-test ## the wheel for AArch64, into dist/, by the cross compiler
	@tools/setup.sh aarch64
	@cmake --preset aarch64 $(CMAKE_FLAGS) -DUNISONO_TESTS=OFF -DUNISONO_SHARE_HOME=$(CURDIR)/build/release >/dev/null
	@cmake --build build/aarch64 -j $(JOBS)
	@$(PYTHON) tools/make_wheel.py build/aarch64 dist --machine aarch64

lint: setup-test ## formatting, layers, licence headers, Python and shell scripts
	@tools/lint.sh

format: setup-test ## format all sources in place
	@tools/lint.sh --fix

docs: build-test ## write anew the pages that the code and the kept outcomes tell
	@$(PYTHON) tools/generate_docs.py
	@$(PYTHON) tools/check_messages.py --write
	@$(PYTHON) tests/conformance/run.py --write-only

man: build ## manual pages and completion for shells, into build/release/share
	@cmake --build $(BUILD) --target unisono_share

site: setup-test ## the pages as a site that needs no network, into build/site; every link is checked
	@.venv/bin/mkdocs build --quiet --strict
	@echo "build/site/index.html"

bench: build ## native and Unisono side by side
	@.venv/bin/unisono bench

figures: build-test ## the benchmark's figures on every MPI, as tables with verdicts, into reports/figures.md
	@$(PYTHON) benchmarks/figures.py $(FIGURES)

repository: build-test ## each operation's best algorithm against native, as tables and a plot, into reports/repository.*
	@$(PYTHON) benchmarks/repository.py $(REPOSITORY)

overlap: build-test ## none, part and all of segments overlapped between two levels, into reports/overlap.md (root)
	@$(PYTHON) benchmarks/overlap.py $(OVERLAP)

# All networks with 64 and 256 ranks take an hour; tests/integration/test_simgrid.py runs a little of it.
simulate: build-test ## Unisono's choices against those of four MPIs in SimGrid's virtual time, into reports/simgrid.*
	@tools/setup.sh simulate
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) -DUNISONO_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target unisono_smpi
	@$(PYTHON) tools/simgrid/compare.py $(SIMULATE)

page-images: build-test ## a page of a tuning and of a run that learns, and its pictures into docs/images (two minutes)
	@$(PYTHON) benchmarks/report_images.py $(PAGE_IMAGES)

# Not a part of .ci/run: all of it takes hours on two cores; tests/integration/test_suites.py runs some.
conformance: build-test ## others' test suites natively and under Unisono, into docs/inside/conformance.md (CONFORMANCE=--help)
	@tools/setup.sh conformance
	@$(PYTHON) tests/conformance/run.py $(CONFORMANCE)

clean: ## remove what was built (keeps the environments; `make clean-all` removes those too)
	rm -rf build dist

clean-all: clean
	rm -rf .venv .mpi .cache
