# hloscope - everyday names. The build itself is meson's (meson.build); this file only calls it.
#
#   make demo     where the time of eight graphs under four execution patterns goes
#   make test     all tests
#   make help     everything else

BUILD ?= build
# lines and functions for debuggers, no variables: a seventh of the time that compiling takes
MESON_SETUP ?= env CFLAGS="-g1 $(CFLAGS)" meson setup
CLANG ?= clang-19
FORMAT ?= clang-format-19
TIME ?= 60
.DEFAULT_GOAL := build
.PHONY: build build-tests demo test test-real test-kill test-sweep test-sweep-backends test-gpu test-passes check bench asan ubsan tsan clang convert-long fuzz fuzz-replay mutants mutants-changed format lint house docs golden-update clean help

build: ## build the program and its libraries into build/, after installing what is missing
	@scripts/bootstrap
	@test -f $(BUILD)/build.ninja || $(MESON_SETUP) $(BUILD)
	@ninja -C $(BUILD) product

build-tests: build ## build the test programs too
	@ninja -C $(BUILD) meson-test-prereq test_programs

demo: build ## the pattern analysis on the built-in device
	@$(BUILD)/hloscope patterns --output $(BUILD)/patterns.json

.PHONY: install wheel
install: build ## install it: make install DESTDIR=/somewhere (PREFIX=/usr/local when the build was set up: meson setup --prefix)
	@if [ -n "$(PREFIX)" ]; then meson configure $(BUILD) -Dprefix=$(PREFIX) && ninja -C $(BUILD) product; fi
	@meson install -C $(BUILD) --no-rebuild --quiet $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

wheel: ## dist/hloscope-*.whl: the program, the device and the Python package in one file, for any Linux with glibc 2.28
	@scripts/bootstrap --wheel
	@python3 tools/wheel.py

.PHONY: deb release aarch64
deb: ## dist/hloscope_*.deb, looked at by lintian
	@scripts/bootstrap --deb
	@python3 tools/deb.py

VERSION_HERE = $$(cat VERSION)
release: wheel deb ## all artefacts of this version (wheel, Debian package, sources) and their checksums, in dist/
	@git archive --format=tar.gz --prefix=hloscope-$(VERSION_HERE)/ --output=dist/hloscope-$(VERSION_HERE).tar.gz HEAD
	@cd dist && version=$$(cat ../VERSION) && sha256sum hloscope-$$version-*.whl hloscope_$${version}_*.deb hloscope-$$version.tar.gz >SHA256SUMS && sha256sum --check SHA256SUMS

aarch64: ## build for AArch64 and run the unit programs under qemu-user (minutes; its libraries come into build-aarch64): make aarch64 AARCH64="--only arena,bytes"
	@scripts/bootstrap --aarch64
	@python3 tools/aarch64/aarch64.py $(AARCH64)

test: build-tests ## all tests; ends with the number that passed
	@python3 tools/run_tests.py $(BUILD) $(TEST_OPTIONS)

.PHONY: test-tries
test-tries: build-tests ## what a new user tries, every try with every command: wrong files, packed ones, pipes, Ctrl-C (two minutes; TRIES="--only run --try gzip")
	@HLOSCOPE_LIBRARY_DIR=$(CURDIR)/$(BUILD) python3 tests/terminal/test_tries.py $(BUILD)/hloscope . --all $(TRIES)

.PHONY: test-full test-jax test-reduce hunt hunt-jax
test-full: build-tests ## everything: JAX, PyTorch/XLA, xprof and the real compilers too, with the packages of tests/environments (5 GB, once)
	@scripts/bootstrap --clients || echo "bootstrap: without it"
	@python3 tools/test_full.py $(BUILD) $(FULL_OPTIONS)

test-jax: build-tests ## JAX's own tests, all ids of tests/jax_ids (hours): make test-jax JAX=checkout FILES="lax_test fft_test"; VERSION=0.12: the newer JAX
	@python3 tools/jax_ids.py --build $(BUILD) $(if $(VERSION),--jax $(VERSION)) $(if $(JAX),--checkout $(JAX)) $(FILES)

test-reduce: build-tests ## how small 200 seeded failures get, and in which time (an hour): make test-reduce CASES=20
	@python3 tests/faults/measure.py $(BUILD) --cases $(or $(CASES),200)

