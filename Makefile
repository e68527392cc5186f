# The commands of this house. Each says what it does in README.md; CMake does the work.
#   make run    install what is missing, build, do the main job      make test   the whole suite
#   make build  configure and build into build/                      make asan, tsan   instrumented suites
#   make fuzz PAIRS=100000 SEED=1   the differential fuzzer      make mutation   whether the tests notice breakages
#   make fuzz-inputs SECONDS=120   mutated programs, logs, recordings, requests
#   make fuzz-log FUZZED=100000   a log of changed lines: each costs itself only
#   make analyze  the paths that clang's static analyzer follows through library and command: nothing to complain of
#   make torture  200 kills, 72 full disks, limits: a quarter of an hour; needs root for its disks
#   make farm  three machines behind real sshd, in network namespaces (needs root), 500 faults of workers, Slurm, farm-queue
#   make farm-queue  500 faults of workers, tuners, ways and server of a pool behind a real redis-server
#   make runner  tenon-runner for aarch64, armv7 and riscv64, 200 candidates on each under qemu-user; some minutes
#   make cortex-m  examples/cortex_m: kernels for a Cortex-M4 and a riscv32 board, 150 candidates each; some minutes
#   make install  library, headers, command and CMake package to PREFIX (/usr/local; DESTDIR= is put before it)
#   make deb  Debian packages in build-deb/packages
#   make html  the pages of docs/ and the headers as a site, build/html/index.html
#   make clone-to-use  what README.md says from the clone to a tuned kernel, in C and in Python, with the time that it takes
#   make gemm-small  check the products of all m, n, k in 1 .. 33, minutes of two cores
#   make bench-log LINES=1000000   what a large log takes: a minute, a gigabyte in /tmp
#   make bench-networks TIME=10m   whole networks beside oneDNN: six limits of time
#   make bench-tvm    records of TVM's logs, imported, beside schedules by hand from the same steps
#   make bench-warm   how many trials the records of programs like it save a search, over 20 shapes; ten minutes
#   make bench-tuned  winners of 100 trials beside auto, all programs of bench-auto; an hour; goes on where it was stopped
#   make bench-tune  what tuning costs, its promises and its winners
#   make bench-auto  generic schedules beside the machine's limits; RANDOM=1: 60 products, 30 pipelines and 40 programs of rows that this seed draws
#   make bench-halide  generic schedules of pipelines beside those of Halide's autoschedulers, which it installs
#   make bench-plans  how fast plans are ranked and scored
#   make bench  the benchmarks    make golden   rewrite the golden texts    make clean   remove all build folders
#   make abi  rewrite the description of the binary interface that a test compares with
#   make step-allocations  whole commands with one allocation failing after another, all of them; ...-asan under the sanitizer
#   make profiler-table  run the profiler's rows and rewrite their table in docs/profiler.md
MAKEFLAGS += --no-print-directory
CTEST = ctest --parallel 2 --output-on-failure --no-tests=error --test-dir

# For a fair comparison on a busy machine: tools/environment.c says why. What is set already stands.
GOMP_SPINCOUNT ?= 10000
run:
	@scripts/setup run
	@$(MAKE) build
	GOMP_SPINCOUNT=$(GOMP_SPINCOUNT) build/examples/matmul

# What was configured without the tests' packages finds them now.
test: setup
	cmake --preset release
	cmake --build build
	$(CTEST) build

setup:
	@scripts/setup all

# Ninja configures again by itself when a CMake file or the list of sources changed.
build:
	@scripts/setup build
	@test -f build/build.ninja || cmake --preset release
	cmake --build build

asan tsan coverage: setup
	@test -f build-$@/build.ninja || cmake --preset $@
	cmake --build build-$@
	$(CTEST) build-$@

# Random programs under random schedules against the reference evaluator: PAIRS of them from SEED (the time when none is
# given), and the first twentieth once more with assertions, the checks of the IR between passes, ASan and UBSan. Both parts say how
# many pairs a second. In a run of 20000 pairs and more it fails, too, when a primitive or tail was used less often than once in a
# hundred pairs.
PAIRS ?= 20000
SEED ?= $(shell date +%s)
fuzz: setup
	@test -f build/build.ninja || cmake --preset release
	@test -f build-fuzz/build.ninja || cmake --preset fuzz
	cmake --build build --target test_fuzz
	cmake --build build-fuzz --target test_fuzz
	TENON_FUZZ_PAIRS=$(PAIRS) TENON_FUZZ_SEED=$(SEED) build/tests/test_fuzz
	TENON_FUZZ_PAIRS=$(shell expr \( $(PAIRS) + 19 \) / 20) TENON_FUZZ_SEED=$(SEED) build-fuzz/tests/test_fuzz

