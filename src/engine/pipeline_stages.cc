// The stages: one step of each takes a task under the lock and works without it.

#include <algorithm>

#include "base/check.h"
#include "engine/pipeline_impl.h"

namespace cuzk::engine {

using internal::guarded;
using scheduler::DeviceId;
using scheduler::Outcome;
using Backend = groth16::Backend<Bls12_381>;

namespace {

void average(double& mean, std::int64_t ms) {
  mean = mean == 0 ? static_cast<double>(ms) : 0.8 * mean + 0.2 * static_cast<double>(ms);
}

}  // namespace

void Pipeline::Impl::begin(Worker& worker, const Running& job, std::size_t partition) {
  worker.status.job_id = job.request.job_id;
  worker.status.kind = job.request.kind;
  worker.status.partition = partition;
  worker.since_us = telemetry.now_us();
}

internal::Running& Pipeline::Impl::running(JobId id) {
  const auto it = jobs.find(id);
  CUZK_CHECK(it != jobs.end());
  return *it->second;
}

void Pipeline::Impl::enter(Running& job, std::size_t partition, PartitionState state,
                           std::string detail) {
  Part& part = *job.parts[partition];
  part.status.state = state;
  part.since_us = telemetry.now_us();
  job.status.partitions_done += state == PartitionState::kDone;
  Event e;
  e.type = EventType::kPartition;
  e.job_id = job.request.job_id;
  e.run = job.id;
  e.kind = job.request.kind;
  e.partition = partition;
  e.partitions = job.parts.size();
  e.partitions_done = job.status.partitions_done;
  e.state = partition_state_name(state);
  e.detail = std::move(detail);
  telemetry.emit(std::move(e));
}

void Pipeline::Impl::span(const std::string& lane, const std::string& name, const Running& job,
                          std::size_t partition, std::int64_t start_us) {
  telemetry.add({lane, name, job.request.job_id, job.id, partition, start_us, telemetry.now_us()});
}

// What the stage itself measured.
void Pipeline::Impl::inner_spans(const std::string& lane, const Timeline& timeline,
                                 std::int64_t origin_us, const Running& job,
                                 std::size_t partition) {
  for (const SpanRecord& r : timeline.records()) {
    telemetry.add({lane, r.name, job.request.job_id, job.id, partition, origin_us + r.start_us,
                   origin_us + r.start_us + r.duration_us});
  }
}

// The first error decides; "cancelled" is never what went wrong.
void Pipeline::Impl::note_error(Running& job, const Error& error) {
  if (!job.error && error.code != ErrorCode::kCancelled) job.error = error;
}

void Pipeline::Impl::device_busy(DeviceRun& device, int change) {
  const std::int64_t now = telemetry.now_us();
  if (device.busy > 0 && !device.options.card) device.busy_us += now - device.busy_since_us;
  device.busy_since_us = now;
  device.busy = static_cast<unsigned>(static_cast<int>(device.busy) + change);
}

bool Pipeline::Impl::parse_step(Worker& worker, Lock& lock) {
  const auto id = plan.next_parse(worker.critical_only);
  if (!id) return false;
  Running& job = running(*id);
  begin(worker, job, 0);
  job.status.state = JobState::kParsing;
  const std::int64_t start = telemetry.now_us();
  const auto parse = std::exchange(job.request.parse, nullptr);
  lock.unlock();

  Bench bench(options.threads, job.stop.get_token(), memory, 0);
  auto parsed = guarded([&]() -> Result<Job> {
    CUZK_TRY(Job out, parse(bench.context()));
    if (out.partitions() == 0) {
      return fail(ErrorCode::kInvalidArgument, "{}: the request has no partition", out.name);
    }
    return out;
  });

  lock.lock();
  job.status.timings.parse_ms += (telemetry.now_us() - start) / 1000;
  span(worker.lane, "parse", job, 0, start);
  inner_spans(worker.lane, bench.timeline, start, job, 0);
  if (!parsed) {
    note_error(job, parsed.error());
    plan.fail(*id);
    return true;
  }
  job.job = std::move(*parsed);
  job.parsed_us = telemetry.now_us();
  job.status.state = JobState::kWaiting;
  job.status.name = job.job->name;
  job.status.circuit = job.job->circuit.name;
  for (std::size_t p = 0; p < job.job->partitions(); ++p) {
    job.parts.push_back(std::make_unique<Part>());
    job.parts.back()->since_us = job.parsed_us;
  }
  CircuitInfo& info = circuit_info(job.job->circuit.identifier);
  info.spec = job.job->circuit;
  if (job.job->circom) {
    info.circom = job.job->circom->circuit;
  } else {
    plan.expect(info.spec.identifier, residency.measure_bytes(info.spec));
  }
  Event e;
  e.type = EventType::kParsed;
  e.job_id = job.request.job_id;
  e.run = job.id;
  e.kind = job.request.kind;
  e.partitions = job.parts.size();
  e.detail = job.job->name;
  telemetry.emit(std::move(e));
  plan.parsed(*id, job.job->circuit.identifier, static_cast<std::uint32_t>(job.parts.size()));
  return true;
}

Status Pipeline::Impl::synthesize_part(Bench& bench, const Running& job, std::size_t p,
                                       std::size_t bytes) {
  Part& part = *job.parts[p];
  const Context context = bench.context();
  CUZK_TRY(part.reserved, memory.reserve("witnesses", bytes));
  const std::string& identifier = job.job->circuit.identifier;
  if (job.job->circom) {
    part.resident_circom = residency.get_circom(identifier);
    CUZK_CHECK(part.resident_circom != nullptr);
    CUZK_TRY(part.circom_witness,
             part.resident_circom->prover.read_witness(context, job.job->circom->wtns));
  } else {
    part.resident = residency.get(identifier);
    CUZK_CHECK(part.resident != nullptr);
    CUZK_TRY(part.witness, synthesize(context, *job.job, p));
  }
  if (job.stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  return {};
}

bool Pipeline::Impl::synthesis_step(Worker& worker, Lock& lock) {
  const auto task = plan.next_synthesis(worker.critical_only);
  if (!task) return false;
  Running& job = running(task->job);
  const std::size_t p = task->partition;
  Part& part = *job.parts[p];
  begin(worker, job, p);
  const std::int64_t start = telemetry.now_us();
  if (job.first_admitted_us < 0) job.first_admitted_us = start;
  job.status.state = JobState::kRunning;
  const std::int64_t waited = start - part.since_us - part.key_wait_us;
  job.status.timings.memory_wait_ms += std::max<std::int64_t>(0, waited) / 1000;
  span("waits for memory", "memory_wait", job, p, part.since_us);
  enter(job, p, PartitionState::kSynthesizing);
  CircuitInfo& info = circuit_info(job.job->circuit.identifier);
  info.used_us = start;
  const std::size_t bytes = info.witness_bytes;
  lock.unlock();

  Bench bench(options.threads, job.stop.get_token(), memory, static_cast<int>(p));
  const Status witness = guarded([&]() -> Status { return synthesize_part(bench, job, p, bytes); });
  if (!witness) part.drop_work();

  lock.lock();
  const std::int64_t ms = (telemetry.now_us() - start) / 1000;
  span(worker.lane, "synthesis", job, p, start);
  inner_spans(worker.lane, bench.timeline, start, job, p);
  part.status.synthesis_ms = ms;
  job.status.timings.synthesis_ms += ms;
  if (!witness) {
    note_error(job, witness.error());
    enter(job, p, PartitionState::kFailed, witness.error().message);
    plan.synthesized(*task, false);
    return true;
  }
  average(circuit_info(job.job->circuit.identifier).synthesis_ms, ms);
  enter(job, p, PartitionState::kSynthesized);
  plan.synthesized(*task, true);
  return true;
}

Status Pipeline::Impl::start_part(Attempt& attempt, const Part& part, DeviceRun& device) {
  if (part.circom_witness) {
    CircomProveOptions how;
    how.device = device.options.card;
    how.on_timing = [&attempt](const auto& timing) { attempt.timing = timing; };
    how.urgency = attempt.urgency;
    CUZK_TRY(attempt.circom, part.resident_circom->prover.start(attempt.bench.context(),
                                                                *part.circom_witness, how));
    attempt.on_card = how.device != nullptr;
    return {};
  }
  const ResidentCircuit& r = *part.resident;
  const Context context = attempt.bench.context();
  Backend* backend = device.backend.get();
  const ProvingKey<Bls12_381>* key = &r.key;
  if (device.options.card) {
    const ParamsKey on_card{r.identifier,   r.circuit->r1cs, r.circuit->density,
                            r.files.params, &r.key,          part.resident};
    CUZK_TRY(attempt.card,
             device.options.card->use(
                 context, on_card, [&attempt](const auto& timing) { attempt.timing = timing; },
                 attempt.urgency));
    backend = &attempt.card->backend();
    attempt.on_card = true;
  } else if (!device.options.make_backend) {
    CUZK_TRY(attempt.host_key, residency.host_key(context, part.resident));
    key = attempt.host_key.get();
  }
  attempt.input.emplace(
      groth16::ProveInput<Bls12_381>{r.circuit->r1cs, r.circuit->density, *part.witness, *key});
  CUZK_TRY(auto pending, groth16::start_proof(*backend, context, *attempt.input));
  attempt.pending.emplace(std::move(pending));
  return {};
}

// What an error at the start of a proof means for the partition and the device.
Outcome Pipeline::Impl::judge_start(Running& job, Part& part, const Error& error) {
  switch (error.code) {
    case ErrorCode::kDeviceLost:
      part.last_failure = error.message;
      return Outcome::kDeviceFault;
    case ErrorCode::kOutOfBudget:
      part.last_failure = error.message;
      return Outcome::kNoMemory;
    case ErrorCode::kInvalidProof:
    case ErrorCode::kInternal:
      part.last_failure = error.message;
      return Outcome::kInvalidProof;
    default:
      note_error(job, error);
      return Outcome::kJobError;
  }
}

bool Pipeline::Impl::prove_step(Worker& worker, Lock& lock, DeviceId device_id) {
  const auto task = plan.next_prove(device_id);
  if (!task) return false;
  DeviceRun& device = devices[device_id];
  Running& job = running(task->job);
  const std::size_t p = task->partition;
  Part& part = *job.parts[p];
  begin(worker, job, p);
  const std::int64_t start = telemetry.now_us();
  job.status.timings.prove_wait_ms += (start - part.since_us) / 1000;
  span("waits for a device", "prove_wait", job, p, part.since_us);
  part.status.device = device.options.name;
  if (part.status.attempts++ > 0) ++counters.retried_partitions;
  enter(job, p, PartitionState::kProving, device.options.name);
  device_busy(device, +1);
  lock.unlock();

  const int threads = device.options.threads ? device.options.threads : options.threads;
  auto attempt =
      std::make_unique<Attempt>(threads, job.stop.get_token(), memory, static_cast<int>(p));
  attempt->started_us = start;
  if (task->critical) attempt->urgency = gpu::Urgency::kCritical;
  attempt->lane = worker.lane;
  const Status started = guarded([&]() -> Status { return start_part(*attempt, part, device); });
  const bool on_card = attempt->on_card;
  if (started) {
    part.attempt = std::move(attempt);
  } else {
    attempt->drop_work();
  }

  lock.lock();
  // What was started on a card goes on there.
  if (!started || !on_card) device_busy(device, -1);
  const std::int64_t ms = (telemetry.now_us() - start) / 1000;
  span(worker.lane, on_card ? "start" : "prove", job, p, start);
  part.status.prove_ms = ms;
  job.status.timings.prove_ms += ms;
  if (started) {
    if (!on_card) average(circuit_info(job.job->circuit.identifier).prove_ms, ms);
    enter(job, p, PartitionState::kFinishing, device.options.name);
    plan.started(*task);
    return true;
  }
  Error error = started.error();
  error.message =
      fmt::format("{} on {}: {}", job.job->partition_name(p), device.options.name, error.message);
  const Outcome outcome = judge_start(job, part, error);
  if (outcome == Outcome::kJobError) {
    lock.unlock();
    part.drop_work();
    lock.lock();
    enter(job, p, PartitionState::kFailed, error.message);
  } else {
    enter(job, p, PartitionState::kSynthesized, error.message);
    telemetry.emit({0, 0, EventType::kDevice, job.request.job_id, job.id, job.request.kind, p, 0, 0,
                    device.options.name, error.message});
  }
  plan.start_failed(*task, outcome);
  return true;
}

// A card's proof does not verify: is it the witness or the card? The CPU knows.
Status Pipeline::Impl::doubt_circom(const Part& part) {
  const CircomProver& prover = part.resident_circom->prover;
  CUZK_TRY(const auto again, prover.start(part.attempt->bench.context(), *part.circom_witness));
  if (!again->finish()) return {};
  return fail(ErrorCode::kInvalidProof, "the same witness makes a proof on the CPU that verifies");
}

// The only way to a proof that may leave. For circom a proof that does not verify is the fault of
// witness or key, which start does not compare with the circuit: it ends the job.
Result<internal::Proved> Pipeline::Impl::finish_proof(const Job& job, Part& part,
                                                      std::size_t partition, std::int64_t& prove_us,
                                                      std::int64_t& verify_us) {
  const std::int64_t start = telemetry.now_us();
  if (part.attempt->circom) {
    auto reply = part.attempt->circom->finish();
    if (!reply && reply.error().code == ErrorCode::kUnsatisfied && part.attempt->on_card) {
      CUZK_TRY_VOID(doubt_circom(part));
    }
    verify_us = telemetry.now_us() - start;
    if (!reply) return fail(reply.error());
    return Proved{std::nullopt, std::move(*reply)};
  }
  auto proof = part.attempt->pending->finish();
  prove_us = telemetry.now_us() - start;
  if (!proof) return fail(proof.error());
  auto verified =
      groth16::verify<Bls12_381>(part.attempt->bench.tasks, part.resident->verifying_key,
                                 {*proof, job.public_inputs[partition]});
  verify_us = telemetry.now_us() - start - prove_us;
  if (!verified) return fail(verified.error());
  return Proved{std::move(*verified), std::nullopt};
}

// A card is busy while its kernels run, whoever waits for them.
void Pipeline::Impl::take_card_times(DeviceRun& device, const Running& job, Part& part,
                                     const Attempt& attempt) {
  device_busy(device, -1);
  for (const SpanRecord& r : attempt.bench.timeline.records()) {
    if (r.name != "gpu_total") continue;
    const std::int64_t begin = attempt.started_us + r.start_us, end = begin + r.duration_us;
    device.busy_us += std::max<std::int64_t>(0, end - std::max(begin, device.kernels_until_us));
    device.kernels_until_us = std::max(device.kernels_until_us, end);
    part.status.prove_ms = r.duration_us / 1000;
    average(circuit_info(job.job->circuit.identifier).prove_ms, r.duration_us / 1000);
  }
}

bool Pipeline::Impl::finish_step(Worker& worker, Lock& lock) {
  const auto task = plan.next_finish(worker.critical_only);
  if (!task) return false;
  Running& job = running(task->job);
  const std::size_t p = task->partition;
  Part& part = *job.parts[p];
  DeviceRun& device = devices[task->device];
  begin(worker, job, p);
  const std::int64_t start = telemetry.now_us();
  const bool wanted = part.attempt && !job.stop.stop_requested() && !job.error;
  lock.unlock();

  std::int64_t prove_us = 0, verify_us = 0;
  Result<Proved> verified = guarded([&]() -> Result<Proved> {
    if (!wanted) return fail(ErrorCode::kCancelled, "cancelled");
    return finish_proof(*job.job, part, p, prove_us, verify_us);
  });
  const auto attempt = std::exchange(part.attempt, nullptr);
  const bool on_card = attempt && attempt->on_card;
  if (attempt) attempt->drop_work();  // may wait for the device
  if (verified && on_card && options.on_partition_timing) {
    groth16::PartitionTiming& t = attempt->timing;
    t.job = job.request.job_id;
    t.synthesis_ms = static_cast<double>(part.status.synthesis_ms);
    t.verify_ms = static_cast<double>(verify_us) / 1000;
    options.on_partition_timing(t);
  }
  Outcome outcome = Outcome::kVerified;
  Error error{ErrorCode::kCancelled, {}};
  if (!verified) {
    error = verified.error();
    error.message = fmt::format(
        "{} on {}: {}{}", job.job->partition_name(p), device.options.name,
        error.code == ErrorCode::kInvalidProof ? "the finished proof failed its self-check: " : "",
        error.message);
  }

  lock.lock();
  if (on_card) take_card_times(device, job, part, *attempt);
  if (!verified) outcome = judge_start(job, part, error);
  if (outcome == Outcome::kVerified || outcome == Outcome::kJobError) {
    lock.unlock();
    part.drop_work();
    lock.lock();
  }
  if (wanted) {
    // On the lane of the worker that started it: its device may have gone on until now.
    const std::string lane =
        on_card ? fmt::format("{} slot {}", device.options.name, attempt->timing.worker)
                : attempt->lane;
    inner_spans(lane, attempt->bench.timeline, attempt->started_us, job, p);
    span(worker.lane, "finish", job, p, start);
    if (!job.job->circom) {
      telemetry.add({worker.lane, "verify", job.request.job_id, job.id, p, start + prove_us,
                     start + prove_us + verify_us});
    }
  }
  (on_card ? job.status.timings.prove_ms : job.status.timings.finish_ms) += prove_us / 1000;
  job.status.timings.verify_ms += verify_us / 1000;
  if (verified) {
    part.verified.emplace(std::move(*verified));
    ++counters.verified_partitions;
    enter(job, p, PartitionState::kDone, device.options.name);
  } else if (outcome == Outcome::kJobError) {
    enter(job, p, PartitionState::kFailed, error.message);
  } else {
    enter(job, p, PartitionState::kSynthesized, error.message);
    telemetry.emit({0, 0, EventType::kDevice, job.request.job_id, job.id, job.request.kind, p, 0, 0,
                    device.options.name, error.message});
  }
  plan.finished(*task, outcome);
  return true;
}

}  // namespace cuzk::engine
