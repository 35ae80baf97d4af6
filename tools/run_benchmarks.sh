#!/bin/sh
# Runs every benchmark of a build directory once, with what the reader of a number must know on top.
set -e
build=${1:-build/release}
echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) CPUs, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
for bench in $(find "$build/src" -maxdepth 2 -type f -name '*_bench' -perm -u+x | sort); do
  echo "## $(basename "$bench")"
  "$bench"
done
