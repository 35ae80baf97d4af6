#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>

#include "bench/target.h"

namespace cuzk::bench {

namespace {

class LocalTarget final : public Target {
 public:
  LocalTarget(std::unique_ptr<engine::Service> service, std::string version)
      : service_(std::move(service)), version_(std::move(version)) {}

  std::string name() const override { return "this process"; }

  void prove(engine::ProofRequest request,
             std::function<void(Result<engine::Answer>)> callback) override {
    reap();
    const auto submitted = service_->submit(std::move(request));
    if (!submitted) return callback(fail(submitted.error()));
    auto pending = std::make_shared<Pending>();
    auto watch = service_->watch(submitted->job_id, submitted->run,
                                 [pending, callback](const engine::Answer& answer) {
                                   callback(answer);
                                   pending->done = true;
                                 });
    if (!watch) return callback(fail(watch.error()));
    pending->watch = std::move(*watch);
    const std::lock_guard lock(mutex_);
    pending_.push_back(std::move(pending));
  }

  Result<bool> cancel(const std::string& job_id) override { return service_->cancel(job_id); }

  Result<Snapshot> snapshot(std::optional<std::uint64_t> spans_after) override {
    Snapshot out = snapshot_of(service_->status());
    out.version = version_;
    out.resident_bytes = resident_bytes();
    out.peak_resident_bytes = peak_resident_bytes();
    if (spans_after) out.spans = service_->spans(*spans_after);
    return out;
  }

  Status preload(const std::string& circuit_id) override {
    const auto loaded = service_->preload(circuit_id);
    if (!loaded) return fail(loaded.error());
    return {};
  }

 private:
  struct Pending {
    std::unique_ptr<engine::Service::Watch> watch;
    std::atomic<bool> done{false};
  };

  // A watch must not end inside its own callback; those that called back end here.
  void reap() {
    std::vector<std::shared_ptr<Pending>> ended;
    const std::lock_guard lock(mutex_);
    const auto first_done = std::stable_partition(pending_.begin(), pending_.end(),
                                                  [](const auto& p) { return !p->done.load(); });
    ended.assign(first_done, pending_.end());
    pending_.erase(first_done, pending_.end());
  }

  std::unique_ptr<engine::Service> service_;
  const std::string version_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Pending>> pending_;  // goes before the service
};

}  // namespace

std::unique_ptr<Target> make_local_target(std::unique_ptr<engine::Service> service,
                                          std::string version) {
  return std::make_unique<LocalTarget>(std::move(service), std::move(version));
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

Snapshot snapshot_of(const engine::ServiceStatus& status) {
  Snapshot out;
  out.now_us = status.uptime_us;
  out.memory = status.memory;
  out.devices = status.devices;
  for (const auto& worker : status.workers) {
    out.synthesis_workers += worker.stage == "synthesis" ? 1 : 0;
  }
  if (out.synthesis_workers > 0) --out.synthesis_workers;
  return out;
}

}  // namespace cuzk::bench
