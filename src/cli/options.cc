#include "cli/options.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "engine/catalog.h"
#include "engine/circuits.h"

namespace cuzk::cli {

namespace {

void print_flat(const nlohmann::json& object, const std::string& prefix = "") {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      print_flat(value, prefix + key + ".");
    } else {
      std::printf("%-26s %s\n", (prefix + key).c_str(), value.dump().c_str());
    }
  }
}

}  // namespace

void print_report(const CommonOptions& common, const nlohmann::json& report) {
  if (common.json) {
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    print_flat(report);
  }
}

void CommonOptions::add_output(CLI::App& app) {
  app.add_flag("--json", json, "Print one JSON object on standard output");
  app.add_flag("-q,--quiet", quiet, "No progress and no notes on standard error");
}

void CommonOptions::add_resources(CLI::App& app) {
  app.add_option("--threads", threads, "Worker threads (default: every CPU)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--memory", memory,
                 "Memory budget, e.g. 16GiB (default: what machine and cgroup allow)");
  app.add_option("--cache-dir", cache_dir,
                 "Where compiled circuits are kept (default: ~/.cache/cuzk/circuits)");
  app.add_flag("--no-cache", no_cache, "Keep no compiled circuit on disk");
  app.add_option("--trace", trace_file, "Write a trace for Perfetto or chrome://tracing");
}

void CommonOptions::add_parameters(CLI::App& app) {
  app.add_option("--params", params_dir,
                 "Directory of parameter files (default: $FIL_PROOFS_PARAMETER_CACHE, else "
                 "/var/tmp/filecoin-proof-parameters)");
}

std::filesystem::path CommonOptions::parameter_directory() const {
  return params_dir.empty() ? engine::ParameterStore::default_directory()
                            : std::filesystem::path(params_dir);
}

std::filesystem::path CommonOptions::cache_directory() const {
  if (no_cache) return {};
  return cache_dir.empty() ? engine::CircuitStore::default_directory()
                           : std::filesystem::path(cache_dir);
}

Result<std::size_t> CommonOptions::memory_bytes() const {
  if (memory.empty()) return MemoryBudget::detect_limit_bytes();
  return parse_bytes(memory, "--memory");
}

Result<std::size_t> parse_bytes(const std::string& text, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const std::pair<const char*, double> units[] = {{"", 1},
                                                  {"B", 1},
                                                  {"KiB", 1024.0},
                                                  {"MiB", 1048576.0},
                                                  {"GiB", 1073741824.0},
                                                  {"TiB", 1099511627776.0}};
  for (const auto& [name, factor] : units) {
    if (error == std::errc() && unit == name && value >= 0 && value * factor < 9e18) {
      return static_cast<std::size_t>(value * factor);
    }
  }
  return fail(ErrorCode::kInvalidArgument, "{}: '{}' is no size; write e.g. 512MiB or 16GiB", what,
              text);
}

Result<filecoin::Node> parse_node(const std::string& text, std::string_view option) {
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != 32) {
    return fail(ErrorCode::kInvalidArgument, "{}: 64 hexadecimal digits are expected, found {}",
                option, bytes ? std::to_string(text.size()) + " digits" : bytes.error().message);
  }
  filecoin::Node node;
  std::copy(bytes->begin(), bytes->end(), node.begin());
  return node;
}

void add_kind(CLI::App& app, std::string& kind) {
  std::vector<std::string> names;
  for (const std::string_view name : engine::proof_kinds()) names.emplace_back(name);
  app.add_option("--kind", kind, "Which proof's circuit")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
}

void add_porep_id(CLI::App& app, std::string& text) {
  app.add_option("--porep-id", text,
                 "64 hexadecimal digits, where a network uses another than the registered proof's");
}

Result<std::uint64_t> parse_actor(const std::string& text) {
  std::string_view digits = text;
  if (digits.starts_with("f0") || digits.starts_with("t0")) digits.remove_prefix(2);
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "--miner: '{}' is no actor id; write e.g. 1000 or f01000 (ID addresses only)",
                text);
  }
  return id;
}

}  // namespace cuzk::cli
