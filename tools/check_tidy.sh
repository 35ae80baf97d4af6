#!/bin/sh
# clang-tidy over the sources of one or more rooms (default: all), with the compile commands of a build directory.
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build/release}
rooms=${*:-base field curve ntt msm r1cs gadget groth16 filecoin format engine cli}
for room in $rooms; do
  find "src/$room" -name '*.cc' ! -name '*_test.cc' ! -name '*_bench.cc'
done | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet
