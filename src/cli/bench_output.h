#pragma once
// What the load commands of cuzk-bench share: how a run is watched, checked, told and drawn, and
// which exit code it gives.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/run.h"
#include "bench/verifier.h"
#include "cli/bench_target.h"
#include "cli/exit_code.h"

namespace cuzk::cli {

struct OutputOptions {
  bool json = false;
  bool verify = false;
  bool failed_is_ok = false;
  std::string json_file;
  std::string timeline_file;

  void add(CLI::App& app, bool with_timeline);
};

// SIGINT and SIGTERM ask the run to end and cancel what is in flight; a second one ends the
// process.
std::stop_token stop_on_signals();

// A line on a terminal: how many are done, in flight, how fast.
class LoadProgress {
 public:
  LoadProgress(bool visible, std::size_t total) : visible_(visible), total_(total) {}
  ~LoadProgress() { clear(); }
  void update(std::size_t done, std::size_t in_flight);
  void clear();

 private:
  const bool visible_;
  const std::size_t total_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};
bool progress_is_visible(const DaemonAddress& address);

// Of every completed proof, into JobRecord::verified. Errors: kNotFound when no verifying key is
// here.
Status verify_proofs(bench::RunResult& result, std::span<const engine::ProofRequest> requests,
                     const LocalService& keys, const bench::CircomKeys& circom);

// Whether keys anyone can forge under made these proofs.
bool any_insecure(const bench::RunResult& result);

// 0 when every proof completed and holds; else what the first that did not says.
ExitCode exit_code_of(const bench::RunResult& result, const OutputOptions& output);

// The timeline's SVG where one was asked for. Errors: kIo; kNotFound when the service told no
// spans.
Status write_timeline(const OutputOptions& output, const bench::RunResult& result,
                      const bench::Verdict& verdict, const std::string& title);
// The document on standard output with --json, into a file with --json-file.
Status write_document(const OutputOptions& output, const nlohmann::json& document);
Status write_text(const std::string& file, const std::string& text);

// The head of every document: command, version, target, load.
nlohmann::json document_head(const std::string& command, bench::Target& target,
                             nlohmann::json load);

}  // namespace cuzk::cli
