#pragma once
// The commands about circom's files.

#include "cli/command.h"

namespace cuzk::cli {

void add_prove_circom(CLI::App& prove, Runner& run);
void add_verify_circom(CLI::App& verify, Runner& run);
void add_zkey(CLI::App& app, Runner& run);
void add_r1cs(CLI::App& app, Runner& run);
void add_wtns(CLI::App& app, Runner& run);

}  // namespace cuzk::cli
