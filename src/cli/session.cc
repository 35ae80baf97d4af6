#include "cli/session.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "base/mapped_file.h"
#include "cli/exit_code.h"

namespace cuzk::cli {

namespace {

// The stop source that the first signal reaches. No callback is ever registered on it, so that
// request_stop is one compare-and-swap and may run in a handler.
std::atomic<std::stop_source*> signal_target{nullptr};

extern "C" void on_signal(int) {
  if (std::stop_source* target = signal_target.exchange(nullptr)) {
    target->request_stop();
  } else {
    _exit(kResources);
  }
}

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StageShares prove_stage_shares() {
  return {{"parse", 0.2},    {"check_vanilla", 0.1}, {"load_circuit", 0.5}, {"load_key", 8},
          {"synthesize", 1}, {"matvec", 2},          {"ntt", 12},           {"h_msm", 60},
          {"l_msm", 6},      {"a_msm", 6},           {"b_g1_msm", 2},       {"b_g2_msm", 5},
          {"verify", 0.2}};
}

StageShares setup_stage_shares() {
  return {{"compile", 1.5}, {"qap", 1},          {"h_query", 9},      {"l_query", 5.5},
          {"a_query", 5.5}, {"b_g1_query", 1.5}, {"b_g2_query", 3.5}, {"write_key", 2.5}};
}

Result<std::unique_ptr<Session>> Session::start(const CommonOptions& options, StageShares shares,
                                                int partitions) {
  CUZK_TRY(const std::size_t memory_bytes, options.memory_bytes());
  return std::unique_ptr<Session>(
      new Session(options, memory_bytes, std::move(shares), partitions));
}

Session::Session(const CommonOptions& options, std::size_t memory_bytes, StageShares shares,
                 int partitions)
    : options_(options),
      progress_(std::make_unique<Progress>(!options.quiet && isatty(STDERR_FILENO),
                                           std::move(shares), partitions)),
      timeline_([this](std::string_view name, int lane, bool begins) {
        if (progress_) progress_->observe(name, lane, begins);
      }),
      memory_(memory_bytes),
      tasks_(options.threads, stop_.get_token()) {
  signal_target.store(&stop_);
  handle_signals();
}

Session::~Session() { signal_target.store(nullptr); }

Status Session::finish() {
  progress_.reset();
  if (options_.trace_file.empty()) return {};
  const std::string trace = timeline_.trace_json();
  return write_file_atomically(
      options_.trace_file,
      ByteSpan(reinterpret_cast<const std::uint8_t*>(trace.data()), trace.size()));
}

std::size_t Session::peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace cuzk::cli
