// What the scheduler tells about itself, and the check of its invariants.

#include <algorithm>

#include "base/check.h"
#include "scheduler/state.h"

namespace cuzk::scheduler {

using internal::JobStage;

Counts Scheduler::counts() const {
  Counts out;
  out.accepted = impl_->accepted_count;
  out.ended = impl_->ended_count;
  for (const auto& [id, job] : impl_->jobs) ++(job->begun ? out.running : out.queued);
  return out;
}

std::size_t Scheduler::leased_bytes() const { return impl_->memory.held(); }
std::size_t Scheduler::pinned_leased_bytes() const { return impl_->pinned_leased.value(); }
std::size_t Scheduler::parse_leased_bytes() const { return impl_->parse_leased.value(); }

DeviceState Scheduler::device(DeviceId id) const {
  const Impl::Device& d = impl_->devices[id];
  return {d.quarantined, d.leased.value(), d.verified, d.invalid, d.faults};
}

CircuitState Scheduler::circuit(CircuitId id) const {
  const Impl::Circuit& c = impl_->circuits[id];
  return {c.name, c.residency, c.in_memory() ? c.cost.resident_bytes : 0, c.in_use, c.pinned};
}

std::size_t Scheduler::circuits() const { return impl_->circuits.size(); }

std::optional<CircuitId> Scheduler::find_circuit(const std::string& name) const {
  for (CircuitId id = 0; id < impl_->circuits.size(); ++id) {
    if (impl_->circuits[id].name == name) return id;
  }
  return std::nullopt;
}

WaitReason Scheduler::waits_for(JobId id) const {
  const auto it = impl_->jobs.find(id);
  if (it == impl_->jobs.end()) return WaitReason::kNone;
  const Impl::Job& job = *it->second;
  if (job.stage == JobStage::kQueued) return WaitReason::kTurn;
  if (job.stage == JobStage::kParsing) return WaitReason::kNone;
  for (const Impl::Partition& p : job.partitions) {
    if (p.stage == Impl::Stage::kSynthesizing || p.stage == Impl::Stage::kProving ||
        p.stage == Impl::Stage::kFinishing) {
      return WaitReason::kNone;
    }
  }
  for (const Impl::Partition& p : job.partitions) {
    if (p.stage == Impl::Stage::kSynthesized) return WaitReason::kDevice;
  }
  if (!job.has_pending()) return WaitReason::kNone;
  const Impl::Circuit& c = impl_->circuits[job.circuit];
  if (c.residency == Residency::kMeasuring || c.residency == Residency::kLoading ||
      c.residency == Residency::kUnknown) {
    return WaitReason::kParameters;
  }
  const bool fits =
      impl_->memory.held_with(impl_->demand(job)) <= impl_->memory.limit(job.critical());
  if (!fits) return WaitReason::kMemory;
  return c.residency == Residency::kHot ? WaitReason::kTurn : WaitReason::kParameters;
}

std::vector<std::size_t> Scheduler::queued_by_priority() const {
  std::vector<std::size_t> out(kPriorities);
  for (const auto& [id, job] : impl_->jobs) {
    ++out[static_cast<std::size_t>(job->spec.priority)];
  }
  return out;
}

namespace {

// The sums again, from what every job and circuit holds.
struct Recount {
  std::size_t parse = 0, witnesses = 0, proves = 0, pinned = 0, circuits = 0, admitted = 0;
  std::size_t floor = 0;
  std::vector<std::size_t> device, in_use;
};

}  // namespace

void Scheduler::check() const {
  using Stage = internal::Stage;
  const Impl& s = *impl_;
  Recount sum;
  sum.device.resize(s.devices.size());
  sum.in_use.resize(s.circuits.size());
  for (const auto& [id, job] : s.jobs) {
    const bool is_active = job->stage == JobStage::kActive;
    CUZK_CHECK(s.active.contains(job->sequence) == is_active);
    CUZK_CHECK(s.queue.contains(job->sequence) == !is_active);
    if (job->holds_parse) sum.parse += job->spec.parse_bytes;
    std::size_t in_flight = 0, verified = 0;
    for (std::uint32_t i = 0; i < job->partitions.size(); ++i) {
      const Impl::Partition& p = job->partitions[i];
      CUZK_CHECK((p.stage == Stage::kPending) == (i >= job->next_pending));
      const bool admitted = p.stage != Stage::kPending && p.stage != Stage::kDone;
      CUZK_CHECK(admitted || (!p.leased && p.witness_bytes == 0));
      verified += p.stage == Stage::kDone;
      if (!admitted) continue;
      ++in_flight;
      const Impl::Circuit& c = s.circuits[job->circuit];
      CUZK_CHECK(c.residency == Residency::kHot);
      ++sum.in_use[job->circuit];
      sum.witnesses += p.witness_bytes;
      sum.floor = std::max(sum.floor, c.prove_floor);
      if (!p.leased) continue;
      const ProveCost& cost = c.cost.prove[p.device];
      sum.proves += cost.host_bytes;
      sum.pinned += cost.pinned_bytes;
      sum.device[p.device] += cost.device_bytes;
    }
    CUZK_CHECK(in_flight == job->in_flight && (job->stopping || verified == job->verified));
    sum.admitted += in_flight;
  }
  for (CircuitId id = 0; id < s.circuits.size(); ++id) {
    const Impl::Circuit& c = s.circuits[id];
    CUZK_CHECK(c.in_use == sum.in_use[id]);
    if (c.in_memory()) sum.circuits += c.cost.resident_bytes;
    if (c.residency == Residency::kMeasuring) sum.circuits += c.measure_bytes;
  }
  CUZK_CHECK(sum.parse == s.parse_leased.value() && sum.parse <= s.limits.parse_bytes);
  CUZK_CHECK(sum.witnesses == s.memory.witnesses.value());
  CUZK_CHECK(sum.proves == s.memory.proves.value());
  CUZK_CHECK(sum.circuits == s.memory.circuits.value());
  CUZK_CHECK(sum.admitted == s.memory.admitted() && sum.floor == s.memory.floor());
  CUZK_CHECK(s.memory.held() <= s.limits.memory_bytes);
  CUZK_CHECK(sum.pinned == s.pinned_leased.value());
  CUZK_CHECK(!s.limits.pinned_bytes || sum.pinned <= s.limits.pinned_bytes);
  for (DeviceId d = 0; d < s.devices.size(); ++d) {
    const Impl::Device& device = s.devices[d];
    CUZK_CHECK(sum.device[d] == device.leased.value());
    CUZK_CHECK(!device.spec.memory_bytes ||
               sum.device[d] <= device.spec.memory_bytes + device.spec.critical_bytes);
  }
  std::size_t criticals = 0;
  for (const auto& [id, job] : s.jobs) criticals += job->critical();
  CUZK_CHECK(criticals == s.critical_count);
  CUZK_CHECK(criticals <= s.limits.queued_jobs);
  CUZK_CHECK(s.jobs.size() - criticals <= s.limits.queued_jobs);
  const Counts c = counts();
  CUZK_CHECK(c.accepted == c.ended + c.queued + c.running);
  CUZK_CHECK(s.ended_count >= s.ended.size());
}

}  // namespace cuzk::scheduler
