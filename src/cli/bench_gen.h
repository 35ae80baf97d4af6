#pragma once
// cuzk-bench gen-vanilla: seals sectors of random or given data and writes what proofs of every
// kind are made from, with the commands that make them.

#include "cli/command.h"

namespace cuzk::cli {

void add_gen_vanilla(CLI::App& app, Runner& run);

}  // namespace cuzk::cli
