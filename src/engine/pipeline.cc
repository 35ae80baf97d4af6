#include "engine/pipeline.h"

#include <algorithm>
#include <list>

#include "base/check.h"
#include "engine/devices.h"

namespace cuzk::engine {

namespace {

using scheduler::CircuitId;
using scheduler::DeviceId;
using scheduler::EndReason;
using scheduler::LoadAction;
using scheduler::Outcome;
using scheduler::Task;
using Backend = groth16::Backend<Bls12_381>;
using VerifiedProof = groth16::VerifiedProof<Bls12_381>;

// What a stage calls is guarded here: a broken invariant or a failed allocation ends the job, not
// the process.
template <class F>
auto guarded(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const InvariantError& e) {
    return fail(ErrorCode::kInternal, "an invariant is broken: {}", e.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kOutOfBudget, "the system has no memory left");
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInternal, "{}", e.what());
  }
}

// Threads, measure and place of one stage of one partition.
struct Bench {
  Bench(int threads, std::stop_token stop, MemoryBudget& memory_in, int lane_in)
      : tasks(threads, std::move(stop)), memory(memory_in), lane(lane_in) {}
  Context context() { return {tasks, memory, timeline, lane}; }

  Tasks tasks;
  Timeline timeline;
  MemoryBudget& memory;
  int lane;
};

// A proof that was started; the bench outlives it.
struct Attempt {
  Attempt(int threads, std::stop_token stop, MemoryBudget& memory, int partition)
      : bench(threads, std::move(stop), memory, partition) {}
  Bench bench;
  std::int64_t started_us = 0;
  std::string lane;                                       // of the worker that started it
  std::unique_ptr<CardBackend<Bls12_381>> card;           // with what is on the card
  std::shared_ptr<const ProvingKey<Bls12_381>> host_key;  // that the circuit has not in memory
  groth16::PartitionTiming timing;                        // of a card
  std::optional<groth16::ProveInput<Bls12_381>> input;
  std::optional<groth16::PendingProof<Bls12_381>> pending;
  std::unique_ptr<CircomPending> circom;  // instead of both
  bool on_card = false;

  // Ends what is left of it; the records stay.
  void drop_work() {
    pending.reset();
    circom.reset();
    card.reset();
    host_key.reset();
  }
};

// A partition's proof, verified by whoever made this.
struct Proved {
  std::optional<VerifiedProof> proof;
  std::optional<CircomReply> circom;
};

struct Part {
  PartitionStatus status;
  std::int64_t since_us = 0;     // when it entered its state
  std::int64_t key_wait_us = 0;  // of that, while the circuit was measured or loaded
  // In this order, so that what borrows goes first.
  std::shared_ptr<const ResidentCircuit> resident;
  std::shared_ptr<const ResidentCircom> resident_circom;
  Reservation reserved;  // of the witness
  std::optional<Witness> witness;
  std::unique_ptr<CircomWitness> circom_witness;
  std::unique_ptr<Attempt> attempt;
  std::optional<Proved> verified;
  std::string last_failure;  // of a device

  void drop_work() {
    attempt.reset();
    witness.reset();
    circom_witness.reset();
    reserved.release();
    resident.reset();
    resident_circom.reset();
  }
};

struct Running {
  JobId id = 0;
  PipelineJob request;
  Pipeline::Completion done;
  std::stop_source stop;
  bool cancelled = false;
  std::optional<Job> job;
  std::vector<std::unique_ptr<Part>> parts;
  JobStatus status;
  std::int64_t parsed_us = 0;
  std::int64_t first_admitted_us = -1;
  std::optional<Error> error;
};

struct CircuitInfo {
  filecoin::CircuitSpec spec;
  std::shared_ptr<const CircomCircuit> circom;  // then `spec` has only names
  bool retired = false;                         // no new job wants it
  std::size_t witness_bytes = 0;
  bool key_on_host = true;
  std::optional<Error> error;  // of the last measure or load
  std::uint64_t attempts = 0;  // measures and loads that ended
  std::int64_t load_ms = 0;
  std::int64_t used_us = -1;
  double synthesis_ms = 0;  // moving averages of a partition; 0: none yet
  double prove_ms = 0;
};

struct DeviceRun {
  DeviceOptions options;
  std::unique_ptr<Backend> backend;
  std::int64_t busy_us = 0;
  std::int64_t busy_since_us = 0;
  std::int64_t kernels_until_us = 0;  // of a card: the end of its kernels so far
  unsigned busy = 0;
};

