// cuzk verify porep | groth16

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/options.h"
#include "engine/porep.h"
#include "engine/verify_groth16.h"

namespace cuzk::cli {

namespace {

constexpr std::size_t kMaxProofBytes = std::size_t{192} * 4096;

struct VerifyPorepOptions {
  CommonOptions common;
  std::string proof;
  std::string c1;
  std::string vk;
  std::string seal_proof, porep_id, miner, ticket, seed, comm_d, comm_r;
  std::optional<std::uint64_t> sector;
  bool insecure_dev = false;
};

// The statement of the flags. Every one is needed: a proof says nothing without its statement.
Result<filecoin::PorepStatement> statement_of_flags(const VerifyPorepOptions& o) {
  const std::pair<const char*, bool> needed[] = {{"--seal-proof", !o.seal_proof.empty()},
                                                 {"--miner", !o.miner.empty()},
                                                 {"--sector", o.sector.has_value()},
                                                 {"--ticket", !o.ticket.empty()},
                                                 {"--seed", !o.seed.empty()},
                                                 {"--comm-d", !o.comm_d.empty()},
                                                 {"--comm-r", !o.comm_r.empty()}};
  for (const auto& [name, given] : needed) {
    if (!given) {
      return fail(
          ErrorCode::kInvalidArgument,
          "{} is missing: a statement needs --seal-proof, --miner, --sector, --ticket, --seed, "
          "--comm-d and --comm-r, or --c1",
          name);
    }
  }
  filecoin::PorepStatement s;
  CUZK_TRY(s.proof, filecoin::seal_proof(o.seal_proof));
  s.porep_id = s.proof.porep_id();
  if (!o.porep_id.empty()) {
    CUZK_TRY(s.porep_id, parse_node(o.porep_id, "--porep-id"));
  }
  CUZK_TRY(s.comm_d, parse_node(o.comm_d, "--comm-d"));
  CUZK_TRY(s.comm_r, parse_node(o.comm_r, "--comm-r"));
  CUZK_TRY(s.seed, parse_node(o.seed, "--seed"));
  filecoin::ReplicaIdentity identity;
  CUZK_TRY(const std::uint64_t actor, parse_actor(o.miner));
  identity.prover_id = filecoin::prover_id_of_actor(actor);
  identity.sector = *o.sector;
  CUZK_TRY(identity.ticket, parse_node(o.ticket, "--ticket"));
  s.replica_id = filecoin::replica_id_of(identity, s.comm_d, s.porep_id);
  return s;
}

Result<filecoin::PorepStatement> statement_of_c1(const VerifyPorepOptions& o,
                                                 const engine::Context& context) {
  engine::PorepRequest request;
  request.c1 = o.c1;
  if (!o.porep_id.empty()) {
    CUZK_TRY(request.porep_id, parse_node(o.porep_id, "--porep-id"));
  }
  if (!o.miner.empty() && o.sector) {
    CUZK_TRY(const std::uint64_t actor, parse_actor(o.miner));
    request.prover_id = filecoin::prover_id_of_actor(actor);
    request.sector = o.sector;
  }
  CUZK_TRY(const engine::ParsedJob job, engine::parse_porep(context, request));
  return job.statement;
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

Result<ExitCode> verify_porep(const VerifyPorepOptions& o) {
  CUZK_TRY(const std::size_t memory_bytes, o.common.memory_bytes());
  MemoryBudget memory(memory_bytes);
  Tasks tasks(o.common.threads);
  Timeline timeline;
  const engine::Context context{tasks, memory, timeline};
  CUZK_TRY(const filecoin::PorepStatement statement,
           o.c1.empty() ? statement_of_flags(o) : statement_of_c1(o, context));
  const auto policy =
      o.insecure_dev ? engine::KeyPolicy::kAllowInsecureDev : engine::KeyPolicy::kCeremonyOnly;
  const engine::ParameterStore parameters(o.common.parameter_directory());
  engine::KeyFiles files;
  if (o.vk.empty()) {
    CUZK_TRY(files, parameters.find(statement.proof.shape, policy));
  } else {
    files.vk = o.vk;
  }
  CUZK_TRY(const auto key, parameters.load_verifying_key(files, policy));
  CUZK_TRY(const auto proof, read_file(o.proof, kMaxProofBytes));
  const Status verdict = engine::verify_porep(context, key, statement, proof);
  if (!verdict && verdict.error().code != ErrorCode::kInvalidProof) return fail(verdict.error());
  if (files.insecure_dev && !o.common.quiet) {
    std::fputs("note: checked with an INSECURE development key\n", stderr);
  }
  return print_verdict(o.common, verdict,
                       {{"registered_proof", statement.proof.name},
                        {"partitions", statement.proof.partitions},
                        {"insecure_dev", files.insecure_dev}});
}

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

void add_verify_porep(CLI::App& verify, Runner& run) {
  CLI::App* porep = verify.add_subcommand("porep", "A PoRep proof against its statement");
  auto o = std::make_shared<VerifyPorepOptions>();
  porep->add_option("proof", o->proof, "Proof file: 192 bytes for each partition")->required();
  porep->add_option("--c1", o->c1, "Take the statement from this C1 file");
  porep->add_option("--vk", o->vk, "Verifying key file (default: by official name in --params)");
  porep->add_option("--seal-proof", o->seal_proof, "Registered proof, e.g. StackedDrg32GiBV1_1");
  porep->add_option("--miner", o->miner, "Storage provider, e.g. 1000 or f01000");
  porep->add_option("--sector", o->sector, "Sector number");
  porep->add_option("--ticket", o->ticket, "64 hexadecimal digits");
  porep->add_option("--seed", o->seed, "64 hexadecimal digits");
  porep->add_option("--comm-d", o->comm_d, "64 hexadecimal digits");
  porep->add_option("--comm-r", o->comm_r, "64 hexadecimal digits");
  add_porep_id(*porep, o->porep_id);
  porep->add_flag("--insecure-dev", o->insecure_dev, "Allow a locally made key");
  o->common.add_parameters(*porep);
  o->common.add_output(*porep);
  porep->callback([o, &run] { run = [o] { return verify_porep(*o); }; });
}

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

}  // namespace

void add_verify(CLI::App& app, Runner& run) {
  CLI::App* verify = app.add_subcommand("verify", "Check a proof");
  verify->require_subcommand(1);
  add_verify_porep(*verify, run);
  add_verify_groth16(*verify, run);
}

}  // namespace cuzk::cli
