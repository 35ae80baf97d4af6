#include "engine/service.h"

#include "engine/devices.h"
#include "engine/service_impl.h"

namespace cuzk::engine {

using Clock = std::chrono::steady_clock;
using internal::unix_ms;

namespace {

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

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Service::~Service() { stop_now(); }

// The pinned buffers of the cards are there already.
Status Service::Impl::reserve_for_cards() {
  for (const DeviceOptions& device : options.devices) {
    if (!device.card) continue;
    CUZK_TRY(auto pinned, memory.reserve(fmt::format("pinned buffers of {}", device.name),
                                         device.card->pinned_bytes()));
    for_cards.push_back(std::move(pinned));
  }
  return {};
}

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
  CUZK_TRY_VOID(s.reserve_for_cards());
  PipelineOptions pipeline = pipeline_options(s.options, memory_bytes - s.memory.used_bytes());
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

const std::filesystem::path& Service::circom_directory() const { return impl_->circom.directory(); }

Result<std::string> Service::circom_verification_key(const std::string& id) const {
  CUZK_TRY(const auto circuit, impl_->find_circom(id));
  return circuit->verification_key_json();
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

}  // namespace cuzk::engine
