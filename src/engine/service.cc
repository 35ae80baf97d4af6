#include "engine/service.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/random.h"
#include "engine/catalog.h"
#include "engine/devices.h"
#include "engine/journal.h"
#include "engine/pipeline.h"

namespace cuzk::engine {

namespace {

using Clock = std::chrono::steady_clock;

// Payloads up to this size stay in memory even when the journal has them.
constexpr std::size_t kSmallPayload = std::size_t{64} << 10;
constexpr std::size_t kRecentJobs = 64;
constexpr std::size_t kFinishesBetweenPrunes = 256;

std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A version 4 UUID (RFC 4122).
std::string new_id() {
  SystemRandom random;
  std::array<std::uint8_t, 16> b;
  random.fill(b);
  b[6] = static_cast<std::uint8_t>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<std::uint8_t>((b[8] & 0x3f) | 0x80);
  std::string hex = to_hex(b);
  for (const std::size_t at : {20, 16, 12, 8}) hex.insert(at, "-");
  return hex;
}

// The parser's copy, and what it makes of it.
std::size_t parse_bytes(std::size_t payload) { return 3 * payload + (std::size_t{64} << 10); }

// A witness that is a .wtns already is not copied; a list of decimals becomes values and a .wtns.
std::size_t parse_bytes(const ProofRequest& request) {
  const std::size_t payload = request.payload_bytes();
  if (request.kind != ProofKind::kCircom || request.payloads.empty()) return parse_bytes(payload);
  const auto& witness = request.payloads[0];
  std::size_t values = 0;
  if (!witness.empty() && witness[0] != 'w') {
    values = 1 + static_cast<std::size_t>(std::count(witness.begin(), witness.end(), ','));
  }
  return payload + 96 * values + (std::size_t{64} << 10);
}

// A callback that can be taken back.
struct WatchState {
  // Recursive: a callback may drop its own Watch.
  std::recursive_mutex mutex;
  std::function<void(const Answer&)> callback;

  void call(const Answer& answer) {
    std::lock_guard lock(mutex);
    if (const auto f = std::exchange(callback, nullptr)) f(answer);
  }
};

struct Run {
  std::uint64_t run = 0;
  std::string id;
  Digest32 digest{};
  ProofKind kind = ProofKind::kPorep;
  std::string circuit;  // circom's id of it
  Priority priority = Priority::kNormal;
  std::optional<std::int64_t> deadline_unix_ms;
  std::size_t held_bytes = 0;  // of its payload, in memory
  bool journaled = false;
  bool payload_journaled = false;
  bool superseded = false;  // the id names a later run
  std::size_t waiters = 0;
  std::vector<std::shared_ptr<WatchState>> watches;
  std::optional<Answer> answer;
  Clock::time_point finished{};
};

Answer answer_of(const JournalRun& run) {
  Answer out;
  out.job_id = run.request_id;
  out.run = run.run;
  out.from_journal = true;
  out.insecure_dev = run.insecure_dev;
  switch (run.state) {
    case RunState::kCompleted:
      out.status = AnswerStatus::kCompleted;
      out.proof = run.proof;
      out.public_json = run.public_json;
      break;
    case RunState::kCancelled:
      out.status = AnswerStatus::kCancelled;
      break;
    default:
      out.error = Error{run.error_code, run.error};
      break;
  }
  return out;
}

JournalAnswer journal_answer_of(const Answer& answer) {
  JournalAnswer out;
  out.proof = answer.proof;
  out.public_json = answer.public_json;
  out.insecure_dev = answer.insecure_dev;
  out.state = answer.status == AnswerStatus::kCompleted   ? RunState::kCompleted
              : answer.status == AnswerStatus::kCancelled ? RunState::kCancelled
                                                          : RunState::kFailed;
  if (answer.error) {
    out.error_code = answer.error->code;
    out.error = answer.error->message;
  }
  return out;
}

void add_timings(std::map<std::string, Histogram>& phases, const JobTimings& t) {
  const auto add = [&](const char* name, std::int64_t ms) {
    phases[name].add(static_cast<double>(ms) / 1000);
  };
  add("queue_wait", t.queue_wait_ms);
  add("key_load", t.key_load_ms);
  add("parse", t.parse_ms);
  add("memory_wait", t.memory_wait_ms);
  add("synthesis", t.synthesis_ms);
  add("prove_wait", t.prove_wait_ms);
  add("prove", t.prove_ms);
  add("finish", t.finish_ms);
  add("verify", t.verify_ms);
  add("total", t.total_ms);
}

Status check_options(const ServiceOptions& o) {
  const auto positive = [](unsigned n, const char* name) -> Status {
    if (n == 0) return fail(ErrorCode::kInvalidArgument, "{} is 0, at least 1 is needed", name);
    return {};
  };
  CUZK_TRY_VOID(positive(o.parse_workers, "parse_workers"));
  CUZK_TRY_VOID(positive(o.synthesis_workers, "synthesis_workers"));
  CUZK_TRY_VOID(positive(o.finish_workers, "finish_workers"));
  CUZK_TRY_VOID(positive(o.quarantine_after, "quarantine_after"));
  for (std::size_t i = 0; i < o.devices.size(); ++i) {
    CUZK_TRY_VOID(positive(o.devices[i].workers, "a device's workers"));
    for (std::size_t j = 0; j < i; ++j) {
      if (o.devices[i].name == o.devices[j].name) {
        return fail(ErrorCode::kInvalidArgument, "two devices are called {}", o.devices[i].name);
      }
    }
  }
  if (o.critical_reserve_percent > 50) {
    return fail(ErrorCode::kInvalidArgument,
                "critical_reserve_percent is {}, at most 50 make sense",
                o.critical_reserve_percent);
  }
  if (o.max_queued_jobs == 0 || o.max_results == 0) {
    return fail(ErrorCode::kInvalidArgument, "max_queued_jobs and max_results are at least 1");
  }
  for (const std::string& id : o.preload) CUZK_TRY_VOID(find_circuit_id(id));
  return {};
}

PipelineOptions pipeline_options(const ServiceOptions& o, std::size_t memory_bytes) {
  PipelineOptions out;
  out.threads = o.threads;
  out.parse_workers = o.parse_workers;
  out.synthesis_workers = o.synthesis_workers;
  out.finish_workers = o.finish_workers;
  out.devices = o.devices;
  if (out.devices.empty()) out.devices.emplace_back();
  out.on_partition_timing = o.on_partition_timing;
  scheduler::Limits& l = out.limits;
  // Parsed requests have a share of their own, so that no proof waits for one or the other way.
  l.parse_bytes = std::min(memory_bytes / 8, std::size_t{2} << 30);
  l.memory_bytes = memory_bytes - l.parse_bytes;
  l.critical_reserve_bytes = l.memory_bytes / 100 * o.critical_reserve_percent;
  l.pinned_bytes = o.pinned_bytes;
  l.queued_jobs = o.max_queued_jobs;
  l.jobs_per_client = o.max_jobs_per_client;
  l.parse_ahead = o.parse_workers + 1;
  l.synthesis_ahead = o.synthesis_workers + o.synthesis_lookahead;
  l.quarantine_after = o.quarantine_after;
  return out;
}

}  // namespace

class Service::Impl {
 public:
  Impl(ServiceOptions options_in, std::size_t memory_bytes)
      : options(std::move(options_in)),
        memory(memory_bytes),
        telemetry(options.max_spans),
        residency({options.parameter_directory, options.circuit_directory, options.keys,
                   options.verify_parameters}),
        circom(options.circom.directory) {}

