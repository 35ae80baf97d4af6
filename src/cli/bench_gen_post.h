#pragma once
// cuzk-bench gen-post: made-up sectors of any size and what a proof of spacetime is made from, with
// the commands that make it. For sectors that are really sealed see bench_gen.h.

#include "cli/command.h"

namespace cuzk::cli {

void add_gen_post(CLI::App& app, Runner& run);

}  // namespace cuzk::cli
