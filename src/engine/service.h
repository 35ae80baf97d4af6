#pragma once
// The proving service in one process: everything of a daemon but its wire.
//
//   submit -> journal -> queue -> parse -> memory, key -> synthesize -> prove -> assemble, verify
//          -> journal -> reply
//
// What is promised:
// - An accepted request is answered: with a verified proof, an error, or "cancelled". With a
//   journal this holds across kill -9; without one (none configured, disk full, ...) the service
//   says so (Submitted::journaled, JournalStatus) and proves on.
// - A request is known by its id and the digest of its content:
//     same id, same content, in flight      attaches to the running one, nothing is proved twice
//     same id, same content, proved         the same bytes again, from memory or the journal
//     same id, same content, failed or
//       cancelled                           a new run
//     same id, other content                a new run, which the id names from now on; whoever
//                                           waits for the older run still gets the older answer,
//                                           and an older run that nobody waits for is cancelled
// - Finished answers are kept for result_ttl_ms, at most max_results of them; the oldest go first.
// - Only groth16::VerifiedProof becomes a reply.
//
// Threads: every function may be called from any thread. Callbacks run on a worker thread of the
//          service, without its locks; they may call back in, and must not block for long.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/circom_options.h"
#include "engine/request.h"
#include "engine/service_status.h"
#include "groth16/backend_cuda.h"
#include "groth16/prover.h"

namespace cuzk::engine {

class CudaDevice;  // devices.h

// One device that proves, and how.
struct DeviceOptions {
  std::string name = "cpu";  // in status, metrics and messages; unique
  std::function<std::unique_ptr<groth16::Backend<Bls12_381>>()> make_backend;  // none: the CPU's
  // A card: backend, workers, memory and costs are its own (card_device).
  std::shared_ptr<CudaDevice> card;
  unsigned workers = 1;  // partitions that may be started on it at once
  int threads = 0;       // of the host's part of a proof; 0: ServiceOptions::threads
  // Used only after every other device failed a partition, or when there is no other.
  bool fallback = false;
  std::size_t device_bytes = 0;  // of the device's own memory, 0: not limited here
  // What one partition of a circuit takes while it is proved. None: the CPU backend's figures.
  std::function<scheduler::ProveCost(const CompiledCircuit&)> cost;
};
DeviceOptions card_device(std::shared_ptr<CudaDevice> card);

struct ServiceOptions {
  std::filesystem::path parameter_directory = ParameterStore::default_directory();
  std::filesystem::path circuit_directory = CircuitStore::default_directory();
  std::filesystem::path journal;  // a file; empty: no journal
  KeyChoice keys;

  std::size_t memory_bytes = 0;  // 0: MemoryBudget::detect_limit_bytes()
  std::size_t pinned_bytes = 0;  // 0: not limited
  // Kept free of everything but CRITICAL work, as a share of memory_bytes.
  unsigned critical_reserve_percent = 5;

  int threads = 0;  // of one synthesis or one CPU proof; 0: one for each usable CPU
  unsigned parse_workers = 1;
  unsigned synthesis_workers = 1;
  unsigned finish_workers = 1;
  // Partitions that may wait synthesized before the prove workers.
  unsigned synthesis_lookahead = 1;
  std::vector<DeviceOptions> devices;  // empty: the CPU with one worker
  unsigned quarantine_after = 3;       // wrong proofs or faults of a device
  // Of each verified partition that a card proved; by a worker, without locks.
  std::function<void(const groth16::PartitionTiming&)> on_partition_timing;

  // Unfinished requests: CRITICAL ones have as much room of their own.
  std::size_t max_queued_jobs = 4096;
  // Payloads that are held in memory; CRITICAL ones may exceed it by an eighth.
  std::size_t max_queued_bytes = std::size_t{4} << 30;
  // One client's unfinished requests, likewise; 0: no limit.
  std::size_t max_jobs_per_client = 0;
  std::int64_t result_ttl_ms = std::int64_t{24} * 3600 * 1000;
  std::size_t max_results = 10000;
  std::size_t max_spans = 20000;  // of the recent timeline

  // Circuit ids ("porep-32g") that are loaded at start and never evicted.
  std::vector<std::string> preload;
  // Compare published parameter files with their published digest before first use; a file that
  // passed is remembered by size and modification time.
  bool verify_parameters = true;

  CircomServiceOptions circom;

