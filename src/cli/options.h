#pragma once
// Options that several commands share, and how their texts become values.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "engine/parameters.h"
#include "filecoin/statement.h"

namespace cuzk::cli {

struct CommonOptions {
  bool json = false;
  bool quiet = false;
  int threads = 0;
  std::string memory;  // "16GiB"; empty: what the machine or its cgroup allows
  std::string params_dir;
  std::string cache_dir;
  bool no_cache = false;
  std::string trace_file;

  void add_output(CLI::App& app);      // --json, --quiet
  void add_resources(CLI::App& app);   // --threads, --memory, --cache-dir, --no-cache, --trace
  void add_parameters(CLI::App& app);  // --params

  std::filesystem::path parameter_directory() const;
  std::filesystem::path cache_directory() const;
  Result<std::size_t> memory_bytes() const;
};

// "123", "16MiB", "1.5GiB".
Result<std::size_t> parse_bytes(const std::string& text, std::string_view what);

// 64 hexadecimal digits.
Result<filecoin::Node> parse_node(const std::string& text, std::string_view option);

// A flat list of names and values, or with --json the object as it is.
void print_report(const CommonOptions& common, const nlohmann::json& report);

// --kind: which of the engine's proof kinds.
void add_kind(CLI::App& app, std::string& kind);

// --porep-id, for networks of one's own.
void add_porep_id(CLI::App& app, std::string& text);

// "1000", "f01000" or "t01000".
Result<std::uint64_t> parse_actor(const std::string& text);

}  // namespace cuzk::cli
