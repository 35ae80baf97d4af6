#!/bin/sh
# Checks (or, with --fix, applies) clang-format on every source file of ours.
cd "$(dirname "$0")/.." || exit 1
mode="--dry-run --Werror"
[ "$1" = "--fix" ] && mode="-i"
find src -name '*.h' -o -name '*.cc' -o -name '*.inl' -o -name '*.cu' -o -name '*.cuh' | xargs clang-format $mode
