// A request's way in: known or new, into the journal, into the pipeline. After a restart: again.

#include <array>

#include "base/random.h"
#include "engine/service_impl.h"

namespace cuzk::engine {

using internal::Run;
using internal::unix_ms;

namespace {

// Payloads up to this size stay in memory even when the journal has them.
constexpr std::size_t kSmallPayload = std::size_t{64} << 10;

// A version 4 UUID (RFC 4122).
std::string new_id() {
  SystemRandom random;
  std::array<std::uint8_t, 16> b;
  random.fill(b);
  b[6] = static_cast<std::uint8_t>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<std::uint8_t>((b[8] & 0x3f) | 0x80);
  std::string hex = to_hex(b);
  for (const std::size_t at : {20, 16, 12, 8}) hex.insert(at, 1, '-');
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

}  // namespace

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
    const std::size_t limit =
        options.max_queued_bytes +
        (run->priority == Priority::kCritical ? options.max_queued_bytes / 8 : 0);
    if (held_bytes + payload > limit) {
      return fail(
          ErrorCode::kOutOfBudget,
          "the queue holds {:.1f} MiB of requests, this one has {:.1f}, the limit is {:.1f}",
          static_cast<double>(held_bytes) / (1 << 20), static_cast<double>(payload) / (1 << 20),
          static_cast<double>(limit) / (1 << 20));
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

}  // namespace cuzk::engine
