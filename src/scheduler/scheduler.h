#pragma once
// Who goes next: a state machine for admission, memory, keys, devices and their queues.
//
// It knows footprints, not proofs. It has no clock, no lock and no thread: the engine calls it
// under a lock of its own, so a seed replays a whole day of a daemon in a test. Workers pull: each
// next_* call picks, of everything that waits at that point, what goes next, and takes its leases;
// the matching call afterwards says what became of it.
//
//   submit -> next_parse .. parsed -> next_load .. measured, loaded -> next_synthesis ..
//   synthesized -> next_prove .. started -> next_finish .. finished -> take_ended
//
// Order at every point: CRITICAL, HIGH, NORMAL, LOW; within a class the earliest deadline; then
// jobs already begun; then the client that was served least; then the order of arrival. A job that
// later arrivals overtook `aging_limit` times rises one class, at most to HIGH, and at last goes
// before everything but CRITICAL: nothing starves but behind CRITICAL work.
//
// Memory: what is held never exceeds the limit:
//     circuits in memory + witnesses + max(what proves hold, the largest prove of those admitted)
//   (a circuit that is being measured counts with what that may take).
//   A partition is admitted to synthesis only when its witness fits beside room for the largest
//   prove among those admitted; so whoever is admitted can always end, one after the other if need
//   be, and no two can wait for each other. Work that is not CRITICAL leaves the reserve free. Idle
//   circuits leave, least recently used first, when their room is wanted; one in use never does.
//   Who does not fit may be overtaken by those that do at most batch_limit times (so work on keys
//   in memory is batched); from then on what it needs is kept free for it. CRITICAL: from the
//   start. A job that could not be admitted to an idle machine is ended with the size it needs.
//
// Errors:  wrong calls (a task that was not given out) are broken invariants (base/check.h).
// Threads: one at a time.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cuzk::scheduler {

enum class Priority : std::uint8_t { kCritical = 0, kHigh = 1, kNormal = 2, kLow = 3 };
inline constexpr std::size_t kPriorities = 4;

using JobId = std::uint64_t;
using CircuitId = std::uint32_t;
using DeviceId = std::uint32_t;
inline constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

// Of one partition while it is proved on a device.
struct ProveCost {
  std::size_t host_bytes = 0;
  std::size_t pinned_bytes = 0;
  std::size_t device_bytes = 0;
  bool possible = true;  // false: never on this device
};

struct CircuitCost {
  std::size_t resident_bytes = 0;   // key and rows, while loaded
  std::size_t synthesis_bytes = 0;  // of a partition while it is synthesized
  std::size_t witness_bytes = 0;    // from then on until its proof is verified; at most the above
  std::vector<ProveCost> prove;     // on each device
};

struct DeviceSpec {
  bool fallback = false;         // only when every other device failed, or there is no other
  std::size_t memory_bytes = 0;  // of its own; 0: not limited here
  unsigned at_once = 0;          // partitions between start and their end on it; 0: not limited
  // Beyond both, for CRITICAL work alone: what others cannot have taken.
  std::size_t critical_bytes = 0;
  unsigned critical_at_once = 0;
};

struct Limits {
  std::size_t memory_bytes = 0;            // for everything but parsed requests
  std::size_t critical_reserve_bytes = 0;  // of those
  std::size_t pinned_bytes = 0;            // 0: not limited
  std::size_t parse_bytes = 0;             // for parsed requests; a quarter is CRITICAL's
  // Jobs not ended, of CRITICAL ones and of the others: neither can keep the other out.
  std::size_t queued_jobs = 4096;
  std::size_t jobs_per_client = 0;  // likewise; 0: not limited
  // Jobs parsed and not begun, of the same class or above; and one of each client that has none.
  unsigned parse_ahead = 2;
  unsigned synthesis_ahead =
      2;  // partitions in synthesis or behind it and before a prove, likewise
  unsigned quarantine_after = 3;
  unsigned batch_limit = 8;
  unsigned aging_limit = 256;
};

struct JobSpec {
  std::string client;
  Priority priority = Priority::kNormal;
  std::int64_t deadline = kNoDeadline;  // any unit, smaller is earlier
  std::size_t parse_bytes = 0;          // of the request and its parsed form
};

// One partition at one stage.
struct Task {
  JobId job = 0;
  std::uint32_t partition = 0;
  CircuitId circuit = 0;
  DeviceId device = 0;  // of prove and finish tasks
  bool critical = false;
  friend bool operator==(const Task&, const Task&) = default;
};

enum class LoadAction { kMeasure, kLoad, kEvict };
struct LoadTask {
  LoadAction action = LoadAction::kMeasure;
  CircuitId circuit = 0;
};

