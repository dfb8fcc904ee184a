# SPDX-License-Identifier: Apache-2.0
# The commands of the project. Each target installs missing packages first (tools/deps.sh) and then
# runs CMake, which does the building (CMakePresets.json).

JOBS ?= $(shell nproc)
BUILD ?= build
BACKEND ?= host
SEEDS ?= 1000
ROUNDS ?= 30
MIGRATE ?= 25
CLANG ?= 16 19
KERNEL ?= compute
RANKS ?= 1,2
COLUMNS_PER_WORKER ?= 1,4,16
RESULTS ?= $(BUILD)
# The commit that reports name.
export STARLING_COMMIT ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)
# One worker for a GPU: one worker for each core would cut small grids into small blocks.
ONE_FOR_A_GPU := $(if $(filter host,$(BACKEND)),,--workers 1)
# Without a GPU no test runs a CUDA kernel, and compiling them takes longer than all other files.
CUDA ?= $(if $(findstring GPU,$(shell nvidia-smi -L 2>/dev/null)),AUTO,OFF)
# ON: also builds the benchmarks and compiles each public header alone.
COMPLETE ?= OFF
CONFIGURE_DEV = cmake --preset dev -B $(BUILD)/dev -DSTARLING_CUDA=$(CUDA) \
	-DSTARLING_BUILD_BENCHMARKS=$(COMPLETE) -DSTARLING_CHECK_HEADERS=$(COMPLETE)
PYTHON := $(firstword $(wildcard .venv/bin/python3) python3)
# More tests at once than cores, because tests wait more than they compute.
export CTEST_PARALLEL_LEVEL ?= $(shell expr 2 \* $(JOBS))

.DEFAULT_GOAL := help
.PHONY: help deps sedov jacobi3d jacobi2d overlap scaling resident test test-all test-clang test-aarch64 test-cuda12 test-fresh coverage verify bench task-graphs osu figures results docs site offline-deps format check-format check-layers tidy chaos chaos-migrate \
	soak sanitizers fuzz clean

help: ## print this list
	@echo "Starling: an asynchronous many-task runtime for CPUs and GPUs"
	@echo
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16
	@echo
	@echo "JOBS=$(JOBS) sets how many compilers run at once, BUILD=$(BUILD) the folder of the build trees."

deps: ## install missing packages (Debian, Ubuntu, Fedora; elsewhere: print the list)
	@tools/deps.sh run test dev

sedov: ## build and run the Sedov–Taylor blast wave, check it and draw it
	@tools/deps.sh run
	@tools/sedov_demo.sh $(BUILD)/sedov $(JOBS)

jacobi3d: ## build and run Jacobi's method in three dimensions on chares and check it, BACKEND=host or cuda
	@tools/deps.sh run
	cmake --preset sedov -B $(BUILD)/sedov
	cmake --build $(BUILD)/sedov -j $(JOBS) --target jacobi3d
	$(BUILD)/sedov/bin/jacobi3d --backend $(BACKEND) --odf 4 $(ONE_FOR_A_GPU)

jacobi2d: ## build and run Jacobi's method in two dimensions, on strips read in place by neighbours, BACKEND=host or cuda
	@tools/deps.sh run
	cmake --preset sedov -B $(BUILD)/sedov
	cmake --build $(BUILD)/sedov -j $(JOBS) --target jacobi2d
	$(BUILD)/sedov/bin/jacobi2d --backend $(BACKEND) --odf 4 --iterations 100 $(ONE_FOR_A_GPU)

overlap: ## run Jacobi3D with several overdecomposition factors and every option, and draw it, BACKEND=host or cuda
	@tools/deps.sh run test
	cmake --preset release -B $(BUILD)/release
	cmake --build $(BUILD)/release -j $(JOBS) --target jacobi3d bench_overlap_threads
	@$(PYTHON) -B benchmarks/overlap/overlap.py $(BUILD)/release/bin/jacobi3d --backend $(BACKEND) \
		--output $(BUILD)/overlap-$(BACKEND)

scaling: ## run Jacobi3D on an increasing number of ranks and draw it, BACKEND=host or cuda, RANKS=1,2
	@tools/deps.sh run test
	cmake --preset release -B $(BUILD)/release
	cmake --build $(BUILD)/release -j $(JOBS) --target jacobi3d starling_command
	@$(PYTHON) -B benchmarks/scaling/scaling.py $(BUILD)/release/bin --backend $(BACKEND) --ranks $(RANKS) \
		--output $(BUILD)/scaling-$(BACKEND)

resident: ## compare Jacobi2D driven by the host, resident and hand-written, and draw it, BACKEND=host or cuda, GPUS=1,2,4
	@tools/deps.sh run test
	cmake --preset release -B $(BUILD)/release
	cmake --build $(BUILD)/release -j $(JOBS) --target jacobi2d
	@if [ $(BACKEND) = cuda ]; then cmake --build $(BUILD)/release -j $(JOBS) --target jacobi2d_by_hand; fi
	@$(PYTHON) -B benchmarks/jacobi2d/jacobi2d.py $(BUILD)/release/bin --backend $(BACKEND) \
		$(if $(GPUS),--gpus $(GPUS)) --output $(BUILD)/jacobi2d-$(BACKEND)

