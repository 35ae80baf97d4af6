// cuzk verify groth16

#include <memory>

#include "cli/verify_command.h"
#include "engine/verify_groth16.h"

namespace cuzk::cli {

namespace {

struct VerifyGroth16Options {
  CommonOptions common;
  std::string vk, public_inputs, proof;
  bool allow_insecure = false;
};

Result<ExitCode> verify_groth16(const VerifyGroth16Options& o) {
  Tasks tasks(o.common.threads);
  const Status verdict =
      engine::verify_groth16_files(tasks, {o.vk, o.public_inputs, o.proof, o.allow_insecure});
  if (!verdict && verdict.error().code != ErrorCode::kInvalidProof) return fail(verdict.error());
  return print_verdict(o.common, verdict, nlohmann::json::object());
}

}  // namespace

void add_verify_groth16(CLI::App& verify, Runner& run) {
  CLI::App* groth16 =
      verify.add_subcommand("groth16", "One BLS12-381 proof against a key and its public inputs");
  auto o = std::make_shared<VerifyGroth16Options>();
  groth16->add_option("proof", o->proof, "Proof file, 192 bytes")->required();
  groth16->add_option("--vk", o->vk, "Verifying key in bellman's form")->required();
  groth16
      ->add_option("--public", o->public_inputs,
                   "JSON array of strings, decimal or 0x-hexadecimal, in the circuit's order, "
                   "without the one")
      ->required();
  groth16->add_flag("--allow-insecure-key", o->allow_insecure, "Verify even under a forgeable key");
  o->common.add_output(*groth16);
  groth16->callback([o, &run] { run = [o] { return verify_groth16(*o); }; });
}

}  // namespace cuzk::cli