hunt: build-tests ## random programs and equal mutants of the models through XLA:CPU, blamed: make hunt TIME=600 SEED=1
	@python3 tools/hunt.py --build $(BUILD) --time $(or $(TIME),600) --seed $(or $(SEED),1) $(HUNT_OPTIONS)

hunt-jax: build-tests ## random programs of JAX beside XLA:CPU: make hunt-jax COUNT=200 SEED=1 (HUNT_OPTIONS="--time 600": seconds)
	@python3 tools/hunt_jax.py --build $(BUILD) --count $(or $(COUNT),200) --seed $(or $(SEED),1) $(HUNT_OPTIONS)

test-real: build-tests ## install the real compilers (1.7 GB, once) and check them
	@$(BUILD)/hloscope devices --install xla-cpu,cuda,tpu || echo "not installed (above); what is missing is skipped by name"
	@python3 tools/run_tests.py $(BUILD) --suite real $(TEST_OPTIONS)

test-passes: build-tests ## every pass: random programs (COUNT=1000) by the evaluator and the device, and every model on the device (half an hour; MODELS="tiny_ mlp_" for some)
	@HSC_PROPERTY_COUNT=$(or $(COUNT),1000) $(BUILD)/tests/unit/test_passes_property .
	@$(BUILD)/tests/conformance/test_random_programs $(or $(COUNT),1000)
	@$(BUILD)/tests/conformance/test_programs passes . $(MODELS)

.PHONY: test-releases test-culprits
test-culprits: build-tests ## blame: every seeded culprit, and equal programs on compilers with other legal choices (PLACEBOS=10000 blames)
	@python3 tests/culprits/blame.py $(BUILD)/hloscope $(BUILD)/tests/culprits/libhloscope_culprit_pjrt.so --all --placebos $(or $(PLACEBOS),1000)
	@python3 tests/culprits/families.py $(BUILD)/hloscope $(BUILD)/tests/culprits/libhloscope_culprit_pjrt.so --all
	@python3 tests/culprits/unseen.py $(BUILD)/hloscope $(BUILD)/tests/culprits/libhloscope_culprit_pjrt.so --all
	@python3 tests/culprits/unseen.py $(BUILD)/hloscope $(BUILD)/tests/culprits/libhloscope_culprit_pjrt.so --random 100
	@python3 tests/culprits/interrupted.py $(BUILD)/hloscope $(BUILD)/tests/culprits/libhloscope_culprit_pjrt.so $(BUILD)/tests/faults/fail_nth.so --all

test-releases: build-tests ## the tutorial of upgrades and public reports, with releases of jaxlib from the package index (3 GB below HLOSCOPE_VERSIONS_TEST_DIR, minutes)
	@python3 tools/run_tests.py $(BUILD) --suite releases $(TEST_OPTIONS)

test-kill: build-tests ## 200 recordings killed at random moments: all that was closed before is there
	@$(BUILD)/tests/unit/test_trace kill 200

test-sweep: build-tests ## 2,000 compiles of the 36 models under mpirun, ranks and everything killed 20 times: the table of a local run
	@python3 tests/sweep/kill_ranks.py $(BUILD)/hloscope --tasks 2000 --kills 20

test-sweep-backends: build-tests ## sweeps by Ray, Dask and Slurm, and the questions of docs/queries.md to DuckDB, Polars and Spark, in an environment of their own in the build folder
	@test -x $(BUILD)/sweep-venv/bin/python || python3 -m venv $(BUILD)/sweep-venv
	@$(BUILD)/sweep-venv/bin/pip install -q ray dask distributed pyyaml duckdb polars pyarrow pyspark
	@HLOSCOPE_SWEEP_PYTHON=$(CURDIR)/$(BUILD)/sweep-venv/bin/python python3 tests/sweep/backends.py $(BUILD)/hloscope
	@HLOSCOPE_SWEEP_PYTHON=$(CURDIR)/$(BUILD)/sweep-venv/bin/python python3 tests/sweep/queries.py $(BUILD)/hloscope

test-gpu: build-tests ## the 32 programs and the four models on a GPU
	@$(BUILD)/hloscope devices --install cuda || echo "not installed (above)"
	@python3 tools/run_tests.py $(BUILD) --suite gpu $(TEST_OPTIONS)

check: build-tests ## the quick tests only (seconds; the suite long has the rest of them)
	@python3 tools/run_tests.py $(BUILD) --suite quick $(TEST_OPTIONS)

