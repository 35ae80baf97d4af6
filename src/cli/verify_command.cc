#include "cli/verify_command.h"

#include <cstdio>

#include "base/mapped_file.h"
#include "cli/circom_command.h"

namespace cuzk::cli {

namespace {

constexpr std::size_t kMaxProofBytes = std::size_t{192} * 4096;

}  // namespace

void VerifyOptions::add(CLI::App& app) {
  app.add_option("proof", proof, "Proof file: 192 bytes for each partition")->required();
  app.add_option("--vk", vk, "Verifying key file (default: by official name in --params)");
  app.add_flag("--insecure-dev", insecure_dev, "Allow a locally made key");
  common.add_parameters(app);
  common.add_output(app);
}

ExitCode print_verdict(const CommonOptions& common, const Status& verdict, nlohmann::json details) {
  if (common.json) {
    details["valid"] = verdict.has_value();
    if (!verdict) details["reason"] = verdict.error().message;
    std::printf("%s\n", details.dump(2).c_str());
  } else if (verdict) {
    std::puts("valid");
  } else {
    std::printf("INVALID: %s\n", verdict.error().message.c_str());
  }
  return verdict ? kOk : kProofInvalid;
}

Result<ExitCode> run_verify(
    const VerifyOptions& options,
    const std::function<Result<engine::Statement>(const engine::Context&)>& parse) {
  CUZK_TRY(const std::size_t memory_bytes, options.common.memory_bytes());
  MemoryBudget memory(memory_bytes);
  Tasks tasks(options.common.threads);
  Timeline timeline;
  const engine::Context context{tasks, memory, timeline};
  CUZK_TRY(const engine::Statement statement, parse(context));
  const auto policy = options.insecure_dev ? engine::KeyPolicy::kAllowInsecureDev
                                           : engine::KeyPolicy::kCeremonyOnly;
  const engine::ParameterStore parameters(options.common.parameter_directory());
  engine::KeyFiles files;
  if (options.vk.empty()) {
    CUZK_TRY(files, parameters.find(statement.circuit, policy));
  } else {
    files.vk = options.vk;
  }
  CUZK_TRY(const auto key, parameters.load_verifying_key(files, policy));
  CUZK_TRY(const auto proof, read_file(options.proof, kMaxProofBytes));
  const Status verdict = engine::verify_statement(context, key, statement, proof);
  if (!verdict && verdict.error().code != ErrorCode::kInvalidProof) return fail(verdict.error());
  if (files.insecure_dev && !options.common.quiet) {
    std::fputs("note: checked with an INSECURE development key\n", stderr);
  }
  return print_verdict(options.common, verdict,
                       {{"registered_proof", statement.name},
                        {"partitions", statement.public_inputs.size()},
                        {"insecure_dev", files.insecure_dev}});
}

void add_verify(CLI::App& app, Runner& run) {
  CLI::App* verify = app.add_subcommand("verify", "Check a proof");
  verify->require_subcommand(1);
  add_verify_porep(*verify, run);
  add_verify_update(*verify, run);
  add_verify_post(*verify, run);
  add_verify_groth16(*verify, run);
  add_verify_circom(*verify, run);
}

}  // namespace cuzk::cli