  void open_journal();
  void take_up();
  void check_files();
  void preload_all(std::stop_token stop);

  Result<Submitted> submit(ProofRequest request);
  std::optional<Submitted> known(const std::string& id, const Digest32& digest);
  Result<Submitted> submit_new(ProofRequest request, const Digest32& digest,
                               CircomCircuits::Circuit circuit, std::uint64_t& lost_reader);
  void accept_in_journal(Run& run, const ProofRequest& request);
  PipelineJob pipeline_job(const Run& run, ProofRequest request, bool read_back,
                           CircomCircuits::Circuit circuit);
  void take_up_run(const JournalRun& row);
  Result<CircomCircuits::Circuit> find_circom(const std::string& id);
  Result<CircomCircuits::Circuit> circom_of(ProofRequest& request);
  Result<CircomCircuits::Circuit> circom_of(const JournalRun& row, const ProofRequest& head);
  CircomCircuitStatus circom_status(const CircomCircuits::Entry& entry) const;
  void count_circom(const Run& run, const Answer& answer);  // under the lock
  void on_done(std::shared_ptr<Run> run, PipelineResult result);
  void write_answer(const Run& run, const Answer& answer);
  std::uint64_t supersede(const std::string& id, std::uint64_t by);
  void retire(std::shared_ptr<Run> run);  // under the lock
  void forget_old();                      // under the lock
  void prune_journal();
  void journal_failed(const Error& error);

  Result<std::optional<Answer>> await(const std::string& id, std::optional<std::uint64_t> run,
                                      std::optional<Clock::time_point> deadline,
                                      std::stop_token stop);
  Result<std::shared_ptr<Run>> find(const std::string& id, std::optional<std::uint64_t> run);
  Result<Answer> find_in_journal(const std::string& id, std::optional<std::uint64_t> run);
  bool leave(const std::shared_ptr<Run>& run, std::unique_lock<std::mutex>& lock);

  ServiceStatus status();
  std::vector<Problem> problems();

  const ServiceOptions options;
  MemoryBudget memory;
  Telemetry telemetry;
  Residency residency;
  CircomCircuits circom;
  std::unique_ptr<Journal> journal;

