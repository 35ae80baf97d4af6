// Circuits and their keys: what they take, when they come and when they leave.

#include <algorithm>

#include "engine/pipeline_impl.h"

namespace cuzk::engine {

using internal::CircuitInfo;
using internal::guarded;
using internal::mib;
using scheduler::CircuitId;
using scheduler::DeviceId;
using scheduler::LoadAction;

namespace {

Error no_circom_device() {
  return {ErrorCode::kInvalidArgument,
          "no device can prove circom circuits: no card has the memory, and the CPU is not among "
          "the devices (cpu.use)"};
}

// What a partition on a card takes of the host's memory beside its witness.
constexpr std::size_t kCardHostBytes = std::size_t{16} << 20;

}  // namespace

bool Pipeline::Impl::load_step(Worker& worker, Lock& lock) {
  const auto task = plan.next_load(worker.critical_only);
  if (!task) return false;
  const std::string identifier = plan.circuit(task->circuit).name;
  worker.since_us = telemetry.now_us();
  if (task->action != LoadAction::kEvict) {
    load_circuit(task->circuit, task->action, worker, lock);
    return true;
  }
  lock.unlock();
  for (const DeviceRun& d : devices) {
    if (d.options.card) d.options.card->forget(identifier);
  }
  residency.evict(identifier);
  lock.lock();
  ++counters.key_evictions;
  plan.evicted(task->circuit);
  Event e;
  e.type = EventType::kCircuit;
  e.state = "evicted";
  e.detail = circuit_info(identifier).spec.name;
  telemetry.emit(std::move(e));
  return true;
}

void Pipeline::Impl::load_circuit(CircuitId id, LoadAction action, Worker& worker, Lock& lock) {
  const std::string identifier = plan.circuit(id).name;
  const filecoin::CircuitSpec spec = circuit_info(identifier).spec;
  const std::shared_ptr<const CircomCircuit> circom = circuit_info(identifier).circom;
  bool key_on_host = circuit_info(identifier).key_on_host;
  worker.status.job_id = spec.name;
  const std::int64_t start = telemetry.now_us();
  lock.unlock();

  Bench bench(options.threads, {}, memory, 0);
  scheduler::CircuitCost cost;
  const Status done = guarded([&]() -> Status {
    if (action == LoadAction::kLoad && circom) return residency.load(bench.context(), circom);
    if (action == LoadAction::kLoad) return residency.load(bench.context(), spec, key_on_host);
    if (circom) {
      cost = circom_cost(*circom);
      return {};
    }
    return measure(bench.context(), spec, cost, key_on_host);
  });

  lock.lock();
  CircuitInfo& info = circuit_info(identifier);
  ++info.attempts;
  const std::int64_t end = telemetry.now_us();
  note_key_wait(identifier, start, end);
  telemetry.add({worker.lane, action == LoadAction::kLoad ? "load_key" : "measure", spec.name, 0, 0,
                 start, end});
  if (!done) {
    info.error = done.error();
    plan.load_failed(id);
    telemetry.emit(
        {0, 0, EventType::kProblem, "", 0, {}, 0, 0, 0, spec.name, done.error().message});
    return;
  }
  info.error.reset();
  info.load_ms = (end - start) / 1000;
  if (action == LoadAction::kMeasure) {
    info.witness_bytes = cost.witness_bytes;
    info.key_on_host = key_on_host;
    plan.measured(id, cost);
    return;
  }
  info.used_us = end;
  ++counters.key_loads;
  plan.loaded(id);
  telemetry.emit({0, 0, EventType::kCircuit, "", 0, {}, 0, 0, 0, "loaded", spec.name});
}

// A card reads the key from its file, unless it has to be streamed; so the host keeps a copy only
// for that, and for devices that are no cards. A CPU that is only the fallback reads it when it
// must.
Status Pipeline::Impl::measure(const Context& context, const filecoin::CircuitSpec& spec,
                               scheduler::CircuitCost& cost, bool& key_on_host) {
  CUZK_TRY(const Residency::Measured measured, residency.measure(context, spec));
  const CompiledCircuit& circuit = *measured.circuit;
  cost.witness_bytes = witness_bytes(circuit);
  cost.synthesis_bytes = 2 * cost.witness_bytes;
  key_on_host = false;
  bool card_able = false;
  std::string too_small;
  for (const DeviceRun& d : devices) {
    if (!d.options.card) {
      key_on_host |= !d.options.fallback;
      cost.prove.push_back(d.options.cost ? d.options.cost(circuit)
                                          : cpu_prove_cost(circuit, options.threads));
      continue;
    }
    const auto how = d.options.card->plan(spec.identifier, circuit.r1cs, circuit.density);
    if (!how && how.error().code != ErrorCode::kOutOfBudget) return fail(how.error());
    if (!how) too_small = how.error().message;
    cost.prove.push_back({kCardHostBytes, 0, how ? how->awaited_bytes() : 0, how.has_value()});
    card_able |= how.has_value();
    key_on_host |= how && how->is_streamed;
  }
  const bool has_cpu = std::any_of(devices.begin(), devices.end(),
                                   [](const DeviceRun& d) { return !d.options.card; });
  if (!card_able && !has_cpu) return fail(ErrorCode::kOutOfBudget, "{}", too_small);
  key_on_host |= !card_able;
  cost.resident_bytes = measured.resident_bytes - (key_on_host ? 0 : measured.key_bytes);
  if (key_on_host) return {};
  const std::size_t limit =
      options.limits.memory_bytes -
      std::min(options.limits.memory_bytes, options.limits.critical_reserve_bytes);
  for (DeviceId d = 0; d < devices.size(); ++d) {
    scheduler::ProveCost& own = cost.prove[d];
    if (devices[d].options.card) continue;
    own.host_bytes += measured.key_bytes;
    own.possible = cost.resident_bytes + cost.synthesis_bytes + own.host_bytes <= limit;
  }
  return {};
}

// Who waits for a circuit that is measured or loaded waits for that, not for memory.
void Pipeline::Impl::note_key_wait(const std::string& identifier, std::int64_t start,
                                   std::int64_t end) {
  for (const auto& [id, job] : jobs) {
    if (!job->job || job->job->circuit.identifier != identifier) continue;
    bool waits = false;
    for (const auto& part : job->parts) {
      if (part->status.state != PartitionState::kPending) continue;
      part->key_wait_us += end - std::max(start, part->since_us);
      waits = true;
    }
    if (waits) job->status.timings.key_load_ms += (end - std::max(start, job->parsed_us)) / 1000;
  }
}

// From the key's header. The CPU proves with .zkey keys, and cards.
scheduler::CircuitCost Pipeline::Impl::circom_cost(const CircomCircuit& circuit) const {
  const CircomFootprint need = circuit.footprint(options.threads);
  scheduler::CircuitCost out;
  out.resident_bytes = need.resident_bytes;
  out.synthesis_bytes = need.synthesis_bytes;
  out.witness_bytes = need.witness_bytes;
  for (const DeviceRun& d : devices) {
    if (!d.options.card) {
      out.prove.push_back({need.prove_bytes, 0, 0, d.options.device_bytes == 0});
      continue;
    }
    const auto how = d.options.card->plan(circuit.header(), circuit.id());
    out.prove.push_back({need.prove_bytes, 0, how ? how->awaited_bytes() : 0, how.has_value()});
  }
  return out;
}

// Circuits that no job wants any more leave, and are forgotten.
void Pipeline::Impl::let_retired_go() {
  for (auto it = circuits.begin(); it != circuits.end();) {
    const auto now = it++;
    if (!now->second.retired) continue;
    const std::string& identifier = now->first;
    const bool wanted = std::any_of(jobs.begin(), jobs.end(), [&](const auto& entry) {
      const Running& job = *entry.second;
      return job.job && job.job->circuit.identifier == identifier;
    });
    if (wanted) continue;
    const auto id = plan.find_circuit(identifier);
    if (id) plan.unwant(*id);
    const auto residency_now = id ? plan.circuit(*id).residency : scheduler::Residency::kUnknown;
    if (residency_now == scheduler::Residency::kHot && plan.evict(*id)) changed.notify_all();
    const bool at_rest = residency_now == scheduler::Residency::kUnknown ||
                         residency_now == scheduler::Residency::kCold ||
                         residency_now == scheduler::Residency::kFailed;
    if (at_rest) circuits.erase(now);
  }
}

Result<bool> Pipeline::Impl::load(const std::string& identifier, bool pin,
                                  const std::stop_token& stop, Lock& lock) {
  const std::string name = circuit_info(identifier).spec.name;
  const CircuitId id = plan.want(identifier, pin);
  if (plan.circuit(id).residency == scheduler::Residency::kHot) return true;
  const std::uint64_t before = circuit_info(identifier).attempts;
  changed.notify_all();
  for (;;) {
    if (plan.circuit(id).residency == scheduler::Residency::kHot) return false;
    const auto info = circuits.find(identifier);
    const bool known = info != circuits.end() && !info->second.retired;
    if (known && info->second.attempts > before && info->second.error) {
      return fail(*info->second.error);
    }
    if (const auto refused = plan.refused_want(id)) {
      plan.unwant(id);
      return fail(ErrorCode::kOutOfBudget,
                  "{} needs {:.0f} MiB of memory with what is pinned beside it, the budget is "
                  "{:.0f} MiB",
                  name, mib(refused->needed_bytes), mib(refused->limit_bytes));
    }
    if (stopping || stop.stop_requested() || !known) {
      plan.unwant(id);
      return fail(ErrorCode::kCancelled, "loading {} was given up", name);
    }
    // The stop token belongs to a caller that has no other way to wake us.
    changed.wait_for(lock, std::chrono::milliseconds(100));
  }
}

Result<bool> Pipeline::load(const filecoin::CircuitSpec& spec, bool pin, std::stop_token stop) {
  Impl::Lock lock(impl_->mutex);
  impl_->circuit_info(spec.identifier).spec = spec;
  impl_->plan.expect(spec.identifier, impl_->residency.measure_bytes(spec));
  return impl_->load(spec.identifier, pin, stop, lock);
}

Result<bool> Pipeline::load(std::shared_ptr<const CircomCircuit> circuit, bool pin,
                            std::stop_token stop) {
  Impl::Lock lock(impl_->mutex);
  CircuitInfo& info = impl_->circuit_info(circuit->identifier());
  info.spec.name = "circom " + circuit->id();
  info.spec.identifier = circuit->identifier();
  info.circom = circuit;
  return impl_->load(circuit->identifier(), pin, stop, lock);
}

void Pipeline::retire(const std::string& identifier) {
  Impl::Lock lock(impl_->mutex);
  const auto info = impl_->circuits.find(identifier);
  if (info == impl_->circuits.end()) return;
  info->second.retired = true;
  impl_->let_retired_go();
  impl_->changed.notify_all();
}

Status Pipeline::fits(const CircomCircuit& circuit, Priority priority) const {
  std::lock_guard lock(impl_->mutex);
  const scheduler::CircuitCost cost = impl_->circom_cost(circuit);
  if (std::all_of(cost.prove.begin(), cost.prove.end(),
                  [](const scheduler::ProveCost& c) { return !c.possible; })) {
    return fail(no_circom_device());
  }
  const scheduler::Limits& limits = impl_->options.limits;
  const std::size_t reserve = priority == Priority::kCritical ? 0 : limits.critical_reserve_bytes;
  const std::size_t needed =
      cost.resident_bytes + cost.synthesis_bytes + cost.prove[0].host_bytes + reserve;
  if (needed <= limits.memory_bytes) return {};
  return fail(ErrorCode::kOutOfBudget,
              "circom {} needs {:.1f} MiB of memory (key {:.1f}, witness {:.1f}, one proof {:.1f}, "
              "reserve for critical work {:.1f}), the budget is {:.1f} MiB",
              circuit.id(), mib(needed), mib(cost.resident_bytes), mib(cost.synthesis_bytes),
              mib(cost.prove[0].host_bytes), mib(reserve), mib(limits.memory_bytes));
}

Service::Evicted Pipeline::evict(const std::string& identifier) {
  Impl::Lock lock(impl_->mutex);
  Service::Evicted out;
  const auto id = impl_->plan.find_circuit(identifier);
  if (!id) return out;
  const auto state = impl_->plan.circuit(*id);
  out.was_loaded = state.residency == scheduler::Residency::kHot;
  if (!out.was_loaded || !impl_->plan.evict(*id)) return out;
  out.freed_bytes = state.bytes;
  impl_->changed.notify_all();
  while (!impl_->stopping &&
         impl_->plan.circuit(*id).residency == scheduler::Residency::kEvicting) {
    impl_->changed.wait(lock);
  }
  return out;
}

}  // namespace cuzk::engine
