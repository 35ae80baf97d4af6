// What is told of jobs, workers, devices and circuits, and what a job ends with.

#include <algorithm>

#include "engine/pipeline_impl.h"

namespace cuzk::engine {

using internal::CircuitInfo;
using internal::DeviceRun;
using internal::mib;
using internal::Worker;
using scheduler::DeviceId;
using scheduler::EndReason;
using VerifiedProof = groth16::VerifiedProof<Bls12_381>;

namespace {

// What the card itself tells.
void add_card(DeviceStatus& out, const CardStatus& card,
              const std::map<std::string, CircuitInfo>& circuits) {
  out.model = card.description;
  out.problem = card.fenced;
  out.leased_bytes = card.arena_bytes - card.free_bytes;
  out.key_loads = card.key_loads;
  out.key_evictions = card.key_evictions;
  for (const auto& held : card.keys) {
    const auto known = circuits.find(held.name);
    // A circom key is known to its prover; its name is the file's.
    out.keys.push_back({known == circuits.end() ? held.name.substr(0, held.name.rfind(" at 0x"))
                                                : known->second.spec.name,
                        held.note == "streamed", held.bytes, held.uses});
  }
}

}  // namespace

Error Pipeline::Impl::error_of(const Running& job, const scheduler::Ended& ended) const {
  switch (ended.reason) {
    case EndReason::kDoesNotFit:
      return {ErrorCode::kOutOfBudget,
              fmt::format("{} needs {:.0f} MiB of memory (key, witness, one proof, and the reserve "
                          "for critical work), the budget is {:.0f} MiB",
                          job.status.circuit, mib(ended.needed_bytes), mib(ended.limit_bytes))};
    case EndReason::kCancelled:
      return {ErrorCode::kCancelled, "cancelled"};
    default:
      break;
  }
  if (job.error) return *job.error;
  for (const auto& part : job.parts) {
    if (part->last_failure.empty() || part->verified) continue;
    const bool no_memory = ended.reason == EndReason::kFailed;
    return {no_memory ? ErrorCode::kOutOfBudget : ErrorCode::kInternal,
            fmt::format("{}; {}", part->last_failure,
                        no_memory ? "it failed with no other proof beside it"
                                  : "no device is left to prove it again")};
  }
  if (ended.reason == EndReason::kNoDevice) {
    return {ErrorCode::kDeviceLost, "no device is left to prove on: all are quarantined"};
  }
  if (job.job) {
    const auto info = circuits.find(job.job->circuit.identifier);
    if (info != circuits.end() && info->second.error) return *info->second.error;
  }
  return {ErrorCode::kCancelled, "stopped"};
}

PipelineResult Pipeline::Impl::result_of(Running& job, const scheduler::Ended& ended) {
  const std::int64_t now = telemetry.now_us();
  JobStatus& s = job.status;
  s.finished_us = now;
  s.timings.total_ms = (now - s.submitted_us) / 1000;
  s.timings.queue_wait_ms =
      ((job.first_admitted_us < 0 ? now : job.first_admitted_us) - s.submitted_us) / 1000;
  PipelineResult out{job.id, fail(ErrorCode::kCancelled, "cancelled"), false, {}};
  if (ended.reason == EndReason::kDone) {
    ProofReply reply;
    if (job.job->circom) {
      const CircomReply& made = *job.parts[0]->verified->circom;
      reply.proof.assign(made.proof_json.begin(), made.proof_json.end());
      reply.public_json = made.public_json;
      reply.insecure_dev = !job.job->circom->circuit->insecure_reason().empty();
    } else {
      std::vector<VerifiedProof> proofs;
      for (const auto& part : job.parts) proofs.push_back(std::move(*part->verified->proof));
      reply.proof = encode_proofs(proofs);
    }
    if (const auto resident = residency.get(job.job->circuit.identifier)) {
      reply.params_file = resident->files.params.string();
      reply.insecure_dev = resident->files.insecure_dev;
      reply.circuit_bytes = resident->circuit->r1cs.bytes();
    }
    out.reply = std::move(reply);
    s.state = JobState::kCompleted;
  } else {
    Error error = error_of(job, ended);
    s.state = error.code == ErrorCode::kCancelled ? JobState::kCancelled : JobState::kFailed;
    s.error = error;
    out.reply = fail(std::move(error));
  }
  out.stopped = stopping && !job.cancelled && s.state == JobState::kCancelled;
  out.status = status_of(job);
  return out;
}

std::optional<std::int64_t> Pipeline::Impl::eta_of(const Running& job) const {
  if (!job.job) return std::nullopt;
  const auto info = circuits.find(job.job->circuit.identifier);
  if (info == circuits.end() || info->second.prove_ms == 0) return std::nullopt;
  // The slower of the two stages bounds, with all their workers at it.
  std::size_t left = 0;
  for (const auto& [id, other] : jobs) {
    if (id <= job.id) left += other->parts.size() - other->status.partitions_done;
  }
  unsigned provers = 0;
  for (const DeviceRun& d : devices) provers += d.options.fallback ? 0 : d.options.workers;
  const double synthesis = info->second.synthesis_ms / std::max(1u, options.synthesis_workers);
  const double prove = info->second.prove_ms / std::max(1u, provers);
  return static_cast<std::int64_t>(static_cast<double>(left) * std::max(synthesis, prove) +
                                   std::min(info->second.synthesis_ms, info->second.prove_ms));
}

JobStatus Pipeline::Impl::status_of(const Running& job) const {
  JobStatus out = job.status;
  for (const auto& part : job.parts) out.partitions.push_back(part->status);
  if (out.finished_us < 0) {
    out.timings.total_ms = (telemetry.now_us() - out.submitted_us) / 1000;
    out.eta_ms = eta_of(job);
    switch (plan.waits_for(job.id)) {
      case scheduler::WaitReason::kNone:
        break;
      case scheduler::WaitReason::kTurn:
        out.waits_for = "turn";
        break;
      case scheduler::WaitReason::kParameters:
        out.waits_for = "parameters";
        break;
      case scheduler::WaitReason::kMemory:
        out.waits_for = "memory";
        break;
      case scheduler::WaitReason::kDevice:
        out.waits_for = "device";
        break;
    }
  }
  return out;
}

std::optional<JobStatus> Pipeline::job(JobId id) const {
  std::lock_guard lock(impl_->mutex);
  if (const auto it = impl_->jobs.find(id); it != impl_->jobs.end()) {
    return impl_->status_of(*it->second);
  }
  const auto ending = impl_->ending.find(id);
  return ending == impl_->ending.end() ? std::nullopt : std::optional(ending->second);
}

PipelineCounters Pipeline::counters() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->counters;
}

