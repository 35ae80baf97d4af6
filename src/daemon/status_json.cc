#include "daemon/status_json.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/kinds.h"

namespace cuzk::daemon {

namespace {

using engine::JobState;
using engine::JobStatus;
using engine::PartitionState;
using engine::ServiceStatus;
using nlohmann::json;

// How long a finished job stays among the pipelines.
constexpr std::int64_t kPipelineTailUs = 30'000'000;

json known(std::int64_t value) { return value < 0 ? json(nullptr) : json(value); }
json seconds(std::int64_t us) {
  return us < 0 ? json(nullptr) : json(static_cast<double>(us) * 1e-6);
}
json name_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

const char* pipeline_state(PartitionState state) {
  switch (state) {
    case PartitionState::kPending:
      return "pending";
    case PartitionState::kSynthesizing:
      return "synthesizing";
    case PartitionState::kSynthesized:
      return "synth_done";
    case PartitionState::kProving:
    case PartitionState::kFinishing:
      return "gpu";
    case PartitionState::kDone:
      return "done";
    case PartitionState::kFailed:
      return "failed";
  }
  return "pending";
}

const char* tier_name(engine::Tier tier) {
  switch (tier) {
    case engine::Tier::kHot:
      return "hot";
    case engine::Tier::kWarm:
      return "warm";
    case engine::Tier::kCold:
      return "cold";
  }
  return "cold";
}

std::size_t partitions_in(const ServiceStatus& s, PartitionState state) {
  std::size_t count = 0;
  for (const JobStatus& job : s.jobs) {
    for (const auto& partition : job.partitions) count += partition.state == state ? 1 : 0;
  }
  return count;
}

json pipeline_json(const JobStatus& job, std::int64_t now_us) {
  json partitions = json::array();
  for (std::size_t i = 0; i < job.partitions.size(); ++i) {
    const auto& p = job.partitions[i];
    partitions.push_back({{"index", i},
                          {"state", pipeline_state(p.state)},
                          {"synth_ms", known(p.synthesis_ms)},
                          {"gpu_ms", known(p.prove_ms)}});
  }
  return {{"job_id", job.job_id},
          {"proof_kind", status_kind_name(job.kind)},
          {"started_secs_ago", seconds(std::max<std::int64_t>(0, now_us - job.submitted_us))},
          {"total_partitions", job.partitions.size()},
          {"partitions_done", job.partitions_done},
          {"partitions", std::move(partitions)}};
}

json pipelines_json(const ServiceStatus& s) {
  json out = json::array();
  for (const JobStatus& job : s.jobs) {
    if (!job.partitions.empty()) out.push_back(pipeline_json(job, s.uptime_us));
  }
  for (const JobStatus& job : s.recent) {
    const bool fresh = s.uptime_us - job.finished_us < kPipelineTailUs;
    if (fresh && !job.partitions.empty()) out.push_back(pipeline_json(job, s.uptime_us));
  }
  return out;
}

std::size_t ordinal_of(const ServiceStatus& s, const std::string& device) {
  const auto found = std::find_if(s.devices.begin(), s.devices.end(),
                                  [&](const auto& d) { return d.name == device; });
  return static_cast<std::size_t>(found - s.devices.begin());
}

json gpu_workers_json(const ServiceStatus& s) {
  json out = json::array();
  for (const auto& worker : s.workers) {
    if (worker.stage != "prove") continue;
    const bool busy = !worker.job_id.empty();
    out.push_back({{"worker_id", out.size()},
                   {"gpu_ordinal", ordinal_of(s, worker.device)},
                   {"state", busy ? "proving" : "idle"},
                   {"current_job", name_or_null(worker.job_id)},
                   {"current_partition", busy ? json(worker.partition) : json(nullptr)},
                   {"busy_secs", busy ? seconds(worker.busy_us) : json(nullptr)}});
  }
  return out;
}

json allocations_json(const ServiceStatus& s) {
  json srs = json::array();
  for (const auto& circuit : s.circuits) {
    if (circuit.tier != engine::Tier::kHot) continue;
    srs.push_back({{"circuit_id", circuit.circuit_id},
                   {"bytes", circuit.bytes},
                   {"last_used_secs_ago", seconds(circuit.in_use ? 0 : circuit.idle_us)},
                   {"evictable", circuit.in_use == 0 && !circuit.pinned}});
  }
  return {{"srs", std::move(srs)}, {"pce", json::array()}};
}

json counters_json(const engine::ServiceMetrics& m) {
  json completed = json::object();
  json failed = json::object();
  for (const auto& [kind, k] : m.kinds) {
    completed[std::string(status_kind_name(kind))] = k.completed;
    failed[std::string(status_kind_name(kind))] = k.failed;
  }
  std::size_t depth = 0;
  for (const auto& queue : m.status.queues) depth += queue.pending;
  return {{"total_completed", m.status.completed},
          {"total_failed", m.status.failed},
          {"completed_by_kind", completed},
          {"failed_by_kind", failed},
          {"queue_depth", depth},
          {"accepted", m.status.accepted},
          {"cancelled", m.status.cancelled},
          {"attached", m.attached},
          {"answered_again", m.answered_again},
          {"refused", m.refused}};
}

json timings_json(const engine::JobTimings& t) {
  return {{"queue_wait", t.queue_wait_ms}, {"key_load", t.key_load_ms},
          {"parse", t.parse_ms},           {"memory_wait", t.memory_wait_ms},
          {"synthesis", t.synthesis_ms},   {"prove_wait", t.prove_wait_ms},
          {"prove", t.prove_ms},           {"finish", t.finish_ms},
          {"verify", t.verify_ms},         {"total", t.total_ms}};
}

json job_json(const JobStatus& job, std::int64_t now_us) {
  json partitions = json::array();
  for (const auto& p : job.partitions) {
    partitions.push_back({{"state", engine::partition_state_name(p.state)},
                          {"synthesis_ms", known(p.synthesis_ms)},
                          {"prove_ms", known(p.prove_ms)},
                          {"device", name_or_null(p.device)},
                          {"attempts", p.attempts}});
  }
  const bool finished = job.finished_us >= 0;
  return {{"job_id", job.job_id},
          {"run", job.run},
          {"kind", status_kind_name(job.kind)},
          {"client", job.client},
          {"priority", engine::priority_name(job.priority)},
          {"deadline_unix_ms", job.deadline_unix_ms ? json(*job.deadline_unix_ms) : json(nullptr)},
          {"state", engine::job_state_name(job.state)},
          {"name", job.name},
          {"circuit", job.circuit},
          {"waits_for", job.waits_for},
          {"submitted_secs_ago", seconds(std::max<std::int64_t>(0, now_us - job.submitted_us))},
          {"finished_secs_ago",
           finished ? seconds(std::max<std::int64_t>(0, now_us - job.finished_us)) : json(nullptr)},
          {"eta_ms", job.eta_ms ? json(*job.eta_ms) : json(nullptr)},
          {"partitions_done", job.partitions_done},
          {"partitions", std::move(partitions)},
          {"timings_ms", timings_json(job.timings)},
          {"error", job.error ? json(job.error->message) : json(nullptr)}};
}

json workers_json(const ServiceStatus& s) {
  json out = json::array();
  for (const auto& w : s.workers) {
    out.push_back({{"stage", w.stage},
                   {"device", name_or_null(w.device)},
                   {"index", w.index},
                   {"job_id", name_or_null(w.job_id)},
                   {"partition", w.partition},
                   {"busy_us", known(w.busy_us)}});
  }
  return out;
}

json devices_json(const ServiceStatus& s) {
  json out = json::array();
  for (const auto& d : s.devices) {
    json keys = json::array();
    for (const auto& k : d.keys) {
      keys.push_back({{"circuit", k.circuit},
                      {"streamed", k.is_streamed},
                      {"bytes", k.bytes},
                      {"in_use", k.in_use}});
    }
    out.push_back({{"name", d.name},
                   {"model", d.model},
                   {"problem", name_or_null(d.problem)},
                   {"keys", std::move(keys)},
                   {"key_loads", d.key_loads},
                   {"key_evictions", d.key_evictions},
                   {"fallback", d.fallback},
                   {"quarantined", d.quarantined},
                   {"workers", d.workers},
                   {"busy", d.busy},
                   {"proofs", d.proofs},
                   {"invalid_proofs", d.invalid_proofs},
                   {"faults", d.faults},
                   {"busy_secs", seconds(d.busy_us)},
                   {"leased_bytes", d.leased_bytes},
                   {"limit_bytes", d.limit_bytes}});
  }
  return out;
}

json circuits_json(const ServiceStatus& s) {
  json out = json::array();
  for (const auto& c : s.circuits) {
    out.push_back({{"circuit_id", c.circuit_id},
                   {"name", c.name},
                   {"tier", tier_name(c.tier)},
                   {"bytes", c.bytes},
                   {"in_use", c.in_use},
                   {"pinned", c.pinned},
                   {"idle_secs", seconds(c.idle_us)},
                   {"file", c.file},
                   {"insecure_dev", c.insecure_dev}});
  }
  return out;
}

json circom_json(const engine::ServiceMetrics& m) {
  json out = json::array();
  for (const auto& c : m.status.circom) {
    const auto counted = m.circom.find(c.options.id);
    const engine::CircomMetrics counts =
        counted == m.circom.end() ? engine::CircomMetrics() : counted->second;
    out.push_back({{"id", c.options.id},
                   {"curve", c.curve},
                   {"num_public", c.num_public},
                   {"num_wires", c.num_wires},
                   {"num_constraints", c.num_constraints},
                   {"domain_size", c.domain_size},
                   {"file", c.options.zkey.string()},
                   {"file_bytes", c.file_bytes},
                   {"resident_bytes", c.resident_bytes},
                   {"prove_bytes", c.prove_bytes},
                   {"key_digest", c.key_digest},
                   {"insecure_reason", c.insecure_reason},
                   {"checks_constraints", !c.options.r1cs.empty()},
                   {"loaded", c.loaded},
                   {"preload", c.options.preload},
                   {"origin", engine::circom_origin_name(c.options.origin)},
                   {"problem", c.problem},
                   {"completed", counts.completed},
                   {"failed", counts.failed},
                   {"seconds", counts.seconds}});
  }
  return out;
}

json queues_json(const engine::ServiceMetrics& m) {
  json kinds = json::array();
  for (const auto& q : m.status.queues) {
    kinds.push_back({{"kind", status_kind_name(q.kind)},
                     {"pending", q.pending},
                     {"in_progress", q.in_progress}});
  }
  json priorities = json::object();
  for (const auto& [priority, count] : m.queued) {
    priorities[std::string(engine::priority_name(priority))] = count;
  }
  return {{"kinds", kinds}, {"priorities", priorities}};
}

json memory_json(const engine::MemoryStatus& m) {
  const std::size_t used = std::max(m.leased_bytes, m.reserved_bytes);
  return {{"total_bytes", m.limit_bytes},
          {"used_bytes", used},
          {"available_bytes", m.limit_bytes - std::min(used, m.limit_bytes)},
          {"leased_bytes", m.leased_bytes},
          {"reserved_bytes", m.reserved_bytes},
          {"peak_reserved_bytes", m.peak_reserved_bytes},
          {"critical_reserve_bytes", m.critical_reserve_bytes},
          {"pinned_limit_bytes", m.pinned_limit_bytes},
          {"pinned_leased_bytes", m.pinned_leased_bytes}};
}

// What the system says this process holds, beside what the budget plans.
json process_json() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0, resident = 0;
  file >> pages >> resident;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {{"resident_bytes", resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))},
          {"peak_resident_bytes", static_cast<std::size_t>(usage.ru_maxrss) * 1024}};
}

