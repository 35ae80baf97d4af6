#pragma once
// The daemon's configuration: defaults, then a TOML file, then the environment, then flags; the
// later wins. Unknown keys are refused with the nearest known one; keys of Curio's cuzk that mean
// nothing here are taken and warned about.
//
// Threads: values.
// Source:  the keys without "ours" in their help are those of Curio's cuzk (docs/daemon.md).

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/circom_options.h"

namespace cuzk::daemon {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError };
Result<LogLevel> parse_log_level(std::string_view text, std::string_view what);
std::string_view log_level_name(LogLevel level);

enum class Role : std::uint8_t { kNone, kRead, kSubmit, kAdmin };  // each may do what is before it
Result<Role> parse_role(std::string_view text, std::string_view what);
std::string_view role_name(Role role);

struct Config {
  // [daemon]
  std::string listen = "unix:///run/curio/cuzk.sock";
  std::string status_listen;  // empty: no HTTP
  std::string status_cors;    // Access-Control-Allow-Origin; empty: none
  std::string socket_mode = "0660";
  std::size_t max_message_bytes = std::size_t{256} << 20;
  std::int64_t drain_timeout_ms = 30 * 60 * 1000;

  // [memory]
  std::optional<std::size_t> total_budget_bytes;   // absent: "auto"
  std::optional<std::size_t> safety_margin_bytes;  // absent: the budget's own margin
  std::size_t pinned_bytes = 0;
  std::int64_t critical_reserve_percent = 5;

  // [gpus], [cpu]
  std::vector<std::string> gpu_devices;
  std::int64_t gpu_threads = 0;
  std::int64_t gpu_workers_per_device = 2;
  std::optional<std::size_t> vram_budget_bytes;  // of each GPU; absent: what is free, less a margin
  // Of these, for CRITICAL proofs alone; absent: a sixteenth, at most 1 GiB.
  std::optional<std::size_t> vram_critical_reserve_bytes;
  bool gpu_multiples = false;
  std::string cpu_use = "auto";  // auto, always, never
  std::int64_t cpu_workers = 1;
  std::int64_t quarantine_after = 3;

  // [synthesis], [pipeline]
  std::int64_t threads = 0;
  std::int64_t synthesis_lookahead = 1;
  std::int64_t synthesis_workers = 1;
  std::int64_t finish_workers = 1;

  // [srs]
  std::string parameter_directory;  // empty: ParameterStore::default_directory()
  std::string circuit_directory;    // empty: CircuitStore::default_directory()
  std::vector<std::string> preload;
  bool verify_parameters = true;
  bool insecure_dev = false;
  bool make_dev_keys = false;

  // [jobs]
  std::string journal = "auto";  // a file; "auto", "none"
  std::int64_t result_ttl_ms = std::int64_t{24} * 3600 * 1000;
  std::int64_t max_results = 10000;
  std::int64_t max_queued = 4096;
  std::size_t max_queued_bytes = std::size_t{4} << 30;
  std::int64_t max_per_client = 0;
  bool cancel_on_disconnect = false;

  // [circom], [circom.circuits]
  std::string circom_directory;
  bool circom_journal_witness = false;
  std::map<std::string, engine::CircomCircuitOptions> circom_circuits;  // by id

  // [tls], [auth]
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  Role tls_client_role = Role::kSubmit;
  std::string tokens_file;
  Role unix_role = Role::kAdmin;
  std::optional<Role> anonymous_role;  // absent: submit, or none where tokens or a CA are set

  // [logging]
  LogLevel log_level = LogLevel::kInfo;
  std::string log_format = "text";

  // "auto" made definite: $STATE_DIRECTORY, else $XDG_STATE_HOME/cuzk, else ~/.local/state/cuzk.
  std::filesystem::path journal_file() const;
  Role effective_anonymous_role() const;
};

// What was set by whom, and what an operator should know about it.
struct LoadedConfig {
  Config config;
  std::map<std::string, std::string> origins;  // key -> "file", "environment", "flag"
  std::vector<std::string> warnings;
};

// A key's value as text, as it would stand in TOML without the need for quotes.
struct Override {
  std::string key;
  std::string value;
  std::string origin = "flag";
};

// Errors: kNotFound and kIo for the file; kCorruptInput with line and column for bad TOML;
// kInvalidArgument for an unknown key, a wrong type or value, each with the key's name.
Result<LoadedConfig> load_config(const std::optional<std::filesystem::path>& file,
                                 const std::vector<Override>& overrides);
Result<LoadedConfig> load_config_text(std::string_view toml, std::string_view file_name,
                                      const std::vector<Override>& overrides);
// CUZK_DAEMON_LISTEN and so on, for every key.
std::vector<Override> environment_overrides();

// What the keys say together: addresses, pairs of files, roles. Errors: kInvalidArgument.
Status validate(const Config& config);

// The whole configuration as TOML, with where each value came from.
std::string show_config(const LoadedConfig& loaded);

// Keys whose values differ; `reloadable` tells which of them a running daemon can take over.
struct ConfigChange {
  std::string key;
  std::string before;
  std::string after;
  bool reloadable = false;
};
std::vector<ConfigChange> config_changes(const Config& before, const Config& after);

}  // namespace cuzk::daemon