enum class Outcome {
  kVerified,
  kInvalidProof,  // the self-check failed: another try, and a mark against the device
  kDeviceFault,   // the device is quarantined at once; another try elsewhere
  kNoMemory,      // the budget was short after all: another try with no other prove beside it
  kJobError,      // nobody could prove this: the job ends
};

enum class Refusal { kNone, kQueueFull, kClientFull, kTooLarge };
struct Submission {
  Refusal refusal = Refusal::kNone;
  std::size_t needed_bytes = 0;  // of kTooLarge
  std::size_t limit_bytes = 0;
  std::size_t ahead = 0;  // jobs not ended that go before
};

enum class EndReason { kDone, kCancelled, kFailed, kDoesNotFit, kNoDevice };
struct Ended {
  JobId job = 0;
  EndReason reason = EndReason::kDone;
  std::size_t needed_bytes = 0;  // of kDoesNotFit, and the limit that it exceeds
  std::size_t limit_bytes = 0;
};

enum class WaitReason { kNone, kTurn, kParameters, kMemory, kDevice };

struct Counts {
  std::size_t accepted = 0;
  std::size_t ended = 0;
  std::size_t queued = 0;   // no partition begun
  std::size_t running = 0;  // begun, not ended
};

struct DeviceState {
  bool quarantined = false;
  std::size_t leased_bytes = 0;
  std::uint64_t verified = 0;
  std::uint64_t invalid = 0;
  std::uint64_t faults = 0;
};

enum class Residency { kUnknown, kMeasuring, kCold, kLoading, kHot, kEvicting, kFailed };
struct CircuitState {
  std::string name;
  Residency residency = Residency::kUnknown;
  std::size_t bytes = 0;   // as leased now
  std::size_t in_use = 0;  // partitions
  bool pinned = false;
};

class Scheduler {
 public:
  Scheduler(const Limits& limits, std::vector<DeviceSpec> devices);
  ~Scheduler();

  // Whether submit would take it now.
  Submission refusal(const JobSpec& spec) const;
  Submission submit(JobId job, const JobSpec& spec);
  // True when it had not ended. It ends when its partitions in flight have come back.
  bool cancel(JobId job);
  // The same after an error that a stage met.
  void fail(JobId job);

  // `critical_only`: for workers that are kept free for CRITICAL work.
  std::optional<JobId> next_parse(bool critical_only = false);
  void parsed(JobId job, const std::string& circuit, std::uint32_t partitions);
  // The parsed form is gone (all partitions are synthesized): done by itself; and for failed parses
  // by fail().

  // What measuring the circuit takes at most, for its compilation: leased while that lasts, before
  // the circuit's own sizes are known. 0 until it is told.
  void expect(const std::string& circuit, std::size_t measure_bytes);
  std::optional<LoadTask> next_load(bool critical_only = false);
  void measured(CircuitId circuit, const CircuitCost& cost);
  void loaded(CircuitId circuit);
  void evicted(CircuitId circuit);
  // Measuring or loading failed: the jobs that wait for it end; the next job tries again.
  void load_failed(CircuitId circuit);

  std::optional<Task> next_synthesis(bool critical_only = false);
  void synthesized(const Task& task, bool ok);  // not ok: the caller also calls fail or cancel

  std::optional<Task> next_prove(DeviceId device);
  // All of the device's work is queued: the partition goes on to finish, the leases stay.
  void started(const Task& task);
  // Instead of started, with anything but kVerified.
  void start_failed(const Task& task, Outcome outcome);

  std::optional<Task> next_finish(bool critical_only = false);
  void finished(const Task& task, Outcome outcome);

  // Jobs that ended since the last call.
  std::vector<Ended> take_ended();

  // A circuit that shall be loaded without a job; pinned: and stay.
  CircuitId want(const std::string& circuit, bool pinned);
  // kDoesNotFit with the size when it can never be loaded.
  std::optional<Ended> refused_want(CircuitId circuit) const;
  void unwant(CircuitId circuit);
  // True when it is loaded and idle and now leaves.
  bool evict(CircuitId circuit);
  void release_quarantine(DeviceId device);

  Counts counts() const;
  std::size_t leased_bytes() const;
  std::size_t pinned_leased_bytes() const;
  std::size_t parse_leased_bytes() const;
  DeviceState device(DeviceId device) const;
  CircuitState circuit(CircuitId circuit) const;
  std::size_t circuits() const;
  std::optional<CircuitId> find_circuit(const std::string& name) const;
  WaitReason waits_for(JobId job) const;
  std::vector<std::size_t> queued_by_priority() const;  // not ended
  // Recomputes every sum and checks every invariant of this comment.
  void check() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuzk::scheduler
