#pragma once
// The commands of the program `cuzk`. Each adds itself to the parser and leaves in `run` what is to
// be done once the command line is parsed.

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/exit_code.h"

namespace cuzk::cli {

// Set by the command that was chosen.
using Runner = std::function<Result<ExitCode>()>;

void add_prove(CLI::App& app, Runner& run);
void add_verify(CLI::App& app, Runner& run);
void add_params(CLI::App& app, Runner& run);
void add_circuit(CLI::App& app, Runner& run);
void add_aggregate(CLI::App& app, Runner& run);
void add_doctor(CLI::App& app, Runner& run);
#ifdef CUZK_DAEMON
void add_serve(CLI::App& app, Runner& run);
void add_config(CLI::App& app, Runner& run);
// cuzk --config FILE --listen ADDR --log-level LEVEL
void add_drop_in_serve(CLI::App& app, Runner& run);
#endif

}  // namespace cuzk::cli
