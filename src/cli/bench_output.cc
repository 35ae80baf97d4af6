#include "cli/bench_output.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "base/mapped_file.h"
#include "bench/svg.h"
#include "bench/verifier.h"

namespace cuzk::cli {

namespace {

using nlohmann::json;

// The stop source that the first signal reaches; nobody registers a callback on it, so that
// request_stop is one compare-and-swap and may run in a handler.
std::stop_source& load_stop() {
  static std::stop_source source;
  return source;
}
std::atomic<std::stop_source*> signal_target{nullptr};

extern "C" void on_load_signal(int) {
  if (std::stop_source* target = signal_target.exchange(nullptr)) {
    target->request_stop();
  } else {
    _exit(kResources);
  }
}

}  // namespace

void OutputOptions::add(CLI::App& app, bool with_timeline) {
  app.add_flag("--json", json, "Print one JSON object (docs/bench.md) instead of lines");
  app.add_option("--json-file", json_file, "Write that object to a file");
  app.add_flag("--verify", verify, "Check every proof here, against the request it is for");
  app.add_flag("--failed-is-ok", failed_is_ok,
               "Exit with 0 although proofs failed, as Curio's cuzk-bench does");
  if (with_timeline) {
    app.add_option("--timeline-svg", timeline_file, "Draw who worked on what when");
  }
}

std::stop_token stop_on_signals() {
  signal_target.store(&load_stop());
  struct sigaction action {};
  action.sa_handler = on_load_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return load_stop().get_token();
}

bool progress_is_visible(const DaemonAddress& address) {
  return !address.is_quiet() && isatty(STDERR_FILENO) != 0;
}

void LoadProgress::update(std::size_t done, std::size_t in_flight) {
  if (!visible_) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::string line = fmt::format("{}/{} answered, {} in flight, {}", done, total_, in_flight,
                                 bench::human_seconds(seconds));
  if (done > 0) {
    const double left = seconds / static_cast<double>(done) * static_cast<double>(total_ - done);
    line += fmt::format(", {:.2f} a minute, about {} left",
                        60 * static_cast<double>(done) / seconds, bench::human_seconds(left));
  }
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void LoadProgress::clear() {
  if (std::exchange(shown_, false)) std::fputs("\r\033[K", stderr);
}

Status verify_proofs(bench::RunResult& result, std::span<const engine::ProofRequest> requests,
                     const LocalService& keys, const bench::CircomKeys& circom) {
  bench::Verifier verifier(keys.parameter_directory(), keys.key_policy(), circom);
  for (bench::JobRecord& job : result.jobs) {
    if (job.ending != bench::Ending::kCompleted) continue;
    Status verdict = verifier.verify(requests[job.request], job.proof);
    if (!verdict && verdict.error().code == ErrorCode::kNotFound) return fail(verdict.error());
    job.verified = std::move(verdict);
  }
  return {};
}

bool any_insecure(const bench::RunResult& result) {
  return std::any_of(result.jobs.begin(), result.jobs.end(),
                     [](const bench::JobRecord& job) { return job.insecure_dev; });
}

ExitCode exit_code_of(const bench::RunResult& result, const OutputOptions& output) {
  if (bench::all_good(result)) return kOk;
  for (const bench::JobRecord& job : result.jobs) {
    if (job.verified && !*job.verified) return kProofInvalid;
    if (job.ending == bench::Ending::kRefused && job.error) return exit_code_of(job.error->code);
  }
  if (result.interrupted) return kResources;
  return output.failed_is_ok ? kOk : kProofInvalid;
}

Status write_text(const std::string& file, const std::string& text) {
  return write_file_atomically(
      file, ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

Status write_timeline(const OutputOptions& output, const bench::RunResult& result,
                      const bench::Verdict& verdict, const std::string& title) {
  if (output.timeline_file.empty()) return {};
  const std::string svg = bench::timeline_svg(result, verdict, title);
  if (svg.empty()) {
    return fail(ErrorCode::kNotFound,
                "--timeline-svg: the service told no spans of this run, there is nothing to draw");
  }
  return write_text(output.timeline_file, svg);
}

Status write_document(const OutputOptions& output, const json& document) {
  const std::string text = document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  if (output.json) std::fputs(text.c_str(), stdout);
  if (output.json_file.empty()) return {};
  return write_text(output.json_file, text);
}

json document_head(const std::string& command, bench::Target& target, json load) {
  const auto snapshot = target.snapshot(std::nullopt);
  return {{"schema", "cuzk-bench/1"},
          {"command", command},
          {"version", CUZK_VERSION},
          {"target", target.name()},
          {"service_version", snapshot ? json(snapshot->version) : json(nullptr)},
          {"load", std::move(load)}};
}

}  // namespace cuzk::cli
