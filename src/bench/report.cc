#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/svg.h"
#include "bench/timeline_plot.h"

namespace cuzk::bench {

namespace {

using nlohmann::json;

constexpr double kShown = 0.005;  // smaller shares are left out of the lines for people

template <class F>
Summary summary_of(const RunResult& result, F&& value) {
  std::vector<double> values;
  for (const JobRecord& job : result.jobs) {
    if (job.ending == Ending::kCompleted) values.push_back(value(job));
  }
  return summarize(std::move(values));
}

json summary_json(const Summary& s) {
  return {{"count", s.count}, {"mean", s.mean}, {"min", s.min}, {"p50", s.p50},
          {"p90", s.p90},     {"p99", s.p99},   {"max", s.max}};
}

json latency_json(const RunResult& result) {
  const Latencies l = latencies_of(result);
  return {{"wall", summary_json(l.wall_ms)},
          {"queue_wait", summary_json(l.queue_ms)},
          {"service", summary_json(l.service_ms)},
          {"prove", summary_json(l.prove_ms)}};
}

json kinds_json(const RunResult& result) {
  json out = json::object();
  for (const engine::ProofKind kind : engine::kProofKinds) {
    RunResult one;
    for (const JobRecord& job : result.jobs) {
      if (job.kind == kind) one.jobs.push_back(job);
    }
    if (one.jobs.empty()) continue;
    out[std::string(engine::proof_kind_name(kind))] = {{"sent", one.jobs.size()},
                                                       {"completed", one.count(Ending::kCompleted)},
                                                       {"latency_ms", latency_json(one)}};
  }
  return out;
}

json proof_json(const JobRecord& job) {
  json out = {{"id", job.id},
              {"kind", engine::proof_kind_name(job.kind)},
              {"status", ending_name(job.ending)},
              {"due_ms", static_cast<double>(job.due_us) * 1e-3},
              {"sent_ms", static_cast<double>(job.sent_us) * 1e-3},
              {"wall_ms", job.wall_ms()},
              {"queue_wait_ms", job.timings.queue_wait_ms},
              {"key_load_ms", job.timings.key_load_ms},
              {"synthesis_ms", job.timings.synthesis_ms},
              {"prove_ms", job.timings.prove_ms},
              {"total_ms", job.timings.total_ms},
              {"proof_bytes", job.proof.size()},
              {"insecure_dev", job.insecure_dev},
              {"cancel_asked", job.cancel_at_us.has_value()}};
  out["error"] = job.error ? json(job.error->message) : json(nullptr);
  out["verified"] = job.verified ? json(job.verified->has_value()) : json(nullptr);
  if (job.verified && !*job.verified) out["error"] = job.verified->error().message;
  return out;
}

json memory_json(const RunResult::Service& s) {
  return {{"limit_bytes", s.after.memory.limit_bytes},
          {"peak_reserved_bytes", s.peak_reserved_bytes},
          {"peak_planned_bytes", s.peak_leased_bytes},
          {"peak_resident_bytes", s.peak_resident_bytes}};
}

json verdict_json(const Verdict& v) {
  if (!v.has_spans) return nullptr;
  json shares = json::object();
  for (std::size_t i = 0; i < kCauses; ++i) {
    shares[std::string(cause_key(static_cast<Cause>(i)))] = v.shares[i];
  }
  json stages = json::array();
  for (const StageUse& s : v.stages) {
    stages.push_back({{"name", s.name},
                      {"spans", s.spans},
                      {"total_ms", s.total_ms},
                      {"busy_share", s.busy_share}});
  }
  return {{"bound", cause_key(v.bound)},
          {"sentence", v.sentence},
          {"advice", cause_advice(v.bound)},
          {"shares", shares},
          {"synthesis_under_proving", v.synthesis_under_proving},
          {"jobs_without_spans", v.jobs_without_spans},
          {"stages", stages}};
}

json devices_json(const Verdict& v) {
  json out = json::array();
  for (const DeviceUse& d : v.devices) {
    out.push_back({{"name", d.name},
                   {"compute_share", d.compute_share},
                   {"upload_share", d.upload_share},
                   {"held_share", d.held_share},
                   {"foreign_share", d.foreign_share}});
  }
  return out;
}

std::string ms_line(const char* name, const Summary& s) {
  const auto part = [](double ms) { return human_seconds(ms * 1e-3); };
  return fmt::format("{:<14} p50={} p90={} p99={} max={}", name, part(s.p50), part(s.p90),
                     part(s.p99), part(s.max));
}

void add_verdict_lines(std::vector<std::string>& out, const Verdict& v) {
  if (!v.has_spans) {
    out.push_back("verdict:       none: the service tells no spans");
    return;
  }
  std::string devices;
  for (const DeviceUse& d : v.devices) {
    devices +=
        fmt::format("{}{} {:.1f} %", devices.empty() ? "" : ", ", d.name, 100 * d.compute_share);
    if (d.upload_share >= kShown)
      devices += fmt::format(" (uploads {:.1f} %)", 100 * d.upload_share);
    if (d.foreign_share >= kShown) {
      devices += fmt::format(" ({:.1f} % of it for others' requests)", 100 * d.foreign_share);
    }
  }
  out.push_back("devices:       " + devices + " of the time computing");
  out.push_back("verdict:       " + v.sentence);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kCauses; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return v.shares[a] > v.shares[b]; });
  std::string parts;
  for (const std::size_t i : order) {
    if (v.shares[i] < kShown) break;
    parts += fmt::format("{}{} {:.1f} %", parts.empty() ? "" : ", ",
                         cause_name(static_cast<Cause>(i)), 100 * v.shares[i]);
  }
  out.push_back("               " + parts);
  out.push_back("               " + std::string(cause_advice(v.bound)));
  if (v.jobs_without_spans > 0) {
    out.push_back(
        fmt::format("               {} requests left no spans (never begun, or more than "
                    "the service remembers)",
                    v.jobs_without_spans));
  }
}

}  // namespace

