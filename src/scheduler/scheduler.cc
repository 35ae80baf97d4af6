// The scheduler's events: what happens to jobs, partitions, circuits and devices.

#include "scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "scheduler/state.h"

namespace cuzk::scheduler {

using internal::JobStage;

Scheduler::Impl::Impl(const Limits& limits_in, std::vector<DeviceSpec> specs)
    : limits(limits_in), memory(limits_in.memory_bytes, limits_in.critical_reserve_bytes) {
  parse_pool_nc = limits.parse_bytes - limits.parse_bytes / 4;
  limits.aging_limit = std::max(1u, limits.aging_limit);
  limits.parse_ahead = std::max(1u, limits.parse_ahead);
  limits.synthesis_ahead = std::max(1u, limits.synthesis_ahead);
  for (const DeviceSpec& spec : specs) {
    Device device;
    device.spec = spec;
    devices.push_back(device);
  }
}

internal::Job& Scheduler::Impl::job(JobId id) {
  const auto it = jobs.find(id);
  CUZK_CHECK(it != jobs.end());
  return *it->second;
}

internal::Partition& Scheduler::Impl::at(const Task& task, Stage stage) {
  Job& j = job(task.job);
  CUZK_CHECK(task.partition < j.partitions.size());
  Partition& p = j.partitions[task.partition];
  CUZK_CHECK(p.stage == stage);
  return p;
}

Task Scheduler::Impl::task_of(const Job& j, std::uint32_t partition) const {
  return {j.id, partition, j.circuit, j.partitions[partition].device, j.critical()};
}

CircuitId Scheduler::Impl::circuit_id(const std::string& name) {
  for (CircuitId id = 0; id < circuits.size(); ++id) {
    if (circuits[id].name == name) return id;
  }
  circuits.emplace_back();
  circuits.back().name = name;
  return static_cast<CircuitId>(circuits.size() - 1);
}

// The next pending partition goes to synthesis.
void Scheduler::Impl::admit(Job& j) {
  Circuit& c = circuits[j.circuit];
  Partition& p = j.partitions[j.next_pending++];
  p.stage = Stage::kSynthesizing;
  p.witness_bytes = c.cost.synthesis_bytes;
  memory.witnesses.add(p.witness_bytes);
  memory.admit_floor(c.prove_floor);
  ++c.in_use;
  c.last_use = ++use_counter;
  ++j.in_flight;
  j.bypassed = 0;
  if (!j.begun) {
    j.begun = true;
    // Start-time fair queueing (Goyal, Vin, Cheng 1996): a client is charged when its job begins.
    internal::Client& client = clients[j.spec.client];
    virtual_time = std::max(virtual_time, client.served);
    client.served += j.partitions.size();
  }
}

// Jobs that came before `by` and still wait were overtaken once more.
void Scheduler::Impl::note_overtaken(const Job& by) {
  if (by.critical()) return;
  for (auto* list : {&queue, &active}) {
    for (auto& [sequence, j] : *list) {
      if (sequence >= by.sequence) break;
      if (list == &queue || j->has_pending()) ++j->overtaken;
    }
  }
}

void Scheduler::Impl::release_parse(Job& j) {
  if (j.holds_parse) parse_leased.subtract(j.spec.parse_bytes);
  j.holds_parse = false;
}

void Scheduler::Impl::release_prove(Job& j, Partition& p) {
  if (!p.leased) return;
  const ProveCost& cost = circuits[j.circuit].cost.prove[p.device];
  memory.proves.subtract(cost.host_bytes);
  pinned_leased.subtract(cost.pinned_bytes);
  devices[p.device].leased.subtract(cost.device_bytes);
  devices[p.device].running.subtract(1);
  proves_running.subtract(1);
  p.leased = false;
}

// Everything that the admission took; the partition is done, whatever became of it.
void Scheduler::Impl::release_admission(Job& j, Partition& p) {
  release_prove(j, p);
  Circuit& c = circuits[j.circuit];
  memory.witnesses.subtract(p.witness_bytes);
  p.witness_bytes = 0;
  memory.drop_floor(c.prove_floor);
  CUZK_CHECK(c.in_use > 0 && j.in_flight > 0);
  --c.in_use;
  --j.in_flight;
  c.last_use = ++use_counter;
  p.stage = Stage::kDone;
}

// No new work of the job; what waits between stages goes to the finishers to be dropped.
void Scheduler::Impl::stop(Job& j, EndReason reason, std::size_t needed, std::size_t limit) {
  if (!j.stopping) {
    j.stopping = true;
    j.end_reason = reason;
    j.needed_bytes = needed;
    j.limit_bytes = limit;
    for (Partition& p : j.partitions) {
      if (p.stage == Stage::kSynthesized) p.stage = Stage::kProved;
    }
  }
  end_if_over(j);
}

void Scheduler::Impl::end_if_over(Job& j) {
  const bool over = j.stopping ? j.in_flight == 0 && j.stage != JobStage::kParsing
                               : j.stage == JobStage::kActive && j.verified == j.partitions.size();
  if (!over) return;
  release_parse(j);
  const auto client = clients.find(j.spec.client);
  CUZK_CHECK(client != clients.end() && client->second.jobs > 0);
  client->second.critical -= j.critical();
  critical_count -= j.critical();
  if (--client->second.jobs == 0) clients.erase(client);
  ended.push_back(
      {j.id, j.stopping ? j.end_reason : EndReason::kDone, j.needed_bytes, j.limit_bytes});
  ++ended_count;
  queue.erase(j.sequence);
  active.erase(j.sequence);
  jobs.erase(j.id);
}

void Scheduler::Impl::quarantine(DeviceId id) {
  if (devices[id].quarantined) return;
  devices[id].quarantined = true;
  stop_without_device();
}

// Ends the jobs that have a partition no device may prove any more.
void Scheduler::Impl::stop_without_device() {
  std::vector<JobId> lost;
  for (const auto& [sequence, j] : active) {
    for (const Partition& p : j->partitions) {
      if (p.stage == Stage::kSynthesized && eligible(circuits[j->circuit], p).empty()) {
        lost.push_back(j->id);
        break;
      }
    }
  }
  for (const JobId id : lost) stop(job(id), EndReason::kNoDevice);
}

// The partition's proof came to nothing: back to the queue before the devices.
void Scheduler::Impl::retry(Job& j, Partition& p, Outcome outcome) {
  const DeviceId id = p.device;
  Device& device = devices[id];
  release_prove(j, p);
  if (j.stopping) {
    release_admission(j, p);
    return end_if_over(j);
  }
  p.stage = Stage::kSynthesized;
  if (outcome == Outcome::kNoMemory) {
    if (p.alone) {
      p.stage = Stage::kProved;
      return stop(j, EndReason::kFailed);
    }
    p.alone = true;
    // Every device may have been quarantined meanwhile.
    return stop_without_device();
  }
  if (!p.failed_before()) {
    p.failures.assign(devices.size(), 0);
    p.first_failed = id;
  }
  ++p.failures[id];
  if (outcome == Outcome::kDeviceFault) {
    ++device.faults;
    quarantine(id);
  } else {
    ++device.invalid;
    if (++device.marks >= limits.quarantine_after) quarantine(id);
  }
  stop_without_device();
}

void Scheduler::Impl::start_load(Circuit& c) {
  c.residency = Residency::kLoading;
  memory.circuits.add(c.cost.resident_bytes);
}

Scheduler::Scheduler(const Limits& limits, std::vector<DeviceSpec> devices)
    : impl_(std::make_unique<Impl>(limits, std::move(devices))) {}
Scheduler::~Scheduler() = default;

Submission Scheduler::refusal(const JobSpec& spec) const {
  const Impl& s = *impl_;
  const bool critical = spec.priority == Priority::kCritical;
  const std::size_t parse_limit = critical ? s.limits.parse_bytes : s.parse_pool_nc;
  if (spec.parse_bytes > parse_limit) {
    return {Refusal::kTooLarge, spec.parse_bytes, parse_limit, 0};
  }
  const auto alike = [critical](std::size_t all, std::size_t criticals) {
    return critical ? criticals : all - criticals;
  };
  const std::size_t queued = alike(s.jobs.size(), s.critical_count);
  if (queued >= s.limits.queued_jobs) return {Refusal::kQueueFull, 0, queued, 0};
  const auto known = s.clients.find(spec.client);
  if (s.limits.jobs_per_client && known != s.clients.end()) {
    const std::size_t own = alike(known->second.jobs, known->second.critical);
    if (own >= s.limits.jobs_per_client) return {Refusal::kClientFull, 0, own, 0};
  }
  return {};
}

Submission Scheduler::submit(JobId id, const JobSpec& spec) {
  Impl& s = *impl_;
  CUZK_CHECK(!s.jobs.contains(id));
  if (const Submission no = refusal(spec); no.refusal != Refusal::kNone) return no;
  internal::Client& client = s.clients[spec.client];
  if (client.jobs == 0) client.served = std::max(client.served, s.virtual_time);
  ++client.jobs;
  client.critical += spec.priority == Priority::kCritical;
  s.critical_count += spec.priority == Priority::kCritical;
  auto job = std::make_unique<Impl::Job>();
  job->id = id;
  job->spec = spec;
  job->sequence = s.next_sequence++;
  const internal::Rank own = s.rank(*job);
  Submission out;
  for (const auto& [other_id, other] : s.jobs) out.ahead += s.rank(*other) < own;
  s.queue.emplace(job->sequence, job.get());
  s.jobs.emplace(id, std::move(job));
  ++s.accepted_count;
  return out;
}

bool Scheduler::cancel(JobId id) {
  const auto it = impl_->jobs.find(id);
  if (it == impl_->jobs.end()) return false;
  impl_->stop(*it->second, EndReason::kCancelled);
  return true;
}

void Scheduler::fail(JobId id) {
  const auto it = impl_->jobs.find(id);
  if (it == impl_->jobs.end()) return;
  Impl::Job& job = *it->second;
  // A parse that failed has no other way back.
  if (job.stage == JobStage::kParsing) job.stage = JobStage::kQueued;
  impl_->parsing.erase(&job);
  impl_->stop(job, EndReason::kFailed);
}

void Scheduler::parsed(JobId id, const std::string& circuit, std::uint32_t partitions) {
  Impl& s = *impl_;
  Impl::Job& job = s.job(id);
  CUZK_CHECK(job.stage == JobStage::kParsing);
  CUZK_CHECK(partitions > 0);
  job.stage = JobStage::kActive;
  s.parsing.erase(&job);
  job.circuit = s.circuit_id(circuit);
  job.partitions.resize(partitions);
  job.unsynthesized = partitions;
  s.queue.erase(job.sequence);
  s.active.emplace(job.sequence, &job);
  if (job.stopping) return s.end_if_over(job);
  if (s.circuits[job.circuit].measured) s.ended_as_unfit(job);
}

void Scheduler::expect(const std::string& circuit, std::size_t measure_bytes) {
  Impl::Circuit& c = impl_->circuits[impl_->circuit_id(circuit)];
  if (c.residency != Residency::kMeasuring) c.measure_bytes = measure_bytes;
}

void Scheduler::measured(CircuitId id, const CircuitCost& cost) {
  Impl& s = *impl_;
  Impl::Circuit& c = s.circuits[id];
  CUZK_CHECK(c.residency == Residency::kMeasuring);
  s.memory.circuits.subtract(c.measure_bytes);
  CUZK_CHECK(cost.prove.size() == s.devices.size() && cost.witness_bytes <= cost.synthesis_bytes);
  c.cost = cost;
  c.measured = true;
  c.residency = Residency::kCold;
  c.possible.assign(s.devices.size(), false);
  c.prove_floor = 0;
  for (DeviceId d = 0; d < s.devices.size(); ++d) {
    const std::size_t own = s.devices[d].spec.memory_bytes;
    c.possible[d] = cost.prove[d].possible && (!own || cost.prove[d].device_bytes <= own) &&
                    (!s.limits.pinned_bytes || cost.prove[d].pinned_bytes <= s.limits.pinned_bytes);
    if (c.possible[d]) c.prove_floor = std::max(c.prove_floor, cost.prove[d].host_bytes);
  }
}

void Scheduler::loaded(CircuitId id) {
  Impl::Circuit& c = impl_->circuits[id];
  CUZK_CHECK(c.residency == Residency::kLoading);
  c.residency = Residency::kHot;
  if (!c.pinned) c.wanted = false;
  c.last_use = ++impl_->use_counter;
}

void Scheduler::evicted(CircuitId id) {
  Impl::Circuit& c = impl_->circuits[id];
  CUZK_CHECK(c.residency == Residency::kEvicting && c.in_use == 0);
  c.residency = Residency::kCold;
  impl_->memory.circuits.subtract(c.cost.resident_bytes);
}

void Scheduler::load_failed(CircuitId id) {
  Impl& s = *impl_;
  Impl::Circuit& c = s.circuits[id];
  CUZK_CHECK(c.residency == Residency::kMeasuring || c.residency == Residency::kLoading);
  s.memory.circuits.subtract(c.residency == Residency::kLoading ? c.cost.resident_bytes
                                                                : c.measure_bytes);
  c.residency = Residency::kUnknown;
  c.measured = false;
  c.wanted = c.pinned = false;
  std::vector<JobId> waiting;
  for (const auto& [sequence, job] : s.active) {
    if (job->circuit == id && job->has_pending()) waiting.push_back(job->id);
  }
  for (const JobId job : waiting) s.stop(s.job(job), EndReason::kFailed);
}

void Scheduler::synthesized(const Task& task, bool ok) {
  Impl& s = *impl_;
  Impl::Partition& p = s.at(task, Impl::Stage::kSynthesizing);
  Impl::Job& job = s.job(task.job);
  const std::size_t keeps = s.circuits[job.circuit].cost.witness_bytes;
  if (!ok || job.stopping) {
    s.release_admission(job, p);
    return ok ? s.end_if_over(job) : s.stop(job, EndReason::kFailed);
  }
  s.memory.witnesses.subtract(p.witness_bytes - keeps);
  p.witness_bytes = keeps;
  p.stage = Impl::Stage::kSynthesized;
  if (--job.unsynthesized == 0) s.release_parse(job);
  if (s.eligible(s.circuits[job.circuit], p).empty()) s.stop(job, EndReason::kNoDevice);
}

void Scheduler::started(const Task& task) {
  impl_->at(task, Impl::Stage::kProving).stage = Impl::Stage::kProved;
}

void Scheduler::start_failed(const Task& task, Outcome outcome) {
  Impl& s = *impl_;
  Impl::Partition& p = s.at(task, Impl::Stage::kProving);
  p.stage = Impl::Stage::kFinishing;
  finished(task, outcome);
}

void Scheduler::finished(const Task& task, Outcome outcome) {
  Impl& s = *impl_;
  Impl::Partition& p = s.at(task, Impl::Stage::kFinishing);
  Impl::Job& job = s.job(task.job);
  switch (outcome) {
    case Outcome::kVerified:
      s.devices[p.device].note_verified();
      ++job.verified;
      s.release_admission(job, p);
      return s.end_if_over(job);
    case Outcome::kJobError:
      s.release_admission(job, p);
      return s.stop(job, EndReason::kFailed);
    case Outcome::kInvalidProof:
    case Outcome::kDeviceFault:
    case Outcome::kNoMemory:
      return s.retry(job, p, outcome);
  }
}

std::vector<Ended> Scheduler::take_ended() { return std::exchange(impl_->ended, {}); }

CircuitId Scheduler::want(const std::string& circuit, bool pinned) {
  const CircuitId id = impl_->circuit_id(circuit);
  Impl::Circuit& c = impl_->circuits[id];
  c.pinned |= pinned;
  c.wanted = pinned || c.residency != Residency::kHot;
  return id;
}

std::optional<Ended> Scheduler::refused_want(CircuitId id) const {
  const Impl& s = *impl_;
  const Impl::Circuit& c = s.circuits[id];
  const std::size_t needed =
      s.pinned_beside(id) + (c.measured ? c.cost.resident_bytes : c.measure_bytes);
  if (needed <= s.memory.limit(false)) return std::nullopt;
  return Ended{0, EndReason::kDoesNotFit, needed + s.memory.reserve(), s.limits.memory_bytes};
}

void Scheduler::unwant(CircuitId id) {
  impl_->circuits[id].wanted = impl_->circuits[id].pinned = false;
}

bool Scheduler::evict(CircuitId id) {
  Impl::Circuit& c = impl_->circuits[id];
  if (c.residency != Residency::kHot || c.in_use > 0) return false;
  c.residency = Residency::kEvicting;
  c.evict_given_out = false;
  c.wanted = c.pinned = false;
  return true;
}

void Scheduler::release_quarantine(DeviceId id) {
  impl_->devices[id].quarantined = false;
  impl_->devices[id].marks = 0;
}

}  // namespace cuzk::scheduler
