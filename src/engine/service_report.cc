// What is told of the service.

#include "engine/service_impl.h"

namespace cuzk::engine {

using Clock = std::chrono::steady_clock;

namespace {

class EventsHandle final : public Service::Events {
 public:
  EventsHandle(Telemetry& telemetry, std::size_t capacity) : subscription_(telemetry, capacity) {}
  std::vector<Event> next(Clock::time_point deadline, std::stop_token stop) override {
    return subscription_.next(deadline, std::move(stop));
  }
  std::uint64_t lost() const override { return subscription_.lost(); }

 private:
  Telemetry::Subscription subscription_;
};

}  // namespace

CircomCircuitStatus Service::Impl::circom_status(const CircomCircuits::Entry& entry) const {
  CircomCircuitStatus out;
  out.options = entry.options;
  out.problem = entry.problem;
  if (!entry.circuit) return out;
  const CircomCircuit& c = *entry.circuit;
  const CircomFootprint need = c.footprint(Tasks(options.threads).threads());
  out.curve = std::string(circom::snarkjs_name(c.header().curve));
  out.num_public = c.header().num_public;
  out.num_wires = c.header().num_wires;
  out.num_constraints = c.num_constraints();
  out.domain_size = c.header().domain_size;
  out.file_bytes = c.file_bytes();
  out.resident_bytes = need.resident_bytes;
  out.prove_bytes = need.synthesis_bytes + need.prove_bytes;
  out.key_digest = to_hex(c.digest());
  out.insecure_reason = c.insecure_reason();
  out.loaded = residency.get_circom(c.identifier()) != nullptr;
  return out;
}

std::vector<Problem> Service::Impl::problems() {
  std::vector<Problem> out;
  {
    std::lock_guard lock(mutex);
    out = start_problems;
    if (!journal_status.problem.empty()) out.push_back({"journal", journal_status.problem});
  }
  for (const CircomCircuits::Entry& entry : circom.list()) {
    if (!entry.problem.empty()) out.push_back({"circom", entry.problem});
  }
  ServiceStatus status;
  pipeline->describe(status);
  for (const DeviceStatus& d : status.devices) {
    if (!d.quarantined) continue;
    out.push_back({d.name, fmt::format("quarantined after {} wrong proofs and {} faults",
                                       d.invalid_proofs, d.faults)});
  }
  return out;
}

ServiceStatus Service::Impl::status() {
  ServiceStatus out;
  {
    // Answers wait meanwhile, so that the counts belong together.
    std::lock_guard lock(mutex);
    pipeline->describe(out);
    out.uptime_us = telemetry.now_us();
    out.draining = draining;
    out.ready = preloaded && !draining && !stopped && pipeline->has_device();
    out.recent.assign(recent.begin(), recent.end());
    out.journal = journal_status;
    std::map<std::uint64_t, const JobStatus*> by_run;
    for (const JobStatus& j : out.jobs) by_run[j.run] = &j;
    std::map<ProofKind, QueueStatus> queues;
    for (const auto& [number, run] : runs) {
      if (run->answer) continue;
      QueueStatus& q = queues[run->kind];
      q.kind = run->kind;
      const auto job = by_run.find(number);
      // One that the pipeline has no more is about to be answered.
      const bool begun = job == by_run.end() || job->second->state == JobState::kRunning;
      ++(begun ? q.in_progress : q.pending);
    }
    out.queues.clear();
    for (const auto& [kind, q] : queues) out.queues.push_back(q);
    out.accepted = 0;
    for (const auto& [kind, m] : counters.kinds) {
      out.accepted += m.accepted;
      out.completed += m.completed;
      out.failed += m.failed;
      out.cancelled += m.cancelled;
    }
  }
  for (CircuitStatus& c : out.circuits) {
    const auto id = circuit_names.find(c.circuit_id);
    c.circuit_id = id == circuit_names.end() ? c.name : id->second;
  }
  for (const CircomCircuits::Entry& entry : circom.list()) {
    out.circom.push_back(circom_status(entry));
  }
  out.problems = problems();
  return out;
}

std::vector<CircomCircuitStatus> Service::circom_circuits() const {
  std::vector<CircomCircuitStatus> out;
  for (const CircomCircuits::Entry& e : impl_->circom.list()) {
    out.push_back(impl_->circom_status(e));
  }
  return out;
}

ServiceStatus Service::status() const { return impl_->status(); }

std::optional<JobStatus> Service::job(const std::string& job_id) const {
  std::uint64_t number = 0;
  {
    std::lock_guard lock(impl_->mutex);
    const auto it = impl_->latest.find(job_id);
    if (it == impl_->latest.end()) return std::nullopt;
    number = it->second;
  }
  const auto finished = [&]() -> std::optional<JobStatus> {
    std::lock_guard lock(impl_->mutex);
    for (const JobStatus& s : impl_->recent) {
      if (s.run == number) return s;
    }
    return std::nullopt;
  };
  // The pipeline keeps a job until it is among the finished: who finds it in neither list looks
  // into the first once more.
  if (auto status = finished()) return status;
  if (auto status = impl_->pipeline->job(number)) return status;
  return finished();
}

ServiceMetrics Service::metrics() const {
  ServiceMetrics out;
  ServiceStatus status = impl_->status();
  {
    std::lock_guard lock(impl_->mutex);
    out = impl_->counters;
    out.journal_errors = impl_->journal_status.errors;
  }
  const PipelineCounters counters = impl_->pipeline->counters();
  out.key_loads = counters.key_loads;
  out.key_evictions = counters.key_evictions;
  out.retried_partitions = counters.retried_partitions;
  const auto queued = impl_->pipeline->queued_by_priority();
  for (std::size_t p = 0; p < queued.size(); ++p) out.queued[static_cast<Priority>(p)] = queued[p];
  out.status = std::move(status);
  return out;
}

SpanList Service::spans(std::uint64_t after_sequence) const {
  return impl_->telemetry.spans(after_sequence);
}

std::string Service::trace_json() const { return impl_->telemetry.trace_json(); }
std::vector<Problem> Service::problems() const { return impl_->problems(); }

bool Service::ready() const {
  if (!impl_->pipeline->has_device()) return false;
  std::lock_guard lock(impl_->mutex);
  return impl_->preloaded && !impl_->draining && !impl_->stopped;
}

std::unique_ptr<Service::Events> Service::subscribe(std::size_t capacity) {
  return std::make_unique<EventsHandle>(impl_->telemetry, capacity);
}

}  // namespace cuzk::engine
