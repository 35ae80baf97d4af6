#include "engine/pipeline.h"

#include <algorithm>

#include "base/check.h"
#include "engine/pipeline_impl.h"

namespace cuzk::engine {

using internal::mib;
using internal::Running;
using scheduler::DeviceId;
using scheduler::EndReason;

namespace {

Status refusal_error(const scheduler::Submission& submission, const scheduler::JobSpec& spec) {
  switch (submission.refusal) {
    case scheduler::Refusal::kNone:
      break;
    case scheduler::Refusal::kQueueFull:
      return fail(ErrorCode::kOutOfBudget, "the queue is full: {} requests are unfinished",
                  submission.limit_bytes);
    case scheduler::Refusal::kClientFull:
      return fail(ErrorCode::kOutOfBudget, "client {} has {} unfinished requests, its limit",
                  spec.client, submission.limit_bytes);
    case scheduler::Refusal::kTooLarge:
      return fail(ErrorCode::kOutOfBudget,
                  "reading the request needs {:.1f} MiB, the budget for requests is {:.1f} MiB",
                  mib(submission.needed_bytes), mib(submission.limit_bytes));
  }
  return {};
}

std::vector<scheduler::DeviceSpec> device_specs(const std::vector<DeviceOptions>& devices) {
  std::vector<scheduler::DeviceSpec> out;
  for (const DeviceOptions& d : devices) {
    scheduler::DeviceSpec spec{d.fallback, d.device_bytes, d.card ? d.workers : 0};
    if (d.card && d.card->reserve_bytes()) {
      spec.critical_bytes = d.card->reserve_bytes();
      spec.critical_at_once = 1;
    }
    out.push_back(spec);
  }
  return out;
}

}  // namespace

Pipeline::Impl::Impl(const PipelineOptions& options_in, Residency& residency_in,
                     MemoryBudget& memory_in, Telemetry& telemetry_in)
    : options(options_in),
      residency(residency_in),
      memory(memory_in),
      telemetry(telemetry_in),
      plan(options.limits, device_specs(options.devices)) {
  options.threads = Tasks(options.threads).threads();
  for (const DeviceOptions& d : options.devices) {
    DeviceRun run;
    run.options = d;
    if (!d.card) {
      run.backend = d.make_backend ? d.make_backend() : groth16::make_cpu_backend<Bls12_381>();
    }
    // Whoever finishes waits for the card.
    if (d.card) options.finish_workers += d.workers;
    devices.push_back(std::move(run));
  }
  const auto start = [&](const char* stage, unsigned count, auto step) {
    // One more that is kept free for CRITICAL work.
    for (unsigned i = 0; i <= count; ++i) start_worker(stage, "", i, i == count, step);
  };
  start("parse", options.parse_workers, [this](Worker& w, Lock& l) { return parse_step(w, l); });
  start("load", 1, [this](Worker& w, Lock& l) { return load_step(w, l); });
  start("synthesis", options.synthesis_workers,
        [this](Worker& w, Lock& l) { return synthesis_step(w, l); });
  start("finish", options.finish_workers, [this](Worker& w, Lock& l) { return finish_step(w, l); });
  for (DeviceId d = 0; d < devices.size(); ++d) {
    // A card with a reserve has one place more, for critical work.
    const auto& card = devices[d].options.card;
    const unsigned more = card && card->reserve_bytes() ? 1 : 0;
    for (unsigned i = 0; i < devices[d].options.workers + more; ++i) {
      start_worker("prove", devices[d].options.name, i, false,
                   [this, d](Worker& w, Lock& l) { return prove_step(w, l, d); });
    }
  }
}

void Pipeline::Impl::start_worker(std::string stage, std::string device, unsigned index,
                                  bool critical_only, std::function<bool(Worker&, Lock&)> step) {
  Lock lock(mutex);
  Worker& worker = workers.emplace_back();
  worker.lane = fmt::format("{} {}", device.empty() ? stage : device, index);
  worker.status.stage = std::move(stage);
  worker.status.device = std::move(device);
  worker.status.index = index;
  worker.critical_only = critical_only;
  worker.thread = std::thread([this, &worker, step = std::move(step)] { work(worker, step); });
}

void Pipeline::Impl::work(Worker& worker, const std::function<bool(Worker&, Lock&)>& step) {
  Lock lock(mutex);
  while (!stopping) {
    const bool worked = step(worker, lock);
    settle(lock);
    if (worked) {
      worker.status.job_id.clear();
      worker.status.kind.reset();
      worker.since_us = -1;
      changed.notify_all();
    } else if (!stopping) {
      changed.wait(lock);
    }
  }
}

void Pipeline::Impl::settle(Lock& lock) {
  const auto ended = plan.take_ended();
  if (ended.empty()) return;
  std::vector<std::pair<std::unique_ptr<Running>, PipelineResult>> results;
  for (const scheduler::Ended& e : ended) {
    auto node = jobs.extract(e.job);
    CUZK_CHECK(!node.empty());
    auto job = std::move(node.mapped());
    ending[job->id] = status_of(*job);
    PipelineResult result = result_of(*job, e);
    results.emplace_back(std::move(job), std::move(result));
  }
  changed.notify_all();
  lock.unlock();
  for (auto& [job, result] : results) {
    for (auto& part : job->parts) part->drop_work();
    job->done(std::move(result));
  }
  std::vector<JobId> told;
  for (const auto& [job, result] : results) told.push_back(job->id);
  results.clear();
  lock.lock();
  for (const JobId id : told) ending.erase(id);
  let_retired_go();
}

void Pipeline::Impl::stop() {
  {
    Lock lock(mutex);
    stopping = true;
    for (auto& [id, job] : jobs) job->stop.request_stop();
    changed.notify_all();
  }
  for (Worker& worker : workers) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  // No thread is left; what the scheduler still has is ended by hand.
  std::map<JobId, std::unique_ptr<Running>> left;
  std::vector<PipelineResult> results;
  {
    Lock lock(mutex);
    left = std::exchange(jobs, {});
    for (auto& [id, job] : left) {
      ending[id] = status_of(*job);
      results.push_back(result_of(*job, {id, EndReason::kCancelled}));
    }
    changed.notify_all();
  }
  auto result = results.begin();
  for (auto& [id, job] : left) {
    for (auto& part : job->parts) part->drop_work();
    job->done(std::move(*result++));
  }
}

// A card may outlive what its keys hold of the host: circuits, streamed keys, the budget they count
// in.
Pipeline::Impl::~Impl() {
  stop();
  for (const DeviceRun& d : devices) {
    if (d.options.card) d.options.card->forget_all();
  }
}

DeviceOptions card_device(std::shared_ptr<CudaDevice> card) {
  DeviceOptions out;
  out.name = card->name();
  out.workers = card->workers();
  out.device_bytes = card->arena_bytes();
  out.card = std::move(card);
  return out;
}

Pipeline::Pipeline(const PipelineOptions& options, Residency& residency, MemoryBudget& memory,
                   Telemetry& telemetry)
    : impl_(std::make_unique<Impl>(options, residency, memory, telemetry)) {}

Pipeline::~Pipeline() = default;

Status Pipeline::refusal(const scheduler::JobSpec& spec) const {
  std::lock_guard lock(impl_->mutex);
  if (impl_->stopping) return fail(ErrorCode::kCancelled, "the service is stopping");
  return refusal_error(impl_->plan.refusal(spec), spec);
}

Result<std::size_t> Pipeline::submit(JobId id, PipelineJob request, Completion done) {
  auto job = std::make_unique<Running>();
  job->id = id;
  job->done = std::move(done);
  JobStatus& s = job->status;
  s.job_id = request.job_id;
  s.run = id;
  s.kind = request.kind;
  s.client = request.spec.client;
  s.priority = request.spec.priority;
  s.deadline_unix_ms = request.deadline_unix_ms;
  s.submitted_us = impl_->telemetry.now_us();
  job->request = std::move(request);
  Impl::Lock lock(impl_->mutex);
  if (impl_->stopping) return fail(ErrorCode::kCancelled, "the service is stopping");
  const auto submission = impl_->plan.submit(id, job->request.spec);
  CUZK_TRY_VOID(refusal_error(submission, job->request.spec));
  impl_->jobs.emplace(id, std::move(job));
  impl_->changed.notify_all();
  return submission.ahead;
}

bool Pipeline::cancel(JobId id) {
  Impl::Lock lock(impl_->mutex);
  const auto it = impl_->jobs.find(id);
  if (it == impl_->jobs.end() || !impl_->plan.cancel(id)) return false;
  // The job may have ended in the scheduler, but it is ours until it is settled.
  it->second->cancelled = true;
  it->second->stop.request_stop();
  impl_->changed.notify_all();
  impl_->settle(lock);
  return true;
}

void Pipeline::stop() { impl_->stop(); }

bool Pipeline::wait_idle(std::chrono::steady_clock::time_point deadline) {
  Impl::Lock lock(impl_->mutex);
  return impl_->changed.wait_until(lock, deadline, [&] {
    return impl_->jobs.empty() || impl_->stopping;
  }) && impl_->jobs.empty();
}

}  // namespace cuzk::engine
