#include "daemon/config.h"

#include <sys/stat.h>
#include <toml++/toml.h>

#include <cctype>
#include <cstdlib>

#include "base/mapped_file.h"
#include "daemon/address.h"
#include "daemon/config_circom.h"
#include "daemon/config_keys.h"
#include "daemon/device_config.h"
#include "daemon/units.h"

namespace cuzk::daemon {

namespace {

constexpr std::size_t kMaxConfigBytes = 1 << 20;
constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error"};
constexpr std::string_view kRoles[] = {"none", "read", "submit", "admin"};

Result<ConfigValue> value_of(const toml::node& node, const std::string& key) {
  if (const auto* text = node.as_string()) return ConfigValue{text->get()};
  if (const auto* number = node.as_integer()) return ConfigValue{number->get()};
  if (const auto* flag = node.as_boolean()) return ConfigValue{flag->get()};
  if (const toml::array* array = node.as_array()) {
    std::vector<std::string> items;
    for (const toml::node& item : *array) {
      if (const auto* text = item.as_string()) {
        items.push_back(text->get());
      } else if (const auto* number = item.as_integer()) {
        items.push_back(std::to_string(number->get()));
      } else {
        return fail(ErrorCode::kInvalidArgument, "{}: its list may hold texts and whole numbers",
                    key);
      }
    }
    return ConfigValue{items};
  }
  return fail(ErrorCode::kInvalidArgument, "{}: a value of this type has no meaning here", key);
}

Status set_key(LoadedConfig& loaded, const std::string& key, const ConfigValue& value,
               const std::string& origin) {
  if (is_circom_circuit_key(key)) {
    CUZK_TRY_VOID(set_circom_circuit_key(loaded.config, key, value));
    loaded.origins[key] = origin;
    return {};
  }
  const ConfigKey* known = find_config_key(key);
  if (!known) {
    const std::string near = nearest_config_key(key);
    return fail(ErrorCode::kInvalidArgument, "unknown key '{}'{}", key,
                near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
  if (!known->no_effect.empty()) {
    loaded.warnings.push_back(fmt::format("{} has no effect: {}", key, known->no_effect));
    return {};
  }
  CUZK_TRY_VOID(known->set(loaded.config, value));
  loaded.origins[key] = origin;
  return {};
}

// One that is empty would otherwise pass, whatever its name.
Status check_table(LoadedConfig& loaded, const std::string& name) {
  const std::string prefix = name + ".";
  if (is_circom_circuit_key(name)) return name_circom_circuit(loaded.config, name);
  if (is_circom_circuit_key(prefix)) return {};  // the table of them
  for (const ConfigKey& key : config_keys()) {
    if (key.name.starts_with(prefix)) return {};
  }
  if (find_config_key(name)) {
    return fail(ErrorCode::kInvalidArgument, "{}: a value is expected, found a table", name);
  }
  const std::string near = nearest_config_table(name);
  return fail(ErrorCode::kInvalidArgument, "unknown table '{}'{}", name,
              near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

Status set_table(LoadedConfig& loaded, const toml::table& table, const std::string& prefix,
                 std::string_view file) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    const auto set = [&, &entry = node]() -> Status {
      if (const toml::table* inner = entry.as_table()) {
        // What is wrong with a key inside says more.
        CUZK_TRY_VOID(set_table(loaded, *inner, key + ".", file));
        return inner->empty() ? check_table(loaded, key) : Status{};
      }
      CUZK_TRY(const ConfigValue value, value_of(entry, key));
      return set_key(loaded, key, value, "file");
    }();
    if (set) continue;
    if (node.is_table() && !node.as_table()->empty()) return set;
    return fail(set.error().in(fmt::format("{}:{}", file, node.source().begin.line)));
  }
  return {};
}

Status apply_overrides(LoadedConfig& loaded, const std::vector<Override>& overrides) {
  for (const Override& o : overrides) {
    if (auto set = set_key(loaded, o.key, ConfigValue{o.value, true}, o.origin); !set) {
      return fail(set.error().in(o.origin));
    }
  }
  return {};
}

std::string environment_name(const std::string& key) {
  std::string out = "CUZK_";
  for (const char c : key) {
    out += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return out;
}

template <std::size_t N>
Result<std::size_t> index_of(std::string_view text, const std::string_view (&names)[N],
                             std::string_view what) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return i;
  }
  return fail(ErrorCode::kInvalidArgument, "{}: '{}' is none of {}", what, text,
              fmt::join(names, ", "));
}

Status validate_addresses(const Config& config) {
  CUZK_TRY(const Address listen, parse_address(config.listen, "daemon.listen"));
  if (!config.status_listen.empty()) {
    CUZK_TRY(const Address status, parse_address(config.status_listen, "daemon.status_listen"));
    if (status.is_unix()) {
      return fail(ErrorCode::kInvalidArgument, "daemon.status_listen: HTTP needs HOST:PORT");
    }
    if (!listen.is_unix() && status.port != 0 && status.port == listen.port) {
      return fail(ErrorCode::kInvalidArgument,
                  "daemon.status_listen: port {} is that of daemon.listen", status.port);
    }
  }
  if (config.socket_mode.empty() || config.socket_mode.size() > 4 ||
      config.socket_mode.find_first_not_of("01234567") != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument,
                "daemon.socket_mode: '{}' is no octal mode; write e.g. 0660", config.socket_mode);
  }
  return {};
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text, std::string_view what) {
  if (text == "warning") text = "warn";
  CUZK_TRY(const std::size_t i, index_of(text, kLevels, what));
  return static_cast<LogLevel>(i);
}
std::string_view log_level_name(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

Result<Role> parse_role(std::string_view text, std::string_view what) {
  CUZK_TRY(const std::size_t i, index_of(text, kRoles, what));
  return static_cast<Role>(i);
}
std::string_view role_name(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

std::filesystem::path Config::journal_file() const {
  if (journal == "none") return {};
  if (journal != "auto") return journal;
  const auto under = [](const char* variable, const char* rest) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    return value && *value ? std::filesystem::path(value) / rest : std::filesystem::path();
  };
  for (const auto& path :
       {under("STATE_DIRECTORY", "journal.sqlite"), under("XDG_STATE_HOME", "cuzk/journal.sqlite"),
        under("HOME", ".local/state/cuzk/journal.sqlite")}) {
    if (!path.empty()) return path;
  }
  return "/var/lib/cuzk/journal.sqlite";
}

Role Config::effective_anonymous_role() const {
  if (anonymous_role) return *anonymous_role;
  return tokens_file.empty() && tls_client_ca.empty() ? Role::kSubmit : Role::kNone;
}

Result<LoadedConfig> load_config(const std::optional<std::filesystem::path>& file,
                                 const std::vector<Override>& overrides) {
  if (!file) return load_config_text("", "", overrides);
  CUZK_TRY(const auto bytes, read_file(*file, kMaxConfigBytes));
  return load_config_text(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), file->string(),
      overrides);
}

Result<LoadedConfig> load_config_text(std::string_view toml, std::string_view file_name,
                                      const std::vector<Override>& overrides) {
  LoadedConfig loaded;
  try {
    const toml::table table = toml::parse(toml, file_name);
    CUZK_TRY_VOID(set_table(loaded, table, "", file_name));
  } catch (const toml::parse_error& e) {
    return fail(ErrorCode::kCorruptInput, "{}:{}:{}: not valid TOML: {}", file_name,
                e.source().begin.line, e.source().begin.column, e.description());
  }
  CUZK_TRY_VOID(apply_overrides(loaded, overrides));
  CUZK_TRY_VOID(validate(loaded.config));
  return loaded;
}

std::vector<Override> environment_overrides() {
  std::vector<Override> out;
  for (const ConfigKey& key : config_keys()) {
    const std::string name = environment_name(key.name);
    if (const char* value = std::getenv(name.c_str()); value && key.no_effect.empty()) {
      out.push_back({key.name, value, "environment " + name});
    }
  }
  return out;
}

Status validate(const Config& config) {
  CUZK_TRY_VOID(validate_addresses(config));
  CUZK_TRY(const Address listen, parse_address(config.listen, "daemon.listen"));
  if (config.log_format != "text" && config.log_format != "json") {
    return fail(ErrorCode::kInvalidArgument, "logging.format: '{}' is none of text, json",
                config.log_format);
  }
  if (config.cpu_use != "auto" && config.cpu_use != "always" && config.cpu_use != "never") {
    return fail(ErrorCode::kInvalidArgument, "cpu.use: '{}' is none of auto, always, never",
                config.cpu_use);
  }
  bool no_cards = false;
  CUZK_TRY_VOID(card_ordinals(config, no_cards));
  if (config.tls_certificate.empty() != config.tls_key.empty()) {
    return fail(ErrorCode::kInvalidArgument, "tls.certificate and tls.key belong together");
  }
  if (!config.tls_client_ca.empty() && config.tls_certificate.empty()) {
    return fail(ErrorCode::kInvalidArgument, "tls.client_ca needs tls.certificate and tls.key");
  }
  if (!config.tls_certificate.empty() && listen.is_unix()) {
    return fail(ErrorCode::kInvalidArgument,
                "tls.certificate: TLS is for TCP, daemon.listen is a unix socket");
  }
  if (config.max_message_bytes < (1 << 16) || config.max_message_bytes > 0x7fffffff) {
    return fail(ErrorCode::kInvalidArgument,
                "daemon.max_message_size: gRPC takes 64KiB to 2GiB less a byte, found {}",
                format_size(config.max_message_bytes));
  }
  if (config.make_dev_keys && !config.insecure_dev) {
    return fail(ErrorCode::kInvalidArgument, "srs.make_dev_keys needs srs.insecure_dev");
  }
  return check_circom_circuits(config);
}

std::string show_config(const LoadedConfig& loaded) {
  std::string out;
  std::string section;
  for (const ConfigKey& key : config_keys()) {
    if (!key.no_effect.empty()) continue;
    const std::size_t dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", section);
    }
    const auto origin = loaded.origins.find(key.name);
    out += fmt::format("# {}\n{} = {}  # {}\n", key.help, key.name.substr(dot + 1),
                       key.show(loaded.config),
                       origin == loaded.origins.end() ? "default" : origin->second);
  }
  out += show_circom_circuits(loaded.config);
  return out;
}

std::vector<ConfigChange> config_changes(const Config& before, const Config& after) {
  std::vector<ConfigChange> out;
  for (const ConfigKey& key : config_keys()) {
    if (!key.no_effect.empty()) continue;
    std::string old_value = key.show(before);
    std::string new_value = key.show(after);
    if (old_value != new_value) {
      out.push_back({key.name, std::move(old_value), std::move(new_value), key.reloadable});
    }
  }
  for (ConfigChange& change : circom_circuit_changes(before, after)) {
    out.push_back(std::move(change));
  }
  return out;
}

}  // namespace cuzk::daemon
