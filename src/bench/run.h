#pragma once
// One run: sends a schedule's requests to a target, waits for every answer, and watches the
// service meanwhile.
//
// Form:    the client's times in microseconds since the run began; `service_*` by the service's
//          clock, which the client's is mapped to at the start (to half a round trip).
// Threads: run() works on its caller's thread and one of its own.

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/schedule.h"
#include "bench/target.h"

namespace cuzk::bench {

enum class Ending { kCompleted, kFailed, kCancelled, kRefused };
std::string_view ending_name(Ending ending);  // "COMPLETED", ..., as the wire says it

struct JobRecord {
  std::string id;
  std::size_t request = 0;
  engine::ProofKind kind = engine::ProofKind::kPorep;
  std::int64_t due_us = 0;
  std::int64_t sent_us = -1;
  std::int64_t answered_us = -1;
  std::optional<std::int64_t> cancel_at_us;  // asked for, sent or not
  Ending ending = Ending::kRefused;
  std::optional<Error> error;
  engine::JobTimings timings;
  std::vector<std::uint8_t> proof;
  std::string public_json;  // circom's
  bool insecure_dev = false;
  std::optional<Status> verified;  // by the client, where it was asked to

  double wall_ms() const { return static_cast<double>(answered_us - sent_us) * 1e-3; }
  // What the service says it took, without the wait in its queue.
  double service_ms() const {
    return static_cast<double>(timings.total_ms - timings.queue_wait_ms);
  }
};

struct MemorySample {
  std::int64_t service_us = 0;
  std::size_t leased_bytes = 0;
  std::size_t reserved_bytes = 0;
  std::size_t resident_bytes = 0;
};

struct RunResult {
  std::vector<JobRecord> jobs;  // in the schedule's order, those that were sent
  bool interrupted = false;
  double wall_seconds = 0;  // from the begin to the last answer

  // Absent from a service that does not tell.
  struct Service {
    std::int64_t begin_us = 0;  // of the run, and its last answer
    std::int64_t end_us = 0;
    std::int64_t offset_us = 0;  // service's clock less the client's
    Snapshot before;
    Snapshot after;
    std::vector<engine::SpanEvent> spans;  // that touch [begin_us, end_us], in order of start
    std::vector<MemorySample> samples;
    std::size_t peak_leased_bytes = 0;
    std::size_t peak_reserved_bytes = 0;
    std::size_t peak_resident_bytes = 0;
  };
  std::optional<Service> service;

  std::size_t count(Ending ending) const;
};

struct RunOptions {
  std::vector<Arrival> arrivals;
  std::size_t max_in_flight = 0;  // 0: no bound: every request goes when it is due
  std::chrono::milliseconds sample_every{250};
  // Told of every answer, on the thread of run(); and now and then of nothing new.
  std::function<void(const JobRecord*, std::size_t done, std::size_t in_flight)> on_progress;
  // Nothing more is sent, what runs is cancelled; run() returns what it has.
  std::stop_token stop;
};

// Makes what the request needs in memory be there: preloads its circuit; a circom key comes with
// one proof. Errors: those of either; kInvalidArgument for a circuit without an id.
Status load_key(Target& target, const engine::ProofRequest& request);

RunResult run(Target& target, std::span<const engine::ProofRequest> requests,
              const RunOptions& options);

}  // namespace cuzk::bench
