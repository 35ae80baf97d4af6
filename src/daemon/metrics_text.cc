#include "daemon/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>
#include <utility>

#include "daemon/kinds.h"

namespace cuzk::daemon {

namespace {

using engine::DeviceStatus;
using engine::KindMetrics;
using engine::ServiceMetrics;
using engine::ServiceStatus;
using Labels = std::vector<prometheus::ClientMetric::Label>;

// Families in the order in which they are begun.
class Families {
 public:
  void begin(std::string name, std::string help, prometheus::MetricType type) {
    families_.push_back({"cuzk_" + std::move(name), std::move(help), type, {}});
  }
  void counter(std::string name, std::string help) {
    begin(std::move(name), std::move(help), prometheus::MetricType::Counter);
  }
  void gauge(std::string name, std::string help) {
    begin(std::move(name), std::move(help), prometheus::MetricType::Gauge);
  }
  template <class T>
  void add(T value, Labels labels = {}) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = static_cast<double>(value);
    metric.gauge.value = static_cast<double>(value);
    families_.back().metric.push_back(std::move(metric));
  }
  void add(const engine::Histogram& histogram, Labels labels) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.histogram.sample_count = histogram.count;
    metric.histogram.sample_sum = histogram.sum_seconds;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < engine::Histogram::kBounds.size(); ++i) {
      below += histogram.counts[i];
      metric.histogram.bucket.push_back({below, engine::Histogram::kBounds[i]});
    }
    families_.back().metric.push_back(std::move(metric));
  }
  std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

Labels kind_label(engine::ProofKind kind) { return {{"proof_kind", metric_kind_name(kind)}}; }

void add_totals(Families& f, const ServiceMetrics& m, const MetricsContext& context) {
  const ServiceStatus& s = m.status;
  std::size_t pending = 0;
  std::size_t running = 0;
  for (const engine::QueueStatus& queue : s.queues) {
    pending += queue.pending;
    running += queue.in_progress;
  }
  std::size_t workers = 0;
  for (const DeviceStatus& device : s.devices) workers += device.workers;
  f.counter("proofs_completed_total", "Requests answered with a verified proof");
  f.add(s.completed);
  f.counter("proofs_failed_total", "Requests answered with an error");
  f.add(s.failed);
  f.gauge("uptime_seconds", "Seconds since the daemon started");
  f.add(static_cast<double>(s.uptime_us) * 1e-6);
  f.gauge("queue_depth", "Requests accepted of which no partition has begun");
  f.add(pending);
  if (context.legacy_names) {
    f.counter("proofs_completed", "Requests answered with a verified proof, by kind");
    for (const auto& [kind, k] : m.kinds) f.add(k.completed, kind_label(kind));
    f.counter("proofs_failed", "Requests answered with an error, by kind");
    for (const auto& [kind, k] : m.kinds) f.add(k.failed, kind_label(kind));
  }
  f.begin("proof_duration_seconds", "From acceptance to the answer",
          prometheus::MetricType::Histogram);
  for (const auto& [kind, k] : m.kinds) {
    if (const auto total = k.phases.find("total"); total != k.phases.end()) {
      f.add(total->second, kind_label(kind));
    }
  }
  f.gauge("running_jobs", "Requests begun and not answered");
  f.add(running);
  f.gauge("gpu_workers", "Workers that prove, on whatever device");
  f.add(workers);
  f.counter("proofs_cancelled_total", "Requests that were cancelled");
  f.add(s.cancelled);
}

void add_kinds(Families& f, const ServiceMetrics& m) {
  f.counter("requests_total", "Requests by what became of them");
  for (const auto& [kind, k] : m.kinds) {
    for (const auto& [result, count] :
         {std::pair{"accepted", k.accepted}, std::pair{"completed", k.completed},
          std::pair{"failed", k.failed}, std::pair{"cancelled", k.cancelled}}) {
      Labels labels = kind_label(kind);
      labels.push_back({"result", result});
      f.add(count, std::move(labels));
    }
  }
  f.counter("partitions_total", "Partitions proved and verified");
  for (const auto& [kind, k] : m.kinds) f.add(k.partitions, kind_label(kind));
  f.counter("deadline_misses_total", "Requests answered after their deadline");
  for (const auto& [kind, k] : m.kinds) f.add(k.deadline_misses, kind_label(kind));
  f.begin("phase_duration_seconds", "Time of each phase of a request, summed over its partitions",
          prometheus::MetricType::Histogram);
  for (const auto& [kind, k] : m.kinds) {
    for (const auto& [phase, histogram] : k.phases) {
      Labels labels = kind_label(kind);
      labels.push_back({"phase", phase});
      f.add(histogram, std::move(labels));
    }
  }
  f.gauge("queued_requests", "Unfinished requests by priority");
  for (const auto& [priority, count] : m.queued) {
    f.add(count, {{"priority", std::string(engine::priority_name(priority))}});
  }
}