test: ## build with assertions and run the tests of libraries, programs and tools; CUDA=OFF without a GPU
	@tools/deps.sh run test
	$(CONFIGURE_DEV)
	cmake --build $(BUILD)/dev -j $(JOBS)
	ctest --test-dir $(BUILD)/dev --output-on-failure $(if $(ALL),,-LE '^nightly$$')

test-all: ALL := yes
test-all: COMPLETE := ON
test-all: test ## run `make test` with the benchmarks and their tests, each public header alone and tests labelled `nightly`

coverage: ## run all tests with coverage counters and print the coverage of lines and branches by module
	@tools/deps.sh run test
	@[ -x .venv/bin/python3 ] || python3 -m venv --system-site-packages .venv
	@.venv/bin/python3 -m gcovr --merge-lines --version >/dev/null 2>&1 || \
		.venv/bin/python3 -m pip install -q --disable-pip-version-check 'gcovr>=8.4'
	cmake --preset coverage -B $(BUILD)/coverage
	cmake --build $(BUILD)/coverage -j $(JOBS)
	@.venv/bin/python3 -B tools/coverage.py $(BUILD)/coverage

test-clang: ## build everything with Clang and run all tests but `nightly`, CLANG="16 19"
	@tools/deps.sh run test clang
	set -e; for version in $(CLANG); do \
		cmake --preset dev -B $(BUILD)/clang-$$version -DSTARLING_CUDA=OFF -DSTARLING_CHECK_HEADERS=ON \
			-DCMAKE_C_COMPILER=clang-$$version -DCMAKE_CXX_COMPILER=clang++-$$version; \
		cmake --build $(BUILD)/clang-$$version -j $(JOBS); \
		ctest --test-dir $(BUILD)/clang-$$version --output-on-failure -LE '^nightly$$'; \
	done

test-aarch64: ## compile the tests of tasks, devices and chares for 64-bit ARM and run them under qemu-user (Debian)
	@tools/deps.sh run test
	@JOBS=$(JOBS) tools/test_aarch64.sh $(BUILD)/aarch64

test-cuda12: ## compile everything with CUDA 12.4: in CUDA12=FOLDER, or downloaded from Debian 13 (1 GB)
	@tools/deps.sh run test
	@JOBS=$(JOBS) tools/test_cuda12.sh $(BUILD)/cuda12

test-fresh: ## run make sedov and make test in a new Debian root, as root and as a user (needs root; an hour)
	@tools/test_fresh.sh

verify: ## run the complete verification of the physics, BACKEND=host or cuda (host: half an hour and more)
	@tools/deps.sh run
	cmake --preset sedov -B $(BUILD)/sedov
	cmake --build $(BUILD)/sedov -j $(JOBS) --target stars stars_16
	@$(PYTHON) -B apps/stars/verify/suite.py $(BUILD)/sedov/bin/stars --backend $(BACKEND) \
		--output $(BUILD)/verification

bench: ## build and run the benchmarks and print their tables
	@tools/deps.sh run test
	cmake --preset release -B $(BUILD)/release
	cmake --build $(BUILD)/release -j $(JOBS) --target benchmarks
	tools/bench.sh $(BUILD)/release

task-graphs: ## compare the smallest efficient task size with OpenMP, oneTBB and StarPU, KERNEL=compute, memory or imbalance, COLUMNS_PER_WORKER=1,4,16
	@tools/deps.sh run test
	cmake --preset release -B $(BUILD)/release
	cmake --build $(BUILD)/release -j $(JOBS) --target benchmarks
	@$(PYTHON) -B benchmarks/task_graphs/compare.py $(BUILD)/release/bin --kernel $(KERNEL) \
		--columns $(COLUMNS_PER_WORKER) --output $(BUILD)/task-graphs

osu: ## compare messages between two ranks with hand-written UCX programs and MPI, and draw it, BACKEND=host or cuda
	@tools/deps.sh run test
	cmake --preset release -B $(BUILD)/release
	cmake --build $(BUILD)/release -j $(JOBS) --target benchmarks starling_command
	@$(PYTHON) -B benchmarks/osu/osu.py $(BUILD)/release/bin --backend $(BACKEND) --output $(BUILD)/osu

figures: ## repeat the published experiment with stars and draw it, BACKEND=host, cuda or sycl
	@tools/deps.sh run $(filter sycl,$(BACKEND))
	cmake --preset sedov -B $(BUILD)/sedov
	cmake --build $(BUILD)/sedov -j $(JOBS) --target stars
	@$(PYTHON) -B benchmarks/figures/figures.py $(BUILD)/sedov/bin/stars --backend $(BACKEND) \
		--output $(BUILD)/figures-$(BACKEND)

results: ## write the tables of benchmarks/results from the reports below the folder RESULTS
	@python3 tools/results.py pages $(RESULTS)

docs: ## build the API reference with doxygen, whose warnings are errors
	@tools/deps.sh docs
	@tools/api_reference.sh $(BUILD)/docs

