// The scheduler's choices: in which order, and what fits.

#include <algorithm>

#include "scheduler/state.h"

namespace cuzk::scheduler {

namespace {

constexpr int kAgedOutGroup = 1;

int class_after_aging(Priority priority, unsigned steps) {
  const int base = static_cast<int>(priority);
  const int highest = static_cast<int>(Priority::kHigh);
  return std::max(highest, base - static_cast<int>(std::min(steps, 3u)));
}

}  // namespace

internal::Rank Scheduler::Impl::rank(const Job& job) const {
  Rank out;
  out.sequence = job.sequence;
  if (!job.critical()) {
    const unsigned steps = job.overtaken / limits.aging_limit;
    const unsigned to_high = static_cast<unsigned>(job.spec.priority) - 1;
    if (steps > to_high) {
      out.group = kAgedOutGroup;
      return out;
    }
    out.group = 1 + class_after_aging(job.spec.priority, steps);
  }
  out.deadline = job.spec.deadline;
  out.not_begun = job.begun ? 0 : 1;
  const auto client = clients.find(job.spec.client);
  out.served = client == clients.end() ? 0 : client->second.served;
  return out;
}

unsigned Scheduler::Impl::rank_class(const Job& job) const {
  return static_cast<unsigned>(rank(job).group);
}

// Active jobs, the one that goes first first.
std::vector<internal::Job*> Scheduler::Impl::ranked(bool pending_only) {
  std::vector<std::pair<Rank, Job*>> order;
  for (const auto& [sequence, job] : active) {
    if (!pending_only || job->has_pending()) order.emplace_back(rank(*job), job);
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Job*> out;
  out.reserve(order.size());
  for (const auto& [r, job] : order) out.push_back(job);
  return out;
}

// Whether what the job needs is kept free for it.
bool Scheduler::Impl::strict(const Job& job) const {
  return job.critical() || job.bypassed >= limits.batch_limit || rank(job).group == kAgedOutGroup;
}

Demand Scheduler::Impl::demand(const Job& job) const {
  const Circuit& c = circuits[job.circuit];
  return {c.in_memory() ? 0 : c.cost.resident_bytes, c.cost.synthesis_bytes, c.prove_floor};
}

// What stays in memory for good beside this circuit.
std::size_t Scheduler::Impl::pinned_beside(CircuitId circuit) const {
  std::size_t out = 0;
  for (CircuitId id = 0; id < circuits.size(); ++id) {
    const Circuit& c = circuits[id];
    if (id != circuit && c.pinned && c.measured) out += c.cost.resident_bytes;
  }
  return out;
}

bool Scheduler::Impl::ended_as_unfit(Job& job) {
  const Circuit& c = circuits[job.circuit];
  if (!c.measured) return false;
  const std::size_t needed =
      pinned_beside(job.circuit) + c.cost.resident_bytes + c.cost.synthesis_bytes + c.prove_floor;
  const std::size_t limit = memory.limit(job.critical());
  if (needed > limit && job.in_flight == 0) {
    const std::size_t reserve = job.critical() ? 0 : memory.reserve();
    stop(job, EndReason::kDoesNotFit, needed + reserve, limits.memory_bytes);
    return true;
  }
  if (someone_eligible(c)) return false;
  // Some device is there and healthy, but none has the memory: name the smallest need.
  std::size_t least = 0, most = 0;
  bool healthy = false;
  for (DeviceId d = 0; d < devices.size(); ++d) {
    if (devices[d].quarantined) continue;
    healthy = true;
    const std::size_t bytes = c.cost.prove[d].device_bytes;
    least = least == 0 ? bytes : std::min(least, bytes);
    most = std::max(most, devices[d].spec.memory_bytes);
  }
  stop(job, healthy ? EndReason::kDoesNotFit : EndReason::kNoDevice, least, most);
  return true;
}

bool Scheduler::Impl::start_measure(Circuit& c, Job* job, const std::vector<CircuitId>& keep) {
  const bool critical = job && job->critical();
  const auto id = static_cast<CircuitId>(&c - circuits.data());
  const std::size_t limit = memory.limit(critical);
  const std::size_t needed = pinned_beside(id) + c.measure_bytes;
  if (needed > limit) {
    if (job) {
      stop(*job, EndReason::kDoesNotFit, needed + (critical ? 0 : memory.reserve()),
           limits.memory_bytes);
    }
    return false;
  }
  const std::size_t would_hold = memory.held_with({c.measure_bytes, 0, 0});
  if (would_hold > limit) {
    make_room(would_hold - limit, keep, false);
    return false;
  }
  memory.circuits.add(c.measure_bytes);
  c.residency = Residency::kMeasuring;
  return true;
}

bool Scheduler::Impl::someone_eligible(const Circuit& circuit) const {
  return !eligible(circuit, Partition{}).empty();
}

// The devices that may prove a partition now: after a failure the same one once more, then each
// other, then the fallback.
std::vector<DeviceId> Scheduler::Impl::eligible(const Circuit& circuit,
                                                const Partition& partition) const {
  const auto healthy = [&](DeviceId d) { return !devices[d].quarantined && circuit.possible[d]; };
  const auto failures = [&](DeviceId d) {
    return partition.failed_before() ? partition.failures[d] : 0u;
  };
  if (partition.failed_before()) {
    const DeviceId first = partition.first_failed;
    if (healthy(first) && failures(first) < 2) return {first};
  }
  for (const bool fallback : {false, true}) {
    std::vector<DeviceId> out;
    for (DeviceId d = 0; d < devices.size(); ++d) {
      if (devices[d].spec.fallback == fallback && healthy(d) && failures(d) == 0) out.push_back(d);
    }
    if (!out.empty()) return out;
  }
  return {};
}

bool Scheduler::Impl::make_room(std::size_t missing, const std::vector<CircuitId>& keep,
                                bool last_resort) {
  std::vector<std::pair<std::uint64_t, CircuitId>> idle;
  std::size_t leaving = 0, available = 0;
  for (CircuitId id = 0; id < circuits.size(); ++id) {
    const Circuit& c = circuits[id];
    if (c.residency == Residency::kEvicting) leaving += c.cost.resident_bytes;
    if (c.residency != Residency::kHot || c.in_use || (c.pinned && !last_resort)) continue;
    if (std::find(keep.begin(), keep.end(), id) != keep.end()) continue;
    // Pinned ones last.
    idle.emplace_back(c.last_use + (c.pinned ? use_counter + 1 : 0), id);
    available += c.cost.resident_bytes;
  }
  if (leaving >= missing) return true;
  if (leaving + available < missing) return false;
  std::sort(idle.begin(), idle.end());
  for (const auto& [used, id] : idle) {
    if (leaving >= missing) break;
    circuits[id].residency = Residency::kEvicting;
    circuits[id].evict_given_out = false;
    leaving += circuits[id].cost.resident_bytes;
  }
  return true;
}

std::size_t Scheduler::Impl::ahead_of_prove(unsigned job_class) const {
  std::size_t out = 0;
  for (const auto& [sequence, job] : active) {
    if (rank_class(*job) > job_class) continue;
    for (const Partition& p : job->partitions) {
      out += p.stage == Stage::kSynthesizing || p.stage == Stage::kSynthesized;
    }
  }
  return out;
}

// Jobs at a parser, or parsed and not begun, of that class or above.
std::size_t Scheduler::Impl::parsed_ahead(unsigned job_class) const {
  std::size_t out = 0;
  for (const auto& [sequence, job] : active) {
    out += job->has_pending() && !job->begun && rank_class(*job) <= job_class;
  }
  for (const Job* job : parsing) out += rank_class(*job) <= job_class;
  return out;
}

// Of jobs at a parser, or parsed and not begun.
std::set<std::string_view> Scheduler::Impl::clients_parsed() const {
  std::set<std::string_view> out;
  for (const auto& [sequence, job] : active) {
    if (job->has_pending() && !job->begun) out.insert(job->spec.client);
  }
  for (const Job* job : parsing) out.insert(job->spec.client);
  return out;
}

std::optional<JobId> Scheduler::next_parse(bool critical_only) {
  Impl& s = *impl_;
  // Ranking a long queue costs; most calls end here, when enough is parsed for what waits.
  Priority highest = Priority::kLow;
  for (const auto& [sequence, job] : s.queue) {
    if (job->stage == internal::JobStage::kQueued) highest = std::min(highest, job->spec.priority);
  }
  if (critical_only && highest != Priority::kCritical) return std::nullopt;
  const unsigned highest_class = 1 + static_cast<unsigned>(highest);
  const bool enough =
      highest != Priority::kCritical && s.parsed_ahead(highest_class) >= s.limits.parse_ahead;
  // But a client of whom none is parsed may be next: it does not wait for what others have parsed.
  const auto parsed = enough ? s.clients_parsed() : std::set<std::string_view>();
  Impl::Job* best = nullptr;
  internal::Rank best_rank;
  for (const auto& [sequence, job] : s.queue) {
    if (job->stage != internal::JobStage::kQueued || (critical_only && !job->critical())) continue;
    if (enough && parsed.contains(job->spec.client)) continue;
    const internal::Rank r = s.rank(*job);
    if (!best || r < best_rank) best = job, best_rank = r;
  }
  if (!best) return std::nullopt;
  const unsigned best_class = s.rank_class(*best);
  if (enough && best_class > highest_class) return std::nullopt;
  if (!enough && !best->critical() && s.parsed_ahead(best_class) >= s.limits.parse_ahead) {
    return std::nullopt;
  }
  const std::size_t limit = best->critical() ? s.limits.parse_bytes : s.parse_pool_nc;
  if (s.parse_leased.value() + best->spec.parse_bytes > limit) return std::nullopt;
  s.parse_leased.add(best->spec.parse_bytes);
  best->holds_parse = true;
  best->stage = internal::JobStage::kParsing;
  s.parsing.insert(best);
  return best->id;
}

std::optional<LoadTask> Scheduler::next_load(bool critical_only) {
  Impl& s = *impl_;
  const auto eviction = [&]() -> std::optional<LoadTask> {
    for (CircuitId id = 0; id < s.circuits.size(); ++id) {
      Impl::Circuit& c = s.circuits[id];
      if (c.residency != Residency::kEvicting || c.evict_given_out) continue;
      c.evict_given_out = true;
      return LoadTask{LoadAction::kEvict, id};
    }
    return std::nullopt;
  };
  if (auto task = eviction()) return task;

  Demand claims;  // of those that go first
  std::vector<CircuitId> keep;
  for (Impl::Job* job : s.ranked(true)) {
    if (critical_only && !job->critical()) break;
    const CircuitId id = job->circuit;
    Impl::Circuit& c = s.circuits[id];
    if (c.residency == Residency::kUnknown) {
      if (s.start_measure(c, job, keep)) return LoadTask{LoadAction::kMeasure, id};
      if (auto task = eviction()) return task;
    }
    if (!c.measured || s.ended_as_unfit(*job)) continue;
    keep.push_back(id);
    Demand d = s.demand(*job);
    d.circuit_bytes += claims.circuit_bytes;
    d.witness_bytes += claims.witness_bytes;
    d.prove_bytes = std::max(d.prove_bytes, claims.prove_bytes);
    if (c.residency == Residency::kCold) {
      const std::size_t would_hold = s.memory.held_with(d), limit = s.memory.limit(job->critical());
      if (would_hold <= limit) {
        s.start_load(c);
        return LoadTask{LoadAction::kLoad, id};
      }
      s.make_room(would_hold - limit, keep, false);
      if (auto task = eviction()) return task;
    }
    if (s.strict(*job)) claims = d;
  }
  if (critical_only) return std::nullopt;
  for (CircuitId id = 0; id < s.circuits.size(); ++id) {
    Impl::Circuit& c = s.circuits[id];
    if (!c.wanted) continue;
    if (c.residency == Residency::kUnknown) {
      if (s.start_measure(c, nullptr, keep)) return LoadTask{LoadAction::kMeasure, id};
      if (auto task = eviction()) return task;
    }
    if (c.residency != Residency::kCold || refused_want(id)) continue;
    claims.circuit_bytes += c.cost.resident_bytes;
    const std::size_t would_hold = s.memory.held_with(claims);
    if (would_hold <= s.memory.limit(false)) {
      s.start_load(c);
      return LoadTask{LoadAction::kLoad, id};
    }
    if (c.pinned) s.make_room(would_hold - s.memory.limit(false), keep, false);
    if (auto task = eviction()) return task;
  }
  return std::nullopt;
}

std::optional<Task> Scheduler::next_synthesis(bool critical_only) {
  Impl& s = *impl_;
  Demand claims;
  std::vector<CircuitId> keep;
  std::vector<Impl::Job*> bypassed;
  for (Impl::Job* job : s.ranked(true)) {
    if (critical_only && !job->critical()) break;
    const Impl::Circuit& c = s.circuits[job->circuit];
    if (c.residency == Residency::kUnknown) {
      if (s.strict(*job)) claims.circuit_bytes += c.measure_bytes;
      bypassed.push_back(job);
    }
    if (!c.measured || s.ended_as_unfit(*job)) continue;
    if (!job->critical() && s.ahead_of_prove(s.rank_class(*job)) >= s.limits.synthesis_ahead) break;
    keep.push_back(job->circuit);
    Demand d = s.demand(*job);
    d.circuit_bytes += claims.circuit_bytes;
    d.witness_bytes += claims.witness_bytes;
    d.prove_bytes = std::max(d.prove_bytes, claims.prove_bytes);
    const std::size_t would_hold = s.memory.held_with(d), limit = s.memory.limit(job->critical());
    if (c.residency == Residency::kHot) {
      if (would_hold <= limit) {
        const std::uint32_t partition = job->next_pending;
        for (Impl::Job* other : bypassed) ++other->bypassed;
        s.note_overtaken(*job);
        s.admit(*job);
        return s.task_of(*job, partition);
      }
      s.make_room(would_hold - limit, keep, false);
    }
    if (s.strict(*job)) claims = d;
    bypassed.push_back(job);
  }
  return std::nullopt;
}

bool Scheduler::Impl::prove_fits(const Job& job, const Partition& p, const ProveCost& cost,
                                 const Device& d) const {
  if (p.alone && proves_running.value() > 0) return false;
  if (memory.proving_with(cost.host_bytes) > memory.limit(job.critical())) return false;
  if (limits.pinned_bytes && pinned_leased.value() + cost.pinned_bytes > limits.pinned_bytes) {
    return false;
  }
  const unsigned places = d.spec.at_once + (job.critical() ? d.spec.critical_at_once : 0);
  if (d.spec.at_once && d.running.value() >= places) return false;
  const std::size_t bytes = d.spec.memory_bytes + (job.critical() ? d.spec.critical_bytes : 0);
  return !d.spec.memory_bytes || d.leased.value() + cost.device_bytes <= bytes;
}

std::optional<Task> Scheduler::next_prove(DeviceId id) {
  Impl& s = *impl_;
  Impl::Device& device = s.devices[id];
  if (device.quarantined) return std::nullopt;
  struct Candidate {
    internal::Rank rank;
    Impl::Job* job = nullptr;
    std::uint32_t partition = 0;
  };
  // The first of all, and the first of those whose circuit the device had last.
  Candidate best, same;
  for (Impl::Job* job : s.ranked(false)) {
    const Impl::Circuit& c = s.circuits[job->circuit];
    for (std::uint32_t i = 0; i < job->partitions.size(); ++i) {
      const Impl::Partition& p = job->partitions[i];
      if (p.stage != Impl::Stage::kSynthesized) continue;
      const auto able = s.eligible(c, p);
      if (std::find(able.begin(), able.end(), id) == able.end()) continue;
      if (!best.job) best = {s.rank(*job), job, i};
      if (!same.job && device.last_circuit == job->circuit) same = {s.rank(*job), job, i};
      break;
    }
  }
  if (!best.job) return std::nullopt;
  const bool prefer_same = same.job && same.job != best.job && same.rank.group == best.rank.group &&
                           same.rank.deadline == best.rank.deadline &&
                           device.batch < s.limits.batch_limit;
  const Candidate& chosen = prefer_same ? same : best;
  Impl::Partition& p = chosen.job->partitions[chosen.partition];
  const ProveCost& cost = s.circuits[chosen.job->circuit].cost.prove[id];
  if (!s.prove_fits(*chosen.job, p, cost, device)) {
    const std::size_t would_hold = s.memory.proving_with(cost.host_bytes);
    const std::size_t limit = s.memory.limit(chosen.job->critical());
    if (would_hold > limit) s.make_room(would_hold - limit, {}, true);
    return std::nullopt;
  }
  device.batch = prefer_same ? device.batch + 1 : 0;
  device.last_circuit = chosen.job->circuit;
  s.memory.proves.add(cost.host_bytes);
  s.pinned_leased.add(cost.pinned_bytes);
  device.leased.add(cost.device_bytes);
  device.running.add(1);
  s.proves_running.add(1);
  p.leased = true;
  p.device = id;
  p.stage = Impl::Stage::kProving;
  return s.task_of(*chosen.job, chosen.partition);
}

std::optional<Task> Scheduler::next_finish(bool critical_only) {
  Impl& s = *impl_;
  for (Impl::Job* job : s.ranked(false)) {
    if (critical_only && !job->critical()) break;
    for (std::uint32_t i = 0; i < job->partitions.size(); ++i) {
      if (job->partitions[i].stage != Impl::Stage::kProved) continue;
      job->partitions[i].stage = Impl::Stage::kFinishing;
      return s.task_of(*job, i);
    }
  }
  return std::nullopt;
}

}  // namespace cuzk::scheduler