void add_engine(Families& f, const ServiceMetrics& m) {
  const std::tuple<const char*, const char*, std::uint64_t> counters[] = {
      {"requests_attached_total", "Requests that joined the same one in flight", m.attached},
      {"requests_answered_again_total", "Requests answered from a kept result", m.answered_again},
      {"requests_refused_total", "Requests that were not accepted", m.refused},
      {"parameter_loads_total", "Parameter files loaded", m.key_loads},
      {"parameter_evictions_total", "Parameter files dropped from memory", m.key_evictions},
      {"partition_retries_total", "Partitions proved again after a failure", m.retried_partitions},
      {"journal_errors_total", "Writes of the journal that failed", m.journal_errors},
  };
  for (const auto& [name, help, value] : counters) {
    f.counter(name, help);
    f.add(value);
  }
  const engine::MemoryStatus& memory = m.status.memory;
  const std::tuple<const char*, const char*, std::size_t> gauges[] = {
      {"memory_limit_bytes", "The memory budget", memory.limit_bytes},
      {"memory_leased_bytes", "Planned for admitted work and parameters", memory.leased_bytes},
      {"memory_reserved_bytes", "Held by buffers", memory.reserved_bytes},
      {"memory_peak_reserved_bytes", "Most that buffers held", memory.peak_reserved_bytes},
      {"pinned_limit_bytes", "The pinned memory budget; 0: not limited", memory.pinned_limit_bytes},
      {"pinned_leased_bytes", "Pinned memory planned", memory.pinned_leased_bytes},
      {"ready", "1 when preloads are done, a device is left and nothing drains", m.status.ready},
      {"draining", "1 while no new request is taken", m.status.draining},
      {"problems", "What an operator should look at, see the log", m.status.problems.size()},
  };
  for (const auto& [name, help, value] : gauges) {
    f.gauge(name, help);
    f.add(value);
  }
  f.gauge("parameters_resident_bytes", "Key and rows of a circuit in memory");
  std::map<std::string, std::size_t> resident;  // a circom id may have two keys in memory
  for (const engine::CircuitStatus& circuit : m.status.circuits) {
    if (circuit.tier == engine::Tier::kHot) resident[circuit.circuit_id] += circuit.bytes;
  }
  for (const auto& [circuit, bytes] : resident) f.add(bytes, {{"circuit", circuit}});
}

void add_circom(Families& f, const ServiceMetrics& m) {
  f.counter("circom_proofs_completed_total", "Requests answered with a verified proof, by circuit");
  for (const auto& [id, c] : m.circom) f.add(c.completed, {{"circuit", id}});
  f.counter("circom_proofs_failed_total", "Requests answered with an error, by circuit");
  for (const auto& [id, c] : m.circom) f.add(c.failed, {{"circuit", id}});
  f.counter("circom_proof_seconds_total", "From acceptance to a proof, summed, by circuit");
  for (const auto& [id, c] : m.circom) f.add(c.seconds, {{"circuit", id}});
  f.gauge("circom_circuits", "Circuits known, by whether their key can be used");
  std::size_t usable = 0;
  for (const auto& circuit : m.status.circom) usable += circuit.problem.empty();
  f.add(usable, {{"state", "usable"}});
  f.add(m.status.circom.size() - usable, {{"state", "refused"}});
}

void add_devices(Families& f, const ServiceStatus& s) {
  using Value = double (*)(const DeviceStatus&);
  const std::tuple<const char*, const char*, bool, Value> families[] = {
      {"device_proofs_total", "Partitions of the device that verified", true,
       [](const DeviceStatus& d) { return static_cast<double>(d.proofs); }},
      {"device_invalid_proofs_total", "Partitions that failed their self-check; none left", true,
       [](const DeviceStatus& d) { return static_cast<double>(d.invalid_proofs); }},
      {"device_faults_total", "Failures of the device itself", true,
       [](const DeviceStatus& d) { return static_cast<double>(d.faults); }},
      {"device_busy_seconds_total", "Time in which at least one worker proved", true,
       [](const DeviceStatus& d) { return static_cast<double>(d.busy_us) * 1e-6; }},
      {"device_key_loads_total", "Keys loaded into the device's memory, or pinned for it", true,
       [](const DeviceStatus& d) { return static_cast<double>(d.key_loads); }},
      {"device_key_evictions_total", "Keys dropped from the device's memory", true,
       [](const DeviceStatus& d) { return static_cast<double>(d.key_evictions); }},
      {"device_workers", "Workers of the device", false,
       [](const DeviceStatus& d) { return static_cast<double>(d.workers); }},
      {"device_workers_busy", "Workers that prove now", false,
       [](const DeviceStatus& d) { return static_cast<double>(d.busy); }},
      {"device_quarantined", "1 when the device gets no work any more", false,
       [](const DeviceStatus& d) { return d.quarantined ? 1.0 : 0.0; }},
      {"device_memory_leased_bytes", "Device memory planned", false,
       [](const DeviceStatus& d) { return static_cast<double>(d.leased_bytes); }},
      {"device_memory_limit_bytes", "Device memory budget; 0: not limited", false,
       [](const DeviceStatus& d) { return static_cast<double>(d.limit_bytes); }},
  };
  for (const auto& [name, help, is_counter, value] : families) {
    f.begin(name, help,
            is_counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge);
    for (const DeviceStatus& device : s.devices) f.add(value(device), {{"device", device.name}});
  }
}

}  // namespace

std::string metrics_text(const engine::ServiceMetrics& metrics, const MetricsContext& context) {
  Families f;
  f.gauge("build_info", "1; the labels say what runs");
  f.add(1, {{"version", context.version}, {"cuda", context.cuda ? "true" : "false"}});
  add_totals(f, metrics, context);
  add_kinds(f, metrics);
  add_engine(f, metrics);
  add_circom(f, metrics);
  add_devices(f, metrics.status);
  return f.text();
}

}  // namespace cuzk::daemon
