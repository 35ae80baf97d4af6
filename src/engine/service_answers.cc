// An answer's way: on disk, then to whoever waits for it; kept for a while.

#include "base/check.h"
#include "engine/service_impl.h"

namespace cuzk::engine {

using Clock = std::chrono::steady_clock;
using internal::Run;
using internal::unix_ms;
using internal::WatchState;

namespace {

constexpr std::size_t kRecentJobs = 64;
constexpr std::size_t kFinishesBetweenPrunes = 256;

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

}  // namespace

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

}  // namespace cuzk::engine