struct Worker {
  WorkerStatus status;
  std::string lane;
  std::int64_t since_us = -1;
  bool critical_only = false;
  std::thread thread;
};

Error no_circom_device() {
  return {ErrorCode::kInvalidArgument,
          "no device can prove circom circuits: no card has the memory, and the CPU is not among "
          "the devices (cpu.use)"};
}

// What a partition on a card takes of the host's memory beside its witness.
constexpr std::size_t kCardHostBytes = std::size_t{16} << 20;

double mib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void average(double& mean, std::int64_t ms) {
  mean = mean == 0 ? static_cast<double>(ms) : 0.8 * mean + 0.2 * static_cast<double>(ms);
}

Status refusal_error(const scheduler::Submission& submission, const scheduler::JobSpec& spec) {
  switch (submission.refusal) {
    case scheduler::Refusal::kNone:
      break;
    case scheduler::Refusal::kQueueFull:
      return fail(ErrorCode::kOutOfBudget, "the queue is full: {} requests are unfinished",
                  submission.limit_bytes);
    case scheduler::Refusal::kClientFull:
      return fail(ErrorCode::kOutOfBudget, "client {} has {} unfinished requests, its limit",
                  spec.client, submission.limit_bytes);
    case scheduler::Refusal::kTooLarge:
      return fail(ErrorCode::kOutOfBudget,
                  "reading the request needs {:.1f} MiB, the budget for requests is {:.1f} MiB",
                  mib(submission.needed_bytes), mib(submission.limit_bytes));
  }
  return {};
}

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

std::vector<scheduler::DeviceSpec> device_specs(const std::vector<DeviceOptions>& devices) {
  std::vector<scheduler::DeviceSpec> out;
  for (const DeviceOptions& d : devices) {
    out.push_back({d.fallback, d.device_bytes, d.card ? d.workers : 0});
  }
  return out;
}

}  // namespace

struct Pipeline::Impl {
  Impl(const PipelineOptions& options_in, Residency& residency_in, MemoryBudget& memory_in,
       Telemetry& telemetry_in);
  ~Impl() { stop(); }

  using Lock = std::unique_lock<std::mutex>;

  // Threads.
  void start_worker(std::string stage, std::string device, unsigned index, bool critical_only,
                    std::function<bool(Worker&, Lock&)> step);
  void work(Worker& worker, const std::function<bool(Worker&, Lock&)>& step);
  void begin(Worker& worker, const Running& job, std::size_t partition);
  void stop();

  // One step of a stage: takes a task under the lock, works without it. False: nothing to do.
  bool parse_step(Worker& worker, Lock& lock);
  bool load_step(Worker& worker, Lock& lock);
  bool synthesis_step(Worker& worker, Lock& lock);
  bool prove_step(Worker& worker, Lock& lock, DeviceId device);
  bool finish_step(Worker& worker, Lock& lock);

  void load_circuit(CircuitId id, LoadAction action, Worker& worker, Lock& lock);
  Outcome judge_start(Running& job, Part& part, const Error& error);
  Status synthesize_part(Bench& bench, const Running& job, std::size_t partition,
                         std::size_t bytes);
  Status start_part(Attempt& attempt, const Part& part, DeviceRun& device);
  static Status doubt_circom(const Part& part);
  Status measure(const Context& context, const filecoin::CircuitSpec& spec,
                 scheduler::CircuitCost& cost, bool& key_on_host);
  void take_card_times(DeviceRun& device, const Running& job, Part& part, const Attempt& attempt);
  Result<Proved> finish_proof(const Job& job, Part& part, std::size_t partition,
                              std::int64_t& prove_us, std::int64_t& verify_us);

  // Under the lock.
  Running& running(JobId id);
  CircuitInfo& circuit_info(const std::string& identifier) { return circuits[identifier]; }
  void enter(Running& job, std::size_t partition, PartitionState state, std::string detail = {});
  void span(const std::string& lane, const std::string& name, const Running& job,
            std::size_t partition, std::int64_t start_us);
  void inner_spans(const std::string& lane, const Timeline& timeline, std::int64_t origin_us,
                   const Running& job, std::size_t partition);
  void note_key_wait(const std::string& identifier, std::int64_t start, std::int64_t end);
  Result<bool> load(const std::string& identifier, bool pin, const std::stop_token& stop,
                    Lock& lock);
  void let_retired_go();
  scheduler::CircuitCost circom_cost(const CircomCircuit& circuit) const;
  void note_error(Running& job, const Error& error);
  void device_busy(DeviceRun& device, int change);
  // Ends what the scheduler ended; calls the completions without the lock.
  void settle(Lock& lock);
  PipelineResult result_of(Running& job, const scheduler::Ended& ended);
  Error error_of(const Running& job, const scheduler::Ended& ended) const;
  JobStatus status_of(const Running& job) const;
  std::optional<std::int64_t> eta_of(const Running& job) const;