# Buckets (tenon build --buckets) at every value of their symbols, 4,096 of most, beside the programs' own loops; some minutes.
every-value: build
	TENON_EVERY_VALUE=1 build/tests/test_record

# Mutated inputs of every kind that comes from outside, under ASan and UBSan, for SECONDS over all targets; what fails is kept in
# build-fuzz.
SECONDS ?= 120
fuzz-inputs: setup
	@test -f build-fuzz/build.ninja || cmake --preset fuzz
	cmake --build build-fuzz --target test_inputs
	TENON_INPUTS_SECONDS=$(SECONDS) TENON_INPUTS_SEED=$(SEED) TENON_INPUTS_KEEP=build-fuzz build-fuzz/tests/test_inputs

FUZZED ?= 100000
fuzz-log: build
	TENON_LOG_LINES=$(FUZZED) build/tests/test_record

# The mutation check: breaks the library in every way that tests/mutation lists, and writes what docs/testing.md and
# docs/mutations.md say of it.
mutation: setup
	scripts/mutation --pages

analyze: build
	TENON_ANALYZE=1 TENON_SOURCE=$(CURDIR) TENON_BUILD=$(CURDIR)/build bash tests/scripts/tidy.sh

# Writes its rows into the table "Hardening" of docs/testing.md. The suite has a short version.
torture: build
	TENON=build/tenon tests/torture/torture.py --long --page docs/testing.md

# A part that cannot run here says so and is passed over. FARM_BUILD: where the programs are, so that others may be built meanwhile.
FARM_FAULTS ?= 500
FARM_BUILD ?= $(CURDIR)/build
QUEUE_FAULTS = tests/farm/queue.py $(FARM_BUILD)/tenon --faults $(FARM_FAULTS) --trials 150 --namespaces; status=$$?; [ $$status = 77 ] || exit $$status
farm: setup build
	scripts/setup farm
	tests/farm/ssh.sh $(FARM_BUILD)/tenon $(FARM_BUILD)/tests/test_relay; status=$$?; [ $$status = 77 ] || exit $$status
	tests/farm/slurm.sh $(FARM_BUILD)/tenon; status=$$?; [ $$status = 77 ] || exit $$status
	TENON_FARM_FAULTS=$(FARM_FAULTS) $(FARM_BUILD)/tests/test_measure --farm
	$(QUEUE_FAULTS)
	scripts/bench_farm $(FARM_BUILD) --quick

# Two tuners and four workers in network namespaces (needs root), behind a real redis-server; a quarter of an hour.
farm-queue: setup build
	$(QUEUE_FAULTS)

runner: setup build
	tests/farm/runner.sh build/tenon $(CURDIR) 200; status=$$?; [ $$status = 77 ] || exit $$status

# Each kernel is to need at most half of the plain loops' instructions.
cortex-m: setup build
	scripts/setup boards
	tests/farm/cortex_m.sh build/examples/cortex_m $(CURDIR) 150 0.5; status=$$?; [ $$status = 77 ] || exit $$status

