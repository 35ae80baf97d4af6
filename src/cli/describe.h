#pragma once
// What a program's command line offers, as JSON. Man pages and shell completions are made from it
// (packaging/), so that they cannot say anything else than the parser.
//
//   PROGRAM --describe
//
// Threads: pure functions.

#include <CLI/CLI.hpp>

namespace cuzk::cli {

// Prints the description and returns true when the command line asks for it.
//
// Form: {"program", "version", "command", "values", "config_keys"}; a command is {"name",
//   "description", "footer", "needs_command", "options", "commands"}; an option is {"names",
//   "positional", "description", "takes_value", "repeats", "required", "type", "default",
//   "choices"}. "values" maps "circuit", "sector_size", "seal_proof", "post_proof" and
//   "update_proof" to the words that options of that kind take.
bool describe_if_asked(const CLI::App& app, int argc, const char* const* argv);

}  // namespace cuzk::cli