bench: build ## measured comparisons (minutes; wants a quiet machine)
	@ninja -C $(BUILD) meson-benchmark-prereq bench_programs
	@meson test -C $(BUILD) --no-rebuild --benchmark --verbose

.PHONY: bench-zoo
bench-zoo: build ## 160 programs as users write them beside XLA:CPU (quarter of an hour, wants a quiet machine; ZOO="types_ order_" for some)
	@python3 bench/zoo/bench_zoo.py $(if $(HLOSCOPE_PYTHON),--xla-python $(HLOSCOPE_PYTHON)) --page docs/ZOO.md --picture docs/zoo.svg --output $(BUILD)/bench_zoo.json $(ZOO)

.PHONY: zoo-baseline zoo-programs growth
zoo-baseline: build-tests ## counts the instructions of tests/zoo/programs anew, for each instruction set of this processor
	@python3 tests/zoo/check.py $(BUILD) --update

zoo-programs: ## exports tests/zoo/programs anew (HLOSCOPE_PYTHON: a Python with JAX)
	@JAX_PLATFORMS=cpu $(or $(HLOSCOPE_PYTHON),python3) tests/zoo/small.py tests/zoo/programs

growth: ## how the work of compiling grows: 17 shapes of programs up to 50,000 instructions, counted in a build of its own (GROWTH="--all loops")
	@test -f build-growth/build.ninja || meson setup -Dcounted_work=true -Dwerror=false -Db_lundef=false --buildtype=plain -Doptimization=1 build-growth >/dev/null
	@ninja -C build-growth --quiet tests/growth/growth
	@build-growth/tests/growth/growth $(GROWTH)

statistics: build-tests ## the long self-test of the statistics; writes its figures into docs/statistics.md (minutes)
	@$(BUILD)/tests/statistics/statistics_self_test --page docs/statistics.md

.PHONY: studies studies-timed
STUDY_SECONDS ?= 0
studies: build ## the pass studies of docs/studies: structure; goes on where the last call stopped (STUDY_SECONDS=N)
	@python3 tools/studies.py $(BUILD)/hloscope --seconds $(STUDY_SECONDS) $(STUDY_OPTIONS)

studies-timed: build ## the same, timed where the device runs; hours, and wants a quiet machine
	@$(BUILD)/hloscope doctor --quick --only=load,governor,clock || true
	@python3 tools/studies.py $(BUILD)/hloscope --timed --seconds $(STUDY_SECONDS) $(STUDY_OPTIONS)

# -fno-sanitize-recover: a finding ends the program, so that no test passes with one. -O1 and lines alone
# of what debuggers read: a third of the time that full optimisation takes. Leaks of one-time objects of
# LLVM are not ours (tools/leaks.supp).
ASAN_SETUP = env CFLAGS="-fno-sanitize-recover=all -g1" meson setup -Db_sanitize=address,undefined -Db_lundef=false --buildtype=plain -Doptimization=1
UBSAN_SETUP = env CFLAGS="-fno-sanitize-recover=all -g1" meson setup -Db_sanitize=undefined -Db_lundef=false --buildtype=plain -Doptimization=1
TSAN_SETUP = env CFLAGS=-g1 meson setup -Db_sanitize=thread -Db_lundef=false --buildtype=plain -Doptimization=1
TSAN_TESTS = unit:autotune,child,collectives,cpu_control,cpu_parts,disk_cache,host_safety,log_clock,pjrt_client,plugin_buffers,plugin_cache,plugin_profiler,plugin_threads,serialize,trace,worker fuzz:serve_requests

SANITIZED = TEST_OPTIONS="--no-suite conformance --no-suite howto --slow 10"

asan: ## the tests under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory test $(SANITIZED) BUILD=build-asan MESON_SETUP='$(ASAN_SETUP)'

ubsan: ## the tests under the undefined-behaviour sanitizer, stopping at the first finding
	@$(MAKE) --no-print-directory test $(SANITIZED) BUILD=build-ubsan MESON_SETUP='$(UBSAN_SETUP)'

tsan: ## the quick tests under the thread sanitizer
	@$(MAKE) --no-print-directory check $(SANITIZED) BUILD=build-tsan MESON_SETUP='$(TSAN_SETUP)'