bench: setup build
	@set -e; for program in build/benchmarks/*; do if [ -x "$$program" ]; then "$$program"; fi; done

# 35,937 kernels; the suite checks every 97th.
gemm-small: setup build
	build/tenon-bench --small 0/2 & build/tenon-bench --small 1/2; status=$$?; wait $$! && exit $$status

# What tuning costs and whether its winner is one; about two hours. Parts: scripts/bench_tune build rate
bench-tune: build
	scripts/bench_tune build

# Results kept in FOLDER are not measured again. One program in five: scripts/bench_tuned build --share 3/5 --keep FOLDER
bench-tuned: build
	scripts/bench_tuned build --keep $(or $(FOLDER),build/tuned)

LINES ?= 1000000
bench-log: build
	build/benchmarks/log_scale $(LINES)

# The networks of examples/networks, each tuned for TIME twice: by the gradient, and round-robin.
TIME ?= 10m
bench-networks: setup build
	scripts/bench_networks build --for $(TIME) --round-robin

# The fastest records of TVM's logs, imported, beside schedules by hand from the same steps. LOGS: a folder with whole logs.
LOGS ?= benchmarks/tvm
bench-tvm: build
	scripts/bench_tvm_logs build --logs $(LOGS)

# Records kept in FOLDER are not measured again.
bench-warm: setup build
	scripts/bench_warm build $(FOLDER)

comma := ,
# Generic schedules beside the machine's limits and the vendors, more than a hundred programs; a quarter of an hour.
bench-auto: setup build
	$(if $(RANDOM),scripts/bench_auto build --draw product:60$(comma)pipeline:30$(comma)rows:40 --seed $(RANDOM),scripts/bench_auto build --threads 1,2 --page docs/performance.md)

# How fast plans are ranked by cost, and lowered and scored by the learned model; which schedules written by hand a plan of
# the plain program realizes, with both sides' processor times. A minute.
bench-plans: build
	build/tenon-plans rate
	build/tenon-plans list --time

# Stencils, pipelines, operators on rows: Tenon's generic schedules and Halide 14's three autoschedulers in turns; some minutes.
bench-halide: build
	@scripts/setup halide
	scripts/bench_halide build

PREFIX ?= /usr/local
install: build
	cmake --install build --prefix $(PREFIX)
	@test -n "$(DESTDIR)" || test "$$(id -u)" -ne 0 || ldconfig

# Debian packages, in build-deb/packages: libtenon0, libtenon-dev, tenon, python3-tenon.
# The clone is built anew: minutes of two cores.
clone-to-use:
	@scripts/setup clone || echo "no debootstrap: an empty environment is taken"
	@CLONE_TO_USE_WHOLE=1 TENON_SOURCE=$(CURDIR) bash tests/scripts/clone_to_use.sh

html:
	@scripts/setup html
	@scripts/site build/html

deb:
	@test -n "$(DEBFULLNAME)" -a -n "$(DEBEMAIL)" || { echo "make deb: say whom the packages name: make deb DEBFULLNAME='Ada Lovelace' DEBEMAIL=ada@example.org" >&2; exit 2; }
	@scripts/setup deb
	DEBFULLNAME='$(DEBFULLNAME)' DEBEMAIL='$(DEBEMAIL)' cmake -S . -B build-deb -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF
	cmake --build build-deb
	cd build-deb && cpack
	lintian --fail-on error build-deb/packages/*.deb

# What tests/scripts/abi.sh compares the libraries with: a change of the binary interface that was meant.
abi: setup build
	TENON_SOURCE=$(CURDIR) TENON_BUILD=$(CURDIR)/build bash tests/scripts/abi.sh --write

golden: setup build
	TENON_UPDATE_GOLDEN=1 $(CTEST) build

# tests/allocations/run.sh has the commands; the suite fails every 13th allocation. EVERY=7 takes every seventh. The second one is
# for the command under the address sanitizer.
EVERY ?= 1
STEP = tests/allocations/run.sh
step-allocations: build
	$(STEP) build/tests/libtest_step.so $(EVERY) $(CURDIR)/build/tenon $(CURDIR)/build/examples

step-allocations-asan: setup
	@test -f build-asan/build.ninja || cmake --preset asan
	cmake --build build-asan --target tenon_stepped
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 $(STEP) wrapped $(EVERY) $(CURDIR)/build-asan/tests/tenon_stepped \
	  $(CURDIR)/build-asan/examples --without tune example version

# Whether a row failed is in the table; the exit status says it too. The viewers are for row F5 alone: no other target waits
# for them.
SPEEDSCOPE = speedscope@1.25.0
profiler-table: setup build
	scripts/setup viewers
	test -d build/viewers/node_modules/speedscope || npm install --no-save --ignore-scripts --prefix build/viewers $(SPEEDSCOPE)
	scripts/profiler_rows build

clean:
	rm -rf build build-asan build-tsan build-coverage build-fuzz build-debug build-mutation build-deb

.PHONY: run test abi farm farm-queue runner cortex-m html clone-to-use setup build analyze asan tsan coverage fuzz fuzz-inputs fuzz-log mutation torture bench bench-tune bench-tuned bench-log bench-networks bench-tvm bench-warm bench-auto bench-plans bench-halide gemm-small install deb golden profiler-table step-allocations step-allocations-asan clean
