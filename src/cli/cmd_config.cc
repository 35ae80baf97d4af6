// cuzk config check, show

#include <cstdio>

#include "cli/command.h"
#include "daemon/access.h"
#include "daemon/config.h"

namespace cuzk::cli {

namespace {

Result<daemon::LoadedConfig> load(const std::string& file) {
  std::optional<std::filesystem::path> path;
  if (!file.empty()) path = file;
  return daemon::load_config(path, daemon::environment_overrides());
}

Result<ExitCode> check(const std::string& file) {
  CUZK_TRY(const daemon::LoadedConfig loaded, load(file));
  for (const std::string& warning : loaded.warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  CUZK_TRY_VOID(daemon::Access::load(loaded.config));
  std::printf("%s: good, %zu values set, %zu warnings\n",
              file.empty() ? "defaults and environment" : file.c_str(), loaded.origins.size(),
              loaded.warnings.size());
  return kOk;
}

Result<ExitCode> show(const std::string& file) {
  CUZK_TRY(const daemon::LoadedConfig loaded, load(file));
  std::printf("%s", daemon::show_config(loaded).c_str());
  return kOk;
}

}  // namespace

void add_config(CLI::App& app, Runner& run) {
  CLI::App* config = app.add_subcommand("config", "The daemon's configuration");
  config->require_subcommand(1);
  auto file = std::make_shared<std::string>();
  CLI::App* checking =
      config->add_subcommand("check",
                             "Reads a configuration as the daemon would, and says what "
                             "is wrong with it");
  checking->add_option("FILE", *file, "A TOML file")->required();
  checking->callback([file, &run] { run = [file] { return check(*file); }; });
  CLI::App* showing = config->add_subcommand(
      "show", "Every key with its value and where that came from, as a TOML file");
  showing->add_option("FILE", *file, "A TOML file (default: defaults and environment alone)");
  showing->callback([file, &run] { run = [file] { return show(*file); }; });
}

}  // namespace cuzk::cli