.PHONY: sanitize sanitize-memory sanitize-threads fuzz-all soak
sanitize: sanitize-memory sanitize-threads ## the unit tests and the fuzz corpora under ASan and UBSan, what has threads under TSan

sanitize-memory:
	@scripts/bootstrap
	@test -f build-asan/build.ninja || $(ASAN_SETUP) build-asan >/dev/null
	@ninja -C build-asan --quiet sanitized
	@python3 tools/sanitized.py build-asan unit fuzz

sanitize-threads:
	@scripts/bootstrap
	@test -f build-tsan/build.ninja || $(TSAN_SETUP) build-tsan >/dev/null
	@ninja -C build-tsan --quiet sanitized
	@python3 tools/sanitized.py build-tsan $(TSAN_TESTS)

fuzz-all: ## fuzz every target, one after the other: make fuzz-all TIME=3600 (seconds each); FUZZ_TARGETS="a b" for some
	@for target in $(or $(FUZZ_TARGETS),$$(ls tests/fuzz/fuzz_*.c | sed 's,.*/fuzz_,,; s,\.c$$,,')); do echo "== $$target"; log=build-fuzz-$$target.log; $(MAKE) --no-print-directory fuzz TARGET=$$target TIME=$(TIME) >$$log 2>&1 || { tail -60 $$log; exit 1; }; grep -E "stat::number_of_executed_units|stat::new_units_added|stat::peak_rss_mb" $$log; rm -f $$log; done

soak: build ## patterns, ablation, traces and serve in a loop, killed at random: make soak HOURS=2
	@python3 tests/faults/soak.py $(BUILD) $(or $(HOURS),2)

clang: ## build and test with clang
	@scripts/bootstrap --dev
	@$(MAKE) --no-print-directory test BUILD=build-clang MESON_SETUP="env CC=$(CLANG) meson setup"

convert-long: build-tests ## random programs through every pair of formats, the evaluator being the judge: make convert-long SEEDS=3000
	@$(BUILD)/tests/unit/test_convert_property . $(or $(SEEDS),3000)

fuzz: ## fuzz one parser: make fuzz TARGET=hlo_text TIME=60 (seconds); findings land in build-fuzz/
	@test -n "$(TARGET)" || { echo "which one? make fuzz TARGET=NAME, of: $$(ls tests/fuzz/fuzz_*.c | sed 's,.*/fuzz_,,; s,\.c$$,,' | tr '\n' ' ')" >&2; exit 2; }
	@scripts/bootstrap --dev
	@test -f build-fuzz/build.ninja || env CC=$(CLANG) meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C build-fuzz tests/fuzz/fuzz_$(TARGET)
	@mkdir -p build-fuzz/corpus/$(TARGET)
	@cd build-fuzz && tests/fuzz/fuzz_$(TARGET) -max_total_time=$(TIME) -print_final_stats=1 -timeout=10 -rss_limit_mb=4096 corpus/$(TARGET) ../tests/fuzz/corpus/$(TARGET)

mutants: ## small faults put into the source, and which of them no test notices: make mutants FOLDER=passes COUNT=100 SEED=1 (builds once in /tmp, some minutes)
	@scripts/bootstrap --dev
	@python3 tools/mutants.py $(addprefix --folder ,$(FOLDER)) $(addprefix --files ,$(MUTANT_FILES)) --count $(or $(COUNT),100) --seed $(or $(SEED),1) $(MUTANT_OPTIONS)

mutants-changed: ## ten of them in the files that differ from main (on it: from the commit before)
	@scripts/bootstrap --dev
	@python3 tools/mutants.py --changed --count $(or $(COUNT),10) --seed $(or $(SEED),1) $(MUTANT_OPTIONS)

.PHONY: mutants-rows weekly
mutants-rows: ## a flag, number or name of a row of a .def changed, and which of that no test notices: make mutants-rows ROWS=ops.def COUNT=20 SEED=1 (half a minute to two each)
	@python3 tools/mutants_rows.py $(addprefix --files ,$(ROWS)) --count $(or $(COUNT),20) --seed $(or $(SEED),1) $(MUTANT_OPTIONS)

