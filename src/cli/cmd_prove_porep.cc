// cuzk prove porep

#include <memory>

#include "cli/prove_command.h"
#include "engine/porep.h"

namespace cuzk::cli {

namespace {

struct ProvePorepOptions {
  ProveOptions shared;
  std::string c1;
  std::string miner;
  std::string porep_id;
  std::optional<std::uint64_t> sector;
};

Result<engine::PorepClaim> claim_of(const ProvePorepOptions& options) {
  engine::PorepClaim claim;
  if (options.miner.empty() != !options.sector) {
    return fail(ErrorCode::kInvalidArgument,
                "--miner and --sector belong together: both, to check the replica id, or neither");
  }
  if (!options.miner.empty()) {
    CUZK_TRY(const std::uint64_t actor, parse_actor(options.miner));
    claim.prover_id = filecoin::prover_id_of_actor(actor);
    claim.sector = options.sector;
  }
  if (!options.porep_id.empty()) {
    CUZK_TRY(claim.porep_id, parse_node(options.porep_id, "--porep-id"));
  }
  return claim;
}

Result<ParsedRequest> parse(const ProvePorepOptions& options, const engine::PorepClaim& claim,
                            const engine::Context& context) {
  CUZK_TRY(engine::PorepJob porep, engine::parse_porep(context, options.c1, claim));
  ParsedRequest out;
  out.job = std::move(porep.job);
  out.log_id = to_hex(porep.statement.comm_r).substr(0, 16);
  out.statement = {{"comm_r", to_hex(porep.statement.comm_r)},
                   {"comm_d", to_hex(porep.statement.comm_d)},
                   {"replica_id", to_hex(porep.statement.replica_id)},
                   {"replica_id_recomputed", porep.replica_id_recomputed}};
  if (!porep.replica_id_recomputed) {
    out.notes.push_back(
        "the replica id was taken from the C1 file; give --miner and --sector to have it "
        "recomputed");
  }
  return out;
}

Result<ExitCode> prove_porep(const ProvePorepOptions& options) {
  CUZK_TRY(const engine::PorepClaim claim, claim_of(options));
  return run_prove(options.shared,
                   [&](const engine::Context& context) { return parse(options, claim, context); });
}

}  // namespace

void add_prove_porep(CLI::App& prove, Runner& run) {
  CLI::App* porep =
      prove.add_subcommand("porep", "PoRep, commit phase 2: from a C1 file to a proof");
  auto options = std::make_shared<ProvePorepOptions>();
  porep
      ->add_option("--c1", options->c1,
                   "Output of commit phase 1: raw JSON, Lotus envelope or bincode")
      ->required();
  porep->add_option("--miner", options->miner, "Storage provider, e.g. 1000 or f01000");
  porep->add_option("--sector", options->sector, "Sector number");
  add_porep_id(*porep, options->porep_id);
  options->shared.add(*porep);
  porep->footer(
      "Example:\n  cuzk prove porep --c1 c1.json --miner 1000 --sector 23 -o proof.bin\n\n"
      "The proof is verified before it is written; nothing is written when anything fails.");
  porep->callback([options, &run] { run = [options] { return prove_porep(*options); }; });
}

}  // namespace cuzk::cli
