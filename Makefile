# The commands of this project. Every one of them may be run on a fresh Debian 12 or Ubuntu 24.04: it first installs what it needs. At a
# terminal it asks before (YES=1: it does not).
.DEFAULT_GOAL := help
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
STRESS_SECONDS ?= 3600
MESSAGES_ROUNDS ?= 300
STAGING_TURNS ?= 8
FAULTS ?= 1000
MUTANTS ?= tasking storage admission --number 100
PYTHON := .venv/bin/python
configure := cmake -S . -G Ninja -DDOVETAIL_WERROR=$(if $(CI),ON,OFF)
# $(call setup,purposes): what building needs and these purposes besides.
define setup
	@bash scripts/setup.sh $(if $(YES),--yes) $(1)
endef
# $(call release,targets,options): configures build/release and builds these targets. `all` is what is installed: the library, its doors and its tools.
define release
	@$(configure) -B build/release -DCMAKE_BUILD_TYPE=Release $(2)
	@cmake --build build/release --parallel $(JOBS) --target $(1)
endef

.PHONY: help setup setup-all setup-mpi setup-demo setup-demo-mpi setup-test setup-hdf5 setup-foreign build build-tests build-bench examples demo demo-heat demo-mpi demo-prefetch demo-hdf5 demo-staging scaling test test-hdf5 test-foreign test-install test-nodes test-refinement test-messages test-checkpoints test-plans test-staged test-staging test-cluster test-faults stress test-long mutants test-tsan test-asan fuzz bench install package wheel test-wheel lint format docs clean

help: ## Print this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/make \1\t\2/' | expand -t 20

setup: ## Install what building needs: packages of the system and a Python environment in .venv (YES=1: without asking)
	$(call setup)
	@bash scripts/setup_hdf5.sh try

setup-all: setup ## Install what building, tests, benchmarks and demonstrations need
	$(call setup,mpi observer demo test bench)

setup-mpi: setup ## Install MPICH and Open MPI besides, whose programs `make build` then serves, too
	$(call setup,mpi)

setup-demo: setup
	$(call setup,demo)

setup-demo-mpi: setup
	$(call setup,mpi demo)

setup-test: setup
	$(call setup,mpi observer demo test bench)

setup-hdf5: setup ## Fetch HDF5's headers and build a thread-safe HDF5 with its own tests in .cache-hdf5 (some minutes, once)
	@bash scripts/setup_hdf5.sh all

setup-foreign: setup ## Get other projects' test suites into .cache-foreign (FOREIGN_SOURCES=folder of one's own clones)
	@bash scripts/setup_foreign.sh $(if $(FOREIGN_SOURCES),--sources "$(FOREIGN_SOURCES)")

build: setup ## Build the library, its doors and its tools in build/release
	$(call release,all)

build-tests: setup-test
	$(call release,all tests,-DDOVETAIL_TESTS=ON)

build-bench: setup
	$(call setup,mpi observer demo bench)
	$(call release,all benches,-DDOVETAIL_BENCHMARKS=ON)

examples: setup-mpi ## Build the examples
	$(call release,examples)

demo: setup-demo ## Build what it needs, then run k-means without and with I/O tasks (DEMO_ARGS="..." for its options)
	$(call release,kmeans_demo)
	@$(PYTHON) examples/kmeans/demo.py --build-dir build/release $(DEMO_ARGS)

demo-heat: setup-demo ## Build what it needs, then run the heat example in its three ways (DEMO_ARGS as well)
	$(call release,heat)
	@$(PYTHON) examples/heat/demo.py --build-dir build/release $(DEMO_ARGS)

demo-mpi: setup-demo-mpi ## Build what they need, then run applications of 4 ranks with MPI alone, two-sided and one-sided tasks (DEMO_ARGS as well)
	$(call release,mpi_demo)
	@$(PYTHON) examples/mpi_demo/demo.py --build-dir build/release $(DEMO_ARGS)

demo-prefetch: setup-demo ## Build what it needs, then run an h5py program as it is, with a plan, by rules and by its pattern (DEMO_ARGS as well)
	$(call release,all)
	@$(PYTHON) examples/terrain/demo.py --build-dir build/release $(DEMO_ARGS)

demo-hdf5: setup-demo ## Build what it needs, then run an h5py program that writes, as it is and with its writes in the background (DEMO_ARGS as well)
	$(call release,all)
	@$(PYTHON) examples/hdf5/demo.py --build-dir build/release $(DEMO_ARGS)

demo-staging: setup-demo-mpi ## Build what it needs, then run a simulation of 4 ranks whose checkpoints go to a tier first, kill it, start it again (DEMO_ARGS as well)
	$(call release,plate_demo)
	@$(PYTHON) examples/plate/demo.py --build-dir build/release $(DEMO_ARGS)

