// cuzk prove update

#include <memory>

#include "cli/prove_command.h"
#include "cli/update_options.h"
#include "engine/update.h"
#include "filecoin/cid.h"

namespace cuzk::cli {

namespace {

struct ProveUpdateOptions {
  ProveOptions shared;
  UpdateOptions update;
  std::vector<std::string> vanilla;
};

Result<ParsedRequest> parse(const ProveUpdateOptions& options,
                            const filecoin::UpdateStatement& statement,
                            const engine::Context& context) {
  const std::vector<std::filesystem::path> files(options.vanilla.begin(), options.vanilla.end());
  CUZK_TRY(engine::UpdateJob update, engine::parse_update(context, files, statement));
  using enum filecoin::CommitmentKind;
  ParsedRequest out;
  out.log_id = to_hex(statement.comm_r_new).substr(0, 16);
  out.statement = {{"comm_r_old", filecoin::cid_of(kSealed, statement.comm_r_old)},
                   {"comm_r_new", filecoin::cid_of(kSealed, statement.comm_r_new)},
                   {"comm_d_new", filecoin::cid_of(kUnsealed, statement.comm_d_new)},
                   {"h", statement.h}};
  out.job = std::move(update.job);
  return out;
}

Result<ExitCode> prove_update(const ProveUpdateOptions& options) {
  CUZK_TRY(const filecoin::UpdateStatement statement, options.update.statement());
  return run_prove(options.shared, [&](const engine::Context& context) {
    return parse(options, statement, context);
  });
}

}  // namespace

void add_prove_update(CLI::App& prove, Runner& run) {
  CLI::App* update =
      prove.add_subcommand("update", "Sector update (SnapDeals): that a sector now holds new data");
  auto options = std::make_shared<ProveUpdateOptions>();
  update
      ->add_option("--vanilla", options->vanilla,
                   "Vanilla proofs of all partitions in order: bincode of one or several, or a "
                   "JSON array of base64 (repeatable)")
      ->required();
  options->update.add(*update);
  options->shared.add(*update);
  update->footer(
      "Example:\n  cuzk prove update --registered-proof StackedDrg32GiBV1 --vanilla snap.json \\\n"
      "      --comm-r-old CID --comm-r-new CID --comm-d-new CID -o proof.bin\n\n"
      "Every vanilla proof is checked first; a faulty one is named by partition, challenge and\n"
      "item. The proof is verified before it is written; nothing is written when anything fails.");
  update->callback([options, &run] { run = [options] { return prove_update(*options); }; });
}

}  // namespace cuzk::cli