  PipelineOptions options;
  Residency& residency;
  MemoryBudget& memory;
  Telemetry& telemetry;

  mutable std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  scheduler::Scheduler plan;
  std::map<JobId, std::unique_ptr<Running>> jobs;
  std::map<JobId, JobStatus> ending;  // as they were, until their completions have been called
  std::map<std::string, CircuitInfo> circuits;  // by identifier
  std::vector<DeviceRun> devices;
  PipelineCounters counters;
  std::list<Worker> workers;  // last: the threads use everything above
};

Pipeline::Impl::Impl(const PipelineOptions& options_in, Residency& residency_in,
                     MemoryBudget& memory_in, Telemetry& telemetry_in)
    : options(options_in),
      residency(residency_in),
      memory(memory_in),
      telemetry(telemetry_in),
      plan(options.limits, device_specs(options.devices)) {
  options.threads = Tasks(options.threads).threads();
  for (const DeviceOptions& d : options.devices) {
    DeviceRun run;
    run.options = d;
    if (!d.card) {
      run.backend = d.make_backend ? d.make_backend() : groth16::make_cpu_backend<Bls12_381>();
    }
    // Whoever finishes waits for the card.
    if (d.card) options.finish_workers += d.workers;
    devices.push_back(std::move(run));
  }
  const auto start = [&](const char* stage, unsigned count, auto step) {
    // One more that is kept free for CRITICAL work.
    for (unsigned i = 0; i <= count; ++i) start_worker(stage, "", i, i == count, step);
  };
  start("parse", options.parse_workers, [this](Worker& w, Lock& l) { return parse_step(w, l); });
  start("load", 1, [this](Worker& w, Lock& l) { return load_step(w, l); });
  start("synthesis", options.synthesis_workers,
        [this](Worker& w, Lock& l) { return synthesis_step(w, l); });
  start("finish", options.finish_workers, [this](Worker& w, Lock& l) { return finish_step(w, l); });
  for (DeviceId d = 0; d < devices.size(); ++d) {
    for (unsigned i = 0; i < devices[d].options.workers; ++i) {
      start_worker("prove", devices[d].options.name, i, false,
                   [this, d](Worker& w, Lock& l) { return prove_step(w, l, d); });
    }
  }
}

void Pipeline::Impl::start_worker(std::string stage, std::string device, unsigned index,
                                  bool critical_only, std::function<bool(Worker&, Lock&)> step) {
  Lock lock(mutex);
  Worker& worker = workers.emplace_back();
  worker.lane = fmt::format("{} {}", device.empty() ? stage : device, index);
  worker.status.stage = std::move(stage);
  worker.status.device = std::move(device);
  worker.status.index = index;
  worker.critical_only = critical_only;
  worker.thread = std::thread([this, &worker, step = std::move(step)] { work(worker, step); });
}

void Pipeline::Impl::work(Worker& worker, const std::function<bool(Worker&, Lock&)>& step) {
  Lock lock(mutex);
  while (!stopping) {
    const bool worked = step(worker, lock);
    settle(lock);
    if (worked) {
      worker.status.job_id.clear();
      worker.status.kind.reset();
      worker.since_us = -1;
      changed.notify_all();
    } else if (!stopping) {
      changed.wait(lock);
    }
  }
}

void Pipeline::Impl::begin(Worker& worker, const Running& job, std::size_t partition) {
  worker.status.job_id = job.request.job_id;
  worker.status.kind = job.request.kind;
  worker.status.partition = partition;
  worker.since_us = telemetry.now_us();
}