scaling: setup-demo-mpi ## Install SimGrid, compare its model with real runs of ranks, then draw the model up to 256 nodes (SCALING_ARGS="--repeat 5")
	$(call setup,scaling)
	$(call release,all heat_ranks_mpich refinement_mpich streaming_mpich dovetail-scaling)
	@$(PYTHON) tools/scaling/validate.py --build-dir build/release $(SCALING_ARGS)
	@$(PYTHON) tools/scaling/figures.py --build-dir build/release --output build/release/scaling

test: build-tests ## Build, then run all tests (TEST_ARGS="-R storage" for options of ctest)
	@$(PYTHON) scripts/run_tests.py build/release $(TEST_ARGS)

test-hdf5: setup-hdf5 build-tests ## The long run of the HDF5 connector: HDF5's own tests, h5py's, random programs (HDF5_ARGS="--repeats 3")
	@$(PYTHON) tests/hdf5/acceptance.py $(HDF5_ARGS)

test-foreign: setup-foreign build-tests ## Other projects' packages beside ours, and their suites: PyTables', pandas', xarray's, PyCOMPSs' programs, dislib's tests, CPython's in tasks and staged, mpi4py's and ROMIO's (an hour or two)
	@failed=0; for suite in tests/hdf5/foreign_packages.py tests/python/foreign_programs.py tests/hdf5/foreign_suites.py tests/posix/foreign_suites.py tests/interpose_staging/foreign_suites.py tests/interpose_mpiio/foreign_suites.py; do \
	    echo "$$suite"; $(PYTHON) $$suite || [ $$? = 77 ] || failed=1; \
	done; exit $$failed

stress: build-tests ## The tests in random order beside a random load, for STRESS_SECONDS=3600 (STRESS_ARGS="--rooms tasking")
	@$(PYTHON) scripts/stress.py --build-dir build/release --seconds $(STRESS_SECONDS) $(STRESS_ARGS)

test-refinement: build-tests ## The example refinement with random meshes and ranks, against NumPy (REFINEMENT_ARGS="--seed 1 --number 60")
	@$(PYTHON) tests/refinement/random_meshes.py --build-dir build/release $(REFINEMENT_ARGS)

test-nodes: build-tests ## One-sided communication between two nodes of this machine, with all its tests
	@DOVETAIL_TEST_LONG=1 $(PYTHON) scripts/run_tests.py build/release --once -R '^rma_ranks_nodes$$'

test-messages: build-tests ## Random programs of tasks and messages against plain MPI, 1500 for each library and number of ranks (MESSAGES_ROUNDS=300 in each of 5 turns)
	@for turn in 1 2 3 4 5; do \
	    DOVETAIL_TEST_ROUNDS=$(MESSAGES_ROUNDS) $(PYTHON) scripts/run_tests.py build/release --once -R '^interpose_mpi_random_' || exit 1; \
	done

test-checkpoints: build-tests ## Programs that write as known codes do, parallel HDF5, and jobs that are started again, staged under each MPI library, with all their tests
	@DOVETAIL_TEST_LONG=1 $(PYTHON) scripts/run_tests.py build/release --once -R '^interpose_mpiio_(programs|hdf5_order|restart)_'

test-staged: build-tests ## Programs whose files are staged: 600 random ones against the same without, 100 that are killed, 40 with threads, and git
	@DOVETAIL_TEST_LONG=1 DOVETAIL_TEST_RANDOM_PROGRAMS=40 $(PYTHON) scripts/run_tests.py build/release --once -R '^interpose_staging_(stress|programs)_test$$'
	@DOVETAIL_TEST_RANDOM_PROGRAMS=200 DOVETAIL_TEST_KILLS=100 $(PYTHON) scripts/run_tests.py build/release --once -R '^interpose_staging_(random_calls|kill)_test$$'

test-plans: build-tests ## Programs with plans that have anything in them, random calls with a plan, and very many files and processes, for some minutes
	@DOVETAIL_TEST_ROUNDS=120 DOVETAIL_TEST_LONG=1 $(PYTHON) scripts/run_tests.py build/release --once -R '^interpose_prefetch_(plan_fuzz|random_calls|crowd)_test$$'

test-cluster: build-tests ## Random programs on a cluster of Dask while its workers are killed, for some minutes
	$(call setup,cluster)
	@DOVETAIL_TEST_LONG=1 DOVETAIL_TEST_ROUNDS=20 $(PYTHON) scripts/run_tests.py build/release --once -R '^cluster$$'