  std::mutex stop_mutex;
  std::mutex submit_mutex;  // taken before `mutex`: one request enters at a time
  std::mutex mutex;
  std::condition_variable_any answered;
  std::uint64_t next_run = 1;
  std::map<std::uint64_t, std::shared_ptr<Run>> runs;
  std::map<std::string, std::uint64_t> latest;  // run of an id
  std::deque<std::uint64_t> finished;           // answered runs in memory, oldest first
  std::size_t unfinished = 0;
  std::size_t held_bytes = 0;
  std::deque<JobStatus> recent;
  bool draining = false;
  bool stopped = false;
  bool preloaded = false;
  JournalStatus journal_status;
  std::vector<std::pair<std::uint64_t, JournalAnswer>> unwritten;  // answers the disk refused
  std::size_t finishes = 0;
  std::vector<Problem> start_problems;
  ServiceMetrics counters;
  std::map<std::string, std::string> circuit_names;  // by the spec's identifier

  std::unique_ptr<Pipeline> pipeline;
  std::jthread preloader;
};

// What the journal could not do is told, and the work goes on.
void Service::Impl::journal_failed(const Error& error) {
  std::lock_guard lock(mutex);
  ++journal_status.errors;
  journal_status.writable = false;
  if (journal_status.problem != error.message) {
    Event e;
    e.type = EventType::kProblem;
    e.state = "journal";
    e.detail = error.message;
    telemetry.emit(std::move(e));
  }
  journal_status.problem = error.message;
}

void Service::Impl::open_journal() {
  if (options.journal.empty()) return;
  journal_status.configured = true;
  auto opened = Journal::open(options.journal);
  if (!opened) return journal_failed(opened.error());
  journal = std::move(*opened);
  journal_status.writable = true;
  const auto last = journal->last_run();
  if (!last) return journal_failed(last.error());
  next_run = *last + 1;
  const auto pruned = journal->prune(unix_ms() - options.result_ttl_ms, options.max_results);
  if (!pruned) journal_failed(pruned.error());
}

// Requests that were accepted by an earlier process.
void Service::Impl::take_up() {
  if (!journal) return;
  const auto left = journal->unfinished();
  if (!left) return journal_failed(left.error());
  for (std::size_t i = 0; i < left->size(); ++i) {
    const JournalRun& row = (*left)[i];
    const bool superseded =
        std::any_of(left->begin() + static_cast<std::ptrdiff_t>(i) + 1, left->end(),
                    [&](const JournalRun& later) { return later.request_id == row.request_id; });
    if (superseded) {
      // Whoever waited for it is gone, and the id names a later run.
      JournalAnswer cancelled;
      cancelled.state = RunState::kCancelled;
      const Status written = journal->finish(row.run, cancelled);
      if (!written) journal_failed(written.error());
      continue;
    }
    take_up_run(row);
  }
}

void Service::Impl::take_up_run(const JournalRun& row) {
  auto head = decode_request(row.head, "journal " + options.journal.string());
  auto run = std::make_shared<Run>();
  run->run = row.run;
  run->id = row.request_id;
  run->digest = row.digest;
  run->kind = row.kind;
  run->priority = default_priority(row.kind);
  run->journaled = true;
  run->payload_journaled = row.request_bytes > 0;
  if (head) {
    run->circuit = head->circuit;
    run->priority = head->priority.value_or(run->priority);
    run->deadline_unix_ms = head->deadline_ms;
  }
  {
    std::lock_guard lock(mutex);
    runs[run->run] = run;
    latest[run->id] = run->run;
    ++unfinished;
    ++journal_status.recovered_jobs;
    ++counters.kinds[run->kind].accepted;
  }
  const auto submitted = [&]() -> Result<std::size_t> {
    if (!head) return fail(head.error());
    CUZK_TRY(auto circuit, circom_of(row, *head));
    PipelineJob job = pipeline_job(*run, std::move(*head), true, std::move(circuit));
    job.spec.parse_bytes = parse_bytes(row.request_bytes);
    return pipeline->submit(run->run, std::move(job),
                            [this, run](PipelineResult r) { on_done(run, std::move(r)); });
  }();
  if (submitted) return;
  PipelineResult failed{run->run, fail(submitted.error()), false, {}};
  failed.status.state = JobState::kFailed;
  failed.status.error = submitted.error();
  on_done(run, std::move(failed));
}

// The key that the id names now; the one that it named before leaves.
Result<CircomCircuits::Circuit> Service::Impl::find_circom(const std::string& id) {
  CUZK_TRY(auto found, circom.find(id));
  if (found.replaced) pipeline->retire(found.replaced->identifier());
  return std::move(found.circuit);
}

// Of a request that comes in; null for the other kinds.
Result<CircomCircuits::Circuit> Service::Impl::circom_of(ProofRequest& request) {
  if (request.kind != ProofKind::kCircom) return nullptr;
  CUZK_TRY(auto circuit, find_circom(request.circuit));
  CUZK_TRY_VOID(
      pipeline->fits(*circuit, request.priority.value_or(default_priority(request.kind))));
  request.key_digest.assign(circuit->digest().begin(), circuit->digest().end());
  return circuit;
}

// Of one that an earlier process accepted.
Result<CircomCircuits::Circuit> Service::Impl::circom_of(const JournalRun& row,
                                                         const ProofRequest& head) {
  if (row.kind != ProofKind::kCircom) return nullptr;
  if (row.request_bytes == 0) {
    return fail(ErrorCode::kNotFound,
                "the witness was lost with the daemon that had accepted it (witnesses are not "
                "journaled unless circom.journal_witness is set): submit again");
  }
  CUZK_TRY(auto circuit, find_circom(head.circuit));
  const Digest32& now = circuit->digest();
  if (!std::equal(now.begin(), now.end(), head.key_digest.begin(), head.key_digest.end())) {
    return fail(ErrorCode::kMismatch,
                "circuit {} names another key now than when the request was accepted: submit again",
                head.circuit);
  }
  return circuit;
}

void Service::Impl::check_files() {
  for (const std::string& id : circuit_ids()) {
    const auto spec = find_circuit_id(id);
    if (!spec) continue;
    const bool wanted =
        std::find(options.preload.begin(), options.preload.end(), id) != options.preload.end();
    // A circuit nobody asked for may be absent; one that is there must be right.
    if (!wanted && residency.describe(*spec).file.empty()) continue;
    for (Problem& p : residency.check_files(*spec)) start_problems.push_back(std::move(p));
  }
}

void Service::Impl::preload_all(std::stop_token stop) {
  for (const std::string& id : options.preload) {
    const auto spec = find_circuit_id(id);
    const auto loaded = spec ? pipeline->load(*spec, true, stop) : fail(spec.error());
    if (loaded || stop.stop_requested()) continue;
    std::lock_guard lock(mutex);
    start_problems.push_back({"preload of " + id, loaded.error().message});
  }
  for (const CircomCircuits::Entry& entry : circom.list()) {
    if (!entry.options.preload || !entry.circuit) continue;
    const auto loaded = pipeline->load(entry.circuit, true, stop);
    if (loaded || stop.stop_requested()) continue;
    std::lock_guard lock(mutex);
    start_problems.push_back({"circom circuit " + entry.options.id, loaded.error().message});
  }
  std::lock_guard lock(mutex);
  preloaded = true;
}

PipelineJob Service::Impl::pipeline_job(const Run& run, ProofRequest request, bool read_back,
                                        CircomCircuits::Circuit circuit) {
  PipelineJob job;
  job.job_id = run.id;
  job.kind = run.kind;
  job.spec.client = request.client;
  job.spec.priority = run.priority;
  if (run.deadline_unix_ms) job.spec.deadline = *run.deadline_unix_ms;
  job.deadline_unix_ms = run.deadline_unix_ms;
  job.spec.parse_bytes = parse_bytes(request);
  using Held = std::shared_ptr<const ProofRequest>;
  std::function<Result<Job>(const Context&, Held)> parse =
      [parse = options.parse ? options.parse : parse_request](
          const Context& context, const Held& held) { return parse(context, *held); };
  if (circuit) {
    parse = [circuit = std::move(circuit)](const Context& context, Held held) {
      return parse_circom_request(context, std::move(held), circuit);
    };
  }
  if (!read_back) {
    auto held = std::make_shared<const ProofRequest>(std::move(request));
    job.parse = [parse, held](const Context& context) { return parse(context, held); };
    return job;
  }
  job.parse = [this, parse, number = run.run](const Context& context) -> Result<Job> {
    CUZK_TRY(ProofRequest stored, journal->request(number));
    return parse(context, std::make_shared<const ProofRequest>(std::move(stored)));
  };
  return job;
}

// A submission that needs no run of its own.
std::optional<Submitted> Service::Impl::known(const std::string& id, const Digest32& digest) {
  std::unique_lock lock(mutex);
  const auto it = latest.find(id);
  if (it != latest.end()) {
    const Run& run = *runs.at(it->second);
    if (run.digest != digest) return std::nullopt;
    Submitted out;
    out.job_id = id;
    out.run = run.run;
    out.journaled = run.journaled;
    if (!run.answer) {
      out.attached = true;
      ++counters.attached;
      return out;
    }
    if (run.answer->status == AnswerStatus::kCompleted) {
      out.already_done = true;
      ++counters.answered_again;
      return out;
    }
    return std::nullopt;
  }
  if (!journal) return std::nullopt;
  lock.unlock();
  const auto row = journal->latest(id);
  if (!row || !*row || (*row)->digest != digest || (*row)->state != RunState::kCompleted) {
    return std::nullopt;
  }
  lock.lock();
  ++counters.answered_again;
  Submitted out;
  out.job_id = id;
  out.run = (*row)->run;
  out.already_done = true;
  out.journaled = true;
  return out;
}

Result<Submitted> Service::Impl::submit(ProofRequest request) {
  auto circuit = circom_of(request);
  if (!circuit) {
    std::lock_guard lock(mutex);
    ++counters.refused;
    return fail(circuit.error());
  }
  const Digest32 digest = request_digest(request);
  std::uint64_t lost_reader = 0;
  Result<Submitted> out;
  {
    std::lock_guard entering(submit_mutex);
    if (request.request_id.empty()) {
      request.request_id = new_id();
    } else if (auto same = known(request.request_id, digest)) {
      return *same;
    }
    out = submit_new(std::move(request), digest, std::move(*circuit), lost_reader);
  }
  // Without submit_mutex: this may call back.
  if (lost_reader) pipeline->cancel(lost_reader);
  if (!out) {
    std::lock_guard lock(mutex);
    ++counters.refused;
  }
  return out;
}

void Service::Impl::accept_in_journal(Run& run, const ProofRequest& request) {
  if (!journal) return;
  const bool keep = request.kind != ProofKind::kCircom || options.circom.journal_witness;
  if (const Status written = journal->accept(run.run, request, run.digest, keep); !written) {
    return journal_failed(written.error());
  }
  run.journaled = true;
  run.payload_journaled = keep;
  std::lock_guard lock(mutex);
  journal_status.writable = true;
  journal_status.problem.clear();
}

Result<Submitted> Service::Impl::submit_new(ProofRequest request, const Digest32& digest,
                                            CircomCircuits::Circuit circuit,
                                            std::uint64_t& lost_reader) {
  auto run = std::make_shared<Run>();
  run->id = request.request_id;
  run->digest = digest;
  run->kind = request.kind;
  run->circuit = request.circuit;
  run->priority = request.priority.value_or(default_priority(request.kind));
  run->deadline_unix_ms = request.deadline_ms;
  const std::size_t payload = request.payload_bytes();
  {
    std::lock_guard lock(mutex);
    if (draining || stopped) {
      return fail(ErrorCode::kCancelled, "the service is shutting down: no new requests");
    }
    if (held_bytes + payload > options.max_queued_bytes) {
      return fail(
          ErrorCode::kOutOfBudget,
          "the queue holds {:.1f} MiB of requests, this one has {:.1f}, the limit is {:.1f}",
          static_cast<double>(held_bytes) / (1 << 20), static_cast<double>(payload) / (1 << 20),
          static_cast<double>(options.max_queued_bytes) / (1 << 20));
    }
    run->run = next_run++;
  }
  scheduler::JobSpec spec;
  spec.client = request.client;
  spec.priority = run->priority;
  spec.parse_bytes = parse_bytes(request);
  CUZK_TRY_VOID(pipeline->refusal(spec));
  accept_in_journal(*run, request);
  const bool read_back = run->payload_journaled && payload > kSmallPayload;
  const std::uint64_t number = run->run;
  {
    std::lock_guard lock(mutex);
    run->held_bytes = read_back ? 0 : payload;
    held_bytes += run->held_bytes;
    runs[number] = run;
    ++unfinished;
    ++counters.kinds[run->kind].accepted;
  }
  lost_reader = supersede(run->id, number);
  Event e;
  e.type = EventType::kAccepted;
  e.job_id = run->id;
  e.run = number;
  e.kind = run->kind;
  e.state = priority_name(run->priority);
  telemetry.emit(std::move(e));
  PipelineJob job = pipeline_job(*run, std::move(request), read_back, std::move(circuit));
  if (read_back) job.spec.parse_bytes = spec.parse_bytes;
  const bool journaled = run->journaled;
  const auto ahead = pipeline->submit(
      number, std::move(job), [this, run](PipelineResult r) { on_done(run, std::move(r)); });
  if (!ahead) {
    // Only a stop can come between.
    PipelineResult late{number, fail(ahead.error()), true, {}};
    on_done(run, std::move(late));
    return fail(ahead.error());
  }
  Submitted out;
  out.job_id = run->id;
  out.run = number;
  out.queue_position = *ahead;
  out.journaled = journaled;
  return out;
}

// The id names the new run. Gives the older one when it has lost its last reader by that, else 0.
std::uint64_t Service::Impl::supersede(const std::string& id, std::uint64_t by) {
  std::lock_guard lock(mutex);
  const auto it = latest.find(id);
  std::uint64_t lost_reader = 0;
  if (it != latest.end()) {
    Run& old = *runs.at(it->second);
    old.superseded = true;
    if (!old.answer && old.waiters == 0 && old.watches.empty()) lost_reader = old.run;
  }
  latest[id] = by;
  return lost_reader;
}

void Service::Impl::write_answer(const Run& run, const Answer& answer) {
  if (!journal || !run.journaled) return;
  std::vector<std::pair<std::uint64_t, JournalAnswer>> todo;
  {
    std::lock_guard lock(mutex);
    todo = std::exchange(unwritten, {});
  }
  todo.emplace_back(run.run, journal_answer_of(answer));
  todo.back().second.scrub_log = run.kind == ProofKind::kCircom && run.payload_journaled;
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const Status written = journal->finish(todo[i].first, todo[i].second);
    if (written) continue;
    journal_failed(written.error());
    std::lock_guard lock(mutex);
    unwritten.insert(unwritten.end(), todo.begin() + static_cast<std::ptrdiff_t>(i), todo.end());
    return;
  }
  std::lock_guard lock(mutex);
  journal_status.writable = true;
  journal_status.problem.clear();
}