site: docs ## build guides, design notes, results and the API reference as one site and check its links; EXTERNAL=1 also asks other hosts
	@NO_MKDOCS_2_WARNING=1 STARLING_API=$(abspath $(BUILD))/docs/html \
		.venv/bin/python3 -B -m mkdocs build -f docs/site/mkdocs.yml -d $(abspath $(BUILD))/site
	@python3 tools/check_links.py $(BUILD)/site $(if $(EXTERNAL),--external)
	@echo "site: $(BUILD)/site/index.html"

offline-deps: ## unpack dependencies into .deps/, for a machine without network access
	@tools/offline_deps.sh

format: ## rewrite the sources in the project's style
	@tools/format.sh --write

check-format: ## check that all sources have the project's style
	@tools/format.sh

check-layers: ## check the includes against the layers, cycles and size budgets
	@python3 tools/check_layers.py

# A separate build folder, because clang-tidy cannot read the headers that g++ precompiles.
tidy: deps ## run clang-tidy on the sources (names, likely bugs)
	cmake --preset dev -B $(BUILD)/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
	@tools/tidy.sh $(BUILD)/tidy $(JOBS)

chaos: ## run the tests of tasks, devices, chares, resident programs and stars under SEEDS=1000 seeds of chaos mode
	@tools/deps.sh run test
	$(CONFIGURE_DEV)
	cmake --build $(BUILD)/dev -j $(JOBS)
	@python3 tools/chaos.py --seeds $(SEEDS) --jobs $(JOBS) \
		$(foreach name,core device contract objects resident stars_app,$(BUILD)/dev/bin/test_$(name))
	@python3 tools/chaos.py --seeds $(SEEDS) --jobs $(JOBS) --migrate $(MIGRATE) $(BUILD)/dev/bin/test_objects

chaos-migrate: ## run the tests of chares under SEEDS=1000 seeds of chaos mode, with elements that are made to migrate in MIGRATE=25 % of the cases
	@tools/deps.sh run test
	$(CONFIGURE_DEV)
	cmake --build $(BUILD)/dev -j $(JOBS) --target test_objects
	@python3 tools/chaos.py --seeds $(SEEDS) --jobs $(JOBS) --migrate $(MIGRATE) $(BUILD)/dev/bin/test_objects

soak: COMPLETE := $(if $(PROGRAMS),OFF,ON)
soak: ## repeat the suite ROUNDS=30 times: shuffled, on busy cores, on one core, with chaos seeds; SECONDS=600, PROGRAMS="resident net"
	@tools/deps.sh run test
	$(CONFIGURE_DEV)
	cmake --build $(BUILD)/dev -j $(JOBS) $(if $(PROGRAMS),--target $(PROGRAMS:%=test_%))
	@python3 tools/soak.py --rounds $(ROUNDS) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(PROGRAMS),$(PROGRAMS:%=$(BUILD)/dev/bin/test_%),$(BUILD)/dev)

# Clang for the address sanitizer: GCC needs 7 GB and more than five minutes for a file with
# kernels of stars. UCX is not instrumented: the thread sanitizer would report what UCX synchronises, so it
# runs no jobs of several processes. Reports of `distributed` go to files, since its tests let ranks
# fail.
sanitizers: REPORTS = $(CURDIR)/build/asan-ubsan-clang/report
sanitizers: ## run the tests of all modules and of stars under the address, undefined-behaviour and thread sanitizers
	@tools/deps.sh run test clang
	set -e; for preset in asan-ubsan-clang tsan; do \
		cmake --preset $$preset -DSTARLING_BUILD_EXAMPLES=OFF -DSTARLING_BUILD_APPS=ON; \
		cmake --build --preset $$preset -j $(JOBS); \
		UCX_MEM_EVENTS=n ctest --preset $$preset \
			-LE "^(nightly|compiler|distributed|house|python$$([ $$preset = tsan ] && echo '|jobs'))\$$"; \
	done
	rm -f $(REPORTS).*
	UCX_MEM_EVENTS=n ASAN_OPTIONS=detect_stack_use_after_return=1:log_path=$(REPORTS) \
		UBSAN_OPTIONS=print_stacktrace=1:log_path=$(REPORTS) ctest --test-dir build/asan-ubsan-clang \
		--output-on-failure --no-tests=error -R '^distributed\.(partner|resize|restart|by/stop_by_signal|when/restart_of_migrating_elements)$$'
	@! grep -E 'ERROR: |runtime error: ' $(REPORTS).* 2>/dev/null

fuzz: ## send damaged messages to ranks and archives, under SEEDS=1000 seeds and the sanitizers
	@tools/deps.sh run test
	cmake --preset asan-ubsan -B $(BUILD)/asan-ubsan
	cmake --build $(BUILD)/asan-ubsan -j $(JOBS) --target test_fuzz
	@python3 tools/chaos.py --seeds $(SEEDS) --jobs $(JOBS) $(BUILD)/asan-ubsan/bin/test_fuzz

clean: ## remove the build trees (keeps .deps and .venv)
	rm -rf $(BUILD)
