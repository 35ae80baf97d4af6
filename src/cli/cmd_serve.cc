// cuzk serve, and the flags of Curio's cuzk-daemon

#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "daemon/daemon.h"

namespace cuzk::cli {

namespace {

struct ServeOptions {
  std::string config_file;
  bool config_may_be_missing = false;  // as Curio's daemon has it
  std::string listen;
  std::string status_listen;
  std::string log_level;
  std::string log_format;
};

std::optional<std::filesystem::path> config_path(const ServeOptions& o) {
  std::error_code error;
  if (o.config_file.empty()) {
    for (const char* path : {"/etc/cuzk/cuzk.toml", "/data/zk/cuzk.toml"}) {
      if (std::filesystem::exists(path, error)) return path;
    }
    return std::nullopt;
  }
  if (o.config_may_be_missing && !std::filesystem::exists(o.config_file, error)) {
    return std::nullopt;
  }
  return o.config_file;
}

std::vector<daemon::Override> flag_overrides(const ServeOptions& o) {
  std::vector<daemon::Override> out = daemon::environment_overrides();
  const auto add = [&](const char* key, const std::string& value, const char* flag) {
    if (!value.empty()) out.push_back({key, value, flag});
  };
  add("daemon.listen", o.listen, "--listen");
  add("daemon.status_listen", o.status_listen, "--status-listen");
  add("logging.level", o.log_level, "--log-level");
  add("logging.format", o.log_format, "--log-format");
  return out;
}

Result<daemon::LoadedConfig> load(const ServeOptions& o) {
  return daemon::load_config(config_path(o), flag_overrides(o));
}

Result<ExitCode> serve(const ServeOptions& o) {
  daemon::DaemonOptions options;
  CUZK_TRY(options.loaded, load(o));
  options.reload = [o] { return load(o); };
  options.version = CUZK_VERSION;
  const auto path = config_path(o);
  if (path) {
    options.notes.push_back(fmt::format("configuration from {}", path->string()));
  } else if (o.config_file.empty()) {
    options.notes.push_back("no configuration file: defaults, environment and flags");
  } else {
    options.notes.push_back(
        fmt::format("{} is not there: defaults, environment and flags", o.config_file));
  }
  CUZK_TRY(const daemon::DaemonEnd end, daemon::run_daemon(std::move(options)));
  return end == daemon::DaemonEnd::kDrained ? kOk : kResources;
}

void add_flags(CLI::App& app, ServeOptions& o) {
  app.add_option("-c,--config", o.config_file,
                 "Configuration file (default: /etc/cuzk/cuzk.toml, else /data/zk/cuzk.toml)");
  app.add_option("-l,--listen", o.listen, "gRPC: unix:///PATH, HOST:PORT or [IPV6]:PORT");
  app.add_option("--log-level", o.log_level, "trace, debug, info, warn or error");
}

}  // namespace

void add_serve(CLI::App& app, Runner& run) {
  auto o = std::make_shared<ServeOptions>();
  CLI::App* serving = app.add_subcommand("serve", "The proving daemon: gRPC, status page, metrics");
  add_flags(*serving, *o);
  serving->add_option("--status-listen", o->status_listen,
                      "HTTP status page and metrics: HOST:PORT");
  serving->add_option("--log-format", o->log_format, "text or json");
  serving->footer(
      "Signals: TERM and INT drain, a second one ends at once; HUP reloads.\n"
      "Example:\n  cuzk serve --listen unix:///run/cuzk/cuzk.sock --status-listen 127.0.0.1:9821");
  serving->callback([o, &run] { run = [o] { return serve(*o); }; });
}

void add_drop_in_serve(CLI::App& app, Runner& run) {
  auto o = std::make_shared<ServeOptions>();
  o->config_may_be_missing = true;
  add_flags(app, *o);
  // Without a command the flags alone start the daemon, as Curio starts its own.
  app.callback([o, &app, &run] {
    const bool any_flag = app.count("--config") + app.count("--listen") + app.count("--log-level");
    if (!app.get_subcommands().empty()) {
      if (any_flag) {
        throw CLI::ValidationError("--config, --listen and --log-level before a command",
                                   "belong after 'serve'");
      }
      return;
    }
    if (!any_flag) throw CLI::RequiredError("A subcommand");
    run = [o] { return serve(*o); };
  });
}

}  // namespace cuzk::cli
