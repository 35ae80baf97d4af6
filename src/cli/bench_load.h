#pragma once
// cuzk-bench single, batch, stress, sweep: loads against a daemon, or a service in this process.

#include "cli/bench_target.h"
#include "cli/command.h"

namespace cuzk::cli {

void add_bench_load(CLI::App& app, const DaemonAddress& address,
                    Runner& run);  // single, batch, stress
void add_bench_sweep(CLI::App& app, const DaemonAddress& address, Runner& run);

}  // namespace cuzk::cli
