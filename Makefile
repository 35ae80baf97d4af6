# The two commands of the README, and the ones developers use. Each is one intent; cmake --preset does the work.
BUILD ?= build/release
JOBS ?= $(shell nproc)
# Tests that run beside each other: each has two threads and up to 3 GiB of its own.
TEST_JOBS ?= 2
DEMO ?= build/demo

.PHONY: help demo test build deps bench package format check-format asan fuzz clean

help:
	@echo "make demo   set up, build, prove a real 2 KiB sector and verify the proof"
	@echo "make test   set up, build, run every test that needs no GPU"
	@echo "make bench  build and run the benchmarks (minutes)"
	@echo "make package  Debian packages in build/package (docs/operators.md)"
	@echo "make asan   tests under address and undefined-behaviour sanitizers"
	@echo "make fuzz   every fuzzer for a few seconds"
	@echo "make format / check-format / clean"

deps:
	@tools/install_dependencies.sh

build: deps
	cmake --preset release
	cmake --build build/release -j $(JOBS)

demo:
	@tools/install_dependencies.sh --build-only
	cmake --preset release -DCUZK_TESTS=OFF -DCUZK_BENCH=OFF -B $(DEMO)
	cmake --build $(DEMO) -j $(JOBS) --target cuzk
	tools/demo.sh $(DEMO)

test: build
	ctest --test-dir build/release -j $(TEST_JOBS) --output-on-failure -LE 'gpu|slow'
	tools/run_fuzzers.sh 3

bench: build
	tools/run_benchmarks.sh build/release

package:
	@tools/install_dependencies.sh --build-only
	cmake --preset package $(PACKAGE_FLAGS)
	cmake --build --preset package -j $(JOBS)

asan: deps
	cmake --preset asan
	cmake --build build/asan -j $(JOBS)
	ctest --test-dir build/asan -j $(TEST_JOBS) --output-on-failure -LE 'gpu|slow'

fuzz: deps
	tools/run_fuzzers.sh 60

format:
	tools/check_format.sh --fix

check-format:
	tools/check_format.sh

clean:
	rm -rf build
