#pragma once
// Where cuzk-bench sends its requests: a daemon's address with what it asks to be shown, or a
// service of its own in this process.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/target.h"
#include "daemon/client.h"
#include "engine/parameters.h"

namespace cuzk::cli {

// Options that stand before or after the command.
struct DaemonAddress {
  std::string address;  // empty: the usual places
  std::string token;
  std::string token_file;
  std::string tls_ca, tls_certificate, tls_key, tls_server_name;
  std::string log_level = "info";

  void add(CLI::App& app);
  bool is_quiet() const { return log_level == "warn" || log_level == "error"; }
};

// Asks the daemon once. Without an address: the TCP port of Curio's daemon, then our sockets.
// Errors: kIo names what was tried; kInvalidArgument.
Result<std::unique_ptr<daemon::Client>> connect(const DaemonAddress& address);

// Options of a service in this process; they say what a configuration file of the daemon says.
struct LocalService {
  bool is_local = false;
  std::string config_file;
  std::vector<std::string> settings;  // KEY=VALUE
  std::string memory;
  std::optional<unsigned> threads, workers, synthesis_workers, lookahead;
  std::string params_dir;
  std::string cache_dir;
  bool insecure_dev = false;

  void add(CLI::App& app);
  // Where a client finds verifying keys.
  std::filesystem::path parameter_directory() const;
  engine::KeyPolicy key_policy() const;
};

Result<std::unique_ptr<bench::Target>> open_local(const LocalService& local);
Result<std::unique_ptr<bench::Target>> open_target(const DaemonAddress& address,
                                                   const LocalService& local);

}  // namespace cuzk::cli