Running& Pipeline::Impl::running(JobId id) {
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
    cost.prove.push_back({kCardHostBytes, 0, how ? how->lease_bytes : 0, how.has_value()});
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
    out.prove.push_back({need.prove_bytes, 0, how ? how->lease_bytes : 0, how.has_value()});
  }
  return out;
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
             device.options.card->use(context, on_card,
                                      [&attempt](const auto& timing) { attempt.timing = timing; }));
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
Result<Proved> Pipeline::Impl::finish_proof(const Job& job, Part& part, std::size_t partition,
                                            std::int64_t& prove_us, std::int64_t& verify_us) {
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

void Pipeline::Impl::settle(Lock& lock) {
  const auto ended = plan.take_ended();
  if (ended.empty()) return;
  std::vector<std::pair<std::unique_ptr<Running>, PipelineResult>> results;
  for (const scheduler::Ended& e : ended) {
    auto node = jobs.extract(e.job);
    CUZK_CHECK(!node.empty());
    auto job = std::move(node.mapped());
    ending[job->id] = status_of(*job);
    PipelineResult result = result_of(*job, e);
    results.emplace_back(std::move(job), std::move(result));
  }
  changed.notify_all();
  lock.unlock();
  for (auto& [job, result] : results) {
    for (auto& part : job->parts) part->drop_work();
    job->done(std::move(result));
  }
  std::vector<JobId> told;
  for (const auto& [job, result] : results) told.push_back(job->id);
  results.clear();
  lock.lock();
  for (const JobId id : told) ending.erase(id);
  let_retired_go();
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

void Pipeline::Impl::stop() {
  {
    Lock lock(mutex);
    stopping = true;
    for (auto& [id, job] : jobs) job->stop.request_stop();
    changed.notify_all();
  }
  for (Worker& worker : workers) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  // No thread is left; what the scheduler still has is ended by hand.
  std::map<JobId, std::unique_ptr<Running>> left;
  std::vector<PipelineResult> results;
  {
    Lock lock(mutex);
    left = std::exchange(jobs, {});
    for (auto& [id, job] : left) {
      ending[id] = status_of(*job);
      results.push_back(result_of(*job, {id, EndReason::kCancelled}));
    }
    changed.notify_all();
  }
  auto result = results.begin();
  for (auto& [id, job] : left) {
    for (auto& part : job->parts) part->drop_work();
    job->done(std::move(*result++));
  }
}

DeviceOptions card_device(std::shared_ptr<CudaDevice> card) {
  DeviceOptions out;
  out.name = card->name();
  out.workers = card->workers();
  out.device_bytes = card->arena_bytes();
  out.card = std::move(card);
  return out;
}

Pipeline::Pipeline(const PipelineOptions& options, Residency& residency, MemoryBudget& memory,
                   Telemetry& telemetry)
    : impl_(std::make_unique<Impl>(options, residency, memory, telemetry)) {}
Pipeline::~Pipeline() = default;

Status Pipeline::refusal(const scheduler::JobSpec& spec) const {
  std::lock_guard lock(impl_->mutex);
  if (impl_->stopping) return fail(ErrorCode::kCancelled, "the service is stopping");
  return refusal_error(impl_->plan.refusal(spec), spec);
}

Result<std::size_t> Pipeline::submit(JobId id, PipelineJob request, Completion done) {
  auto job = std::make_unique<Running>();
  job->id = id;
  job->done = std::move(done);
  JobStatus& s = job->status;
  s.job_id = request.job_id;
  s.run = id;
  s.kind = request.kind;
  s.client = request.spec.client;
  s.priority = request.spec.priority;
  s.deadline_unix_ms = request.deadline_unix_ms;
  s.submitted_us = impl_->telemetry.now_us();
  job->request = std::move(request);
  Impl::Lock lock(impl_->mutex);
  if (impl_->stopping) return fail(ErrorCode::kCancelled, "the service is stopping");
  const auto submission = impl_->plan.submit(id, job->request.spec);
  CUZK_TRY_VOID(refusal_error(submission, job->request.spec));
  impl_->jobs.emplace(id, std::move(job));
  impl_->changed.notify_all();
  return submission.ahead;
}

bool Pipeline::cancel(JobId id) {
  Impl::Lock lock(impl_->mutex);
  const auto it = impl_->jobs.find(id);
  if (it == impl_->jobs.end() || !impl_->plan.cancel(id)) return false;
  // The job may have ended in the scheduler, but it is ours until it is settled.
  it->second->cancelled = true;
  it->second->stop.request_stop();
  impl_->changed.notify_all();
  impl_->settle(lock);
  return true;
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

void Pipeline::stop() { impl_->stop(); }

bool Pipeline::wait_idle(std::chrono::steady_clock::time_point deadline) {
  Impl::Lock lock(impl_->mutex);
  return impl_->changed.wait_until(lock, deadline, [&] {
    return impl_->jobs.empty() || impl_->stopping;
  }) && impl_->jobs.empty();
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
