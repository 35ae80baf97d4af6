// cuzk verify porep

#include <memory>

#include "cli/verify_command.h"
#include "engine/porep.h"

namespace cuzk::cli {

namespace {

struct VerifyPorepOptions {
  VerifyOptions shared;
  std::string c1;
  std::string seal_proof, porep_id, miner, ticket, seed, comm_d, comm_r;
  std::optional<std::uint64_t> sector;
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
  engine::PorepClaim claim;
  if (!o.porep_id.empty()) {
    CUZK_TRY(claim.porep_id, parse_node(o.porep_id, "--porep-id"));
  }
  if (!o.miner.empty() && o.sector) {
    CUZK_TRY(const std::uint64_t actor, parse_actor(o.miner));
    claim.prover_id = filecoin::prover_id_of_actor(actor);
    claim.sector = o.sector;
  }
  CUZK_TRY(const engine::PorepJob porep, engine::parse_porep(context, o.c1, claim));
  return porep.statement;
}

Result<ExitCode> verify_porep(const VerifyPorepOptions& o) {
  return run_verify(o.shared, [&](const engine::Context& context) -> Result<engine::Statement> {
    CUZK_TRY(const filecoin::PorepStatement statement,
             o.c1.empty() ? statement_of_flags(o) : statement_of_c1(o, context));
    return engine::porep_statement(statement);
  });
}

}  // namespace

void add_verify_porep(CLI::App& verify, Runner& run) {
  CLI::App* porep = verify.add_subcommand("porep", "A PoRep proof against its statement");
  auto o = std::make_shared<VerifyPorepOptions>();
  porep->add_option("--c1", o->c1, "Take the statement from this C1 file");
  porep->add_option("--seal-proof", o->seal_proof, "Registered proof, e.g. StackedDrg32GiBV1_1");
  porep->add_option("--miner", o->miner, "Storage provider, e.g. 1000 or f01000");
  porep->add_option("--sector", o->sector, "Sector number");
  porep->add_option("--ticket", o->ticket, "64 hexadecimal digits");
  porep->add_option("--seed", o->seed, "64 hexadecimal digits");
  porep->add_option("--comm-d", o->comm_d, "64 hexadecimal digits");
  porep->add_option("--comm-r", o->comm_r, "64 hexadecimal digits");
  add_porep_id(*porep, o->porep_id);
  o->shared.add(*porep);
  porep->callback([o, &run] { run = [o] { return verify_porep(*o); }; });
}

}  // namespace cuzk::cli
