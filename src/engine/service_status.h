#pragma once
// What the service tells about itself, as plain data: snapshots, counters, events, spans.
//
// Form:    times in microseconds or milliseconds since the service started (`*_us`, `*_ms`), except
//          where `unix` is in the name; bytes.
// Threads: values.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/circom_options.h"
#include "engine/request.h"

namespace cuzk::engine {

// Sums over the partitions, so that a phase may exceed total_ms.
struct JobTimings {
  std::int64_t queue_wait_ms = 0;  // until the first partition was admitted
  // Measures and loads of its circuit and key that this job waited for; not part of memory_wait_ms.
  std::int64_t key_load_ms = 0;
  std::int64_t parse_ms = 0;
  std::int64_t memory_wait_ms = 0;
  std::int64_t synthesis_ms = 0;
  std::int64_t prove_wait_ms = 0;
  std::int64_t prove_ms = 0;
  std::int64_t finish_ms = 0;
  std::int64_t verify_ms = 0;
  std::int64_t total_ms = 0;
};

enum class PartitionState {
  kPending,  // waits for its turn, memory or key
  kSynthesizing,
  kSynthesized,  // waits for a device
  kProving,
  kFinishing,  // assembling and verifying
  kDone,
  kFailed,
};
std::string_view partition_state_name(PartitionState state);

struct PartitionStatus {
  PartitionState state = PartitionState::kPending;
  std::int64_t synthesis_ms = -1;  // -1: not yet
  std::int64_t prove_ms = -1;
  std::string device;     // that proves or proved it
  unsigned attempts = 0;  // proofs begun
};

enum class JobState { kQueued, kParsing, kWaiting, kRunning, kCompleted, kFailed, kCancelled };
std::string_view job_state_name(JobState state);

struct JobStatus {
  std::string job_id;
  std::uint64_t run = 0;
  ProofKind kind = ProofKind::kPorep;
  std::string client;
  Priority priority = Priority::kNormal;
  std::optional<std::int64_t> deadline_unix_ms;
  JobState state = JobState::kQueued;
  std::string name;       // "StackedDrg2KiBV1_1", once parsed
  std::string circuit;    // "PoRep 2KiB", once parsed
  std::string waits_for;  // "memory", "parameters", ...: why it does not move, when it does not
  std::int64_t submitted_us = 0;
  std::int64_t finished_us = -1;
  std::optional<std::int64_t> eta_ms;  // from measured times of its circuit
  std::vector<PartitionStatus> partitions;
  std::size_t partitions_done = 0;
  JobTimings timings;
  std::optional<Error> error;
};

struct WorkerStatus {
  std::string stage;   // "parse", "load", "synthesis", "prove", "finish"
  std::string device;  // of prove workers
  unsigned index = 0;  // among the workers of that stage (and device)
  std::string job_id;  // empty: idle
  std::optional<ProofKind> kind;
  std::size_t partition = 0;
  std::int64_t busy_us = -1;
};

struct DeviceStatus {
  std::string name;
  bool fallback = false;
  bool quarantined = false;
  unsigned workers = 0;
  unsigned busy = 0;
  std::uint64_t proofs = 0;          // verified
  std::uint64_t invalid_proofs = 0;  // failed their self-check; none of them left
  std::uint64_t faults = 0;          // the device failed
  std::int64_t busy_us = 0;          // merged over its workers; a card's: over its kernels
  std::size_t leased_bytes = 0;      // of its own memory
  std::size_t limit_bytes = 0;
  std::string model;    // of a card: "NVIDIA H200"
  std::string problem;  // why it is not used any more
  struct Key {
    std::string circuit;
    bool is_streamed = false;
    std::size_t bytes = 0;  // on the card, with the rows
    std::size_t in_use = 0;
  };
  std::vector<Key> keys;
  std::size_t key_loads = 0;
  std::size_t key_evictions = 0;
};

enum class Tier { kHot, kWarm, kCold };  // in memory; on disk and verified; on disk or missing
struct CircuitStatus {
  std::string circuit_id;  // "porep-2k"; the circuit's name when it has no id
  std::string name;
  Tier tier = Tier::kCold;
  std::size_t bytes = 0;   // key and rows in memory
  std::size_t in_use = 0;  // partitions
  bool pinned = false;
  std::int64_t idle_us = -1;
  std::string file;
  bool insecure_dev = false;
};

struct MemoryStatus {
  std::size_t limit_bytes = 0;
  std::size_t leased_bytes = 0;    // by admitted work and resident circuits, as planned
  std::size_t reserved_bytes = 0;  // by buffers that exist
  std::size_t peak_reserved_bytes = 0;
  std::size_t critical_reserve_bytes = 0;
  std::size_t pinned_limit_bytes = 0;
  std::size_t pinned_leased_bytes = 0;
};

struct QueueStatus {
  ProofKind kind = ProofKind::kPorep;
  std::size_t pending = 0;      // accepted, no partition begun
  std::size_t in_progress = 0;  // accepted, begun, not answered
};

struct JournalStatus {
  bool configured = false;
  bool writable = false;
  std::string problem;
  std::uint64_t errors = 0;
  std::uint64_t recovered_jobs = 0;  // taken up at the start
};

struct Problem {
  std::string subject;  // "journal", a file, a device
  std::string message;
};

struct ServiceStatus {
  std::int64_t uptime_us = 0;
  bool ready = false;
  bool draining = false;
  MemoryStatus memory;
  std::vector<QueueStatus> queues;
  std::vector<JobStatus> jobs;    // unfinished, in their order of submission
  std::vector<JobStatus> recent;  // finished, newest first, some dozens
  std::vector<WorkerStatus> workers;
  std::vector<DeviceStatus> devices;
  std::vector<CircuitStatus> circuits;
  std::vector<CircomCircuitStatus> circom;  // those that are known
  JournalStatus journal;
  std::vector<Problem> problems;
  std::uint64_t accepted = 0;  // == answered + queued + running, always
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
};

// Cumulative counts in buckets with upper bounds kBounds (seconds), the last one unbounded.
struct Histogram {
  static constexpr std::array<double, 18> kBounds = {
      0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 600, 1800, 3600};
  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // not cumulative: one bucket each
  std::uint64_t count = 0;
  double sum_seconds = 0;
  void add(double seconds);
};

struct KindMetrics {
  std::uint64_t accepted = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t partitions = 0;             // verified
  std::map<std::string, Histogram> phases;  // "queue_wait", "parse", ..., "total": of JobTimings
  std::uint64_t deadline_misses = 0;
};

// Of one circom circuit. Beyond so many ids all others are "other".
struct CircomMetrics {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  double seconds = 0;  // of the completed, from acceptance to the answer
};

// Counters since the start; they never decrease.
struct ServiceMetrics {
  std::map<ProofKind, KindMetrics> kinds;
  std::map<std::string, CircomMetrics> circom;  // by id
  std::map<Priority, std::size_t> queued;       // unfinished, by priority
  std::uint64_t attached = 0;                   // submissions that joined a run in flight
  std::uint64_t answered_again = 0;             // submissions answered from a kept result
  std::uint64_t refused = 0;                    // submissions that were not accepted
  std::uint64_t key_loads = 0;
  std::uint64_t key_evictions = 0;
  std::uint64_t retried_partitions = 0;
  std::uint64_t journal_errors = 0;
  ServiceStatus status;  // of the same moment
};

enum class EventType {
  kAccepted,
  kParsed,
  kPartition,  // changed its state
  kFinished,   // completed, failed or cancelled
  kCircuit,    // loaded or evicted
  kDevice,     // fault, quarantine
  kProblem,
};
std::string_view event_type_name(EventType type);

struct Event {
  std::uint64_t sequence = 0;
  std::int64_t at_us = 0;
  EventType type = EventType::kAccepted;
  std::string job_id;
  std::uint64_t run = 0;
  std::optional<ProofKind> kind;
  std::size_t partition = 0;
  std::size_t partitions = 0;
  std::size_t partitions_done = 0;
  std::string state;   // of the partition or the job
  std::string detail;  // device, circuit, error text
};

// A stretch of one worker's or one waiting partition's time: what the timeline draws.
struct SpanEvent {
  std::string lane;  // "synthesis 0", "cpu 0", "finish 1", "memory", ...
  std::string name;  // "synthesize", "memory_wait", "h_msm", ...
  std::string job_id;
  std::uint64_t run = 0;
  std::size_t partition = 0;
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;
  std::uint64_t sequence = 0;  // ascending in the order in which spans were told
};

// Spans that were told after a given one, in that order. What a stage measured inside is told when
// all of it is known: later than spans that ended later, so a time is no place to go on from.
struct SpanList {
  std::vector<SpanEvent> spans;
  std::uint64_t last = 0;  // the sequence of the newest span there is: ask from here the next time
};

}  // namespace cuzk::engine
