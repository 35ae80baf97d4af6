#include "daemon/job_log.h"

#include "daemon/kinds.h"

namespace cuzk::daemon {

namespace {

constexpr std::size_t kEventsKept = 8192;

std::vector<LogField> fields_of(const engine::Event& event) {
  std::vector<LogField> out;
  if (!event.job_id.empty()) out.emplace_back("job", event.job_id);
  if (event.kind) out.emplace_back("kind", status_kind_name(*event.kind));
  if (!event.state.empty()) out.emplace_back("state", event.state);
  if (!event.detail.empty()) out.emplace_back("detail", event.detail);
  return out;
}

}  // namespace

JobLog::JobLog(engine::Service& service, Log& log)
    : service_(service),
      log_(log),
      events_(service.subscribe(kEventsKept)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

JobLog::~JobLog() {
  thread_.request_stop();
  thread_.join();
  for (const engine::Event& event : events_->next(std::chrono::steady_clock::now())) write(event);
}

void JobLog::run(const std::stop_token& stop) {
  std::uint64_t lost = 0;
  while (!stop.stop_requested()) {
    const auto began = std::chrono::steady_clock::now();
    const auto events = events_->next(began + std::chrono::seconds(1), stop);
    for (const engine::Event& event : events) write(event);
    if (const std::uint64_t now = events_->lost(); now != lost) {
      log_.warn("events were lost", {{"count", now - std::exchange(lost, now)}});
    }
    // A service that has stopped answers at once.
    if (events.empty() &&
        std::chrono::steady_clock::now() - began < std::chrono::milliseconds(500)) {
      return;
    }
  }
}

void JobLog::write(const engine::Event& event) {
  switch (event.type) {
    case engine::EventType::kAccepted:
      return log_.debug("accepted", fields_of(event));
    case engine::EventType::kParsed:
      return log_.debug("parsed", fields_of(event));
    case engine::EventType::kPartition: {
      if (!log_.enabled(LogLevel::kDebug)) return;
      std::vector<LogField> fields = fields_of(event);
      fields.emplace_back("partition", event.partition);
      return log_.debug("partition", fields);
    }
    case engine::EventType::kFinished:
      return write_finished(event);
    case engine::EventType::kCircuit:
      return log_.info("parameters", fields_of(event));
    case engine::EventType::kDevice:
      return log_.error("device", fields_of(event));
    case engine::EventType::kProblem:
      return log_.error("problem", fields_of(event));
  }
}

void JobLog::write_finished(const engine::Event& event) {
  std::vector<LogField> fields = {{"job", event.job_id}, {"run", event.run}};
  if (event.kind) fields.emplace_back("kind", status_kind_name(*event.kind));
  const auto job = service_.job(event.job_id);
  if (job && job->run == event.run) {
    fields.emplace_back("name", job->name);
    fields.emplace_back("client", job->client);
    fields.emplace_back("priority", engine::priority_name(job->priority));
    const engine::JobTimings& t = job->timings;
    const std::pair<const char*, std::int64_t> times[] = {
        {"queue_wait_ms", t.queue_wait_ms}, {"key_load_ms", t.key_load_ms},
        {"parse_ms", t.parse_ms},           {"memory_wait_ms", t.memory_wait_ms},
        {"synthesis_ms", t.synthesis_ms},   {"prove_wait_ms", t.prove_wait_ms},
        {"prove_ms", t.prove_ms},           {"finish_ms", t.finish_ms},
        {"verify_ms", t.verify_ms},         {"total_ms", t.total_ms}};
    for (const auto& [name, value] : times) fields.emplace_back(name, value);
    if (!job->partitions.empty()) fields.emplace_back("device", job->partitions[0].device);
    if (job->error) fields.emplace_back("error", job->error->message);
  }
  const bool failed = event.state == engine::job_state_name(engine::JobState::kFailed);
  log_.write(failed ? LogLevel::kWarn : LogLevel::kInfo, event.state, fields);
}

}  // namespace cuzk::daemon
