// cuzk verify update

#include <filesystem>
#include <memory>

#include "cli/update_options.h"
#include "cli/verify_command.h"
#include "engine/update.h"

namespace cuzk::cli {

namespace {

struct VerifyUpdateOptions {
  VerifyOptions shared;
  UpdateOptions update;
};

Result<ExitCode> verify_update(const VerifyUpdateOptions& o) {
  CUZK_TRY(const filecoin::UpdateStatement statement, o.update.statement());
  const std::string key = std::filesystem::path(o.shared.vk).filename().string();
  if (filecoin::is_poseidon_update_parameter(key)) {
    return fail(ErrorCode::kInvalidArgument,
                "--vk {}: a key of updates with a Poseidon tree D (empty-sector-update-poseidon), "
                "which are not supported; {} needs {}.vk",
                o.shared.vk, statement.proof.name, statement.proof.shape.parameter_stem());
  }
  return run_verify(o.shared,
                    [&](const engine::Context&) { return engine::update_statement(statement); });
}

}  // namespace

void add_verify_update(CLI::App& verify, Runner& run) {
  CLI::App* update =
      verify.add_subcommand("update", "A sector-update (SnapDeals) proof against its statement");
  auto o = std::make_shared<VerifyUpdateOptions>();
  o->update.add(*update);
  o->shared.add(*update);
  update->callback([o, &run] { run = [o] { return verify_update(*o); }; });
}

}  // namespace cuzk::cli
