#!/bin/sh
# Builds every libFuzzer target and runs each for a number of seconds (default 60) from its corpus in
# testdata/fuzz/<name>, if there is one. A crash leaves its input beside the build and fails.
set -e
seconds=${1:-60}
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
cmake --preset fuzz >/dev/null
cmake --build build/fuzz -j "$(nproc)" --target fuzzers
status=0
for fuzzer in $(find build/fuzz/src -maxdepth 2 -type f -name '*_fuzzer' -perm -u+x | sort); do
  name=$(basename "$fuzzer")
  corpus="build/fuzz/corpus/$name"
  mkdir -p "$corpus"
  echo "== $name for $seconds s"
  "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=30 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/$name-" "$corpus" $(ls -d "testdata/fuzz/$name" 2>/dev/null) >"build/fuzz/$name.log" 2>&1 ||
    { status=1; tail -40 "build/fuzz/$name.log"; }
  grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' "build/fuzz/$name.log" || true
done
exit $status
