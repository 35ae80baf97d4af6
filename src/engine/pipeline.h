#pragma once
// The stages at work: threads that ask the scheduler what is next and do it.
//
//   parse -> measure, load -> synthesize -> prove (start) -> finish, assemble, verify -> reply
//
// The unit that moves is one partition; partitions of different jobs mix. A worker holds no lock
// while it works. What it works on is its own until it hands it on. A proof that does not verify
// goes back to the devices (scheduler.h says to which); it never gets further than the finisher.
//
// Stops:   every job has a stop token; long CPU work looks at it. A cancelled job ends when its
//          partitions in flight have noticed, at the latest at their next stage.
// Memory:  the scheduler's plan admits; the buffers then reserve from the MemoryBudget for real.
// Threads: every public function may be called from any thread. A completion is called once for
//          each accepted job, by a worker or by the caller of cancel() or stop(), with no lock
//          held. All threads have ended when the destructor returns.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/residency.h"
#include "engine/service.h"
#include "engine/telemetry.h"

namespace cuzk::engine {

using scheduler::JobId;

// A request on its way in.
struct PipelineJob {
  std::string job_id;  // for people: status, events, spans
  ProofKind kind = ProofKind::kPorep;
  scheduler::JobSpec spec;
  std::optional<std::int64_t> deadline_unix_ms;
  // Called once. What it captures (the payload) is dropped afterwards.
  std::function<Result<Job>(const Context&)> parse;
};

struct PipelineResult {
  JobId id = 0;
  Result<ProofReply> reply;  // kCancelled: cancelled, or the pipeline stopped
  bool stopped = false;      // by stop(): not by its owner
  JobStatus status;          // final
};

struct PipelineOptions {
  scheduler::Limits limits;
  std::vector<DeviceOptions> devices;
  std::function<void(const groth16::PartitionTiming&)> on_partition_timing;
  int threads = 0;
  unsigned parse_workers = 1;
  unsigned synthesis_workers = 1;
  unsigned finish_workers = 1;
};

struct PipelineCounters {
  std::uint64_t key_loads = 0;
  std::uint64_t key_evictions = 0;
  std::uint64_t retried_partitions = 0;
  std::uint64_t verified_partitions = 0;
};

class Pipeline {
 public:
  using Completion = std::function<void(PipelineResult)>;

  // Everything given by reference outlives the pipeline.
  Pipeline(const PipelineOptions& options, Residency& residency, MemoryBudget& memory,
           Telemetry& telemetry);
  ~Pipeline();  // stop()
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The number of unfinished jobs that go before it.
  // Errors: kOutOfBudget for a full queue, or a request too large to be parsed within the budget;
  // kCancelled once stopped.
  Result<std::size_t> submit(JobId id, PipelineJob job, Completion done);
  // Whether submit would take it now.
  Status refusal(const scheduler::JobSpec& spec) const;
  bool cancel(JobId id);

  // Loads without a job, waits for it. The bool: it was loaded already.
  Result<bool> load(const filecoin::CircuitSpec& spec, bool pin, std::stop_token stop);
  Result<bool> load(std::shared_ptr<const CircomCircuit> circuit, bool pin, std::stop_token stop);
  Service::Evicted evict(const std::string& identifier);
  // No new job will want this circuit: it leaves when nobody uses it.
  void retire(const std::string& identifier);
  // Whether an idle machine could prove with it. Errors: kOutOfBudget with what it needs and what
  // there is; kInvalidArgument when no device proves circom circuits.
  Status fits(const CircomCircuit& circuit, Priority priority) const;

  // Ends everything at its next boundary and joins. Jobs that are left end as kCancelled.
  void stop();
  // Until no job is left; false at the deadline.
  bool wait_idle(std::chrono::steady_clock::time_point deadline);

  // Jobs, workers, devices, circuits, memory, counts.
  void describe(ServiceStatus& status) const;
  // Also while its completion is called.
  std::optional<JobStatus> job(JobId id) const;
  PipelineCounters counters() const;
  std::vector<std::size_t> queued_by_priority() const;
  bool has_device() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuzk::engine