void Service::Impl::on_done(std::shared_ptr<Run> run, PipelineResult result) {
  Answer answer;
  answer.job_id = run->id;
  answer.run = run->run;
  answer.timings = result.status.timings;
  if (result.reply) {
    answer.status = AnswerStatus::kCompleted;
    answer.proof = result.reply->proof;
    answer.public_json = result.reply->public_json;
    answer.insecure_dev = result.reply->insecure_dev;
  } else if (result.reply.error().code == ErrorCode::kCancelled) {
    answer.status = AnswerStatus::kCancelled;
  } else {
    answer.error = result.reply.error();
  }
  // First on disk, then told. A run that only the shutdown ended stays accepted.
  if (!result.stopped) write_answer(*run, answer);

  std::vector<std::shared_ptr<WatchState>> watches;
  {
    std::lock_guard lock(mutex);
    KindMetrics& m = counters.kinds[run->kind];
    switch (answer.status) {
      case AnswerStatus::kCompleted:
        ++m.completed;
        m.partitions += result.status.partitions_done;
        add_timings(m.phases, answer.timings);
        break;
      case AnswerStatus::kFailed:
        ++m.failed;
        break;
      case AnswerStatus::kCancelled:
        ++m.cancelled;
        break;
    }
    if (run->kind == ProofKind::kCircom) count_circom(*run, answer);
    if (run->deadline_unix_ms && unix_ms() > *run->deadline_unix_ms) ++m.deadline_misses;
    run->answer = answer;
    watches = std::exchange(run->watches, {});
    JobStatus status = std::move(result.status);
    status.job_id = run->id;
    status.run = run->run;
    status.kind = run->kind;
    recent.push_front(std::move(status));
    if (recent.size() > kRecentJobs) recent.pop_back();
    retire(run);
    forget_old();
  }
  answered.notify_all();
  Event e;
  e.type = EventType::kFinished;
  e.job_id = run->id;
  e.run = run->run;
  e.kind = run->kind;
  e.state = answer.status == AnswerStatus::kCompleted   ? "completed"
            : answer.status == AnswerStatus::kCancelled ? "cancelled"
                                                        : "failed";
  if (answer.error) e.detail = answer.error->message;
  telemetry.emit(std::move(e));
  for (const auto& watch : watches) watch->call(answer);
  prune_journal();
}

