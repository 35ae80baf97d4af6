#pragma once
// The table of configuration keys: one line says a key's name, type, field and meaning.
//
// Threads: immutable after its first use.

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/config.h"

namespace cuzk::daemon {

// A value of TOML, or one written on a command line, of which only the text is known.
struct ConfigValue {
  std::variant<bool, std::int64_t, std::string, std::vector<std::string>> value;
  bool from_text = false;  // a string that may stand for any type
};

struct ConfigKey {
  std::string name;  // "daemon.listen"
  std::string help;
  // Errors: kInvalidArgument names the key.
  std::function<Status(Config&, const ConfigValue&)> set;
  std::function<std::string(const Config&)> show;  // a TOML value; empty: no effect, not shown
  bool reloadable = false;
  std::string no_effect = {};  // why this key is taken and means nothing
};

// In quotes, with what TOML wants escaped.
std::string toml_text(std::string_view text);

const std::vector<ConfigKey>& config_keys();
const ConfigKey* find_config_key(std::string_view name);
// The nearest known name, or empty when none is near.
std::string nearest_config_key(std::string_view name);
// Likewise of tables; a key when one of that table is meant: "srs.insecure_dev" for "srs.insecure".
std::string nearest_config_table(std::string_view name);

}  // namespace cuzk::daemon