Verdict verdict_of(const RunResult& result) {
  if (!result.service) return {};
  const RunResult::Service& s = *result.service;
  VerdictInput in;
  in.spans = s.spans;
  for (const JobRecord& job : result.jobs) {
    in.jobs.push_back({job.id, job.due_us + s.offset_us, job.sent_us + s.offset_us});
  }
  for (const auto& device : s.after.devices) {
    if (!device.fallback && !device.quarantined) in.devices.push_back(device.name);
  }
  in.synthesis_workers = s.after.synthesis_workers;
  in.begin_us = s.begin_us;
  in.end_us = s.end_us;
  return judge(in);
}

bool all_good(const RunResult& result) {
  if (result.interrupted || result.jobs.empty()) return false;
  return std::all_of(result.jobs.begin(), result.jobs.end(), [](const JobRecord& job) {
    const bool wanted = job.ending == Ending::kCompleted ||
                        (job.ending == Ending::kCancelled && job.cancel_at_us.has_value());
    return wanted && (!job.verified || job.verified->has_value());
  });
}

Latencies latencies_of(const RunResult& result) {
  return {summary_of(result, [](const JobRecord& j) { return j.wall_ms(); }),
          summary_of(result, [](const JobRecord& j) { return double(j.timings.queue_wait_ms); }),
          summary_of(result, [](const JobRecord& j) { return j.service_ms(); }),
          summary_of(result, [](const JobRecord& j) { return double(j.timings.prove_ms); })};
}

json run_json(const RunResult& result, const Verdict& verdict) {
  const std::size_t completed = result.count(Ending::kCompleted);
  std::size_t verified = 0, wrong = 0;
  json proofs = json::array();
  for (const JobRecord& job : result.jobs) {
    verified += job.verified && job.verified->has_value() ? 1 : 0;
    wrong += job.verified && !job.verified->has_value() ? 1 : 0;
    proofs.push_back(proof_json(job));
  }
  json out = {{"ok", all_good(result)},
              {"interrupted", result.interrupted},
              {"wall_seconds", result.wall_seconds},
              {"jobs",
               {{"sent", result.jobs.size()},
                {"completed", completed},
                {"failed", result.count(Ending::kFailed)},
                {"cancelled", result.count(Ending::kCancelled)},
                {"refused", result.count(Ending::kRefused)},
                {"verified", verified},
                {"wrong", wrong}}},
              {"latency_ms", latency_json(result)},
              {"kinds", kinds_json(result)},
              {"verdict", verdict_json(verdict)},
              {"devices", devices_json(verdict)},
              {"proofs", std::move(proofs)}};
  out["throughput"] = {
      {"proofs_per_minute",
       result.wall_seconds > 0 ? 60.0 * static_cast<double>(completed) / result.wall_seconds : 0.0},
      {"seconds_per_proof",
       completed ? json(result.wall_seconds / static_cast<double>(completed)) : json(nullptr)}};
  out["memory"] = result.service ? memory_json(*result.service) : json(nullptr);
  return out;
}