void Service::Impl::count_circom(const Run& run, const Answer& answer) {
  const bool is_new = !counters.circom.contains(run.circuit);
  const bool full = counters.circom.size() >= CircomCircuits::kMaxCircuits;
  CircomMetrics& m = counters.circom[is_new && full ? "other" : run.circuit];
  m.completed += answer.status == AnswerStatus::kCompleted;
  m.failed += answer.status == AnswerStatus::kFailed;
  if (answer.status == AnswerStatus::kCompleted) {
    m.seconds += static_cast<double>(answer.timings.total_ms) / 1000;
  }
}

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

void Service::Impl::retire(std::shared_ptr<Run> run) {
  CUZK_CHECK(unfinished > 0);
  --unfinished;
  held_bytes -= std::exchange(run->held_bytes, 0);
  run->finished = Clock::now();
  finished.push_back(run->run);
}

void Service::Impl::forget_old() {
  const auto oldest = Clock::now() - std::chrono::milliseconds(options.result_ttl_ms);
  while (!finished.empty()) {
    const auto it = runs.find(finished.front());
    CUZK_CHECK(it != runs.end());
    if (finished.size() <= options.max_results && it->second->finished > oldest) return;
    const auto named = latest.find(it->second->id);
    if (named != latest.end() && named->second == it->first) latest.erase(named);
    runs.erase(it);
    finished.pop_front();
  }
}

