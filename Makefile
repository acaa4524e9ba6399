# Weighbridge. `make run` is all a user needs, `make test` all a contributor needs; both install what is missing.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# A Node that setup fetched goes first; Debian's emscripten finds its JavaScript helpers through NODE_PATH.
export PATH := $(CURDIR)/build/node/bin:$(CURDIR)/node_modules/.bin:$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL ?= 2
ifneq ($(shell command -v ccache),)
export CCACHE_DIR ?= $(CURDIR)/build/ccache
NATIVE_CACHE := -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
endif

PORT ?= 8017
PYTHON ?= python3
CLI := node web/cli/weighbridge.mjs
CXX_FILES = $(shell find src tests -name '*.cpp' -o -name '*.h')

.DEFAULT_GOAL := help
.PHONY: help
help: ## these lines
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

# ---------------------------------------------------------------- install, build, run

.PHONY: setup build core page cli examples run
setup: ## install what is missing: Debian packages, npm packages
	@scripts/setup.sh

build: core cli page ## the core as wasm, the command line, the page (build/page), the examples

core: setup
	@[[ -f build/wasm-release/build.ninja ]] || NODE_PATH=/usr/share/nodejs cmake --preset wasm-release
	@NODE_PATH=/usr/share/nodejs cmake --build --preset wasm-release --target weighbridge_core

cli: core
	@vite build --config web/cli/vite.config.ts --logLevel warn

examples: setup
	@node examples/make_examples.mjs

page: core examples
	@vite build --config web/app/vite.config.ts --logLevel warn

run: build ## build everything, serve the page and print its address (PORT=8017)
	@PORT=$(PORT) node scripts/serve.mjs build/page

# ---------------------------------------------------------------- test

# In this order; each is a target of its own. A step that fails stops the run with its name.
TESTS := lint lint-cpp test-native test-wasm test-web test-vectors test-cases test-golden test-examples test-rss test-e2e

.PHONY: test $(TESTS)
test: build ## every check and test, in order
	@for step in $(TESTS); do \
	  echo "==== $$step"; start=$$SECONDS; \
	  $(MAKE) $$step || { echo "==== $$step FAILED"; exit 1; }; \
	  echo "==== $$step ok, $$((SECONDS - start)) s"; \
	done; echo "==== all of: $(TESTS)"

lint: setup ## formatting (C++ and TypeScript), biome's rules, types
	@clang-format --dry-run -Werror $(CXX_FILES)
	@biome check --error-on-warnings
	@tsc --noEmit

lint-cpp: native-tree ## clang-tidy on the core: names, and a few kinds of bugs
	@scripts/tidy.sh

.PHONY: native native-tree
native-tree: setup
	@[[ -f build/native-debug/build.ninja ]] || cmake --preset native-debug $(NATIVE_CACHE)

native: native-tree
	@cmake --build --preset native-debug

test-native: native ## unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@build/native-debug/wb_tests

test-wasm: core ## the same unit tests as wasm in Node
	@NODE_PATH=/usr/share/nodejs cmake --build --preset wasm-release --target wb_tests
	@node build/wasm-release/wb_tests.cjs

test-web: core ## the engine's, the command line's and the page's own tests
	@vitest run

test-vectors: cli ## 283 sound and broken files and 18 indexes through the command line
	@$(PYTHON) tests/vectors/run.py -- $(CLI)

test-cases: cli ## real bug reports as small files, through the command line
	@$(PYTHON) tests/cases/run.py -- $(CLI)

test-golden: cli ## files quantized and saved by torch and safetensors; the conversion must be the same bytes
	@$(PYTHON) tests/golden/run.py -- $(CLI)
	@$(PYTHON) tests/golden/schemes/check.py $(CLI)

test-examples: cli examples ## every example converts, and the broken one is refused
	@node examples/check_examples.mjs

test-rss: cli ## memory of a conversion does not grow with the file (small sizes; `make rss` has the big ones)
	@$(PYTHON) scripts/rss_check.py --small 0.25 --big 3

test-e2e: page cli ## the page in stock Chromium: 1 GiB in, a file on disk out
	@node --test --test-reporter=spec tests/e2e/*.test.mjs

.PHONY: rss fuzz bench conformance clean format
rss: cli ## the same with 0.5 GiB and 6 GiB
	@$(PYTHON) scripts/rss_check.py --small 0.5 --big 6

FUZZ_SECONDS ?= 60
fuzz: setup ## libFuzzer on the core, FUZZ_SECONDS=60 per target
	@[[ -f build/fuzz/build.ninja ]] || cmake --preset fuzz $(NATIVE_CACHE)
	@cmake --build --preset fuzz
	@scripts/fuzz.sh $(FUZZ_SECONDS)

.PHONY: bench-kernels bench-cli
bench: bench-kernels bench-header bench-cli bench-remote bench-browser ## all that is measured beside its yardsticks, into build/bench.md; 25 minutes, an idle machine

bench-kernels: setup ## every kernel as wasm, GB/s, against memcpy and a widening copy
	@scripts/bench.sh

bench-cli: cli ## the command line's conversion of 1 GiB against `cat in in > out`; 6 GB of disk
	@node tests/bench/cli_bench.mjs

.PHONY: bench-header
bench-header: page cli ## 300,000 tensors: the core's parse, `inspect --json` against json.loads, the page against JSON.parse
	@NODE_PATH=/usr/share/nodejs cmake --build --preset wasm-release --target wb_header_bench
	@node tests/bench/header_bench.mjs

.PHONY: bench-browser memory-browser
memory-browser: core ## memory of Chromium and Firefox while 1 GiB and 12 GiB (Firefox: 4) are converted; limits; 26 GiB of disk
	@vite build --config tests/bench/browser/vite.config.ts --logLevel warn
	@node tests/bench/browser_memory.mjs

bench-browser: core ## each browser: converting 1 GiB against a pump of the same bytes; BENCH_GIB=1, 10 minutes, an idle machine
	@vite build --config tests/bench/browser/vite.config.ts --logLevel warn
	@node tests/bench/browser_bench.mjs --gib $(or $(BENCH_GIB),1)

.PHONY: bench-remote remote-big
bench-remote: cli ## a repo of 163 shards, 91,000 tensors over 50 ms: requests, bytes and (on an idle machine) time against limits
	@node tests/bench/remote_bench.mjs

remote-big: cli ## 4 GiB converted straight from a server that drops the connection five times; 12 GiB of disk
	@node tests/bench/remote_big.mjs --gib 4

.PHONY: calibrate
calibrate: cli ## predicted RAM against measured, each way of loading in a process of its own; PyPI, 1 to 4 GB, 10 minutes
	@tests/conformance/ram/run.sh -- $(CLI)

conformance: cli ## against torch and safetensors themselves; needs PyPI, 5.5 GB in build/venv; GOLDEN=1 renews tests/golden
	@tests/conformance/run.sh $(if $(GOLDEN),--write-golden) -- $(CLI)

format: setup ## put the formatting right
	@clang-format -i $(CXX_FILES)
	@biome check --write

clean: ## remove everything that was built (not node_modules)
	@rm -rf build web/app/public/examples
