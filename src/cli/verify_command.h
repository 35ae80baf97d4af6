#pragma once
// What the commands `cuzk verify KIND` of Filecoin's proofs share. Each kind brings its own options
// and how they become a statement.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "engine/job.h"

namespace cuzk::cli {

struct VerifyOptions {
  CommonOptions common;
  std::string proof;
  std::string vk;
  bool insecure_dev = false;

  void add(CLI::App& app);
};

// Checks the proof file against the statement and prints the verdict.
Result<ExitCode> run_verify(
    const VerifyOptions& options,
    const std::function<Result<engine::Statement>(const engine::Context&)>& parse);

// `details`: further keys of the JSON verdict.
ExitCode print_verdict(const CommonOptions& common, const Status& verdict, nlohmann::json details);

// One line a kind, called by add_verify.
void add_verify_porep(CLI::App& verify, Runner& run);
void add_verify_update(CLI::App& verify, Runner& run);
void add_verify_post(CLI::App& verify, Runner& run);
void add_verify_groth16(CLI::App& verify, Runner& run);

}  // namespace cuzk::cli