# The seed is the week's number: other faults and programs each week, the same all week long. What was found is listed at the end; nothing keeps the rest from running.
WEEK = $(shell date +%G%V)
WEEKLY = test-tries mutants mutants-rows fuzz-all growth test-passes convert-long test-kill hunt-jax soak
WEEKLY_mutants = COUNT=40 SEED=$(WEEK) MUTANT_OPTIONS=--at-least=85
WEEKLY_mutants-rows = COUNT=20 SEED=$(WEEK) MUTANT_OPTIONS=--at-least=85
WEEKLY_fuzz-all = TIME=600
WEEKLY_hunt-jax = COUNT=500 SEED=$(WEEK)
WEEKLY_soak = HOURS=2
weekly: build ## what takes hours: 40 mutants, rows of tables, long fuzzing, random programs, kills, soak (WEEKLY="mutants soak" for some)
	@bad=; $(foreach step,$(WEEKLY),echo "== $(step) $(WEEKLY_$(step))"; $(MAKE) --no-print-directory $(step) $(WEEKLY_$(step)) || bad="$$bad $(step)"; ) \
	test -z "$$bad" || { echo "weekly: not as it should be:$$bad"; exit 1; }

fuzz-replay: build-tests ## run the fuzz corpora as plain tests
	@python3 tools/run_tests.py $(BUILD) --suite fuzz

fuzz-outcomes: build-tests ## records anew what fuzz targets make of their corpora, after a change that is meant: TARGET=hlo_text
	@test -n "$(TARGET)" || { echo "which one? make fuzz-outcomes TARGET=NAME, of: $$(ls tests/fuzz/outcomes | sed 's,\.tsv$$,,' | tr '\n' ' ')" >&2; exit 2; }
	@$(BUILD)/tests/fuzz/fuzz_replay_$(TARGET) tests/fuzz/corpus/$(TARGET) --update >/dev/null && git diff --stat tests/fuzz/outcomes

.PHONY: fuzz-outcomes
format: ## format what differs from main (FILES="..." to choose)
	@$(FORMAT) -i $(or $(FILES),$(shell git diff --name-only --diff-filter=d main -- '*.c' '*.h'))
	@if command -v ruff >/dev/null; then ruff format --quiet; fi

lint: build ## includes between folders, pages of commands, house rules, formatting
	@python3 tools/check_deps.py
	@python3 tools/command_pages.py $(BUILD)/hloscope --check
	@python3 tools/reference_pages.py --check
	@python3 tools/check_house.py
	@python3 tools/check_knowledge.py
	@if command -v $(FORMAT) >/dev/null; then git ls-files '*.c' '*.h' '*.inc' | grep -v ^third_party/ | xargs $(FORMAT) --dry-run -Werror && echo "the sources are formatted"; else echo "formatting not checked: no $(FORMAT) (scripts/bootstrap --dev)"; fi

house: build ## the measures of the house: density, complexity, circles, unused functions
	@python3 tools/house.py $(BUILD)

docs: build ## rewrite the generated parts of docs/
	@python3 tools/command_pages.py $(BUILD)/hloscope
	@python3 tools/reference_pages.py

check-claims: build-tests ## measure every figure of README and docs/claims.md again: CLAIMS=--quiet on a machine that does nothing else
	@python3 tools/check_claims.py $(CLAIMS)

pictures: build ## draw the pictures of README again, by the commands that they show
	@python3 tools/pictures.py $(BUILD)/hloscope docs/pictures

site: ## the documentation as a site in build-site/ (search, light and dark; installs its generator into a folder of its own)
	@test -x build-site-tools/bin/mkdocs || { python3 -m venv build-site-tools && build-site-tools/bin/pip install --quiet mkdocs-material==9.7.0; }
	@build-site-tools/bin/mkdocs build --quiet && echo "build-site/index.html"

.PHONY: package-files
package-files: build ## check the Dockerfile, the development container, the Action and the workflows (brings the checkers into a folder of its own)
	@python3 tools/check_package_files.py $(BUILD)/hloscope

golden-update: build ## rewrite the expected output of golden cases and show the difference: CASE=area/case (or area)
	@test -n "$(CASE)" || { echo "which one? make golden-update CASE=AREA/CASE"; exit 2; }
	@python3 tools/golden.py $(BUILD)/hloscope --update $(CASE)

clean: ## remove all builds
	@rm -rf dist build-site build-site-tools build-wheel build-deb build-aarch64 build-growth build build-asan build-ubsan build-tsan build-clang build-fuzz

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "  make %-14s %s\n", $$1, $$2}'