void Service::Impl::prune_journal() {
  if (!journal) return;
  {
    std::lock_guard lock(mutex);
    if (++finishes % kFinishesBetweenPrunes != 0) return;
  }
  const auto pruned = journal->prune(unix_ms() - options.result_ttl_ms, options.max_results);
  if (!pruned) journal_failed(pruned.error());
}

// A run that is in memory. Errors: kNotFound.
Result<std::shared_ptr<Run>> Service::Impl::find(const std::string& id,
                                                 std::optional<std::uint64_t> run) {
  const auto named = latest.find(id);
  const auto it = run                     ? runs.find(*run)
                  : named == latest.end() ? runs.end()
                                          : runs.find(named->second);
  if (it == runs.end() || it->second->id != id) {
    return fail(ErrorCode::kNotFound, "job not found: {}", id);
  }
  return it->second;
}

Result<Answer> Service::Impl::find_in_journal(const std::string& id,
                                              std::optional<std::uint64_t> run) {
  if (journal) {
    CUZK_TRY(const auto row, run ? journal->find(*run) : journal->latest(id));
    if (row && row->request_id == id && row->state != RunState::kAccepted) return answer_of(*row);
  }
  return fail(ErrorCode::kNotFound, "job not found: {}", id);
}

// A waiter goes; true when the run has no reader left.
bool Service::Impl::leave(const std::shared_ptr<Run>& run, std::unique_lock<std::mutex>&) {
  --run->waiters;
  return run->superseded && !run->answer && run->waiters == 0 && run->watches.empty();
}

