#pragma once
// What the scheduler remembers of jobs, circuits and devices, and how it decides: scheduler.cc has
// the events, admission.cc the choices.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "scheduler/ledger.h"
#include "scheduler/scheduler.h"

namespace cuzk::scheduler::internal {

enum class Stage {
  kPending,       // not admitted
  kSynthesizing,  // at a synthesis worker
  kSynthesized,   // waits for a device
  kProving,       // at a prove worker
  kProved,        // waits for a finish worker (or, when the job stops, to be dropped by one)
  kFinishing,     // at a finish worker
  kDone,
};

struct Partition {
  Stage stage = Stage::kPending;
  DeviceId device = 0;             // of the last prove
  bool leased = false;             // holds the prove's leases on `device`
  bool alone = false;              // proved only with no other prove beside it
  std::size_t witness_bytes = 0;   // leased now
  std::vector<unsigned> failures;  // on each device; empty: none
  DeviceId first_failed = 0;

  bool failed_before() const { return !failures.empty(); }
};

enum class JobStage { kQueued, kParsing, kActive };

struct Job {
  JobId id = 0;
  JobSpec spec;
  std::uint64_t sequence = 0;
  JobStage stage = JobStage::kQueued;
  CircuitId circuit = 0;
  std::vector<Partition> partitions;
  std::uint32_t next_pending = 0;
  std::uint32_t in_flight = 0;  // neither pending nor done
  std::uint32_t unsynthesized = 0;
  std::uint32_t verified = 0;
  bool begun = false;
  bool holds_parse = false;
  bool stopping = false;
  EndReason end_reason = EndReason::kDone;
  std::size_t needed_bytes = 0;
  std::size_t limit_bytes = 0;
  unsigned overtaken = 0;  // by non-critical jobs that came later
  unsigned bypassed = 0;   // since its last admission, by jobs that rank lower

  bool critical() const { return spec.priority == Priority::kCritical; }
  bool has_pending() const {
    return stage == JobStage::kActive && !stopping && next_pending < partitions.size();
  }
};

// Smaller goes first. Group: CRITICAL, aged out, HIGH, NORMAL, LOW.
struct Rank {
  int group = 0;
  std::int64_t deadline = kNoDeadline;
  int not_begun = 0;
  std::uint64_t served = 0;
  std::uint64_t sequence = 0;
  auto tie() const { return std::tie(group, deadline, not_begun, served, sequence); }
  friend bool operator<(const Rank& a, const Rank& b) { return a.tie() < b.tie(); }
};

struct Circuit {
  std::string name;
  Residency residency = Residency::kUnknown;
  CircuitCost cost;
  bool measured = false;
  std::size_t measure_bytes = 0;  // leased while it is measured
  std::size_t prove_floor = 0;    // the largest host share of a prove on a possible device
  std::vector<bool> possible;     // devices whose memory suffices
  std::size_t in_use = 0;         // admitted partitions
  bool wanted = false;            // without a job
  bool pinned = false;
  bool evict_given_out = false;
  std::uint64_t last_use = 0;

  bool in_memory() const {
    return residency == Residency::kLoading || residency == Residency::kHot ||
           residency == Residency::kEvicting;
  }
};

struct Device {
  DeviceSpec spec;
  bool quarantined = false;
  Sum leased;
  Sum running;  // partitions that hold a lease
  std::uint64_t verified = 0;
  std::uint64_t invalid = 0;
  std::uint64_t faults = 0;
  unsigned marks = 0;  // wrong proofs held against it; a thousand good ones clear one
  std::optional<CircuitId> last_circuit;
  unsigned batch = 0;  // times in a row that its last circuit was preferred

  void note_verified() {
    if (++verified % 1000 == 0 && marks > 0) --marks;
  }
};

struct Client {
  std::uint64_t served = 0;  // partitions begun, in virtual time
  std::size_t jobs = 0;      // not ended
  std::size_t critical = 0;  // of those
};

}  // namespace cuzk::scheduler::internal

namespace cuzk::scheduler {

struct Scheduler::Impl {
  using Job = internal::Job;
  using Partition = internal::Partition;
  using Circuit = internal::Circuit;
  using Device = internal::Device;
  using Stage = internal::Stage;
  using Rank = internal::Rank;

  Impl(const Limits& limits_in, std::vector<DeviceSpec> specs);

  // admission.cc: order and fit.
  Rank rank(const Job& job) const;
  std::vector<Job*> ranked(bool pending_only);
  unsigned rank_class(const Job& job) const;
  bool strict(const Job& job) const;
  Demand demand(const Job& job) const;
  // Ends the job when even an idle machine could not admit it.
  bool ended_as_unfit(Job& job);
  // The lease is taken when there is room, or room is made. Ends the job, or gives the wish up,
  // when an idle machine could not do it.
  bool start_measure(Circuit& circuit, Job* job, const std::vector<CircuitId>& keep);
  std::size_t pinned_beside(CircuitId circuit) const;
  std::vector<DeviceId> eligible(const Circuit& circuit, const Partition& partition) const;
  bool someone_eligible(const Circuit& circuit) const;
  // Has idle circuits leave until `missing` bytes are on their way, if so many can be had. Spares
  // `keep`; pinned ones only leave as a last resort.
  bool make_room(std::size_t missing, const std::vector<CircuitId>& keep, bool last_resort);
  std::size_t ahead_of_prove(unsigned job_class) const;
  std::size_t parsed_ahead(unsigned job_class) const;
  std::set<std::string_view> clients_parsed() const;
  bool prove_fits(const Job& job, const Partition& p, const ProveCost& cost, const Device& d) const;

  // scheduler.cc: what happens to jobs.
  Job& job(JobId id);
  Partition& at(const Task& task, Stage stage);
  Task task_of(const Job& job, std::uint32_t partition) const;
  void admit(Job& job);
  void note_overtaken(const Job& by);
  void stop(Job& job, EndReason reason, std::size_t needed = 0, std::size_t limit = 0);
  void end_if_over(Job& job);
  void release_parse(Job& job);
  void release_prove(Job& job, Partition& p);
  void release_admission(Job& job, Partition& p);
  void retry(Job& job, Partition& p, Outcome outcome);
  void quarantine(DeviceId id);
  void stop_without_device();
  void start_load(Circuit& circuit);
  CircuitId circuit_id(const std::string& name);

  Limits limits;
  Ledger memory;
  std::size_t parse_pool_nc = 0;  // of limits.parse_bytes, for work that is not CRITICAL
  Sum parse_leased;
  Sum pinned_leased;
  Sum proves_running;
  std::map<JobId, std::unique_ptr<Job>> jobs;
  std::map<std::uint64_t, Job*> queue;   // not parsed, by arrival
  std::map<std::uint64_t, Job*> active;  // parsed, by arrival
  std::set<Job*> parsing;                // of the queue, at a parser
  std::vector<Circuit> circuits;
  std::vector<Device> devices;
  std::map<std::string, internal::Client> clients;
  std::vector<Ended> ended;
  std::uint64_t next_sequence = 1;
  std::uint64_t use_counter = 0;
  std::uint64_t virtual_time = 0;
  std::size_t critical_count = 0;  // of `jobs`
  std::size_t accepted_count = 0;
  std::size_t ended_count = 0;
};

}  // namespace cuzk::scheduler
