#pragma once
// What the commands `cuzk prove KIND` share: options, the run from a job to a written proof, and
// what is told of it. Each kind brings its own options and how they become a job.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/device_options.h"
#include "cli/session.h"
#include "engine/job.h"

namespace cuzk::cli {

struct ProveOptions {
  CommonOptions common;
  DeviceOptions device;
  std::string output;
  bool insecure_dev = false;
  bool check_only = false;

  void add(CLI::App& app);
  engine::KeyChoice key_choice() const {
    return {insecure_dev ? engine::KeyPolicy::kAllowInsecureDev : engine::KeyPolicy::kCeremonyOnly,
            insecure_dev};
  }
};

struct ParsedRequest {
  engine::Job job;
  std::string log_id;              // of the timing line
  nlohmann::json statement;        // keys of the JSON reply: what the proof is about
  std::vector<std::string> notes;  // to standard error, unless quiet
};

// Parses, proves, verifies, writes, and tells. With --check-only: parses, synthesizes and checks
// every row, and writes nothing.
Result<ExitCode> run_prove(
    const ProveOptions& options,
    const std::function<Result<ParsedRequest>(const engine::Context&)>& parse);

// One line a kind, called by add_prove.
void add_prove_porep(CLI::App& prove, Runner& run);
void add_prove_update(CLI::App& prove, Runner& run);
void add_prove_post(CLI::App& prove, Runner& run);

}  // namespace cuzk::cli
