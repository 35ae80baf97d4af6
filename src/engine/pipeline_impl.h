#pragma once
// What the pipeline keeps of jobs, circuits, devices and workers, and how it is divided:
//   pipeline.cc           workers, the way in, the end of a job
//   pipeline_stages.cc    parse, synthesize, prove, finish
//   pipeline_circuits.cc  measure, load, evict
//   pipeline_status.cc    what is told of it
//
// Threads: one mutex guards all of it, but what a worker works on is its own meanwhile: a partition
//          from the scheduler's task until the call that gives it back.

#include <list>
#include <map>

#include "engine/devices.h"
#include "engine/pipeline.h"

namespace cuzk::engine::internal {

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
  gpu::Urgency urgency = gpu::Urgency::kNormal;           // there
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
  std::optional<groth16::VerifiedProof<Bls12_381>> proof;
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
  std::unique_ptr<groth16::Backend<Bls12_381>> backend;
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

inline double mib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace cuzk::engine::internal

namespace cuzk::engine {

struct Pipeline::Impl {
  Impl(const PipelineOptions& options_in, Residency& residency_in, MemoryBudget& memory_in,
       Telemetry& telemetry_in);
  ~Impl();

  using Lock = std::unique_lock<std::mutex>;
  using CircuitInfo = internal::CircuitInfo;
  using DeviceRun = internal::DeviceRun;
  using Worker = internal::Worker;
  using Running = internal::Running;
  using Part = internal::Part;
  using Attempt = internal::Attempt;
  using Bench = internal::Bench;
  using Proved = internal::Proved;

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
  bool prove_step(Worker& worker, Lock& lock, scheduler::DeviceId device);
  bool finish_step(Worker& worker, Lock& lock);

  void load_circuit(scheduler::CircuitId id, scheduler::LoadAction action, Worker& worker,
                    Lock& lock);
  scheduler::Outcome judge_start(Running& job, Part& part, const Error& error);
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

}  // namespace cuzk::engine
