# SPDX-License-Identifier: Apache-2.0
# Short front of the CMake build: `make help` lists what there is.

BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)

.PHONY: all help setup demo test test-long bench lint install clean

all: ## build the command, the library and the Python package into build/
	@scripts/setup build
	@cmake --preset release -B $(BUILD) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

setup: ## install every package that building, tests and benchmarks need
	@scripts/setup build test bench

demo: all ## build, then the main job on real data: 20,000 word vectors
	@scripts/demo $(BUILD)

test: ## everything the tests need is set up, then they run
	@scripts/setup build test
	@cmake --preset release -B $(BUILD) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)
	@scripts/run-tests $(BUILD) -LE long

test-long: all ## those that take gigabytes and minutes: 10^8 edges in 512 MB, more than 2^31 edges
	@scripts/run-tests $(BUILD) -L long

bench: all ## measure beside the peers
	@scripts/setup bench
	@bench/run $(BUILD)

lint: ## layers, headers, symbols, docs, cppcheck
	@scripts/lint $(BUILD)

install: all ## install below PREFIX (default /usr/local); DESTDIR is honoured
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove the build folders
	rm -rf $(BUILD) build-dev build-asan build-tsan build-minimal build-fuzz