  // For tests: instead of parse_request, which circom requests do not pass.
  std::function<Result<Job>(const Context&, const ProofRequest&)> parse;
};

struct Submitted {
  std::string job_id;  // request_id, or the new id when that was empty
  std::uint64_t run = 0;
  std::size_t queue_position = 0;  // requests accepted before and not yet answered that are ahead
  bool attached = false;           // to a run in flight
  bool already_done = false;       // await answers at once
  bool journaled = false;
};

enum class AnswerStatus { kCompleted, kFailed, kCancelled };

struct Answer {
  std::string job_id;
  std::uint64_t run = 0;
  AnswerStatus status = AnswerStatus::kFailed;
  // When completed: verified; 192 bytes for each partition, or circom's proof.json.
  std::vector<std::uint8_t> proof;
  std::string public_json;     // circom's, when completed
  std::optional<Error> error;  // when failed
  bool insecure_dev = false;
  bool from_journal = false;  // proved before the service was started
  JobTimings timings;
};

class Service {
 public:
  // Starts the workers, takes up what the journal holds, begins the preloads.
  // Errors: kInvalidArgument for options that make no sense. What is merely missing or wrong
  // (journal, parameter files) does not fail the start: see problems().
  static Result<std::unique_ptr<Service>> start(ServiceOptions options);
  // stop_now().
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Errors: kOutOfBudget when the queue is full (retry later), or when the request can never fit,
  // with what it needs; kCancelled while draining; kInvalidArgument. For circom also kNotFound for
  // a circuit that is not known, and what is wrong with its key.
  Result<Submitted> submit(ProofRequest request);

  // The answer to the id's latest run. Without an answer until `deadline`: nullopt.
  // Errors: kNotFound for an id that is not known (any more), kCancelled when `stop` was requested.
  Result<std::optional<Answer>> await(const std::string& job_id,
                                      std::optional<std::chrono::steady_clock::time_point> deadline,
                                      std::stop_token stop = {});
  Result<std::optional<Answer>> await_run(
      const std::string& job_id, std::uint64_t run,
      std::optional<std::chrono::steady_clock::time_point> deadline, std::stop_token stop = {});

  // Calls back once with the answer, at once when it is there; a dropped Watch never calls back
  // after its destructor has returned.
  class Watch;
  Result<std::unique_ptr<Watch>> watch(const std::string& job_id, std::uint64_t run,
                                       std::function<void(const Answer&)> callback);

  // True when the job was queued or running and now ends as cancelled, at the latest when its
  // partitions in flight reach their next boundary. False for a finished one.
  // Errors: kNotFound.
  Result<bool> cancel(const std::string& job_id);

  // Waits for the load. Errors: kInvalidArgument for an unknown circuit id, naming those there are;
  // kNotFound for its files; kOutOfBudget; kCancelled.
  struct Preloaded {
    bool already_loaded = false;
    std::int64_t load_ms = 0;
  };
  Result<Preloaded> preload(const std::string& circuit_id, std::stop_token stop = {});
  // Nothing happens to a circuit in use (was_loaded true, freed_bytes 0) or to any file.
  struct Evicted {
    bool was_loaded = false;
    std::size_t freed_bytes = 0;
  };
  Result<Evicted> evict(const std::string& circuit_id);

  // Loads the key, and waits for that, so that all of it is checked; then the id names it. The one
  // that it named before stays in force until then, and if this fails.
  // With the origin kRegistered paths are inside the directory, or relative to it, and an empty one
  // is <id>.zkey. Errors: those of CircomCircuits, of the key's readers; kOutOfBudget; kCancelled.
  Result<CircomCircuitStatus> register_circom(CircomCircuitOptions options,
                                              std::stop_token stop = {});
  // False when there was none. Accepted requests are proved.
  bool unregister_circom(const std::string& id);
  std::vector<CircomCircuitStatus> circom_circuits() const;
  const std::filesystem::path& circom_directory() const;
  // As snarkjs exports it. Errors: those of CircomCircuits::find.
  Result<std::string> circom_verification_key(const std::string& id) const;

  ServiceStatus status() const;
  // One that was accepted: unfinished, or finished lately.
  std::optional<JobStatus> job(const std::string& job_id) const;
  ServiceMetrics metrics() const;
  // The recent spans that were told after that one (SpanEvent::sequence).
  SpanList spans(std::uint64_t after_sequence = 0) const;
  // The recent spans in the Chrome trace event format, which Perfetto opens.
  std::string trace_json() const;
  // What an operator must know: missing or wrong parameter files, a journal that is not written.
  std::vector<Problem> problems() const;
  // Preloads done, a device left to prove on, not draining.
  bool ready() const;

  // Events from now on, in order. A reader that lags loses the oldest; it sees how many.
  class Events;
  std::unique_ptr<Events> subscribe(std::size_t capacity = 1024);

  // No new requests from now on. Waits until every accepted one is answered, or until `deadline`;
  // true when nothing is left. What is left stays in the journal.
  bool drain(std::chrono::steady_clock::time_point deadline);
  // New requests are taken again.
  void undrain();
  // Ends all work at its next boundary and joins every thread. Waiters are answered kCancelled, but
  // the journal keeps the requests as accepted.
  void stop_now();

 private:
  class Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Service::Watch {
 public:
  virtual ~Watch() = default;
};

class Service::Events {
 public:
  virtual ~Events() = default;
  // Empty at the deadline or when the service stops.
  virtual std::vector<Event> next(std::chrono::steady_clock::time_point deadline,
                                  std::stop_token stop = {}) = 0;
  virtual std::uint64_t lost() const = 0;
};

// "porep-2k" ... "porep-64g", likewise wpost, winning and snap, for every size that is proved.
std::vector<std::string> circuit_ids();
Result<filecoin::CircuitSpec> find_circuit_id(std::string_view id);

}  // namespace cuzk::engine