std::vector<std::size_t> Pipeline::queued_by_priority() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->plan.queued_by_priority();
}

bool Pipeline::has_device() const {
  std::lock_guard lock(impl_->mutex);
  for (DeviceId d = 0; d < impl_->devices.size(); ++d) {
    if (!impl_->plan.device(d).quarantined) return true;
  }
  return false;
}

void Pipeline::describe(ServiceStatus& status) const {
  std::vector<std::pair<CircuitStatus, CircuitInfo>> circuits;
  {
    std::lock_guard lock(impl_->mutex);
    const Impl& s = *impl_;
    const std::int64_t now = s.telemetry.now_us();
    std::map<ProofKind, QueueStatus> queues;
    for (const auto& [id, job] : s.jobs) {
      status.jobs.push_back(s.status_of(*job));
      QueueStatus& q = queues[job->request.kind];
      q.kind = job->request.kind;
      ++(job->first_admitted_us < 0 ? q.pending : q.in_progress);
    }
    for (const auto& [kind, q] : queues) status.queues.push_back(q);
    for (const Worker& w : s.workers) {
      WorkerStatus out = w.status;
      if (w.since_us >= 0) out.busy_us = now - w.since_us;
      status.workers.push_back(std::move(out));
    }
    for (DeviceId d = 0; d < s.devices.size(); ++d) {
      const DeviceRun& run = s.devices[d];
      const auto state = s.plan.device(d);
      DeviceStatus out;
      out.name = run.options.name;
      out.fallback = run.options.fallback;
      out.quarantined = state.quarantined;
      out.workers = run.options.workers;
      out.busy = run.busy;
      out.proofs = state.verified;
      out.invalid_proofs = state.invalid;
      out.faults = state.faults;
      out.busy_us = run.busy_us + (run.busy ? now - run.busy_since_us : 0);
      out.leased_bytes = state.leased_bytes;
      out.limit_bytes = run.options.device_bytes;
      if (run.options.card) add_card(out, run.options.card->status(), s.circuits);
      status.devices.push_back(std::move(out));
    }
    for (const auto& [identifier, info] : s.circuits) {
      const auto id = s.plan.find_circuit(identifier);
      if (!id) continue;
      const auto state = s.plan.circuit(*id);
      CircuitStatus out;
      out.in_use = state.in_use;
      out.pinned = state.pinned;
      if (info.used_us >= 0) out.idle_us = state.in_use ? 0 : now - info.used_us;
      circuits.emplace_back(std::move(out), info);
    }
    MemoryStatus& m = status.memory;
    m.limit_bytes = s.options.limits.memory_bytes + s.options.limits.parse_bytes;
    m.leased_bytes = s.plan.leased_bytes() + s.plan.parse_leased_bytes();
    m.critical_reserve_bytes = s.options.limits.critical_reserve_bytes;
    m.pinned_limit_bytes = s.options.limits.pinned_bytes;
    m.pinned_leased_bytes = s.plan.pinned_leased_bytes();
    const auto counts = s.plan.counts();
    status.accepted = counts.accepted;
  }
  status.memory.reserved_bytes = impl_->memory.used_bytes();
  status.memory.peak_reserved_bytes = impl_->memory.peak_bytes();
  for (auto& [known, info] : circuits) {
    CircuitStatus out = info.circom ? impl_->residency.describe(*info.circom)
                                    : impl_->residency.describe(info.spec);
    out.in_use = known.in_use;
    out.pinned = known.pinned;
    out.idle_us = known.idle_us;
    status.circuits.push_back(std::move(out));
  }
}

}  // namespace cuzk::engine
