#pragma once
// cuzk-bench partition: partitions of a PoRep circuit, proved stage by stage, on CPU and CUDA.

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace cuzk::cli {

void add_bench_partition(CLI::App& app, Runner& run);

}  // namespace cuzk::cli
