#include "daemon/config_circom.h"

#include <fmt/ranges.h>

#include <array>

namespace cuzk::daemon {

namespace {

using engine::CircomCircuitOptions;

constexpr std::string_view kPrefix = "circom.circuits.";

struct PathField {
  std::string_view name;
  std::filesystem::path CircomCircuitOptions::*member;
};
constexpr std::array<PathField, 3> kPaths = {{{"zkey", &CircomCircuitOptions::zkey},
                                              {"r1cs", &CircomCircuitOptions::r1cs},
                                              {"sym", &CircomCircuitOptions::sym}}};
struct FlagField {
  std::string_view name;
  bool CircomCircuitOptions::*member;
};
constexpr std::array<FlagField, 3> kFlags = {
    {{"allow_insecure_key", &CircomCircuitOptions::allow_insecure_key},
     {"preload", &CircomCircuitOptions::preload},
     {"resident", &CircomCircuitOptions::resident}}};

std::string show_fields(const CircomCircuitOptions& circuit, std::string_view between) {
  std::vector<std::string> fields;
  for (const PathField& f : kPaths) {
    const std::string path = (circuit.*f.member).string();
    if (!path.empty()) fields.push_back(fmt::format("{} = {}", f.name, toml_text(path)));
  }
  for (const FlagField& f : kFlags) {
    if (circuit.*f.member) fields.push_back(fmt::format("{} = true", f.name));
  }
  return fmt::format("{}", fmt::join(fields, between));
}

}  // namespace

bool is_circom_circuit_key(std::string_view key) { return key.starts_with(kPrefix); }

Status set_circom_circuit_key(Config& config, const std::string& key, const ConfigValue& value) {
  const std::string rest = key.substr(kPrefix.size());
  const std::size_t dot = std::min(rest.find('.'), rest.size());
  const std::string id = rest.substr(0, dot);
  const std::string field = dot == rest.size() ? "zkey" : rest.substr(dot + 1);
  if (const Status good = engine::check_circom_id(id); !good) return fail(good.error().in(key));
  CircomCircuitOptions& circuit = config.circom_circuits[id];
  circuit.id = id;
  for (const PathField& f : kPaths) {
    if (f.name != field) continue;
    const auto* text = std::get_if<std::string>(&value.value);
    if (!text) return fail(ErrorCode::kInvalidArgument, "{}: a path in quotes is expected", key);
    circuit.*f.member = *text;
    return {};
  }
  for (const FlagField& f : kFlags) {
    if (f.name != field) continue;
    const auto* text = value.from_text ? std::get_if<std::string>(&value.value) : nullptr;
    const auto* flag = std::get_if<bool>(&value.value);
    if (!flag && !(text && (*text == "true" || *text == "false"))) {
      return fail(ErrorCode::kInvalidArgument, "{}: true or false is expected", key);
    }
    circuit.*f.member = flag ? *flag : *text == "true";
    return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              "unknown key '{}'; a circuit has zkey, r1cs, sym, allow_insecure_key, preload and "
              "resident",
              key);
}

Status name_circom_circuit(Config& config, const std::string& table) {
  const std::string id = table.substr(kPrefix.size());
  if (const Status good = engine::check_circom_id(id); !good) return fail(good.error().in(table));
  config.circom_circuits[id].id = id;
  return {};
}

Status check_circom_circuits(const Config& config) {
  for (const auto& [id, circuit] : config.circom_circuits) {
    if (!circuit.zkey.empty()) continue;
    return fail(ErrorCode::kInvalidArgument, "{}{}.zkey is missing", kPrefix, id);
  }
  if (config.circom_journal_witness && config.journal == "none") {
    return fail(ErrorCode::kInvalidArgument,
                "circom.journal_witness: there is no journal, jobs.journal is none");
  }
  return {};
}

std::string show_circom_circuits(const Config& config) {
  std::string out;
  for (const auto& [id, circuit] : config.circom_circuits) {
    out += fmt::format("\n[{}{}]\n{}\n", kPrefix, id, show_fields(circuit, "\n"));
  }
  return out;
}

std::vector<ConfigChange> circom_circuit_changes(const Config& before, const Config& after) {
  std::vector<ConfigChange> out;
  const auto shown = [](const Config& config, const std::string& id) -> std::string {
    const auto it = config.circom_circuits.find(id);
    return it == config.circom_circuits.end() ? "" : show_fields(it->second, ", ");
  };
  auto ids = before.circom_circuits;
  ids.insert(after.circom_circuits.begin(), after.circom_circuits.end());
  for (const auto& [id, circuit] : ids) {
    std::string was = shown(before, id), is = shown(after, id);
    if (was == is) continue;
    out.push_back({std::string(kPrefix) + id, std::move(was), std::move(is), true});
  }
  return out;
}

}  // namespace cuzk::daemon