void add_jobs(json& out, const ServiceStatus& s) {
  out["jobs"] = json::array();
  for (const JobStatus& job : s.jobs) out["jobs"].push_back(job_json(job, s.uptime_us));
  out["recent"] = json::array();
  for (const JobStatus& job : s.recent) out["recent"].push_back(job_json(job, s.uptime_us));
}

}  // namespace

json status_json(const engine::ServiceMetrics& metrics, const std::string& version) {
  const ServiceStatus& s = metrics.status;
  std::size_t synthesis_workers = 0;
  for (const auto& worker : s.workers) synthesis_workers += worker.stage == "synthesis" ? 1 : 0;
  const std::size_t synthesizing = partitions_in(s, PartitionState::kSynthesizing);
  const std::size_t proving = partitions_in(s, PartitionState::kProving);
  json problems = json::array();
  for (const auto& p : s.problems) {
    problems.push_back({{"subject", p.subject}, {"message", p.message}});
  }
  json out = {{"version", version},
              {"ready", s.ready},
              {"draining", s.draining},
              {"uptime_secs", seconds(s.uptime_us)},
              {"uptime_us", s.uptime_us},
              {"memory", memory_json(s.memory)},
              {"process", process_json()},
              {"synthesis", {{"max_concurrent", synthesis_workers}, {"active", synthesizing}}},
              {"pipelines", pipelines_json(s)},
              {"gpu_workers", gpu_workers_json(s)},
              {"allocations", allocations_json(s)},
              {"counters", counters_json(metrics)},
              {"buffers",
               {{"synth_in_flight", synthesizing},
                {"provers_in_flight", proving},
                {"aux_in_flight", partitions_in(s, PartitionState::kSynthesized) + proving},
                {"shells_in_flight", 0},
                {"pending_handles", partitions_in(s, PartitionState::kFinishing)}}},
              {"queues", queues_json(metrics)},
              {"workers", workers_json(s)},
              {"devices", devices_json(s)},
              {"circuits", circuits_json(s)},
              {"circom", circom_json(metrics)},
              {"journal",
               {{"configured", s.journal.configured},
                {"writable", s.journal.writable},
                {"problem", s.journal.problem},
                {"errors", s.journal.errors},
                {"recovered_jobs", s.journal.recovered_jobs}}},
              {"problems", problems}};
  add_jobs(out, s);
  return out;
}

json spans_json(const engine::SpanList& spans, std::int64_t now_us) {
  json list = json::array();
  for (const auto& span : spans.spans) {
    list.push_back({{"sequence", span.sequence},
                    {"lane", span.lane},
                    {"name", span.name},
                    {"job_id", span.job_id},
                    {"partition", span.partition},
                    {"start_us", span.start_us},
                    {"end_us", span.end_us}});
  }
  return {{"now_us", now_us}, {"last", spans.last}, {"spans", std::move(list)}};
}

json event_json(const engine::Event& event, std::uint64_t lost) {
  return {{"sequence", event.sequence},
          {"at_us", event.at_us},
          {"type", engine::event_type_name(event.type)},
          {"job_id", event.job_id},
          {"run", event.run},
          {"kind", event.kind ? json(status_kind_name(*event.kind)) : json(nullptr)},
          {"partition", event.partition},
          {"partitions", event.partitions},
          {"partitions_done", event.partitions_done},
          {"state", event.state},
          {"detail", event.detail},
          {"lost", lost}};
}

std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace cuzk::daemon
