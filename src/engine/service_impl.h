#pragma once
// What the service remembers of requests and answers, and how it is divided:
//   service.cc           start, stop, circuits
//   service_requests.cc  from submission, or from the journal, into the pipeline
//   service_answers.cc   from the pipeline to the journal and to who waits
//   service_report.cc    status, metrics, problems
//
// Threads: `submit_mutex` before `mutex`; the pipeline's own lock comes last, and its completions
//          are called without it. The journal locks itself.

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/journal.h"
#include "engine/pipeline.h"
#include "engine/service.h"

namespace cuzk::engine::internal {

// A callback that can be taken back.
struct WatchState {
  // Recursive: a callback may drop its own Watch.
  std::recursive_mutex mutex;
  std::function<void(const Answer&)> callback;

  void call(const Answer& answer) {
    std::lock_guard lock(mutex);
    if (const auto f = std::exchange(callback, nullptr)) f(answer);
  }
};

struct Run {
  std::uint64_t run = 0;
  std::string id;
  Digest32 digest{};
  ProofKind kind = ProofKind::kPorep;
  std::string circuit;  // circom's id of it
  Priority priority = Priority::kNormal;
  std::optional<std::int64_t> deadline_unix_ms;
  std::size_t held_bytes = 0;  // of its payload, in memory
  bool journaled = false;
  bool payload_journaled = false;
  bool superseded = false;  // the id names a later run
  std::size_t waiters = 0;
  std::vector<std::shared_ptr<WatchState>> watches;
  std::optional<Answer> answer;
  std::chrono::steady_clock::time_point finished{};
};

inline std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace cuzk::engine::internal

namespace cuzk::engine {

class Service::Impl {
 public:
  using Clock = std::chrono::steady_clock;
  using Run = internal::Run;
  using WatchState = internal::WatchState;

  Impl(ServiceOptions options_in, std::size_t memory_bytes)
      : options(std::move(options_in)),
        memory(memory_bytes),
        telemetry(options.max_spans),
        residency({options.parameter_directory, options.circuit_directory, options.keys,
                   options.verify_parameters}),
        circom(options.circom.directory) {}

  Status reserve_for_cards();
  void open_journal();
  void take_up();
  void check_files();
  void preload_all(std::stop_token stop);

  Result<Submitted> submit(ProofRequest request);
  std::optional<Submitted> known(const std::string& id, const Digest32& digest);
  Result<Submitted> submit_new(ProofRequest request, const Digest32& digest,
                               CircomCircuits::Circuit circuit, std::uint64_t& lost_reader);
  void accept_in_journal(Run& run, const ProofRequest& request);
  PipelineJob pipeline_job(const Run& run, ProofRequest request, bool read_back,
                           CircomCircuits::Circuit circuit);
  void take_up_run(const JournalRun& row);
  Result<CircomCircuits::Circuit> find_circom(const std::string& id);
  Result<CircomCircuits::Circuit> circom_of(ProofRequest& request);
  Result<CircomCircuits::Circuit> circom_of(const JournalRun& row, const ProofRequest& head);
  CircomCircuitStatus circom_status(const CircomCircuits::Entry& entry) const;
  void count_circom(const Run& run, const Answer& answer);  // under the lock
  void on_done(std::shared_ptr<Run> run, PipelineResult result);
  void write_answer(const Run& run, const Answer& answer);
  std::uint64_t supersede(const std::string& id, std::uint64_t by);
  void retire(std::shared_ptr<Run> run);  // under the lock
  void forget_old();                      // under the lock
  void prune_journal();
  void journal_failed(const Error& error);

  Result<std::optional<Answer>> await(const std::string& id, std::optional<std::uint64_t> run,
                                      std::optional<Clock::time_point> deadline,
                                      std::stop_token stop);
  Result<std::shared_ptr<Run>> find(const std::string& id, std::optional<std::uint64_t> run);
  Result<Answer> find_in_journal(const std::string& id, std::optional<std::uint64_t> run);
  bool leave(const std::shared_ptr<Run>& run, std::unique_lock<std::mutex>& lock);

  ServiceStatus status();
  std::vector<Problem> problems();

  const ServiceOptions options;
  MemoryBudget memory;
  std::vector<Reservation> for_cards;
  Telemetry telemetry;
  Residency residency;
  CircomCircuits circom;
  std::unique_ptr<Journal> journal;

  std::mutex stop_mutex;
  std::mutex submit_mutex;  // taken before `mutex`: one request enters at a time
  std::mutex mutex;
  std::condition_variable_any answered;
  std::uint64_t next_run = 1;
  std::map<std::uint64_t, std::shared_ptr<Run>> runs;
  std::map<std::string, std::uint64_t> latest;  // run of an id
  std::deque<std::uint64_t> finished;           // answered runs in memory, oldest first
  std::size_t unfinished = 0;
  std::size_t held_bytes = 0;
  std::deque<JobStatus> recent;
  bool draining = false;
  bool stopped = false;
  bool preloaded = false;
  JournalStatus journal_status;
  std::vector<std::pair<std::uint64_t, JournalAnswer>> unwritten;  // answers the disk refused
  std::size_t finishes = 0;
  std::vector<Problem> start_problems;
  ServiceMetrics counters;
  std::map<std::string, std::string> circuit_names;  // by the spec's identifier

  std::unique_ptr<Pipeline> pipeline;
  std::jthread preloader;
};

}  // namespace cuzk::engine