std::vector<std::string> summary_lines(const RunResult& result, const Verdict& verdict) {
  std::vector<std::string> out;
  const std::size_t completed = result.count(Ending::kCompleted);
  // To the millisecond where a tenth says nothing.
  const auto seconds = [](double s) { return fmt::format("{:.{}f}s", s, s < 10 ? 3 : 1); };
  out.push_back(fmt::format("total time:    {}", seconds(result.wall_seconds)));
  out.push_back(fmt::format("completed:     {}", completed));
  out.push_back(fmt::format("failed:        {}",
                            result.count(Ending::kFailed) + result.count(Ending::kRefused)));
  if (const std::size_t n = result.count(Ending::kCancelled)) {
    out.push_back(fmt::format("cancelled:     {}", n));
  }
  const Latencies l = latencies_of(result);
  if (completed > 0) {
    const auto line = [&](const char* name, const Summary& s) {
      return fmt::format("{}avg={} min={} max={}", name, seconds(s.mean * 1e-3),
                         seconds(s.min * 1e-3), seconds(s.max * 1e-3));
    };
    out.push_back(line("wall time:     ", l.wall_ms));
    out.push_back(line("prove time:    ", l.prove_ms));
    out.push_back(fmt::format("throughput:    {:.3f} proofs/min ({}/proof)",
                              60.0 * static_cast<double>(completed) / result.wall_seconds,
                              seconds(result.wall_seconds / static_cast<double>(completed))));
    out.push_back(ms_line("latency:", l.wall_ms));
    out.push_back(ms_line("in queue:", l.queue_ms));
    out.push_back(ms_line("at work:", l.service_ms));
  }
  if (result.service) {
    const RunResult::Service& s = *result.service;
    std::string line = fmt::format("memory:        peak {} reserved, {} planned, of {}",
                                   human_bytes(static_cast<double>(s.peak_reserved_bytes)),
                                   human_bytes(static_cast<double>(s.peak_leased_bytes)),
                                   human_bytes(static_cast<double>(s.after.memory.limit_bytes)));
    if (s.peak_resident_bytes) {
      line += fmt::format("; resident {}", human_bytes(static_cast<double>(s.peak_resident_bytes)));
    }
    out.push_back(std::move(line));
  }
  std::size_t verified = 0, checked = 0;
  for (const JobRecord& job : result.jobs) {
    checked += job.verified ? 1 : 0;
    verified += job.verified && job.verified->has_value() ? 1 : 0;
  }
  if (checked > 0) out.push_back(fmt::format("verified:      {} of {} here", verified, checked));
  add_verdict_lines(out, verdict);
  return out;
}

std::string timeline_svg(const RunResult& result, const Verdict& verdict,
                         const std::string& title) {
  if (!result.service || result.service->spans.empty()) return "";
  const RunResult::Service& s = *result.service;
  TimelinePlot plot;
  plot.title = title;
  plot.subtitles.push_back(
      fmt::format("{} proofs in {}, {:.2f} a minute; peak memory {} of {}",
                  result.count(Ending::kCompleted), human_seconds(result.wall_seconds),
                  60.0 * static_cast<double>(result.count(Ending::kCompleted)) /
                      std::max(1e-9, result.wall_seconds),
                  human_bytes(static_cast<double>(s.peak_reserved_bytes)),
                  human_bytes(static_cast<double>(s.after.memory.limit_bytes))));
  if (verdict.has_spans) plot.subtitles.push_back(verdict.sentence);
  plot.spans = s.spans;
  for (const JobRecord& job : result.jobs) plot.job_ids.push_back(job.id);
  plot.begin_us = s.begin_us;
  plot.end_us = s.end_us;
  return draw_timeline(plot);
}

}  // namespace cuzk::bench