Result<std::optional<Answer>> Service::Impl::await(const std::string& id,
                                                   std::optional<std::uint64_t> number,
                                                   std::optional<Clock::time_point> deadline,
                                                   std::stop_token stop) {
  std::unique_lock lock(mutex);
  forget_old();
  const auto found = find(id, number);
  if (!found) {
    lock.unlock();
    CUZK_TRY(Answer answer, find_in_journal(id, number));
    return std::optional<Answer>(std::move(answer));
  }
  const std::shared_ptr<Run> run = *found;
  ++run->waiters;
  const auto ready = [&] { return run->answer.has_value(); };
  if (deadline) {
    answered.wait_until(lock, stop, *deadline, ready);
  } else {
    answered.wait(lock, stop, ready);
  }
  const bool alone = leave(run, lock);
  if (run->answer) return run->answer;
  lock.unlock();
  if (alone) pipeline->cancel(run->run);
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "waiting for {} was given up", id);
  return std::optional<Answer>();
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

namespace {

class WatchHandle final : public Service::Watch {
 public:
  explicit WatchHandle(std::shared_ptr<WatchState> state, std::function<void()> drop)
      : state_(std::move(state)), drop_(std::move(drop)) {}
  ~WatchHandle() override {
    {
      std::lock_guard lock(state_->mutex);
      state_->callback = nullptr;
    }
    drop_();
  }