test-staging: build-tests ## Ranks with staged files, and those that recover them, are killed a thousand times, for half an hour (STAGING_TURNS=8 of 125 kills)
	@for turn in $$(seq $(STAGING_TURNS)); do \
	    DOVETAIL_TEST_ROUNDS=40 $(PYTHON) scripts/run_tests.py build/release --once -R '^interpose_mpiio_kills_' || exit 1; \
	done

test-install: build-tests ## The library alone, configured with everything off, and the package of Debian: programs find them
	$(call setup,package)
	@DOVETAIL_TEST_LONG=1 $(PYTHON) scripts/run_tests.py build/release --once -R '^package_(bare|debian)$$'

test-faults: build-tests ## A thousand faults of each kind under staged files of tasks and of programs, for half an hour (FAULTS=1000)
	@DOVETAIL_TEST_ROUNDS=$(FAULTS) build/release/bin/staging_random_fault_test
	@DOVETAIL_TEST_ROUNDS=$(FAULTS) DOVETAIL_BUILD_DIR=build/release $(PYTHON) tests/interpose_staging/fault_test.py

test-long: test-install test-nodes test-hdf5 test-foreign test-refinement test-messages test-checkpoints test-plans test-staged test-cluster test-staging test-faults test-wheel stress ## What takes too long for every change

mutants: setup-test ## Change lines of rooms at random and count the changes that their tests notice (MUTANTS="tasking --number 20")
	@$(PYTHON) scripts/mutants.py $(MUTANTS)

test-tsan: setup-test ## The tests under ThreadSanitizer, in build/tsan
	@$(configure) -B build/tsan -DCMAKE_BUILD_TYPE=Debug -DDOVETAIL_TESTS=ON -DDOVETAIL_SANITIZE=thread
	@cmake --build build/tsan --parallel $(JOBS) --target all tests
	@$(PYTHON) scripts/run_tests.py build/tsan $(TEST_ARGS)

test-asan: setup-test ## The tests under AddressSanitizer and UBSan, in build/asan
	@$(configure) -B build/asan -DCMAKE_BUILD_TYPE=Debug -DDOVETAIL_TESTS=ON -DDOVETAIL_SANITIZE=address
	@cmake --build build/asan --parallel $(JOBS) --target all tests
	@$(PYTHON) scripts/run_tests.py build/asan $(TEST_ARGS)

fuzz: setup-test ## Feed readers of files with broken input (FUZZ_SECONDS=20 for each; FUZZ_ARGS="configuration" for some of them)
	@$(configure) -B build/fuzz -DCMAKE_BUILD_TYPE=Debug -DDOVETAIL_TESTS=ON -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
	    -DDOVETAIL_SANITIZE=address -DDOVETAIL_FUZZ=ON
	@cmake --build build/fuzz --parallel $(JOBS) --target fuzzers
	@$(PYTHON) scripts/fuzz.py --build-dir build/fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

bench: build-bench ## Build, then run the benchmarks next to their peers (BENCH_ARGS="..." for their options)
	@$(PYTHON) bench/run.py --build-dir build/release $(BENCH_ARGS)

install: build ## Install headers, library, CMake package and pkg-config file below PREFIX
	@cmake --install build/release --prefix "$(PREFIX)"

package: build ## Make a package for Debian and Ubuntu in build/package
	$(call setup,package)
	@cd build/release && cpack -G DEB -B ../package

wheel: setup ## Build a wheel of the Python package in build/wheel, with all libraries and tools inside (WHEEL_PYTHONS="python3.12 python3.13")
	$(call setup,mpi observer wheel)
	@$(PYTHON) scripts/wheel.py $(addprefix --python=,$(WHEEL_PYTHONS))

test-wheel: wheel ## Try the wheels in bare systems, as root (WHEEL_SYSTEMS="bookworm trixie noble=MIRROR")
	@$(PYTHON) tests/package/wheel_systems.py build/wheel $(addprefix --system=,$(WHEEL_SYSTEMS)) || [ $$? -eq 77 ]

lint: setup ## Check format, the order of the rooms, headers, and run clang-tidy
	$(call setup,mpi observer lint)
	@$(configure) -B build/lint -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
	@$(PYTHON) scripts/lint.py --build-dir build/lint --jobs $(JOBS)

format: setup ## Format all C++ and Python sources in place
	$(call setup,lint)
	@$(PYTHON) scripts/lint.py --format

docs: setup ## Make one site of all pages and of the reference of Python, C++, C and Fortran in build/docs/html, and check its links
	$(call setup,docs)
	@$(PYTHON) scripts/docs.py

clean: ## Remove everything that was built
	@rm -rf build
