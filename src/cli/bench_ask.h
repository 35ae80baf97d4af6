#pragma once
// cuzk-bench status, preload, metrics: what Curio's cuzk-bench has beside its loads.

#include "cli/bench_target.h"
#include "cli/command.h"

namespace cuzk::cli {

void add_bench_ask(CLI::App& app, const DaemonAddress& address, Runner& run);

}  // namespace cuzk::cli