 private:
  std::shared_ptr<WatchState> state_;
  std::function<void()> drop_;
};

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

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Service::~Service() { stop_now(); }

Result<std::unique_ptr<Service>> Service::start(ServiceOptions options) {
  CUZK_TRY_VOID(check_options(options));
  const std::size_t memory_bytes =
      options.memory_bytes ? options.memory_bytes : MemoryBudget::detect_limit_bytes();
  auto impl = std::make_unique<Impl>(std::move(options), memory_bytes);
  Impl& s = *impl;
  for (const std::string& id : circuit_ids()) {
    if (const auto spec = find_circuit_id(id)) s.circuit_names[spec->identifier] = id;
  }
  s.open_journal();
  s.check_files();
  // What is wrong with one stands among the problems.
  for (const CircomCircuitOptions& circuit : s.options.circom.circuits) (void)s.circom.add(circuit);
  PipelineOptions pipeline = pipeline_options(s.options, memory_bytes);
  if (s.journal) {
    // What was accepted before is taken up, however small the queue is now.
    if (const auto left = s.journal->unfinished()) pipeline.limits.queued_jobs += left->size();
    if (pipeline.limits.jobs_per_client) pipeline.limits.jobs_per_client += s.next_run;
  }
  s.pipeline = std::make_unique<Pipeline>(pipeline, s.residency, s.memory, s.telemetry);
  s.take_up();
  s.preloader = std::jthread([&s](std::stop_token stop) { s.preload_all(std::move(stop)); });
  return std::unique_ptr<Service>(new Service(std::move(impl)));
}

Result<Submitted> Service::submit(ProofRequest request) {
  return impl_->submit(std::move(request));
}

Result<std::optional<Answer>> Service::await(const std::string& job_id,
                                             std::optional<Clock::time_point> deadline,
                                             std::stop_token stop) {
  return impl_->await(job_id, std::nullopt, deadline, std::move(stop));
}

Result<std::optional<Answer>> Service::await_run(const std::string& job_id, std::uint64_t run,
                                                 std::optional<Clock::time_point> deadline,
                                                 std::stop_token stop) {
  return impl_->await(job_id, run, deadline, std::move(stop));
}

Result<std::unique_ptr<Service::Watch>> Service::watch(
    const std::string& job_id, std::uint64_t number, std::function<void(const Answer&)> callback) {
  auto state = std::make_shared<WatchState>();
  state->callback = std::move(callback);
  std::optional<Answer> answer;
  std::shared_ptr<Run> run;
  {
    std::unique_lock lock(impl_->mutex);
    if (const auto found = impl_->find(job_id, number)) {
      run = *found;
      answer = run->answer;
      if (!answer) run->watches.push_back(state);
    } else {
      lock.unlock();
      CUZK_TRY(answer, impl_->find_in_journal(job_id, number));
    }
  }
  if (answer) state->call(*answer);
  const auto drop = [impl = impl_.get(), state, run] {
    if (!run) return;
    bool alone = false;
    {
      std::lock_guard lock(impl->mutex);
      const bool removed = std::erase(run->watches, state) > 0;
      alone =
          removed && run->superseded && !run->answer && run->waiters == 0 && run->watches.empty();
    }
    if (alone) impl->pipeline->cancel(run->run);
  };
  return std::unique_ptr<Watch>(new WatchHandle(state, drop));
}

Result<bool> Service::cancel(const std::string& job_id) {
  std::uint64_t number = 0;
  {
    std::unique_lock lock(impl_->mutex);
    const auto found = impl_->find(job_id, std::nullopt);
    if (!found) {
      lock.unlock();
      CUZK_TRY_VOID(impl_->find_in_journal(job_id, std::nullopt));
      return false;
    }
    if ((*found)->answer) return false;
    number = (*found)->run;
  }
  return impl_->pipeline->cancel(number);
}

Result<Service::Preloaded> Service::preload(const std::string& circuit_id, std::stop_token stop) {
  CUZK_TRY(const auto spec, find_circuit_id(circuit_id));
  const auto start = Clock::now();
  CUZK_TRY(const bool already, impl_->pipeline->load(spec, false, std::move(stop)));
  const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  return Preloaded{already, already ? 0 : taken.count()};
}

Result<Service::Evicted> Service::evict(const std::string& circuit_id) {
  CUZK_TRY(const auto spec, find_circuit_id(circuit_id));
  return impl_->pipeline->evict(spec.identifier);
}

Result<CircomCircuitStatus> Service::register_circom(CircomCircuitOptions options,
                                                     std::stop_token stop) {
  Impl& s = *impl_;
  if (options.origin == CircomOrigin::kRegistered) {
    CUZK_TRY(options, s.circom.in_directory(std::move(options)));
  }
  CUZK_TRY(const auto circuit, s.circom.open(options));
  CUZK_TRY_VOID(s.pipeline->fits(*circuit, Priority::kNormal));
  const auto loaded = s.pipeline->load(circuit, options.preload, std::move(stop));
  if (!loaded) {
    s.pipeline->retire(circuit->identifier());
    return fail(loaded.error());
  }
  CUZK_TRY(const auto replaced, s.circom.add(circuit));
  if (replaced) s.pipeline->retire(replaced->identifier());
  return s.circom_status({options, circuit, {}});
}

bool Service::unregister_circom(const std::string& id) {
  const auto removed = impl_->circom.remove(id);
  if (removed.circuit) impl_->pipeline->retire(removed.circuit->identifier());
  return removed.was_known;
}

std::vector<CircomCircuitStatus> Service::circom_circuits() const {
  std::vector<CircomCircuitStatus> out;
  for (const CircomCircuits::Entry& e : impl_->circom.list()) {
    out.push_back(impl_->circom_status(e));
  }
  return out;
}

const std::filesystem::path& Service::circom_directory() const { return impl_->circom.directory(); }

Result<std::string> Service::circom_verification_key(const std::string& id) const {
  CUZK_TRY(const auto circuit, impl_->find_circom(id));
  return circuit->verification_key_json();
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

std::vector<SpanEvent> Service::spans(std::int64_t after_us) const {
  return impl_->telemetry.spans(after_us);
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

bool Service::drain(Clock::time_point deadline) {
  std::unique_lock lock(impl_->mutex);
  impl_->draining = true;
  return impl_->answered.wait_until(lock, deadline, [&] { return impl_->unfinished == 0; });
}

void Service::undrain() {
  std::lock_guard lock(impl_->mutex);
  impl_->draining = false;
}

void Service::stop_now() {
  std::lock_guard stopping(impl_->stop_mutex);
  {
    std::lock_guard lock(impl_->mutex);
    if (std::exchange(impl_->stopped, true)) return;
  }
  impl_->preloader.request_stop();
  impl_->preloader.join();
  impl_->pipeline->stop();
  impl_->telemetry.close();
  impl_->answered.notify_all();
}

namespace {

struct IdPrefix {
  std::string_view prefix;  // as Curio's clients spell it
  std::string_view kind;    // as catalog.h does
};
constexpr IdPrefix kIdPrefixes[] = {
    {"porep", "porep"}, {"wpost", "window-post"}, {"winning", "winning-post"}, {"snap", "update"}};
struct IdSize {
  std::string_view suffix;
  std::uint64_t bytes;
};
constexpr IdSize kIdSizes[] = {{"2k", std::uint64_t{2} << 10},
                               {"8m", std::uint64_t{8} << 20},
                               {"512m", std::uint64_t{512} << 20},
                               {"32g", std::uint64_t{32} << 30},
                               {"64g", std::uint64_t{64} << 30}};

}  // namespace

std::vector<std::string> circuit_ids() {
  std::vector<std::string> out;
  for (const IdPrefix& p : kIdPrefixes) {
    for (const IdSize& s : kIdSizes) {
      if (find_circuit(p.kind, s.bytes)) out.push_back(fmt::format("{}-{}", p.prefix, s.suffix));
    }
  }
  return out;
}

Result<filecoin::CircuitSpec> find_circuit_id(std::string_view id) {
  for (const IdPrefix& p : kIdPrefixes) {
    for (const IdSize& s : kIdSizes) {
      if (id == fmt::format("{}-{}", p.prefix, s.suffix)) return find_circuit(p.kind, s.bytes);
    }
  }
  return fail(ErrorCode::kInvalidArgument, "unknown circuit ID: {} (there are {})", id,
              fmt::join(circuit_ids(), ", "));
}

}  // namespace cuzk::engine
